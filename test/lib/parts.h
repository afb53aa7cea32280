/*
 * Levels by rank, and messages of many levels for a book, in parts like the
 * decoder's.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef PARTS_H
#define PARTS_H

#include "mini_stream.h"

/* The level of this rank (0 is the best); its price is odd. */
static inline struct mst_level level_at(enum mst_side side, uint32_t rank) {
    int64_t away = 2 * (int64_t)rank + 1; /* no trailing zeros */

    return (struct mst_level){
        .price_coefficient = 1000001 + (side == MST_BID ? -away - 1 : away + 1),
        .amount_coefficient = 1 + rank % 7,
        .side = (uint8_t)side,
    };
}

/* Applies a message with these levels. A message without levels has one
 * part. */
static inline void parts_apply(struct mst_book *book,
                               const struct mst_level *levels, size_t count,
                               int64_t time_ns, bool snapshot) {
    for (size_t at = 0; at == 0 || at < count; at += MST_PART_LEVELS) {
        size_t left = count - at;
        const struct mst_part part = {
            .market = "",
            .time_ns = time_ns,
            .levels = levels + at,
            .count = left < MST_PART_LEVELS ? left : MST_PART_LEVELS,
            .snapshot = snapshot,
            .first = at == 0,
            .last = left <= MST_PART_LEVELS,
        };

        mst_book_apply(book, &part, 0);
    }
}

#endif
