/*
 * Shared by the parts of the program of `make count`. See count.c.
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

/* Returns the messages in frames, *len bytes, which the caller frees. From then
 * on each message's place and length are those of its frame. */
uint8_t *count_frame(struct corpus *corpus, size_t *len);

/* Prints the rows of the whole client: messages, and opening a stream. */
void count_client(void);

#endif
