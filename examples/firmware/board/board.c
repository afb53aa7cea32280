/*
 * Clock, sleep, text, frames and settings on a Cortex-M.
 * SPDX-License-Identifier: 0BSD
 */
#include "device.h"

#include <string.h>

#define SYST_CSR REGISTER(0xE000E010)
#define SYST_ON 1u
#define SYST_INTERRUPT 2u
#define SYST_CLOCK 4u /* the processor's */
#define SYST_RVR REGISTER(0xE000E014)
#define SYST_CVR REGISTER(0xE000E018)
#define SCB_ICSR REGISTER(0xE000ED04)
#define ICSR_PENDSTSET (1u << 26)

/* SysTick counts down this time again and again. */
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
    size_t left; /* of the frame, with its checksum */
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

/* Periods that have passed and cycles of the one at hand. */
static uint32_t clock_read(uint32_t *passed) {
    uint32_t left, whole;

    interrupts_off();
    left = SYST_CVR;
    whole = periods;
    if ((SCB_ICSR & ICSR_PENDSTSET) != 0) {
        /* The next one has begun, but its interrupt has not come. */
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
    interrupts_off();     /* they still wake the processor up */
    if (ms < PERIOD_MS) { /* else the clock's own interrupt comes first */
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

/* With copies, which stay in registers: data might be where the originals are,
 * as far as the compiler knows. */
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

/* ---- Pages of flash that a tool writes ---- */

extern const uint8_t seed_page[], settings_page[], settings_page_end[];

const uint8_t *board_seed(void) {
    size_t i = 1;

    while (i < BOARD_SEED_LEN && seed_page[i] == seed_page[0]) {
        i++;
    }
    /* All alike: nobody has written it. */
    return i < BOARD_SEED_LEN ? seed_page : NULL;
}

const char *board_setting(const char *name) {
    const char *at = (const char *)settings_page;
    const char *end = (const char *)settings_page_end;
    size_t len = strlen(name);

    while (at < end && *at != '\0' && (uint8_t)*at != 0xFF) {
        if (strncmp(at, name, len) == 0 && at[len] == '=') {
            return at + len + 1;
        }
        at += strlen(at) + 1;
    }
    return "";
}

uint32_t board_setting_number(const char *name) {
    uint32_t number = 0;

    for (const char *at = board_setting(name); *at >= '0' && *at <= '9'; at++) {
        number = number * 10 + (uint32_t)(*at - '0');
    }
    return number;
}

void board_init(void) {
    SYST_RVR = PERIOD - 1;
    SYST_CVR = 0;
    SYST_CSR = SYST_CLOCK | SYST_INTERRUPT | SYST_ON;
    device_init((uint32_t)board_mac[0] | (uint32_t)board_mac[1] << 8 |
                    (uint32_t)board_mac[2] << 16 | (uint32_t)board_mac[3] << 24,
                (uint32_t)board_mac[4] | (uint32_t)board_mac[5] << 8);
}
