/*
 * A true book of a few prices a unit apart: what the service says of it, and
 * whether a book shows it. A side is a list of amounts by rank, 0 where there is
 * no such level; bids are at 100 and below, asks at 101 and above.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef TRUTH_H
#define TRUTH_H

#include <stdbool.h>
#include <stddef.h>

#include "mini_stream.h"

/* One level as JSON. */
#define TRUTH_LEVEL 64
void truth_write_level(char out[TRUTH_LEVEL], enum mst_side side, int rank,
                       unsigned amount);

/* All levels of a side, but as many as there is room for. */
void truth_write(char *out, size_t len, enum mst_side side,
                 const unsigned *amounts, int count);

/* Does a book show just this? */
bool truth_is_side(const struct mst_book *book, enum mst_side side,
                   const unsigned *amounts, int count);

#endif
