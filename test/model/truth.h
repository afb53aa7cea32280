/*
 * A true book of a few prices a unit apart, the same of BTCUSD and ETHUSD: what
 * the service of the session at hand says of it, and whether a book shows it, or
 * shows what it was. Bids are at 100 and below, asks at 101 and above.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef TRUTH_H
#define TRUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "mini_stream.h"

/* It has so many prices, 6 at most, of each side. Snapshots are of it. */
void truth_begin(unsigned prices);

/* One level changes, and the service tells of it. */
void truth_change(void);

/* Does a book show what is true, or was so within the last ms? */
bool truth_is(const struct mst_book *book, uint64_t late_ms);

#endif
