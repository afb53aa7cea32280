/*
 * What the programs that measure a book by itself do with its levels.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef LEVELS_H
#define LEVELS_H

#include "bench.h"
#include "mini_stream.h"

static inline void levels_shuffle(struct mst_level *levels, size_t count,
                                  uint64_t *random) {
    for (size_t i = count; i > 1; i--) {
        size_t other = bench_random(random) % i;
        struct mst_level level = levels[i - 1];

        levels[i - 1] = levels[other];
        levels[other] = level;
    }
}

/* Applies a message with these levels, in parts as the decoder gives them. */
static inline void levels_apply(struct mst_book *book,
                                const struct mst_level *levels, size_t count,
                                int64_t time_ns, bool snapshot) {
    for (size_t at = 0; at < count; at += MST_PART_LEVELS) {
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
