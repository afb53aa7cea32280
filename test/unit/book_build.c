/*
 * Tests of the order book: amounts, the check against the top of book, and
 * snapshots that are given up, out of order or malformed.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "support.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- A book of four levels a side ---- */

#define CAPACITY 4
#define CAPACITY_MOST 64

struct shelf {
    struct mst_book book;
    struct mst_level levels[2 * CAPACITY_MOST];
};

static void shelf_open(struct shelf *shelf, size_t capacity) {
    memset(shelf, 0, sizeof *shelf);
    assert_int_equal(mst_book_init(&shelf->book, shelf->levels, capacity), 0);
}

static struct mst_level level_of(enum mst_side side, int64_t price,
                                 int64_t amount) {
    return (struct mst_level){
        .price_coefficient = price,
        .amount_coefficient = amount,
        .side = (uint8_t)side,
    };
}

enum { UPDATE = 0, SNAPSHOT = 1, FIRST = 2, LAST = 4, WHOLE = FIRST | LAST };

/* Applies bids of these prices and amounts, until a price is 0. */
static void apply_bids(struct shelf *shelf, int64_t time_ns, int flags,
                       const int64_t (*bids)[2]) {
    struct mst_level levels[MST_PART_LEVELS];
    struct mst_part part = {
        .market = "BTCUSD",
        .time_ns = time_ns,
        .levels = levels,
        .snapshot = (flags & SNAPSHOT) != 0,
        .first = (flags & FIRST) != 0,
        .last = (flags & LAST) != 0,
    };

    for (; bids[part.count][0] != 0; part.count++) {
        levels[part.count] =
            level_of(MST_BID, bids[part.count][0], bids[part.count][1]);
        levels[part.count].time_ns = time_ns;
    }
    mst_book_apply(&shelf->book, &part, 0);
}

#define BIDS(...)          \
    (const int64_t[][2]) { \
        __VA_ARGS__, {     \
            0, 0           \
        }                  \
    }

static void expect_bids(const struct shelf *shelf, const char *expected) {
    const struct mst_book *book = &shelf->book;
    struct text text = {0};

    text_add(&text, "%s:", mst_book_state_name(mst_book_state(book)));
    for (size_t i = 0; i < mst_book_depth(book, MST_BID); i++) {
        const struct mst_level *level = mst_book_level(book, MST_BID, i);

        text_add(&text, " %" PRId64 "x%" PRId64, level->price_coefficient,
                 level->amount_coefficient);
    }
    expect_text("bids", expected, text_get(&text));
    text_free(&text);
}

/* ---- Snapshots ---- */

/* The book is as new as the newest update that is part of it: an older
 * snapshot would take that back. */
static void a_snapshot_older_than_what_it_was_merged_with(void **state) {
    struct shelf shelf;

    (void)state;
    shelf_open(&shelf, CAPACITY);
    apply_bids(&shelf, 7, UPDATE | WHOLE, BIDS({100, 5}));
    apply_bids(&shelf, 5, SNAPSHOT | WHOLE, BIDS({100, 1}, {99, 1}));
    expect_bids(&shelf, "live: 100x5 99x1");
    assert_int_equal(mst_book_time(&shelf.book), 7);
    apply_bids(&shelf, 6, SNAPSHOT | WHOLE, BIDS({100, 3}));
    expect_bids(&shelf, "stale: 100x5 99x1");
    assert_int_equal(mst_book_reason(&shelf.book), MST_BOOK_DISORDER);
}

