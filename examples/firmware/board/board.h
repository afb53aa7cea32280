/*
 * The board: one that qemu-system-arm emulates, by its name there. The build
 * gives its clock, BOARD_MHZ. SPDX-License-Identifier: 0BSD
 */
#ifndef BOARD_H
#define BOARD_H

#include "mst_flash.h"

/* Starts clock, timer, UART and Ethernet. */
void board_init(void);

/* Milliseconds since the start; they wrap. */
uint32_t board_ms(void);
/* Microseconds since the start, for measuring. */
uint64_t board_us(void);
/* Sleeps until an interrupt, so long at most. Returns at once if a frame or
 * a character has come and was not read. */
void board_sleep(uint32_t ms);
/* How often it has slept. */
uint32_t board_sleeps(void);

/* Writes a text to the UART. */
void board_print(const char *text);
/* The next character that has come by the UART, or NUL for none. */
char board_key(void);

/* Settings are in a page of flash of their own (mst_settings.h): 0, or why there
 * are none; the value of one, or ""; the same as a number, or 0. */
int board_settings_error(void);
const char *board_setting(const char *name);
uint32_t board_setting_number(const char *name);
/* The flash of the store: two sectors. The emulated boards have none that a
 * program can write: it is the host's file flash.bin, by semihosting. The
 * setting flash_cut cuts power at the step of this number, for a test. */
void board_flash(struct mst_flash_driver *driver);

/* The watchdog restarts the board if this time, at most 80 s, passes without the
 * second call. */
void board_watchdog_begin(uint32_t ms);
void board_watchdog(void);

/* Ethernet. Receives a frame: begin gives its length, or 0 where there is none;
 * then its bytes, in pieces of any length, or only some; then end. */
size_t board_receive_begin(void);
void board_receive_bytes(uint8_t *data, size_t len);
void board_receive_end(void);
/* Sends a frame: begin with its length, then all its bytes, then end. */
void board_send_begin(size_t len);
void board_send_bytes(const uint8_t *data, size_t len);
void board_send_end(void);
extern const uint8_t board_mac[6];

/* The most bytes of stack that were ever in use, and how many there are. */
size_t board_stack_used(void);
size_t board_stack_size(void);

#endif
