/*
 * A book and its oracle: both get the same parts, and after each the book must
 * show exactly what the oracle knows, down to its horizon.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef ORACLE_BOOK_H
#define ORACLE_BOOK_H

#include "oracle.h"

struct oracle_book {
    struct guard guard; /* holds the levels */
    struct mst_book book;
    struct oracle oracle;
    uint64_t seed;  /* for spellings and samples */
    int64_t middle; /* a price to look up if the side has none */
    char text[128]; /* the first error, or "" */
    /* The levels of the book when it was last live. */
    struct mst_level *shown[2];
    size_t shown_count[2];
    bool was_cut[2];
    struct mst_decimal was_horizon[2];
};

/* Prices are in hundredths and amounts in 10^-8, until another exponent is set
 * in the oracle. */
void oracle_book_open(struct oracle_book *b, uint64_t seed, size_t capacity,
                      size_t thin);
void oracle_book_close(struct oracle_book *b);

/* Applies a part of a message, or makes the book stale, then compares both. */
void oracle_book_apply(struct oracle_book *b, const struct oracle_part *part);
void oracle_book_stale(struct oracle_book *b, enum mst_book_reason reason);

#endif
