/*
 * Support for tests of the order book: a book whose levels end at a protected
 * page; messages and books as text.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SUPPORT_BOOK_H
#define SUPPORT_BOOK_H

#include "support.h"

/* The current book. */
extern struct shelf {
    struct mst_book book;
    struct guard guard; /* holds the levels */
    int64_t time_ns;    /* of the current message */
} shelf;

/* Replaces the current book; it is freed after the test. */
void shelf_open(size_t capacity);
void shelf_begin(size_t capacity, const char *levels); /* with this snapshot */
int shelf_tear_down(void **state);

/* Parts of a message, like the decoder's. */
enum {
    UPDATE = 0,
    SNAPSHOT = 1,
    FIRST = 2,
    LAST = 4,
    ABORTED = 8,
    WHOLE = FIRST | LAST
};

/* A level written as in a message: "b 100 1", "a 101 0E-8". */
struct mst_level level_of(const char *text);

/* Apply a part with these levels: "b 100 1, b 99 2, a 101 3". The second has
 * the time of receipt; the third begins the next message, a second later, with
 * each first part. */
void apply_part(int64_t time_ns, int flags, const char *levels);
void apply_part_at(int64_t time_ns, uint64_t received_ns, int flags,
                   const char *levels);
void shelf_apply(int flags, const char *levels);

/* Expects state and sides of the current book as text: see record_book(). */
void expect_book(const char *expected);

/* Applies a part and expects the same. */
void shelf_expect(int flags, const char *levels, const char *expected);
void expect_part(int64_t time_ns, int flags, const char *levels,
                 const char *expected);

void expect_flags(unsigned expected);

#endif
