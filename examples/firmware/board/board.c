/*
 * Clock, sleep, UART and Ethernet of the LM3S6965, by its data sheet.
 * SPDX-License-Identifier: 0BSD
 */
#include "board.h"

#include <string.h>

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))

/* Cortex-M3. */
#define SYST_CSR REGISTER(0xE000E010)
#define SYST_ON 1u
#define SYST_INTERRUPT 2u
#define SYST_CLOCK 4u /* the processor's */
#define SYST_RVR REGISTER(0xE000E014)
#define SYST_CVR REGISTER(0xE000E018)
#define NVIC_ISER(n) REGISTER(0xE000E100 + 4 * (n))
#define SCB_ICSR REGISTER(0xE000ED04)
#define ICSR_PENDSTSET (1u << 26)

/* System control. */
#define RCC REGISTER(0x400FE060)
#define RCC_USESYSDIV (1u << 22)
#define RCC_SYSDIV_4 (3u << 23) /* 200 MHz / 4 */
#define RCC_SYSDIV_MASK (0xFu << 23)
#define RCGC1 REGISTER(0x400FE104)
#define RCGC1_UART0 (1u << 0)
#define RCGC1_TIMER0 (1u << 16)
#define RCGC2 REGISTER(0x400FE108)
#define RCGC2_EMAC (1u << 28)
#define RCGC2_EPHY (1u << 30)

#define UART_DR REGISTER(0x4000C000)
#define UART_FR REGISTER(0x4000C018)
#define UART_FR_EMPTY (1u << 4) /* nothing received */
#define UART_FR_FULL (1u << 5)
#define UART_IBRD REGISTER(0x4000C024)
#define UART_FBRD REGISTER(0x4000C028)
#define UART_LCRH REGISTER(0x4000C02C)
#define UART_CTL REGISTER(0x4000C030)
#define UART_IM REGISTER(0x4000C038)
#define UART_ICR REGISTER(0x4000C044)
#define UART_RX 0x50u /* a character, or some and then none */
#define IRQ_UART 5u

#define TIMER_CFG REGISTER(0x40030000)
#define TIMER_TAMR REGISTER(0x40030004)
#define TIMER_CTL REGISTER(0x4003000C)
#define TIMER_IMR REGISTER(0x40030018)
#define TIMER_ICR REGISTER(0x40030024)
#define TIMER_TAILR REGISTER(0x40030028)
#define IRQ_TIMER 19u

#define MAC_RIS REGISTER(0x40048000)
#define MAC_IM REGISTER(0x40048004)
#define MAC_RCTL REGISTER(0x40048008)
#define MAC_TCTL REGISTER(0x4004800C)
#define MAC_DATA REGISTER(0x40048010)
#define MAC_IA0 REGISTER(0x40048014)
#define MAC_IA1 REGISTER(0x40048018)
#define MAC_NP REGISTER(0x40048034)
#define MAC_TR REGISTER(0x40048038)
#define MAC_RXINT 1u
#define MAC_RXEN 1u
#define MAC_TXEN 1u
#define MAC_TX_PAD 2u
#define MAC_TX_CRC 4u
#define MAC_DUPLEX 0x10u
#define IRQ_ETHERNET 42u

/* SysTick counts down this time again and again. */
#define PERIOD_MS 250u
#define PERIOD (PERIOD_MS * 1000u * BOARD_MHZ)

const uint8_t board_mac[6] = {0x02, 0x00, 0x00, 0x00, 0x00, 0x01};

extern const uint8_t clock_begin[]; /* lm3s6965.ld; 0 but for a test */

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
void board_alarm(void);
void board_frame(void);
void board_character(void);

static void interrupt_enable(unsigned number) {
    NVIC_ISER(number / 32) = 1u << number % 32;
}

void board_tick(void) {
    periods++;
}

void board_alarm(void) {
    TIMER_ICR = 1;
}

/* Frames and characters are read in the program's loop. Their interrupts only
 * wake the processor up, and are off, where they come from, until all is read.
 */
void board_frame(void) {
    MAC_IM = 0;
}

