/*
 * Timer, UART and Ethernet of Arm's MPS2 with a Cortex-M4 (AN386): its
 * application note, and the LAN9118's data sheet. SPDX-License-Identifier: 0BSD
 */
#include "device.h"

#define UART_DATA REGISTER(0x40004000)
#define UART_STATE REGISTER(0x40004004)
#define UART_FULL 1u
#define UART_HAS 2u
#define UART_CTRL REGISTER(0x40004008)
#define UART_INTCLEAR REGISTER(0x4000400C)
#define UART_BAUDDIV REGISTER(0x40004010)
#define UART_ON 3u
#define UART_RX_INTERRUPT 8u
#define IRQ_UART 0u

#define TIMER_CTRL REGISTER(0x40000000)
#define TIMER_VALUE REGISTER(0x40000004)
#define TIMER_RELOAD REGISTER(0x40000008)
#define TIMER_INTCLEAR REGISTER(0x4000000C)
#define TIMER_ON 9u /* with its interrupt */
#define IRQ_TIMER 8u

#define LAN(at) REGISTER(0x40200000 + (at))
#define LAN_RX_DATA LAN(0x00)
#define LAN_TX_DATA LAN(0x20)
#define LAN_RX_STATUS LAN(0x40)
#define LAN_TX_STATUS LAN(0x48)
#define LAN_IRQ_CFG LAN(0x54)
#define LAN_INT_STS LAN(0x58)
#define LAN_INT_EN LAN(0x5C)
#define LAN_RSFL 8u /* a frame has come */
#define LAN_FIFO_INT LAN(0x68)
#define LAN_TX_CFG LAN(0x70)
#define LAN_RX_FIFO_INF LAN(0x7C)
#define LAN_TX_FIFO_INF LAN(0x80)
#define LAN_FRAMES(inf) ((inf) >> 16 & 0xFF)
#define LAN_CSR_CMD LAN(0xA4)
#define LAN_CSR_BUSY (1u << 31)
#define LAN_CSR_DATA LAN(0xA8)
#define MAC_CR 1u
#define MAC_ADDRH 2u
#define MAC_ADDRL 3u
#define IRQ_ETHERNET 13u

volatile uint32_t *const device_in = &LAN_RX_DATA;
volatile uint32_t *const device_out = &LAN_TX_DATA;

static void interrupt(void) {
    LAN_INT_EN = 0;
    UART_CTRL = UART_ON;
    UART_INTCLEAR = 2;
    TIMER_CTRL = 0; /* else it starts again */
    TIMER_INTCLEAR = 1;
}

extern const vector device_vectors[];
__attribute__((section(DEVICE_VECTORS), used)) const vector device_vectors[] = {
    [IRQ_UART] = interrupt,
    [IRQ_TIMER] = interrupt,
    [IRQ_ETHERNET] = interrupt,
};

void device_alarm(uint32_t cycles) {
    TIMER_CTRL = 0;
    TIMER_VALUE = TIMER_RELOAD = cycles;
    TIMER_CTRL = TIMER_ON;
}

bool device_quiet(void) {
    LAN_INT_STS = LAN_RSFL; /* frames read already must not wake it */
    LAN_INT_EN = LAN_RSFL;
    UART_CTRL = UART_ON | UART_RX_INTERRUPT;
    return LAN_FRAMES(LAN_RX_FIFO_INF) == 0 && (UART_STATE & UART_HAS) == 0;
}

void device_print(char c) {
    while ((UART_STATE & UART_FULL) != 0) {}
    UART_DATA = (uint8_t)c;
}

char board_key(void) {
    return (UART_STATE & UART_HAS) == 0 ? '\0' : (char)UART_DATA;
}

size_t device_receive(void) {
    return LAN_FRAMES(LAN_RX_FIFO_INF) == 0 ? 0 : LAN_RX_STATUS >> 16 & 0x3FFF;
}

void device_send(size_t len) {
    LAN_TX_DATA = 3u << 12 | (uint32_t)len; /* in one segment */
    LAN_TX_DATA = (uint32_t)len;
}

void device_sent(void) {
    while (LAN_FRAMES(LAN_TX_FIFO_INF) != 0) {
        (void)LAN_TX_STATUS;
    }
}

static void mac_write(uint32_t number, uint32_t value) {
    LAN_CSR_DATA = value;
    LAN_CSR_CMD = LAN_CSR_BUSY | number;
    while ((LAN_CSR_CMD & LAN_CSR_BUSY) != 0) {}
}

void device_init(uint32_t mac_low, uint32_t mac_high) {
    UART_BAUDDIV = BOARD_MHZ * 1000000u / 115200;
    UART_CTRL = UART_ON;
    mac_write(MAC_ADDRL, mac_low);
    mac_write(MAC_ADDRH, mac_high);
    LAN_TX_CFG = 2;
    LAN_FIFO_INT = 0;
    LAN_IRQ_CFG = 0x111;                   /* on, high, driven */
    mac_write(MAC_CR, 1u << 20 | 3u << 2); /* full duplex, both directions */
    NVIC_ISER(0) = 1u << IRQ_UART | 1u << IRQ_TIMER | 1u << IRQ_ETHERNET;
}
