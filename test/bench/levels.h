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

#endif
