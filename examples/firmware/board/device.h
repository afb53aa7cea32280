/*
 * The drivers in each board's file, for board.c: timer, UART and Ethernet.
 * Their interrupts only wake the processor. SPDX-License-Identifier: 0BSD
 */
#ifndef DEVICE_H
#define DEVICE_H

#include "board.h"

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define NVIC_ISER(n) REGISTER(0xE000E100 + 4 * (n))

/* Each board has an array of them, after the processor's vectors. */
typedef void (*vector)(void);
#define DEVICE_VECTORS ".vectors.device"

/* Starts the devices. The first byte of the MAC address is the lowest. */
void device_init(uint32_t mac_low, uint32_t mac_high);
/* Causes one interrupt after this number of cycles. */
void device_alarm(uint32_t cycles);
/* Enables one interrupt by a frame or character. Returns true if none waits. */
bool device_quiet(void);
void device_print(char c);

/* The registers for the words of frames. */
extern volatile uint32_t *const device_in, *const device_out;
/* Returns the next frame's length, including its checksum, or 0. */
size_t device_receive(void);
/* Begin a frame of len bytes; end it. */
void device_send(size_t len);
void device_sent(void);

#endif
