/*
 * An update of a book: up to one level more than a batch, in any state of both
 * sides. The change of each level is promised: see eva_level.txt.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva_level.h"
#include "mini_stream.c"

#define CAPACITY (EXACT + 1)

int main(void) {
    static struct mst_level bids[CAPACITY], asks[CAPACITY];
    static struct mst_level levels[BOOK_BATCH + 1];
    static struct mst_book book;
    unsigned bid = any_below(CAPACITY), ask = any_below(CAPACITY);
    unsigned count = 1 + any_below(BOOK_BATCH + 1);

    //@ split bid;
    //@ split ask;
    //@ split count;
    (void)mst_book_init(&book, bids, CAPACITY);
    book.sides[MST_ASK].levels = asks;
    book.phase = (uint8_t)(any_bool() ? BOOK_IN_EARLY : BOOK_IN_UPDATE);
    any_side(&book.sides[MST_BID], bids, CAPACITY, bid, 0);
    any_side(&book.sides[MST_ASK], asks, CAPACITY, ask, 0);
    book.sides[MST_BID].newer = any_below(CAPACITY + 1);
    book.sides[MST_ASK].newer = any_below(CAPACITY + 1);
    for (unsigned i = 0; i <= BOOK_BATCH; i++) {
        levels[i] = any_level();
    }
    //@ dynamic_split book.sides[0].front;
    //@ dynamic_split book.sides[1].front;
    (void)book_update(&book, levels + (BOOK_BATCH + 1 - count), count);
    REACHED();
    return 0;
}
