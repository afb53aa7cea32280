/*
 * A side of a book: one call, from any state that a call before it may leave,
 * which eva_side.txt says behind the call, too. The spare book takes a copy.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "mini_stream.c"

/* Small, so that each state is taken by itself. */
#define CAPACITY (EXACT + 1)

static struct mst_level levels[2 * CAPACITY], spare_levels[2 * CAPACITY];
static struct mst_book book, spare;

static struct mst_decimal any_decimal(void) {
    struct mst_decimal d;

    d.coefficient = Frama_C_long_long_interval(INT64_MIN, INT64_MAX);
    d.exponent = (int8_t)Frama_C_interval(-64, 63);
    d.inexact = any_bool();
    return d;
}

static struct mst_level any_level(void) {
    struct mst_decimal price = any_decimal(), amount = any_decimal();

    return (struct mst_level){
        price.coefficient,     amount.coefficient,  any_time(),
        price.exponent,        amount.exponent,     (uint8_t)any_below(2),
        (uint8_t)any_below(2), (uint32_t)any_size()};
}

/* A side's levels lie in its array, newer ones at its end. */
static void any_side(struct mst_book_side *s, struct mst_level *array,
                     unsigned room, unsigned count, unsigned newer) {
    s->levels = array + room;
    s->count = count;
    s->newer = newer;
    s->room = room;
    s->unit = (int8_t)Frama_C_interval(INT8_MIN, INT8_MAX);
    s->cut = any_bool();
    s->horizon = any_decimal();
    s->cut_ns = any_time();
    for (int i = 0; i < CAPACITY; i++) {
        array[i] = any_level();
    }
}

/* One of the calls that read or change a side, in a state that it is for. */
static void call(unsigned what) {
    struct mst_book_side *bids = &book.sides[MST_BID];
    struct mst_level level = any_level();

    level.side = MST_BID;
    book.phase = (uint8_t)(any_bool() ? BOOK_IN_EARLY : BOOK_IN_UPDATE);
    switch (what) {
    case 0: (void)book_update(&book, &level, 1); break;
    case 1: book_begin_snapshot(&book, any_time()); break;
    case 2: book_clear(&book); break;
    case 3: book_copy(&spare, &book); break;
    case 4: book_measure(bids); break;
    case 5: (void)mst_book_find(&book, MST_BID, any_decimal()); break;
    case 6: book_add(&book, &level); break;
    default: (void)book_end_snapshot(&book, bids); break;
    }
}

/* Inside of a snapshot there are newer levels, and no room before the first. */
int main(void) {
    unsigned what = any_below(8);
    unsigned room = any_below(CAPACITY + 1), count = any_below(CAPACITY + 1);
    unsigned newer = any_below(CAPACITY + 1);

    //@ split what;
    //@ split room;
    //@ split count;
    //@ split newer;
    if (room + count + newer <= CAPACITY && (what < 6 ? newer : room) == 0) {
        (void)mst_book_init(&book, levels, CAPACITY);
        (void)mst_book_init(&spare, spare_levels, CAPACITY);
        any_side(&book.sides[MST_BID], levels, room, count, newer);
        call(what);
        REACHED();
    }
    return 0;
}