static void the_rest_of_a_message_given_up_does_not_count(void **state) {
    struct shelf shelf;

    (void)state;
    shelf_open(&shelf, CAPACITY);
    apply_bids(&shelf, 5, SNAPSHOT | FIRST, BIDS({100, 1}));
    mst_book_stale(&shelf.book, MST_BOOK_RESYNC);
    apply_bids(&shelf, 5, SNAPSHOT | LAST, BIDS({99, 1}));
    expect_bids(&shelf, "stale:");
    apply_bids(&shelf, 6, UPDATE | FIRST, BIDS({96, 1}));
    mst_book_stale(&shelf.book, MST_BOOK_RESYNC);
    apply_bids(&shelf, 6, UPDATE | LAST, BIDS({95, 1}));
    expect_bids(&shelf, "stale:");
    apply_bids(&shelf, 6, UPDATE | WHOLE, BIDS({98, 1}));
    apply_bids(&shelf, 5, SNAPSHOT | WHOLE, BIDS({97, 1}));
    expect_bids(&shelf, "live: 98x1 97x1");
}

static void a_snapshot_with_a_price_twice_is_refused(void **state) {
    static const int64_t snapshots[][5][2] = {
        {{100, 1}, {99, 1}, {99, 2}},           /* at the edge */
        {{99, 1}, {99, 2}, {100, 1}},           /* one has to go */
        {{100, 1}, {100, 1}},                   /* both fit */
        {{98, 1}, {100, 1}, {99, 1}, {100, 2}}, /* in no order */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(snapshots); i++) {
        struct shelf shelf;

        shelf_open(&shelf, 2);
        apply_bids(&shelf, 5, SNAPSHOT | WHOLE, snapshots[i]);
        expect_bids(&shelf, "stale:");
        expect_int("reason", MST_BOOK_DISORDER, mst_book_reason(&shelf.book));
    }
}

/* Beyond the horizon nothing is claimed, so nothing is wrong there. */
static void a_price_twice_beyond_the_horizon_does_not_matter(void **state) {
    struct shelf shelf;

    (void)state;
    shelf_open(&shelf, 2);
    apply_bids(&shelf, 5, SNAPSHOT | WHOLE,
               BIDS({90, 1}, {100, 1}, {90, 2}, {99, 1}));
    expect_bids(&shelf, "live: 100x1 99x1");
}

/* A removal that found no room is no level that comes back. */
static void a_removal_without_room_moves_the_horizon(void **state) {
    struct mst_decimal horizon;
    struct shelf shelf;

    (void)state;
    shelf_open(&shelf, 2);
    apply_bids(&shelf, 7, UPDATE | WHOLE, BIDS({98, 0}, {99, 0}, {100, 0}));
    apply_bids(&shelf, 5, SNAPSHOT | WHOLE, BIDS({101, 1}, {98, 1}, {100, 1}));
    expect_bids(&shelf, "live: 101x1");
    assert_true(mst_book_horizon(&shelf.book, MST_BID, &horizon));
    assert_int_equal(horizon.coefficient, 99);
}

/* What did not find room and is no newer than the snapshot counts for
 * nothing, whichever way it went: no room from the start, dropped for better
 * ones, or beyond the horizon by then. */
static void old_updates_without_room_do_not_cut_the_book(void **state) {
    static const int64_t orders[][6] = {
        {116, 115, 114, 113, 112, 111},
        {111, 112, 113, 114, 115, 116},
        {113, 111, 115, 112, 116, 114},
    };
    struct mst_decimal horizon;

    (void)state;
    for (size_t i = 0; i < COUNT(orders); i++) {
        struct shelf shelf;

        shelf_open(&shelf, CAPACITY);
        mst_book_set_thin(&shelf.book, CAPACITY);
        for (size_t k = 0; k < COUNT(orders[i]); k++) {
            apply_bids(&shelf, 10 + (int64_t)k, UPDATE | WHOLE,
                       BIDS({orders[i][k], 0}));
        }
        apply_bids(&shelf, 100, SNAPSHOT | WHOLE,
                   BIDS({100, 1}, {99, 1}, {98, 1}));
        expect_bids(&shelf, "live: 100x1 99x1 98x1");
        expect_int("flags", 0, mst_book_flags(&shelf.book));
        assert_false(mst_book_horizon(&shelf.book, MST_BID, &horizon));
    }
}

/* The removal of 90 is newer than the snapshot; it finds no room from the
 * start, is dropped for a better one, or is beyond the horizon by then. */
