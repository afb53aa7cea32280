/*
 * Tests of the order book: amounts, the check against the top of book, and
 * snapshots that are aborted, out of order or malformed.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "support_book.h"

#define CAPACITY 4
#define CAPACITY_MOST 64

/* Applies an update that removes a bid. */
static void remove_bid(int64_t time_ns, int64_t price) {
    apply_part(time_ns, UPDATE | WHOLE, printed("b %" PRId64 " 0", price));
}

/* ---- Snapshots ---- */

/* A book is as new as its newest update, also if the snapshot is older: the
 * snapshot must not undo the update. */
TEST_CASE(a_snapshot_older_than_what_it_was_merged_with) {
    shelf_open(CAPACITY);
    apply_part(7, UPDATE | WHOLE, "b 100 5");
    expect_part(5, SNAPSHOT | WHOLE, "b 100 1, b 99 1", "live: 100x5 99x1 |");
    assert_int_equal(mst_book_time(&shelf.book), 7);
    expect_part(6, SNAPSHOT | WHOLE, "b 100 3", "stale: 100x5 99x1 |");
    assert_int_equal(mst_book_reason(&shelf.book), MST_BOOK_DISORDER);
}

TEST_CASE(the_rest_of_a_message_given_up_does_not_count) {
    shelf_open(CAPACITY);
    apply_part(5, SNAPSHOT | FIRST, "b 100 1");
    mst_book_stale(&shelf.book, MST_BOOK_RESYNC);
    expect_part(5, SNAPSHOT | LAST, "b 99 1", "stale: |");
    apply_part(6, UPDATE | FIRST, "b 96 1");
    mst_book_stale(&shelf.book, MST_BOOK_RESYNC);
    expect_part(6, UPDATE | LAST, "b 95 1", "stale: |");
    apply_part(6, UPDATE | WHOLE, "b 98 1");
    expect_part(5, SNAPSHOT | WHOLE, "b 97 1", "live: 98x1 97x1 |");
}

TEST_CASE(a_price_twice_with_another_amount_is_refused) {
    static const char *const snapshots[] = {
        "b 100 1, b 100 2",                 /* both fit */
        "b 98 1, b 100 1, b 99 1, b 100 2", /* unsorted */
        "b 100 2, b 100 1, b 98 1",
    };

    for (size_t i = 0; i < COUNT(snapshots); i++) {
        shelf_open(2);
        expect_part(5, SNAPSHOT | WHOLE, snapshots[i], "stale: |");
        expect_int("reason", MST_BOOK_DISORDER, mst_book_reason(&shelf.book));
    }
}

/* Nor do two amounts matter beyond the horizon, where the book claims nothing.
 * A level whose price was also dropped is beyond it. */