void board_character(void) {
    UART_IM = 0;
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

uint64_t board_cycles(void) {
    uint32_t passed, whole = clock_read(&passed);

    return (uint64_t)whole * PERIOD + passed;
}

void board_sleep(uint32_t ms) {
    if (ms == 0) {
        return;
    }
    if (ms < PERIOD_MS) { /* else the clock's own interrupt comes first */
        TIMER_CTL = 0;
        TIMER_TAILR = ms * 1000u * BOARD_MHZ;
        TIMER_CTL = 1;
    }
    interrupts_off(); /* they still wake the processor up */
    if (MAC_NP == 0 && (UART_FR & UART_FR_EMPTY) != 0) {
        sleeps++;
        __asm__ volatile("wfi" ::: "memory");
    }
    interrupts_on();
}

uint32_t board_sleeps(void) {
    return sleeps;
}

static void print_character(char c) {
    while ((UART_FR & UART_FR_FULL) != 0) {}
    UART_DR = (uint8_t)c;
}

void board_print(const char *text) {
    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            print_character('\r');
        }
        print_character(*text);
    }
}

char board_key(void) {
    if ((UART_FR & UART_FR_EMPTY) != 0) {
        UART_ICR = UART_RX;
        UART_IM = UART_RX;
        return '\0';
    }
    return (char)UART_DR;
}

/* ---- Ethernet ---- */

/* In front of a frame is its length, which counts itself and the checksum. */
size_t board_receive_begin(void) {
    uint8_t length[2];

    if (MAC_NP == 0) {
        MAC_RIS = MAC_RXINT;
        MAC_IM = MAC_RXINT;
        return 0;
    }
    receiving.bytes = 0;
    board_receive_bytes(length, 2);
    receiving.left = ((size_t)length[1] << 8 | length[0]) - 2;
    return receiving.left - 4;
}

/* With copies, which stay in registers: data might be where the originals are,
 * as far as the compiler knows. */
void board_receive_bytes(uint8_t *data, size_t len) {
    uint32_t word = receiving.word;
    unsigned bytes = receiving.bytes;

    for (size_t i = 0; i < len; i++) {
        if (bytes == 0) {
            word = MAC_DATA;
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
        MAC_DATA = sending.word;
        sending.word = sending.bytes = 0;
    }
}

/* The length does not count the header of Ethernet. */
void board_send_begin(size_t len) {
    sending.word = sending.bytes = 0;
    send_byte((uint8_t)(len - 14));
    send_byte((uint8_t)((len - 14) >> 8));
}

void board_send_bytes(const uint8_t *data, size_t len) {
    for (size_t i = 0; i < len; i++) {
        send_byte(data[i]);
    }
}

void board_send_end(void) {
    if (sending.bytes > 0) {
        MAC_DATA = sending.word;
    }
    MAC_TR = 1;
    while ((MAC_TR & 1u) != 0) {}
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
    RCC = (RCC & ~RCC_SYSDIV_MASK) | RCC_SYSDIV_4 | RCC_USESYSDIV;
    RCGC1 |= RCGC1_UART0 | RCGC1_TIMER0;
    RCGC2 |= RCGC2_EMAC | RCGC2_EPHY;
    SYST_RVR = PERIOD - 1;
    SYST_CVR = 0;
    SYST_CSR = SYST_CLOCK | SYST_INTERRUPT | SYST_ON;
    UART_CTL = 0;
    UART_IBRD = 27; /* 115,200 baud */
    UART_FBRD = 8;
    UART_LCRH = 0x70; /* 8 bits, FIFO */
    UART_CTL = 0x301;
    interrupt_enable(IRQ_UART);
    TIMER_CTL = 0;
    TIMER_CFG = 0;  /* 32 bits */
    TIMER_TAMR = 1; /* once */
    TIMER_IMR = 1;
    interrupt_enable(IRQ_TIMER);
    MAC_IA0 = (uint32_t)board_mac[0] | (uint32_t)board_mac[1] << 8 |
              (uint32_t)board_mac[2] << 16 | (uint32_t)board_mac[3] << 24;
    MAC_IA1 = (uint32_t)board_mac[4] | (uint32_t)board_mac[5] << 8;
    MAC_RCTL = MAC_RXEN;
    MAC_TCTL = MAC_TXEN | MAC_TX_PAD | MAC_TX_CRC | MAC_DUPLEX;
    interrupt_enable(IRQ_ETHERNET);
}
