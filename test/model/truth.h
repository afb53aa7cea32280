/*
 * A true book of a few prices a unit apart, the same of BTCUSD and ETHUSD: what
 * the current session's service says of it, and whether a book shows it, or
 * shows what it was. Bids are at 100 and below, asks at 101 and above.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef TRUTH_H
#define TRUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "mini_stream.h"

/* A book with this number of prices on each side, 6 at most, which snapshots
 * show. */
void truth_begin(unsigned prices);

/* One level changes, and the service tells of it. */
void truth_change(void);

/* Does a book show what is true, or was so within the last ms? */
bool truth_is(const struct mst_book *book, uint64_t late_ms);

#endif
