/*
 * Decoding a corpus, with a book that follows it or without.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef FOLLOW_H
#define FOLLOW_H

#include "corpus.h"
#include "mini_stream.h"

/* A book of any kind, and how it is fed. */
struct follow_book {
    void *book;
    void (*apply)(void *book, const struct mst_part *part);
    void (*check)(void *book, const struct mst_top *top);
};

/* The library's. */
struct follow_book follow_book(struct mst_book *book);

/* Decodes so many messages from the first on. book, or NULL, is fed like a
 * client's: updates are applied, the top of book is checked. The events' sum
 * is added to *sum unless sum is NULL. */
void follow(const struct corpus *corpus, size_t first, size_t count,
            const struct follow_book *book, uint64_t *sum);

/* The sum of what a book holds; 0, which no levels give, if it is not live or
 * in any doubt. */
uint64_t follow_book_sum(const struct mst_book *book);

#endif
