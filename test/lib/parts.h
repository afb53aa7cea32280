/*
 * A message of many levels for a book, in parts as the decoder gives them.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef PARTS_H
#define PARTS_H

#include "mini_stream.h"

/* Applies a message with these levels; one without levels is one part. */
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
