/*
 * A book: one call, from any state that earlier calls may leave, which is also
 * asserted after the call. Changes of a side's levels are promised: see
 * eva_level.txt.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva_level.h"
#include "mini_stream.c"

#define CAPACITY (EXACT + 1)

static struct mst_level bids[CAPACITY], asks[CAPACITY];
static struct mst_book book;

static void any_book(struct mst_book *b) {
    b->snapshot_ns = any_time();
    b->time_ns = any_time();
    b->disagrees_ns = any_time();
    b->last_ns = any_time();
    b->snapshot_received_ns = any_size();
    b->received_ns = any_size();
    b->state = (uint8_t)any_below(MST_BOOK_STALE + 1);
    b->reason = (uint8_t)any_below(MST_BOOK_DETACHED + 1);
    b->flags = (uint8_t)any_below(256);
    b->disagreements = (uint8_t)any_below(256);
}

/* In a snapshot, each side has newer levels, otherwise free places in front. */
static void any_state(uint8_t phase) {
    bool merges = phase == BOOK_IN_SNAPSHOT;
    unsigned bid, ask;

    bid = any_below(CAPACITY + merges);
    ask = any_below(CAPACITY + merges);
    //@ split bid;
    //@ split ask;
    (void)mst_book_init(&book, bids, CAPACITY);
    book.sides[MST_ASK].levels = asks;
    mst_book_set_thin(&book, any_size());
    any_book(&book);
    book.phase = phase;
    any_side(&book.sides[MST_BID], bids, CAPACITY, merges ? 0 : bid,
             merges ? bid : 0);
    any_side(&book.sides[MST_ASK], asks, CAPACITY, merges ? 0 : ask,
             merges ? ask : 0);
    if (!merges) {
        book.sides[MST_BID].newer = any_below(CAPACITY + 1);
        book.sides[MST_ASK].newer = any_below(CAPACITY + 1);
    }
}

static void apply(void) {
    static struct mst_level levels[2];
    size_t count = 2 * any_below(2);
    struct mst_part part = {"BTCUSD",   any_time(), NULL,       0,
                            any_bool(), any_bool(), any_bool(), any_bool()};

    for (size_t i = 0; i < 2; i++) {
        levels[i] = any_level();
    }
    //@ split count;
    //@ split part.first;
    part.count = count;
    part.levels = levels + (2 - count);
    mst_book_apply(&book, &part, any_size());
}

static void check(void) {
    struct mst_top top = {"BTCUSD",   any_time(),  any_bool(),
                          any_bool(), any_level(), any_level()};

    mst_book_check(&book, &top, any_size());
}

static void look(void) {
    enum mst_side side = any_bool() ? MST_BID : MST_ASK;
    struct mst_decimal price;

    //@ split side;
    //@ split book.state;
    //@ split book.sides[0].count;
    (void)mst_book_state(&book);
    (void)mst_book_reason(&book);
    (void)mst_book_flags(&book);
    (void)mst_book_time(&book);
    (void)mst_book_level(&book, side, any_size());
    (void)mst_book_find(&book, side, any_decimal());
    (void)mst_book_horizon(&book, side, &price);
    (void)mst_book_amount(&book, side, any_decimal(), &price);
    (void)mst_book_mid(&book, &price);
    (void)mst_book_state_name(mst_book_state(&book));
    (void)mst_book_reason_name(mst_book_reason(&book));
}

/* Calls that do not read the phase get one phase. */
int main(void) {
    unsigned what = any_below(4);
    uint8_t phase = (uint8_t)any_below(BOOK_IN_OLD + 1);

    //@ split what;
    if (what < 2) {
        phase = BOOK_FOLLOW;
    }
    //@ split phase;
    any_state(phase);
    //@ dynamic_split book.phase;
    switch (what) {
    case 0: look(); break;
    case 1: check(); break;
    case 2: mst_book_stale(&book, (enum mst_book_reason)any_below(256)); break;
    default: apply(); break;
    }
    //@ assert book.phase <= 6;
    //@ assert book.phase == 4 || SIDE(&book.sides[0], &bids[0], CAPACITY);
    //@ assert book.phase == 4 || SIDE(&book.sides[1], &asks[0], CAPACITY);
    /*@ assert book.phase != 4 ||
            SIDE_MERGES(&book.sides[0], &bids[0], CAPACITY); */
    /*@ assert book.phase != 4 ||
            SIDE_MERGES(&book.sides[1], &asks[0], CAPACITY); */
    REACHED();
    return 0;
}