TEST_CASE(a_price_twice_with_one_amount_does_not_matter) {
    static const struct {
        const char *snapshot, *expected;
    } cases[] = {
        {"b 100 1, b 100 1", "live: 100x1 |"},
        {"b 100 1, a 101 2.0, a 101 2", "live: 100x1 | 101x2"},
        {"b 99 1, b 100 1, b 100 1", "live: 100x1 |"},
        {"b 90 1, b 100 1, b 90 2, b 99 1", "live: 100x1 99x1 |"},
        {"b 100 1, b 99 1, b 99 2", "live: 100x1 |"},
        {"b 99 1, b 99 2, b 100 1", "live: 100x1 |"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        shelf_open(2);
        expect_part(5, SNAPSHOT | WHOLE, cases[i].snapshot, cases[i].expected);
        /* The level exists once: one removal removes it. */
        apply_part(6, UPDATE | WHOLE, "b 100 0");
        expect_flags(0);
        assert_true(mst_book_depth(&shelf.book, MST_BID) < 2);
    }
}

/* A removal without space must not let its level return. */
TEST_CASE(a_removal_without_room_moves_the_horizon) {
    struct mst_decimal horizon;

    shelf_open(2);
    apply_part(7, UPDATE | WHOLE, "b 98 0, b 99 0, b 100 0");
    expect_part(5, SNAPSHOT | WHOLE, "b 101 1, b 98 1, b 100 1",
                "live: 101x1 |");
    assert_true(mst_book_horizon(&shelf.book, MST_BID, &horizon));
    assert_int_equal(horizon.coefficient, 99);
}

/* An update that was dropped for lack of space and is not newer than the
 * snapshot has no effect. It may be dropped at once, for better ones, or
 * because it is beyond the horizon by then. */
TEST_CASE(old_updates_without_room_do_not_cut_the_book) {
    static const int64_t orders[][6] = {
        {116, 115, 114, 113, 112, 111},
        {111, 112, 113, 114, 115, 116},
        {113, 111, 115, 112, 116, 114},
    };
    struct mst_decimal horizon;

    for (size_t i = 0; i < COUNT(orders); i++) {
        shelf_open(CAPACITY);
        mst_book_set_thin(&shelf.book, CAPACITY);
        for (size_t k = 0; k < COUNT(orders[i]); k++) {
            remove_bid(95 + (int64_t)k, orders[i][k]);
        }
        expect_part(100, SNAPSHOT | WHOLE, "b 100 1, b 99 1, b 98 1",
                    "live: 100x1 99x1 98x1 |");
        expect_flags(0);
        assert_false(mst_book_horizon(&shelf.book, MST_BID, &horizon));
    }
}

/* The removal of 90 is newer than the snapshot. It is dropped at once, or for a
 * better one, or because it is beyond the horizon by then. */
TEST_CASE(a_newer_update_without_room_cuts_the_book) {
    static const struct {
        int64_t price, time_ns;
    } orders[][4] = {
        {{111, 10}, {112, 10}, {90, 101}, {113, 10}},
        {{90, 101}, {111, 10}, {112, 10}, {113, 10}},
        {{111, 10}, {112, 10}, {113, 10}, {90, 101}},
    };
    struct mst_decimal horizon;

    for (size_t i = 0; i < COUNT(orders); i++) {
        shelf_open(2);
        for (size_t k = 0; k < COUNT(orders[i]); k++) {
            remove_bid(orders[i][k].time_ns, orders[i][k].price);
        }
        expect_part(100, SNAPSHOT | WHOLE, "b 120 1, b 90 1", "live: 120x1 |");
        assert_true(mst_book_horizon(&shelf.book, MST_BID, &horizon));
        assert_int_equal(horizon.coefficient, 111);
    }
}

/* A side of 64 levels drops two at once; the worse one is newer. */
TEST_CASE(each_level_that_goes_counts) {
    shelf_open(CAPACITY_MOST);
    apply_part(101, UPDATE | WHOLE, "b 101 0");
    for (int64_t price = 102; price <= 100 + CAPACITY_MOST; price++) {
        remove_bid(10, price);
    }
    apply_part(10, UPDATE | WHOLE, "b 200 0");
    expect_part(100, SNAPSHOT | WHOLE, "b 300 1, b 101 1", "live: 300x1 |");
}

/* Within a millisecond the later message counts, even if its time is older;
 * beyond that it does not. The level always has the newest time. */
TEST_CASE(a_shorter_time_of_the_same_moment_is_not_older) {
    static const struct {
        int64_t first_ns, second_ns;
        const char *expected;
    } pairs[] = {
        {123456789, 123000000, "live: 100x2 90x1 |"},
        {123456789, 122456790, "live: 100x2 90x1 |"},
        {123456789, 122456789, "live: 100x1 90x1 |"},
        {123000000, 123456789, "live: 100x2 90x1 |"},
    };

    for (size_t i = 0; i < COUNT(pairs); i++) {
        shelf_open(CAPACITY);
        apply_part(pairs[i].first_ns, UPDATE | WHOLE, "b 100 1");
        apply_part(pairs[i].second_ns, UPDATE | WHOLE, "b 100 2");
        expect_part(123400000, SNAPSHOT | WHOLE, "b 100 3, b 90 1",
                    pairs[i].expected);
        expect_int("time", 123456789,
                   mst_book_level(&shelf.book, MST_BID, 0)->time_ns);
    }
}

/* ---- Updates that are older than the book ---- */

#define SECOND INT64_C(1000000000)

static bool is_backward(void) {
    return (mst_book_flags(&shelf.book) & MST_BOOK_BACKWARD) != 0;
}

static void open_at_3_s(void) {
    shelf_open(CAPACITY);
    apply_part(SECOND, SNAPSHOT | WHOLE, "b 100 1, b 99 1");
    expect_part(3 * SECOND, UPDATE | WHOLE, "b 100 5, b 98 1",
                "live: 100x5 99x1 98x1 |");
    assert_false(is_backward());
}

TEST_CASE(the_newer_of_two_updates_stands) {
    open_at_3_s();
    expect_part(2 * SECOND, UPDATE | WHOLE, "b 100 7, b 99 7, b 98 0, b 97 7",
                "live: 100x5 99x7 98x1 97x7 |");
    assert_int_equal(mst_book_time(&shelf.book), 3 * SECOND);
    /* Within one millisecond the later message counts. */
    expect_part(3 * SECOND - 999999, UPDATE | WHOLE, "b 100 8, b 98 0",
                "live: 100x8 99x7 97x7 |");
    expect_part(3 * SECOND - 1000000, UPDATE | WHOLE, "b 100 9",
                "live: 100x8 99x7 97x7 |");
}

TEST_CASE(an_update_older_than_the_book_is_doubt) {
    open_at_3_s();
    apply_part(SECOND - 1000000, UPDATE | WHOLE, "b 97 1");
    assert_false(is_backward()); /* older than the snapshot: dropped */
    apply_part(3 * SECOND - 999999, UPDATE | WHOLE, "b 97 1");
    assert_false(is_backward());
    apply_part(3 * SECOND - 1000000, UPDATE | WHOLE, "b 97 2");
    assert_true(is_backward());
    apply_part(4 * SECOND, UPDATE | WHOLE, "b 97 3");
    assert_true(is_backward());
    apply_part(5 * SECOND, SNAPSHOT | FIRST, "b 97 3");
    assert_false(is_backward());
    apply_part(5 * SECOND, SNAPSHOT | LAST, "b 96 3");
    assert_false(is_backward());

    /* In two parts: reported at the last one, until the book is stale. */
    apply_part(6 * SECOND, UPDATE | WHOLE, "b 97 4");
    apply_part(5 * SECOND + 1, UPDATE | FIRST, "b 95 1");
    assert_false(is_backward());
    apply_part(5 * SECOND + 1, UPDATE | LAST, "b 94 1");
    assert_true(is_backward());
    mst_book_stale(&shelf.book, MST_BOOK_RECONNECT);
    assert_false(is_backward());
}

/* Before the snapshot updates may be in any order: the newest counts. */
TEST_CASE(updates_out_of_order_before_the_snapshot_are_no_doubt) {
    shelf_open(CAPACITY);
    apply_part(3 * SECOND, UPDATE | WHOLE, "b 100 3");
    apply_part(2 * SECOND, UPDATE | WHOLE, "b 100 2, b 99 2");
    expect_part(SECOND, SNAPSHOT | WHOLE, "b 100 1, b 98 1",
                "live: 100x3 99x2 98x1 |");
    assert_false(is_backward());
    apply_part(2 * SECOND, UPDATE | WHOLE, "b 97 1");
    assert_true(is_backward());
}

/* ---- Disagreement with the top of book ---- */

/* Checks the book against a top of book with this bid, and no ask. */
static void check_bid(int64_t time_ns, const char *bid) {
    struct mst_top top = {
        .market = "BTCUSD",
        .time_ns = time_ns,
        .has_bid = true,
        .bid = level_of(bid),
    };

    mst_book_check(&shelf.book, &top, 0);
}

static bool disagrees(void) {
    return (mst_book_flags(&shelf.book) & MST_BOOK_DISAGREES) != 0;
}

static void open_live(void) {
    shelf_open(CAPACITY);
    apply_part(1, SNAPSHOT | WHOLE, "b 100 1, b 99 1");
}

TEST_CASE(a_disagreement_counts_once_it_lasts) {
    const int64_t apart = (int64_t)MST_DISAGREEMENT_MS * 1000000;
    const int64_t short_of = apart / MST_DISAGREEMENTS;
    int64_t now = SECOND;

    /* Enough messages, but not enough time; then enough time too. */
    open_live();
    for (int i = 0; i < MST_DISAGREEMENTS; i++) {
        check_bid(now + i * short_of, "b 101 1");
        assert_false(disagrees());
    }
    check_bid(now + apart - 1, "b 101 1");
    assert_false(disagrees());
    check_bid(now + apart, "b 101 1");
    assert_true(disagrees());

    /* Enough time, but not enough messages; then the last one. */
    open_live();
    for (int i = 0; i < MST_DISAGREEMENTS; i++) {
        assert_false(disagrees());
        check_bid(now + i * apart, "b 101 1");
    }
    assert_true(disagrees());
}

TEST_CASE(agreement_ends_a_disagreement) {
    int64_t now = SECOND;

    open_live();
    for (int round = 0; round < 3; round++) {
        for (int i = 1; i < MST_DISAGREEMENTS; i++) {
            check_bid(now += 10 * SECOND, "b 100 2");
            assert_false(disagrees());
        }
        check_bid(now += 10 * SECOND, "b 100 1");
        assert_false(disagrees());
    }
    for (int i = 0; i < MST_DISAGREEMENTS; i++) {
        check_bid(now += 10 * SECOND, "b 100 2");
    }
    assert_true(disagrees());
    check_bid(now + SECOND, "b 100 1");
    assert_false(disagrees());
}

/* True if a top of book that stays like this counts as disagreement. */
static bool disagrees_with(const struct mst_top *from) {
    struct mst_top top = *from;

    for (int i = 0; i < MST_DISAGREEMENTS; i++) {
        top.time_ns += 10 * SECOND;
        mst_book_check(&shelf.book, &top, 0);
    }
    return disagrees();
}

TEST_CASE(price_amount_and_side_are_compared) {
    static const struct {
        const char *bid, *ask;
        bool disagrees;
    } tops[] = {
        {"b 100 1", NULL, false}, {"b 100 2", NULL, true},
        {"b 99 1", NULL, true},   {"b 101 1", NULL, true},
        {NULL, NULL, true},       {"b 100 1", "a 102 1", true},
    };

    for (size_t i = 0; i < COUNT(tops); i++) {
        struct mst_top top = {
            .market = "BTCUSD",
            .has_bid = tops[i].bid != NULL,
            .has_ask = tops[i].ask != NULL,
        };

        top.bid = top.has_bid ? level_of(tops[i].bid) : top.bid;
        top.ask = top.has_ask ? level_of(tops[i].ask) : top.ask;
        open_live();
        expect_int(printed("top %zu", i), tops[i].disagrees,
                   disagrees_with(&top));
    }
}

/* Levels beyond the horizon are unknown, so they do not disagree. */
TEST_CASE(an_empty_side_speaks_down_to_its_horizon) {
    struct mst_top top = {.market = "BTCUSD", .has_bid = true};

    shelf_open(1);
    apply_part(1, SNAPSHOT | WHOLE, "b 100 1, b 99 1");
    expect_part(2, UPDATE | WHOLE, "b 100 0", "live: |");
    top.bid = level_of("b 99 1");
    assert_false(disagrees_with(&top));
    top.bid = level_of("b 100 1");
    assert_true(disagrees_with(&top));
}

TEST_CASE(a_book_that_is_not_live_does_not_disagree) {
    struct mst_top top = {.market = "BTCUSD"};

    shelf_open(CAPACITY);
    top.has_bid = true;
    top.bid = level_of("b 101 1");
    assert_false(disagrees_with(&top));
    open_live();
    assert_true(disagrees_with(&top));
    mst_book_stale(&shelf.book, MST_BOOK_RESYNC);
    assert_false(disagrees());
    assert_false(disagrees_with(&top));
    /* A new start: earlier disagreements do not count. */
    apply_part(2, SNAPSHOT | WHOLE, "b 100 1");
    check_bid(90 * SECOND, "b 101 1");
    assert_false(disagrees());
}

/* The book is newer: such a message neither doubts nor confirms it. */
TEST_CASE(a_top_older_than_the_book_says_nothing) {
    int64_t now = SECOND;

    open_live();
    apply_part(100 * SECOND, UPDATE | WHOLE, "b 101 1");
    for (int i = 0; i < MST_DISAGREEMENTS; i++) {
        check_bid(now += 10 * SECOND, "b 100 1");
    }
    assert_false(disagrees());

    /* A time within the book's millisecond is not older. */
    now = 100 * SECOND - 999999;
    for (int i = 0; i < MST_DISAGREEMENTS; i++) {
        check_bid(now + i * 10 * SECOND, "b 100 1");
    }
    assert_true(disagrees());
    check_bid(100 * SECOND - 1000000, "b 101 1");
    assert_true(disagrees());
    check_bid(100 * SECOND, "b 101 1");
    assert_false(disagrees());
}

static void expect_amount(int rc, int64_t expected) {
    const struct mst_decimal price = {1, 0, false};
    struct mst_decimal sum = {7, 0, true};

    expect_int("amount", rc,
               mst_book_amount(&shelf.book, MST_BID, price, &sum));
    expect_int("sum", expected, sum.coefficient);
}

TEST_CASE(an_amount_without_a_book_that_shows_one_is_an_error) {
    shelf_open(CAPACITY);
    expect_amount(MST_ERR_NO_LEVELS, 0);
    apply_part(1, UPDATE | WHOLE, "b 100 1");
    expect_amount(MST_ERR_NO_LEVELS, 0);
    apply_part(1, SNAPSHOT | WHOLE, "b 100 1");
    expect_amount(0, 1);
    apply_part(2, UPDATE | WHOLE, "b 100 0");
    expect_amount(0, 0);
}

/* A stale book keeps its last known amounts, if there were any. */
TEST_CASE(an_amount_of_a_stale_book_is_what_was_known) {
    open_live();
    mst_book_stale(&shelf.book, MST_BOOK_RECONNECT);
    expect_amount(0, 2);
    apply_part(1, SNAPSHOT | FIRST, "b 100 1");
    mst_book_stale(&shelf.book, MST_BOOK_RECONNECT);
    expect_book("stale: |");
    expect_amount(MST_ERR_NO_LEVELS, 0);
}

/* A horizon without depth would describe levels that are not shown. */
TEST_CASE(a_book_that_is_building_has_no_horizon) {
    struct mst_decimal horizon = {7, 0, false};

    shelf_open(1);
    apply_part(1, SNAPSHOT | FIRST, "b 100 1, b 99 1");
    assert_false(mst_book_horizon(&shelf.book, MST_BID, &horizon));
    apply_part(1, SNAPSHOT | LAST, "b 98 1");
    assert_true(mst_book_horizon(&shelf.book, MST_BID, &horizon));
    assert_int_equal(horizon.coefficient, 99);
    apply_part(2, UPDATE | FIRST, "b 100 2");
    assert_false(mst_book_horizon(&shelf.book, MST_BID, &horizon));
    mst_book_stale(&shelf.book, MST_BOOK_RECONNECT);
    assert_false(mst_book_horizon(&shelf.book, MST_BID, &horizon));
    assert_int_equal(horizon.coefficient, 99);
}

/* Doubts about a book end when the next snapshot begins. */
TEST_CASE(a_snapshot_begins_without_flags) {
    struct mst_top top = {.market = "BTCUSD", .time_ns = SECOND};

    shelf_open(2);
    mst_book_set_thin(&shelf.book, 2);
    apply_part(1, SNAPSHOT | WHOLE, "b 100 1, b 99 1, b 98 1");
    apply_part(2, UPDATE | WHOLE, "b 100 0");
    assert_true(disagrees_with(&top));
    expect_flags(MST_BOOK_THIN | MST_BOOK_DISAGREES);
    apply_part(90 * SECOND, SNAPSHOT | FIRST, "b 100 1");
    expect_flags(0);
    apply_part(90 * SECOND, SNAPSHOT | LAST, "b 99 1");
    expect_flags(0);
    /* The disagreement must last again before it counts. */
    check_bid(91 * SECOND, "b 101 1");
    expect_flags(0);
}

RUN_WITH(expect_begin, shelf_tear_down, NULL, NULL)
