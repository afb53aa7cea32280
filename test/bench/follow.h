/*
 * Decodes a corpus, with or without a book that follows it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef FOLLOW_H
#define FOLLOW_H

#include "corpus.h"
#include "mini_stream.h"

/* A book of any kind and its functions. */
struct follow_book {
    void *book;
    void (*apply)(void *book, const struct mst_part *part);
    void (*check)(void *book, const struct mst_top *top);
};

/* The library's book. */
struct follow_book follow_book(struct mst_book *book);

/* Decodes `count` messages from number `first` on. Updates are applied to book
 * and the top of book is checked, as by a client, unless book is NULL. Adds the
 * events' sums to *sum unless sum is NULL. */
void follow(const struct corpus *corpus, size_t first, size_t count,
            const struct follow_book *book, uint64_t *sum);

/* The sum of a book's levels; 0, which no levels give, if the book is not live
 * or is in doubt. */
uint64_t follow_book_sum(const struct mst_book *book);

#endif
