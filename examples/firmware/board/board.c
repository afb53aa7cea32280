/*
 * Clock, sleep, text, frames and settings on a Cortex-M.
 * SPDX-License-Identifier: 0BSD
 */
#include "device.h"

#include "mst_semihosting.h"
#include "mst_settings.h"

#include <string.h>

#define SYST_CSR REGISTER(0xE000E010)
#define SYST_ON 1u
#define SYST_INTERRUPT 2u
#define SYST_CLOCK 4u /* the processor's */
#define SYST_RVR REGISTER(0xE000E014)
#define SYST_CVR REGISTER(0xE000E018)
#define SCB_ICSR REGISTER(0xE000ED04)
#define ICSR_PENDSTSET (1u << 26)

/* Arm's watchdog, on both boards. */
#define WATCHDOG_LOAD REGISTER(DEVICE_WATCHDOG)
#define WATCHDOG_CONTROL REGISTER(DEVICE_WATCHDOG + 8)
#define WATCHDOG_ON 3u /* with restart of the board */
#define WATCHDOG_CLEAR REGISTER(DEVICE_WATCHDOG + 12)

/* SysTick counts down this time repeatedly. */
#define PERIOD_MS 250u
#define PERIOD (PERIOD_MS * 1000u * BOARD_MHZ)

const uint8_t board_mac[6] = {0x02, 0x00, 0x00, 0x00, 0x00, 0x01};

extern const uint8_t clock_begin[]; /* board.ld; 0 except in a test */

static volatile uint32_t periods = (uint32_t)(uintptr_t)clock_begin;
static uint32_t sleeps;
static struct {
    uint32_t word;
    unsigned bytes;
} sending;
static struct {
    uint32_t word;
    unsigned bytes;
    size_t left; /* in the frame, including its checksum */
} receiving;

void board_tick(void);

void board_tick(void) {
    periods++;
}

static void interrupts_off(void) {
    __asm__ volatile("cpsid i" ::: "memory");
}

static void interrupts_on(void) {
    __asm__ volatile("cpsie i" ::: "memory");
}

/* Returns the number of full periods; sets the cycles of the current one. */
static uint32_t clock_read(uint32_t *passed) {
    uint32_t left, whole;

    interrupts_off();
    left = SYST_CVR;
    whole = periods;
    if ((SCB_ICSR & ICSR_PENDSTSET) != 0) {
        /* The next period has begun, but its interrupt is still pending. */
        left = SYST_CVR;
        whole++;
    }
    interrupts_on();
    *passed = left == 0 ? 0 : PERIOD - left;
    return whole;
}

uint32_t board_ms(void) {
    uint32_t passed, whole = clock_read(&passed);

    return whole * PERIOD_MS + passed / (1000u * BOARD_MHZ);
}

uint64_t board_us(void) {
    uint32_t passed, whole = clock_read(&passed);

    return (uint64_t)whole * (PERIOD_MS * 1000u) + passed / BOARD_MHZ;
}

void board_sleep(uint32_t ms) {
    if (ms == 0) {
        return;
    }
    interrupts_off();     /* they still wake the processor */
    if (ms < PERIOD_MS) { /* else SysTick's interrupt comes first */
        device_alarm(ms * 1000u * BOARD_MHZ);
    }
    if (device_quiet()) {
        sleeps++;
        __asm__ volatile("wfi" ::: "memory");
    }
    interrupts_on();
}

uint32_t board_sleeps(void) {
    return sleeps;
}

void board_print(const char *text) {
    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            device_print('\r');
        }
        device_print(*text);
    }
}

/* ---- Ethernet ---- */

size_t board_receive_begin(void) {
    receiving.bytes = 0;
    receiving.left = device_receive();
    return receiving.left == 0 ? 0 : receiving.left - 4;
}

/* Copies the state to locals, which stay in registers: for the compiler, data
 * might overlap the originals. */
void board_receive_bytes(uint8_t *data, size_t len) {
    uint32_t word = receiving.word;
    unsigned bytes = receiving.bytes;

    for (size_t i = 0; i < len; i++) {
        if (bytes == 0) {
            word = *device_in;
            bytes = 4;
        }
        data[i] = (uint8_t)word;
        word >>= 8;
        bytes--;
    }
    receiving.word = word;
    receiving.bytes = bytes;
    receiving.left -= len;
}

void board_receive_end(void) {
    uint8_t byte;

    while (receiving.left > 0) {
        board_receive_bytes(&byte, 1);
    }
}

static void send_byte(uint8_t byte) {
    sending.word |= (uint32_t)byte << 8 * sending.bytes;
    if (++sending.bytes == 4) {
        *device_out = sending.word;
        sending.word = sending.bytes = 0;
    }
}

void board_send_begin(size_t len) {
    sending.word = sending.bytes = 0;
    device_send(len);
}

void board_send_bytes(const uint8_t *data, size_t len) {
    for (size_t i = 0; i < len; i++) {
        send_byte(data[i]);
    }
}

void board_send_end(void) {
    if (sending.bytes > 0) {
        *device_out = sending.word;
    }
    device_sent();
}

/* ---- The settings page and the store in flash ---- */

extern const uint8_t settings_page[], settings_page_end[], store_len[];

static struct mst_settings settings;
static int settings_error;

int board_settings_error(void) {
    return settings_error;
}

const char *board_setting(const char *name) {
    return mst_settings_text(&settings, name);
}

uint32_t board_setting_number(const char *name) {
    return mst_settings_number(&settings, name);
}

void board_flash(struct mst_flash_driver *driver) {
    static struct mst_semihosting file;

    mst_semihosting_init(&file, "flash.bin", (size_t)(uintptr_t)store_len / 2,
                         board_setting_number("flash_cut"), driver);
}

void board_init(void) {
    SYST_RVR = PERIOD - 1;
    SYST_CVR = 0;
    SYST_CSR = SYST_CLOCK | SYST_INTERRUPT | SYST_ON;
    settings_error = mst_settings_open(
        &settings, settings_page, (size_t)(settings_page_end - settings_page));
    device_init((uint32_t)board_mac[0] | (uint32_t)board_mac[1] << 8 |
                    (uint32_t)board_mac[2] << 16 | (uint32_t)board_mac[3] << 24,
                (uint32_t)board_mac[4] | (uint32_t)board_mac[5] << 8);
}

void board_watchdog_begin(uint32_t ms) {
    WATCHDOG_LOAD =
        ms * 1000u * BOARD_MHZ / 2; /* half: the first time only interrupts */
    WATCHDOG_CONTROL = WATCHDOG_ON;
}

void board_watchdog(void) {
    WATCHDOG_CLEAR = 0;
}
