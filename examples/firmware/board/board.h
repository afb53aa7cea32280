/*
 * The board: TI LM3S6965 (Cortex-M3, 256 KB flash, 64 KB SRAM, Ethernet), as
 * qemu-system-arm emulates it: -M lm3s6965evb. SPDX-License-Identifier: 0BSD
 */
#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOARD_MHZ 50u

/* Starts clock, timer, UART and Ethernet. */
void board_init(void);

/* Milliseconds since the start; they wrap. */
uint32_t board_ms(void);
/* Cycles of the clock since the start, for measuring. */
uint64_t board_cycles(void);
/* Sleeps until an interrupt, so long at most. Returns at once where a frame has
 * come since the last one was read. */
void board_sleep(uint32_t ms);
/* How often it has slept. */
uint32_t board_sleeps(void);

/* Writes a text to the UART. */
void board_print(const char *text);

/* Bytes of seed that were loaded, or NULL where there is none. */
#define BOARD_SEED_LEN 32
const uint8_t *board_seed(void);
/* The value of a setting, or "": settings are texts "name=value", each with a
 * NUL, in a page of flash of their own. */
const char *board_setting(const char *name);

/* Ethernet: reads a frame into data, of this size: its length, 0 for none, or
 * what was longer than size and is lost, as a negative number. */
int board_receive(uint8_t *data, size_t size);
/* Sends a frame: begin with its length, then its bytes in pieces of any length,
 * then end. */
void board_send_begin(size_t len);
void board_send_bytes(const uint8_t *data, size_t len);
void board_send_end(void);
extern const uint8_t board_mac[6];

/* The most bytes of stack that were ever in use, and how many there are. */
size_t board_stack_used(void);
size_t board_stack_size(void);

#endif
