/*
 * A book's side: one call, from any state that an earlier call may leave; the
 * promises in eva_level.txt have the state after the call.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva_level.h"
#include "mini_stream.c"

/* Small, so that each state is analysed separately. */
#define CAPACITY (EXACT + 1)

/* Two sides, so that a write after the first one's levels is an alarm. */
static struct mst_level bids[CAPACITY], asks[CAPACITY];
static struct mst_book book;

/* A call that reads or changes a side, in a suitable state. */
static void call(unsigned what, enum mst_side side) {
    struct mst_level level = any_level();
    struct book_sought late = {&level, (uint32_t)any_size(),
                               (uint32_t)any_size()};
    struct mst_book_side *s = &book.sides[side];

    level.side = (uint8_t)side;
    book.phase = (uint8_t)(any_bool() ? BOOK_IN_EARLY : BOOK_IN_UPDATE);
    switch (what) {
    case 0: book_change(&book, &late); break;
    case 1: book_begin_snapshot(&book, any_time()); break;
    case 2: book_clear(&book); break;
    case 3:
        if (s->count > 0) {
            book_measure(s);
        }
        break;
    case 4: (void)mst_book_find(&book, side, any_decimal()); break;
    case 5: book_add(&book, &level); break;
    default: (void)book_end_snapshot(&book, s); break;
    }
}

/* In a snapshot there are newer levels and no free places before the first;
 * otherwise the number of newer levels is an old value. */
int main(void) {
    unsigned what = any_below(7), side = any_below(2);
    unsigned front = any_below(CAPACITY + 1), count = any_below(CAPACITY + 1);
    unsigned newer = any_below(CAPACITY + 1);

    //@ split what;
    //@ split side;
    //@ split front;
    //@ split count;
    //@ split newer;
    if (front < CAPACITY && front + count + newer <= CAPACITY &&
        (what < 5 ? newer : front) == 0) {
        (void)mst_book_init(&book, bids, CAPACITY);
        book.sides[MST_ASK].levels = asks;
        any_side(&book.sides[side], side == MST_BID ? bids : asks, CAPACITY,
                 front, newer);
        book.sides[side].count = count;
        if (what < 5) {
            book.sides[side].newer = any_below(CAPACITY + 1);
        }
        call(what, (enum mst_side)side);
        REACHED();
    }
    return 0;
}
