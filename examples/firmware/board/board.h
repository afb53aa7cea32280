/*
 * The board, one that qemu-system-arm emulates. The build sets its clock,
 * BOARD_MHZ. SPDX-License-Identifier: 0BSD
 */
#ifndef BOARD_H
#define BOARD_H

#include "mst_flash.h"

/* Starts clock, timer, UART and Ethernet. */
void board_init(void);

/* Returns milliseconds since the start; they wrap. */
uint32_t board_ms(void);
/* Returns microseconds since the start, for measurements. */
uint64_t board_us(void);
/* Sleeps until an interrupt, for at most ms. Returns at once if a frame or a
 * character is waiting. */
void board_sleep(uint32_t ms);
/* Returns the number of sleeps. */
uint32_t board_sleeps(void);

/* Writes a text to the UART. */
void board_print(const char *text);
/* Returns the next character from the UART, or NUL if there is none. */
char board_key(void);

/* The settings are in a separate page of flash (mst_settings.h). Return 0 or
 * the error of reading it; a setting or ""; a setting as a number or 0. */
int board_settings_error(void);
const char *board_setting(const char *name);
uint32_t board_setting_number(const char *name);
/* Sets the driver of the store's flash, two sectors. The emulated boards have
 * no writable flash, so it is the file flash.bin on the host, by semihosting.
 * For tests, the setting flash_cut is the number of the step that loses
 * power. */
void board_flash(struct mst_flash_driver *driver);

/* The watchdog, once begun, restarts the board if board_watchdog() is not
 * called for this time, at most 80 s. */
void board_watchdog_begin(uint32_t ms);
void board_watchdog(void);

/* Ethernet. Receive a frame: begin returns its length, or 0 if there is none;
 * then bytes reads all or some of it, in pieces of any length; then end. */
size_t board_receive_begin(void);
void board_receive_bytes(uint8_t *data, size_t len);
void board_receive_end(void);
/* Send a frame: begin with its length, then all its bytes, then end. */
void board_send_begin(size_t len);
void board_send_bytes(const uint8_t *data, size_t len);
void board_send_end(void);
extern const uint8_t board_mac[6];

/* Return the most bytes of stack ever used, and its size. */
size_t board_stack_used(void);
size_t board_stack_size(void);

#endif
