/*
 * The terminal, with ncurses. Output is counted, limited to a rate, and never
 * waited for.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SCREEN_H
#define SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes per second for a terminal without colours, such as a vt100. */
#define SCREEN_RATE_PLAIN 960

/* Takes over the terminal on standard output, with this many bytes per second;
 * 0: as line and kind of terminal accept. Keeps standard error until
 * screen_close() if it is a terminal. Returns false with a line in error if
 * that fails. */
bool screen_open(unsigned rate, char *error, size_t error_len);

/* Sends the picture, as far as rate and terminal allow. Returns false once the
 * terminal has gone. */
bool screen_send(uint64_t now_ms);

/* True if everything is sent: the next picture may be drawn. */
bool screen_is_idle(void);

/* Updates the size. Returns true if it has changed. */
bool screen_resize(void);

/* Makes the next picture redraw everything. */
void screen_renew(void);

/* Returns the terminal while the program is stopped (Ctrl-Z), and takes it over
 * again when it continues. Returns true after that. */
bool screen_stop(void);

/* Returns the terminal and writes the kept standard error. May be called at any
 * time. */
void screen_close(void);

#endif
