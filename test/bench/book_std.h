/*
 * Books as careful programs write them for themselves: a std::map, and a
 * sorted std::vector, of amounts and times by price, prices and amounts being
 * integers in a fixed unit. They merge updates with their snapshot by time, let
 * the newer of two updates stand, and know whether the book is crossed, has
 * lost a number or disagrees with the top of book. They know no horizon and no
 * doubts about time.
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

/* Takes a part's levels in, as mst_book_apply() does. */
void book_std_apply(enum book_std_kind kind, const struct mst_part *part);

/* Compares the best levels, as mst_book_check() does. */
void book_std_check(enum book_std_kind kind, const struct mst_top *top);

/* The sum of its levels, bench_sum_level(); 0 where the book is not live, or
 * there is a doubt about it. */
uint64_t book_std_sum(enum book_std_kind kind);

#ifdef __cplusplus
}
#endif

#endif
