/*
 * Books as a careful program would write them: a std::map or a sorted
 * std::vector of amounts and times by price; prices and amounts are integers in
 * a fixed unit. They merge updates with their snapshot by time, keep the newer
 * of two updates, and notice a crossed book, a number that does not fit, and a
 * wrong top of book. They have no horizon and do not doubt times.
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

/* Empties the one book of this kind. */
void book_std_init(enum book_std_kind kind);

/* Applies a part, as mst_book_apply() does. */
void book_std_apply(enum book_std_kind kind, const struct mst_part *part);

/* Compares the best levels, as mst_book_check() does. */
void book_std_check(enum book_std_kind kind, const struct mst_top *top);

/* The sum (bench_sum_level()) of its levels; 0 if the book is not live or is in
 * doubt. */
uint64_t book_std_sum(enum book_std_kind kind);

#ifdef __cplusplus
}
#endif

#endif