static void a_newer_update_without_room_cuts_the_book(void **state) {
    static const struct {
        int64_t price, time_ns;
    } orders[][4] = {
        {{111, 10}, {112, 10}, {90, 101}, {113, 10}},
        {{90, 101}, {111, 10}, {112, 10}, {113, 10}},
        {{111, 10}, {112, 10}, {113, 10}, {90, 101}},
    };
    struct mst_decimal horizon;

    (void)state;
    for (size_t i = 0; i < COUNT(orders); i++) {
        struct shelf shelf;

        shelf_open(&shelf, 2);
        for (size_t k = 0; k < COUNT(orders[i]); k++) {
            apply_bids(&shelf, orders[i][k].time_ns, UPDATE | WHOLE,
                       BIDS({orders[i][k].price, 0}));
        }
        apply_bids(&shelf, 100, SNAPSHOT | WHOLE, BIDS({120, 1}, {90, 1}));
        expect_bids(&shelf, "live: 120x1");
        assert_true(mst_book_horizon(&shelf.book, MST_BID, &horizon));
        assert_int_equal(horizon.coefficient, 111);
    }
}

/* A side of 64 levels lets two go at once: the worst is the newer one. */
static void each_level_that_goes_counts(void **state) {
    struct shelf shelf;

    (void)state;
    shelf_open(&shelf, CAPACITY_MOST);
    apply_bids(&shelf, 101, UPDATE | WHOLE, BIDS({101, 0}));
    for (int64_t price = 102; price <= 100 + CAPACITY_MOST; price++) {
        apply_bids(&shelf, 10, UPDATE | WHOLE, BIDS({price, 0}));
    }
    apply_bids(&shelf, 10, UPDATE | WHOLE, BIDS({200, 0}));
    apply_bids(&shelf, 100, SNAPSHOT | WHOLE, BIDS({300, 1}, {101, 1}));
    expect_bids(&shelf, "live: 300x1");
}

/* Of one moment, to the millisecond, what comes later counts; what is older
 * than that does not. Either way the level is as new as the newest. */
