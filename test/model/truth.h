/*
 * A true book of a few prices, the same for BTCUSD and ETHUSD, which the
 * current session's service sends; and whether a client's book shows it now or
 * showed it before. Bids are at 100 and below, asks at 101 and above, one unit
 * apart.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef TRUTH_H
#define TRUTH_H

#include "mini_stream.h"

/* Starts with this number of prices on each side, at most 6. Snapshots show
 * it. */
void truth_begin(unsigned prices);

/* Changes one level, and sends the update. */
void truth_change(void);

/* True if a book shows the true book, now or within the last late_ms. */
bool truth_is(const struct mst_book *book, uint64_t late_ms);

#endif
