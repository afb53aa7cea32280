/*
 * What the programs of `make count` share. See count.c.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef COUNT_H
#define COUNT_H

#include "corpus.h"

#define COUNT_MESSAGES 1000
#define COUNT_BOOK_LEVELS 100
#define COUNT_BOOK_ROOM 150

#define COUNT_TEXT_FRAME 0x81u

/* A clock that counts instructions on the emulated board. */
uint64_t count_now(void);

/* Prints a row: what, and the cost of one unit. */
void count_row(const char *what, uint64_t cost, size_t units);

/* Puts the messages into frames, one after the other, *len bytes that the
 * caller frees. Each message's place is that of its frame from then on. */
uint8_t *count_frame(struct corpus *corpus, size_t *len);

/* Prints the rows of the whole client: messages, and opening a stream. */
void count_client(void);

#endif
