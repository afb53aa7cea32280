/*
 * Books as programs write them for themselves: a std::map, and a sorted
 * std::vector, of amounts by price, both as integers in a fixed unit. They
 * take a live stream as it comes: no horizon, no times, no doubts.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef BOOK_STD_H
#define BOOK_STD_H

#include "mini_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

enum book_std_kind { BOOK_STD_MAP, BOOK_STD_VECTOR };

/* Of the one book of this kind: begins anew, without levels. */
void book_std_init(enum book_std_kind kind);

/* Takes a part's levels in; a snapshot's first part clears the book. */
void book_std_apply(enum book_std_kind kind, const struct mst_part *part);

/* Compares the best levels; one that differs spoils the sum. */
void book_std_check(enum book_std_kind kind, const struct mst_top *top);

/* The sum of its levels, bench_sum_level(). */
uint64_t book_std_sum(enum book_std_kind kind);

#ifdef __cplusplus
}
#endif

#endif