static void a_shorter_time_of_the_same_moment_is_not_older(void **state) {
    static const struct {
        int64_t first_ns, second_ns;
        const char *expected;
    } pairs[] = {
        {123456789, 123000000, "live: 100x2 90x1"},
        {123456789, 122456790, "live: 100x2 90x1"},
        {123456789, 122456789, "live: 100x1 90x1"},
        {123000000, 123456789, "live: 100x2 90x1"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(pairs); i++) {
        struct shelf shelf;

        shelf_open(&shelf, CAPACITY);
        apply_bids(&shelf, pairs[i].first_ns, UPDATE | WHOLE, BIDS({100, 1}));
        apply_bids(&shelf, pairs[i].second_ns, UPDATE | WHOLE, BIDS({100, 2}));
        apply_bids(&shelf, 123400000, SNAPSHOT | WHOLE,
                   BIDS({100, 3}, {90, 1}));
        expect_bids(&shelf, pairs[i].expected);
        expect_int("time", 123456789,
                   mst_book_level(&shelf.book, MST_BID, 0)->time_ns);
    }
}

/* ---- Updates that are older than the book ---- */

#define SECOND INT64_C(1000000000)

static bool is_backward(const struct shelf *shelf) {
    return (mst_book_flags(&shelf->book) & MST_BOOK_BACKWARD) != 0;
}

static void open_at_3_s(struct shelf *shelf) {
    shelf_open(shelf, CAPACITY);
    apply_bids(shelf, SECOND, SNAPSHOT | WHOLE, BIDS({100, 1}, {99, 1}));
    apply_bids(shelf, 3 * SECOND, UPDATE | WHOLE, BIDS({100, 5}, {98, 1}));
    expect_bids(shelf, "live: 100x5 99x1 98x1");
    assert_false(is_backward(shelf));
}

static void the_newer_of_two_updates_stands(void **state) {
    struct shelf shelf;

    (void)state;
    open_at_3_s(&shelf);
    apply_bids(&shelf, 2 * SECOND, UPDATE | WHOLE,
               BIDS({100, 7}, {99, 7}, {98, 0}, {97, 7}));
    expect_bids(&shelf, "live: 100x5 99x7 98x1 97x7");
    assert_int_equal(mst_book_time(&shelf.book), 3 * SECOND);
    /* Of one moment, the one that comes later. */
    apply_bids(&shelf, 3 * SECOND - 999999, UPDATE | WHOLE,
               BIDS({100, 8}, {98, 0}));
    expect_bids(&shelf, "live: 100x8 99x7 97x7");
    apply_bids(&shelf, 3 * SECOND - 1000000, UPDATE | WHOLE, BIDS({100, 9}));
    expect_bids(&shelf, "live: 100x8 99x7 97x7");
}

static void an_update_older_than_the_book_is_doubt(void **state) {
    struct shelf shelf;

    (void)state;
    open_at_3_s(&shelf);
    apply_bids(&shelf, SECOND, UPDATE | WHOLE, BIDS({97, 1}));
    assert_false(is_backward(&shelf)); /* no newer than the snapshot */
    apply_bids(&shelf, 3 * SECOND - 999999, UPDATE | WHOLE, BIDS({97, 1}));
    assert_false(is_backward(&shelf));
    apply_bids(&shelf, 3 * SECOND - 1000000, UPDATE | WHOLE, BIDS({97, 2}));
    assert_true(is_backward(&shelf));
    apply_bids(&shelf, 4 * SECOND, UPDATE | WHOLE, BIDS({97, 3}));
    assert_true(is_backward(&shelf));
    apply_bids(&shelf, 5 * SECOND, SNAPSHOT | FIRST, BIDS({97, 3}));
    assert_false(is_backward(&shelf));
    apply_bids(&shelf, 5 * SECOND, SNAPSHOT | LAST, BIDS({96, 3}));
    assert_false(is_backward(&shelf));

    /* In two parts: said when it is whole, until the book is given up. */
    apply_bids(&shelf, 6 * SECOND, UPDATE | WHOLE, BIDS({97, 4}));
    apply_bids(&shelf, 5 * SECOND + 1, UPDATE | FIRST, BIDS({95, 1}));
    assert_false(is_backward(&shelf));
    apply_bids(&shelf, 5 * SECOND + 1, UPDATE | LAST, BIDS({94, 1}));
    assert_true(is_backward(&shelf));
    mst_book_stale(&shelf.book, MST_BOOK_RECONNECT);
    assert_false(is_backward(&shelf));
}

/* Before the snapshot there is no order to keep: the newest counts. */
static void
updates_out_of_order_before_the_snapshot_are_no_doubt(void **state) {
    struct shelf shelf;

    (void)state;
    shelf_open(&shelf, CAPACITY);
    apply_bids(&shelf, 3 * SECOND, UPDATE | WHOLE, BIDS({100, 3}));
    apply_bids(&shelf, 2 * SECOND, UPDATE | WHOLE, BIDS({100, 2}, {99, 2}));
    apply_bids(&shelf, SECOND, SNAPSHOT | WHOLE, BIDS({100, 1}, {98, 1}));
    expect_bids(&shelf, "live: 100x3 99x2 98x1");
    assert_false(is_backward(&shelf));
    apply_bids(&shelf, 2 * SECOND, UPDATE | WHOLE, BIDS({97, 1}));
    assert_true(is_backward(&shelf));
}

/* ---- Disagreement with the top of book ---- */

static void check_bid(struct shelf *shelf, int64_t time_ns, int64_t price,
                      int64_t amount) {
    struct mst_top top = {
        .market = "BTCUSD",
        .time_ns = time_ns,
        .has_bid = price != 0,
        .bid = level_of(MST_BID, price, amount),
    };

    mst_book_check(&shelf->book, &top, 0);
}

static bool disagrees(const struct shelf *shelf) {
    return (mst_book_flags(&shelf->book) & MST_BOOK_DISAGREES) != 0;
}

static void open_live(struct shelf *shelf) {
    shelf_open(shelf, CAPACITY);
    apply_bids(shelf, 1, SNAPSHOT | WHOLE, BIDS({100, 1}, {99, 1}));
}

static void a_disagreement_counts_once_it_lasts(void **state) {
    const int64_t apart = (int64_t)MST_DISAGREEMENT_MS * 1000000;
    const int64_t short_of = apart / MST_DISAGREEMENTS;
    struct shelf shelf;
    int64_t now = SECOND;

    (void)state;
    /* Enough messages, not enough time; then the time is there, too. */
    open_live(&shelf);
    for (int i = 0; i < MST_DISAGREEMENTS; i++) {
        check_bid(&shelf, now + i * short_of, 101, 1);
        assert_false(disagrees(&shelf));
    }
    check_bid(&shelf, now + apart - 1, 101, 1);
    assert_false(disagrees(&shelf));
    check_bid(&shelf, now + apart, 101, 1);
    assert_true(disagrees(&shelf));

    /* Enough time, not enough messages; then the last of them. */
    open_live(&shelf);
    for (int i = 0; i < MST_DISAGREEMENTS; i++) {
        assert_false(disagrees(&shelf));
        check_bid(&shelf, now + i * apart, 101, 1);
    }
    assert_true(disagrees(&shelf));
}

static void agreement_ends_a_disagreement(void **state) {
    struct shelf shelf;
    int64_t now = SECOND;

    (void)state;
    open_live(&shelf);
    for (int round = 0; round < 3; round++) {
        for (int i = 1; i < MST_DISAGREEMENTS; i++) {
            check_bid(&shelf, now += 10 * SECOND, 100, 2);
            assert_false(disagrees(&shelf));
        }
        check_bid(&shelf, now += 10 * SECOND, 100, 1);
        assert_false(disagrees(&shelf));
    }
    for (int i = 0; i < MST_DISAGREEMENTS; i++) {
        check_bid(&shelf, now += 10 * SECOND, 100, 2);
    }
    assert_true(disagrees(&shelf));
    check_bid(&shelf, now + SECOND, 100, 1);
    assert_false(disagrees(&shelf));
}

/* Says whether a top that stays like this counts as a disagreement. */
static bool disagrees_with(struct shelf *shelf, const struct mst_top *from) {
    struct mst_top top = *from;

    for (int i = 0; i < MST_DISAGREEMENTS; i++) {
        top.time_ns += 10 * SECOND;
        mst_book_check(&shelf->book, &top, 0);
    }
    return disagrees(shelf);
}

static void price_amount_and_side_are_compared(void **state) {
    static const struct {
        int64_t bid, bid_amount, ask, ask_amount;
        bool disagrees;
    } tops[] = {
        {100, 1, 0, 0, false}, {100, 2, 0, 0, true}, {99, 1, 0, 0, true},
        {101, 1, 0, 0, true},  {0, 0, 0, 0, true},   {100, 1, 102, 1, true},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(tops); i++) {
        struct mst_top top = {
            .market = "BTCUSD",
            .has_bid = tops[i].bid != 0,
            .has_ask = tops[i].ask != 0,
            .bid = level_of(MST_BID, tops[i].bid, tops[i].bid_amount),
            .ask = level_of(MST_ASK, tops[i].ask, tops[i].ask_amount),
        };
        char name[32];
        struct shelf shelf;

        open_live(&shelf);
        snprintf(name, sizeof name, "top %zu", i);
        expect_int(name, tops[i].disagrees, disagrees_with(&shelf, &top));
    }
}

/* What is beyond the horizon is not known, so it is not contradicted. */
static void an_empty_side_speaks_down_to_its_horizon(void **state) {
    struct mst_top top = {.market = "BTCUSD", .has_bid = true};
    struct shelf shelf;

    (void)state;
    shelf_open(&shelf, 1);
    apply_bids(&shelf, 1, SNAPSHOT | WHOLE, BIDS({100, 1}, {99, 1}));
    apply_bids(&shelf, 2, UPDATE | WHOLE, BIDS({100, 0}));
    expect_bids(&shelf, "live:");
    top.bid = level_of(MST_BID, 99, 1);
    assert_false(disagrees_with(&shelf, &top));
    top.bid = level_of(MST_BID, 100, 1);
    assert_true(disagrees_with(&shelf, &top));
}

static void a_book_that_is_not_live_does_not_disagree(void **state) {
    struct mst_top top = {.market = "BTCUSD"};
    struct shelf shelf;

    (void)state;
    shelf_open(&shelf, CAPACITY);
    top.has_bid = true;
    top.bid = level_of(MST_BID, 101, 1);
    assert_false(disagrees_with(&shelf, &top));
    open_live(&shelf);
    assert_true(disagrees_with(&shelf, &top));
    mst_book_stale(&shelf.book, MST_BOOK_RESYNC);
    assert_false(disagrees(&shelf));
    assert_false(disagrees_with(&shelf, &top));
    /* A fresh start: what was said before does not count. */
    apply_bids(&shelf, 2, SNAPSHOT | WHOLE, BIDS({100, 1}));
    check_bid(&shelf, 90 * SECOND, 101, 1);
    assert_false(disagrees(&shelf));
}

/* The book has moved on: such a message neither doubts nor reassures. */
static void a_top_older_than_the_book_says_nothing(void **state) {
    struct shelf shelf;
    int64_t now = SECOND;

    (void)state;
    open_live(&shelf);
    apply_bids(&shelf, 100 * SECOND, UPDATE | WHOLE, BIDS({101, 1}));
    for (int i = 0; i < MST_DISAGREEMENTS; i++) {
        check_bid(&shelf, now += 10 * SECOND, 100, 1);
    }
    assert_false(disagrees(&shelf));

    /* As old as the book, to the millisecond, is not older. */
    now = 100 * SECOND - 999999;
    for (int i = 0; i < MST_DISAGREEMENTS; i++) {
        check_bid(&shelf, now + i * 10 * SECOND, 100, 1);
    }
    assert_true(disagrees(&shelf));
    check_bid(&shelf, 100 * SECOND - 1000000, 101, 1);
    assert_true(disagrees(&shelf));
    check_bid(&shelf, 100 * SECOND, 101, 1);
    assert_false(disagrees(&shelf));
}

static void expect_amount(const struct shelf *shelf, int rc, int64_t expected) {
    const struct mst_decimal price = {1, 0, false};
    struct mst_decimal sum = {7, 0, true};

    expect_int("amount", rc,
               mst_book_amount(&shelf->book, MST_BID, price, &sum));
    expect_int("sum", expected, sum.coefficient);
}

static void an_amount_without_a_book_that_shows_one_is_an_error(void **state) {
    struct shelf shelf;

    (void)state;
    shelf_open(&shelf, CAPACITY);
    expect_amount(&shelf, MST_ERR_NO_LEVELS, 0);
    apply_bids(&shelf, 1, UPDATE | WHOLE, BIDS({100, 1}));
    expect_amount(&shelf, MST_ERR_NO_LEVELS, 0);
    apply_bids(&shelf, 1, SNAPSHOT | WHOLE, BIDS({100, 1}));
    expect_amount(&shelf, 0, 1);
    apply_bids(&shelf, 2, UPDATE | WHOLE, BIDS({100, 0}));
    expect_amount(&shelf, 0, 0);
}

/* What was last known counts, as long as something was. */
static void an_amount_of_a_stale_book_is_what_was_known(void **state) {
    struct shelf shelf;

    (void)state;
    open_live(&shelf);
    mst_book_stale(&shelf.book, MST_BOOK_RECONNECT);
    expect_amount(&shelf, 0, 2);
    apply_bids(&shelf, 1, SNAPSHOT | FIRST, BIDS({100, 1}));
    mst_book_stale(&shelf.book, MST_BOOK_RECONNECT);
    expect_bids(&shelf, "stale:");
    expect_amount(&shelf, MST_ERR_NO_LEVELS, 0);
}

/* That of a book without depth would say something about levels that are not
 * shown. */
static void a_book_that_is_building_has_no_horizon(void **state) {
    struct mst_decimal horizon = {7, 0, false};
    struct shelf shelf;

    (void)state;
    shelf_open(&shelf, 1);
    apply_bids(&shelf, 1, SNAPSHOT | FIRST, BIDS({100, 1}, {99, 1}));
    assert_false(mst_book_horizon(&shelf.book, MST_BID, &horizon));
    apply_bids(&shelf, 1, SNAPSHOT | LAST, BIDS({98, 1}));
    assert_true(mst_book_horizon(&shelf.book, MST_BID, &horizon));
    assert_int_equal(horizon.coefficient, 99);
    apply_bids(&shelf, 2, UPDATE | FIRST, BIDS({100, 2}));
    assert_false(mst_book_horizon(&shelf.book, MST_BID, &horizon));
    mst_book_stale(&shelf.book, MST_BOOK_RECONNECT);
    assert_false(mst_book_horizon(&shelf.book, MST_BID, &horizon));
    assert_int_equal(horizon.coefficient, 99);
}

/* The doubts about a book end where the next one begins. */
static void a_snapshot_begins_without_flags(void **state) {
    struct mst_top top = {.market = "BTCUSD", .time_ns = SECOND};
    struct shelf shelf;

    (void)state;
    shelf_open(&shelf, 2);
    mst_book_set_thin(&shelf.book, 2);
    apply_bids(&shelf, 1, SNAPSHOT | WHOLE, BIDS({100, 1}, {99, 1}, {98, 1}));
    apply_bids(&shelf, 2, UPDATE | WHOLE, BIDS({100, 0}));
    assert_true(disagrees_with(&shelf, &top));
    expect_int("flags", MST_BOOK_THIN | MST_BOOK_DISAGREES,
               mst_book_flags(&shelf.book));
    apply_bids(&shelf, 90 * SECOND, SNAPSHOT | FIRST, BIDS({100, 1}));
    expect_int("flags", 0, mst_book_flags(&shelf.book));
    apply_bids(&shelf, 90 * SECOND, SNAPSHOT | LAST, BIDS({99, 1}));
    expect_int("flags", 0, mst_book_flags(&shelf.book));
    /* It has to be said anew that it lasts. */
    check_bid(&shelf, 91 * SECOND, 101, 1);
    expect_int("flags", 0, mst_book_flags(&shelf.book));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_snapshot_older_than_what_it_was_merged_with),
        TEST(the_rest_of_a_message_given_up_does_not_count),
        TEST(a_snapshot_with_a_price_twice_is_refused),
        TEST(a_price_twice_beyond_the_horizon_does_not_matter),
        TEST(a_removal_without_room_moves_the_horizon),
        TEST(old_updates_without_room_do_not_cut_the_book),
        TEST(a_newer_update_without_room_cuts_the_book),
        TEST(each_level_that_goes_counts),
        TEST(a_shorter_time_of_the_same_moment_is_not_older),
        TEST(the_newer_of_two_updates_stands),
        TEST(an_update_older_than_the_book_is_doubt),
        TEST(updates_out_of_order_before_the_snapshot_are_no_doubt),
        TEST(a_disagreement_counts_once_it_lasts),
        TEST(agreement_ends_a_disagreement),
        TEST(price_amount_and_side_are_compared),
        TEST(an_empty_side_speaks_down_to_its_horizon),
        TEST(a_book_that_is_not_live_does_not_disagree),
        TEST(a_top_older_than_the_book_says_nothing),
        TEST(an_amount_without_a_book_that_shows_one_is_an_error),
        TEST(an_amount_of_a_stale_book_is_what_was_known),
        TEST(a_book_that_is_building_has_no_horizon),
        TEST(a_snapshot_begins_without_flags),
    };

    return cmocka_run_group_tests_name("book: build", tests, NULL, NULL);
}
