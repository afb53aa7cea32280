/*
 * What each board's own file gives board.c: timer, UART and Ethernet. Their
 * interrupts only wake the processor up. SPDX-License-Identifier: 0BSD
 */
#ifndef DEVICE_H
#define DEVICE_H

#include "board.h"

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define NVIC_ISER(n) REGISTER(0xE000E100 + 4 * (n))

/* An array of it with the board's interrupts, by number, follows the vectors of
 * the processor. */
typedef void (*vector)(void);
#define DEVICE_VECTORS ".vectors.device"

/* Starts them, with the six bytes of the MAC address, the first one lowest. */
void device_init(uint32_t mac_low, uint32_t mac_high);
/* Interrupts once, after this number of cycles. */
void device_alarm(uint32_t cycles);
/* Lets a frame and a character interrupt, once; true if none waits now. */
bool device_quiet(void);
void device_print(char c);

/* The words of frames are read and written here. */
extern volatile uint32_t *const device_in, *const device_out;
/* The length of the next frame, with its checksum; 0 if there is none. */
size_t device_receive(void);
/* Begins a frame of len bytes; ends it. */
void device_send(size_t len);
void device_sent(void);

#endif
