/*
 * What the programs of `make count` share. See count.c.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef COUNT_H
#define COUNT_H

#include <stddef.h>
#include <stdint.h>

/* A clock that counts instructions on the emulated board. */
uint64_t count_now(void);

/* Prints a row: what, and the cost of one unit. */
void count_row(const char *what, uint64_t cost, size_t units);

/* Prints the rows of the whole client: messages, and opening a stream. */
void count_client(void);

#endif
