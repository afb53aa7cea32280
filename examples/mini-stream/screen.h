/*
 * The terminal, taken over by ncurses: what is written to it is counted, kept
 * to a rate, and never waited for.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SCREEN_H
#define SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes a second at most to a terminal without colours, such as a vt100. */
#define SCREEN_RATE_PLAIN 960

/* Takes the terminal of standard output over, with so many bytes a second at
 * most; 0: what its kind and its line take. Until screen_close(), standard
 * error is kept aside where it is a terminal. Returns false with a line in
 * error where that cannot be. */
bool screen_open(unsigned rate, char *error, size_t error_len);

/* Sends what was drawn, as far as rate and terminal take it now. Returns false
 * once the terminal has gone. */
bool screen_send(uint64_t now_ms);

/* Whether all has been sent, so that the next picture may be drawn. */
bool screen_is_idle(void);

/* Takes over the size that the terminal has now. Returns whether it is another
 * one. */
bool screen_resize(void);

/* Has everything sent anew with the next picture. */
void screen_renew(void);

/* Gives the terminal back while the program is stopped (Ctrl-Z), if it was
 * asked to be, and takes it again whenever it goes on. Returns whether it
 * does. */
bool screen_stop(void);

/* Gives the terminal back, and writes what standard error kept; legal at any
 * time. */
void screen_close(void);

#endif
