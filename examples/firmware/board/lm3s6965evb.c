/*
 * Timer, UART and Ethernet of the TI LM3S6965 (Cortex-M3), by its data sheet.
 * SPDX-License-Identifier: 0BSD
 */
#include "device.h"

/* System control. */
#define RCC REGISTER(0x400FE060)
#define RCC_USESYSDIV (1u << 22)
#define RCC_SYSDIV_4 (3u << 23) /* 200 MHz / 4 */
#define RCC_SYSDIV_MASK (0xFu << 23)
#define RCGC0 REGISTER(0x400FE100)
#define RCGC0_WDT (1u << 3)
#define RCGC1 REGISTER(0x400FE104)
#define RCGC1_UART0 (1u << 0)
#define RCGC1_TIMER0 (1u << 16)
#define RCGC2 REGISTER(0x400FE108)
#define RCGC2_EMAC (1u << 28)
#define RCGC2_EPHY (1u << 30)

#define UART_DR REGISTER(0x4000C000)
#define UART_FR REGISTER(0x4000C018)
#define UART_FR_EMPTY (1u << 4) /* no character received */
#define UART_FR_FULL (1u << 5)
#define UART_IBRD REGISTER(0x4000C024)
#define UART_FBRD REGISTER(0x4000C028)
#define UART_LCRH REGISTER(0x4000C02C)
#define UART_CTL REGISTER(0x4000C030)
#define UART_IM REGISTER(0x4000C038)
#define UART_ICR REGISTER(0x4000C044)
#define UART_RX 0x50u /* a character, or a pause after characters */
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

volatile uint32_t *const device_in = &MAC_DATA, *const device_out = &MAC_DATA;

static void interrupt(void) {
    MAC_IM = UART_IM = 0;
    TIMER_ICR = 1;
}

extern const vector device_vectors[];
__attribute__((section(DEVICE_VECTORS), used)) const vector device_vectors[] = {
    [IRQ_UART] = interrupt,
    [IRQ_TIMER] = interrupt,
    [IRQ_ETHERNET] = interrupt,
};

void device_alarm(uint32_t cycles) {
    TIMER_CTL = 0;
    TIMER_TAILR = cycles;
    TIMER_CTL = 1;
}

bool device_quiet(void) {
    MAC_RIS = MAC_RXINT; /* frames read already must not wake it */
    MAC_IM = MAC_RXINT;
    UART_ICR = UART_RX;
    UART_IM = UART_RX;
    return MAC_NP == 0 && (UART_FR & UART_FR_EMPTY) != 0;
}

void device_print(char c) {
    while ((UART_FR & UART_FR_FULL) != 0) {}
    UART_DR = (uint8_t)c;
}

char board_key(void) {
    return (UART_FR & UART_FR_EMPTY) != 0 ? '\0' : (char)UART_DR;
}

/* A frame follows its length, which includes itself and the checksum. */
size_t device_receive(void) {
    uint8_t length[2];

    if (MAC_NP == 0) {
        return 0;
    }
    board_receive_bytes(length, 2);
    return ((size_t)length[1] << 8 | length[0]) - 2;
}

/* The length does not include the Ethernet header. */
void device_send(size_t len) {
    const uint8_t length[] = {(uint8_t)(len - 14), (uint8_t)((len - 14) >> 8)};

    board_send_bytes(length, sizeof length);
}

void device_sent(void) {
    MAC_TR = 1;
    while ((MAC_TR & 1u) != 0) {}
}

void device_init(uint32_t mac_low, uint32_t mac_high) {
    RCC = (RCC & ~RCC_SYSDIV_MASK) | RCC_SYSDIV_4 | RCC_USESYSDIV;
    RCGC0 |= RCGC0_WDT;
    RCGC1 |= RCGC1_UART0 | RCGC1_TIMER0;
    RCGC2 |= RCGC2_EMAC | RCGC2_EPHY;
    UART_CTL = 0;
    UART_IBRD = 27; /* 115,200 baud */
    UART_FBRD = 8;
    UART_LCRH = 0x70; /* 8 bits, FIFO */
    UART_CTL = 0x301;
    TIMER_CTL = 0;
    TIMER_CFG = 0;  /* 32 bits */
    TIMER_TAMR = 1; /* once */
    TIMER_IMR = 1;
    MAC_IA0 = mac_low;
    MAC_IA1 = mac_high;
    while (MAC_NP != 0) {
        (void)MAC_DATA; /* the emulator keeps a frame read in part at a reset */
    }
    MAC_RCTL = MAC_RXEN;
    MAC_TCTL = MAC_TXEN | MAC_TX_PAD | MAC_TX_CRC | MAC_DUPLEX;
    NVIC_ISER(0) = 1u << IRQ_UART | 1u << IRQ_TIMER;
    NVIC_ISER(1) = 1u << (IRQ_ETHERNET - 32);
}
