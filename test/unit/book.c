/*
 * Tests of the order book: snapshots, updates, states, the spread and the mid.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "support_book.h"

#define CAPACITY 5

/* ---- Messages of one part ---- */

TEST_CASE(a_book_is_empty_until_its_snapshot) {
    shelf_open(CAPACITY);
    expect_book("empty: |");
    shelf_expect(SNAPSHOT | WHOLE, "b 100 1, a 101 2", "live: 100x1 | 101x2");
}

TEST_CASE(an_update_before_the_snapshot_does_not_make_a_book) {
    shelf_open(CAPACITY);
    shelf_expect(UPDATE | WHOLE, "b 100 1, a 101 2", "building: |");
}

TEST_CASE(sides_are_sorted_best_first_in_whatever_order_they_come) {
    static const char *const orders[] = {
        "b 98 3, b 99 2, b 100 1, a 103 6, a 102 5, a 101 4",
        "b 100 1, b 99 2, b 98 3, a 101 4, a 102 5, a 103 6",
        "a 102 5, b 99 2, a 101 4, b 100 1, b 98 3, a 103 6",
        "a 1.03e2 6, b 9.8e1 3, a 101.00 4, b 99.0 2, a 1020e-1 5, b 1e2 1",
    };

    for (size_t i = 0; i < COUNT(orders); i++) {
        shelf_begin(CAPACITY, orders[i]);
        expect_book("live: 100x1 99x2 98x3 | 101x4 102x5 103x6");
    }
}

TEST_CASE(an_amount_replaces_the_one_before) {
    shelf_begin(CAPACITY, "b 100 1, b 99 2, a 101 3");
    shelf_expect(UPDATE | WHOLE, "b 99.00 7.5, a 101 0.003",
                 "live: 100x1 99x7.5 | 101x0.003");
    shelf_expect(UPDATE | WHOLE, "b 99.5 4, a 100.5 6",
                 "live: 100x1 99.5x4 99x7.5 | 100.5x6 101x0.003");
    shelf_expect(UPDATE | WHOLE, "",
                 "live: 100x1 99.5x4 99x7.5 | 100.5x6 101x0.003");
}

TEST_CASE(zero_removes_a_level_in_every_spelling) {
    static const char *const zeros[] = {"0", "0.00", "0E-8", "0.000", "0e5"};

    for (size_t i = 0; i < COUNT(zeros); i++) {
        shelf_begin(CAPACITY, "b 100 1, b 99 2, a 101 3, a 102 4");
        shelf_expect(UPDATE | WHOLE,
                     printed("b 99.0 %s, a 101 %s, a 500 %s", zeros[i],
                             zeros[i], zeros[i]),
                     "live: 100x1 | 102x4");
        shelf_expect(UPDATE | WHOLE, "b 100 0, a 102 0", "live: |");
    }
}

TEST_CASE(a_snapshot_replaces_the_book) {
    shelf_begin(CAPACITY, "b 100 1, b 99 2, a 101 3");
    shelf_expect(SNAPSHOT | WHOLE, "b 90 1, a 91 2, a 101 5",
                 "live: 90x1 | 91x2 101x5");
    shelf_expect(SNAPSHOT | WHOLE, "a 92 1", "live: | 92x1");
    shelf_expect(SNAPSHOT | WHOLE, "", "live: |");
}

TEST_CASE(a_level_knows_when_it_was_set) {
    shelf_begin(CAPACITY, "b 100 1, a 101 2");
    shelf_apply(UPDATE | WHOLE, "b 100 3");
    assert_int_equal(mst_book_level(&shelf.book, MST_BID, 0)->time_ns,
                     2000000000);
    assert_int_equal(mst_book_level(&shelf.book, MST_ASK, 0)->time_ns,
                     1000000000);
    assert_int_equal(mst_book_time(&shelf.book), 2000000000);
}

TEST_CASE(a_full_side_keeps_the_best) {
    shelf_begin(3, "b 95 1, b 96 2, b 97 3, b 98 4, b 99 5, "
                   "a 105 1, a 104 2, a 103 3, a 102 4, a 101 5");
    expect_book("live: 99x5 98x4 97x3 | 101x5 102x4 103x3");
    shelf_expect(UPDATE | WHOLE, "b 99.5 6, a 110 7",
                 "live: 99.5x6 99x5 98x4 | 101x5 102x4 103x3");
    shelf_expect(UPDATE | WHOLE, "b 90 6, a 100.5 7",
                 "live: 99.5x6 99x5 98x4 | 100.5x7 101x5 102x4");
    shelf_expect(UPDATE | WHOLE, "b 99 8",
                 "live: 99.5x6 99x8 98x4 | 100.5x7 101x5 102x4");
}

TEST_CASE(a_book_of_one_level_is_a_book) {
    shelf_begin(1, "b 1 1, b 3 3, b 2 2, a 5 5, a 4 4");
    expect_book("live: 3x3 | 4x4");
}

/* ---- Messages of several parts ---- */

TEST_CASE(a_book_gives_no_depth_while_a_message_is_merged) {
    shelf_open(CAPACITY);
    shelf_expect(SNAPSHOT | FIRST, "b 100 1", "building: |");
    shelf_expect(SNAPSHOT, "b 99 2", "building: |");
    shelf_expect(SNAPSHOT | LAST, "a 101 3", "live: 100x1 99x2 | 101x3");
    shelf_expect(UPDATE | FIRST, "b 100 0", "building: |");
    shelf_expect(UPDATE | LAST, "a 101 4", "live: 99x2 | 101x4");
}

TEST_CASE(a_message_that_does_not_count_changes_nothing) {
    shelf_begin(CAPACITY, "b 100 1, b 99 2, a 101 3");
    expect_part(1, UPDATE | FIRST, "b 100 0", "live: 100x1 99x2 | 101x3");
    expect_part(1, UPDATE | LAST, "a 101 0", "live: 100x1 99x2 | 101x3");
}

TEST_CASE(a_snapshot_of_parts_replaces_the_book) {
    shelf_begin(CAPACITY, "b 100 1, b 99 2, a 101 3");
    shelf_apply(SNAPSHOT | FIRST, "b 90 1");
    shelf_apply(SNAPSHOT, "b 89 2");
    shelf_expect(SNAPSHOT | LAST, "a 91 3", "live: 90x1 89x2 | 91x3");
}

TEST_CASE(an_aborted_message_leaves_the_book_stale) {
    static const int kinds[] = {SNAPSHOT, UPDATE};

    for (size_t i = 0; i < COUNT(kinds); i++) {
        shelf_begin(CAPACITY, "b 100 1, a 101 2");
        shelf_apply(kinds[i] | FIRST, "b 99 1");
        shelf_apply(kinds[i] | ABORTED, "");
        assert_int_equal(mst_book_state(&shelf.book), MST_BOOK_STALE);
        shelf_apply(UPDATE | WHOLE, "b 98 1");
        assert_int_not_equal(mst_book_state(&shelf.book), MST_BOOK_LIVE);
        shelf_expect(SNAPSHOT | WHOLE, "b 97 1, a 98 2", "live: 97x1 | 98x2");
    }
}

TEST_CASE(a_first_snapshot_that_is_aborted_shows_nothing) {
    shelf_open(CAPACITY);
    shelf_apply(SNAPSHOT | FIRST, "b 99 1");
    shelf_expect(SNAPSHOT | ABORTED, "", "stale: |");
}

/* Aborted before any level: this is not an empty snapshot. */
TEST_CASE(a_snapshot_that_is_aborted_at_once_is_none) {
    shelf_begin(CAPACITY, "b 100 1, a 101 2");
    shelf_apply(SNAPSHOT | WHOLE | ABORTED, "");
    expect_int("state", MST_BOOK_STALE, mst_book_state(&shelf.book));
    shelf_apply(UPDATE | WHOLE, "b 98 1");
    assert_int_not_equal(mst_book_state(&shelf.book), MST_BOOK_LIVE);
}

/* ---- Updates around the snapshot ---- */

/* Before a snapshot only updates newer than it count, after it only those that
 * are not older. */
TEST_CASE(updates_count_by_their_time_not_by_their_order) {
    shelf_open(8);
    apply_part(4, UPDATE | WHOLE, "b 95 4, a 105 4");
    apply_part(5, UPDATE | WHOLE, "b 96 5, b 100 0");
    apply_part(6, UPDATE | WHOLE, "b 97 6, b 99 6, a 101 0, a 104 6");
    apply_part(7, UPDATE | WHOLE, "a 104 0");
    expect_part(5, SNAPSHOT | WHOLE,
                "b 100 1, b 99 1, a 101 1, a 102 1, a 104 1",
                "live: 100x1 99x6 97x6 | 102x1");
    expect_part(5 - 1000000, UPDATE | WHOLE, "b 98 3, a 102 9",
                "live: 100x1 99x6 97x6 | 102x1");
    expect_part(5, UPDATE | WHOLE, "b 99 5, a 102 9",
                "live: 100x1 99x5 97x6 | 102x9");
    expect_part(8, UPDATE | WHOLE, "b 100 0, a 102 8",
                "live: 99x5 97x6 | 102x8");
}

/* If not all fit, those of the snapshot go before a worse one of an update. */
TEST_CASE(a_worse_level_of_a_newer_update_costs_no_better_one) {
    shelf_open(2);
    apply_part(20, UPDATE | WHOLE, "b 90 1");
    expect_part(10, SNAPSHOT | WHOLE, "b 100 1, b 95 1", "live: 100x1 95x1 |");
}

/* ---- Doubt ---- */

TEST_CASE(a_stale_book_shows_what_was_last_known) {
    shelf_begin(CAPACITY, "b 100 1, a 101 2");
    mst_book_stale(&shelf.book, MST_BOOK_RECONNECT);
    expect_book("stale: 100x1 | 101x2");
    shelf_expect(SNAPSHOT | WHOLE, "b 99 1, a 100 2", "live: 99x1 | 100x2");
}

/* Without any level the amount of a side is unknown. */
TEST_CASE(an_amount_is_unknown_where_no_side_has_a_level) {
    const struct mst_decimal price = {100, 0, false};
    struct mst_decimal sum;

    shelf_open(CAPACITY);
    for (int side = MST_BID; side <= MST_ASK; side++) {
        assert_int_equal(
            mst_book_amount(&shelf.book, (enum mst_side)side, price, &sum),
            MST_ERR_NO_LEVELS);
    }
    shelf_apply(SNAPSHOT | WHOLE, "a 101 2");
    mst_book_stale(&shelf.book, MST_BOOK_RECONNECT);
    assert_int_equal(mst_book_amount(&shelf.book, MST_BID, price, &sum), 0);
    shelf_apply(SNAPSHOT | WHOLE, "b 101 2");
    mst_book_stale(&shelf.book, MST_BOOK_RECONNECT);
    assert_int_equal(mst_book_amount(&shelf.book, MST_ASK, price, &sum), 0);
}

/* Zero is a valid price: the worst bid, the best ask. */
TEST_CASE(a_price_of_zero_is_a_price) {
    shelf_begin(CAPACITY, "b 0 1, a 0 2, a 1 3");
    expect_book("live: 0x1 | 0x2 1x3 crossed");
    shelf_expect(UPDATE | WHOLE, "b 0.5 1, a 0 0", "live: 0.5x1 0x1 | 1x3");
}

/* After a reconnect, messages may be older than earlier ones. */
TEST_CASE(a_stale_book_takes_an_older_snapshot) {
    shelf_open(CAPACITY);
    apply_part(9, SNAPSHOT | WHOLE, "b 100 1, b 98 1, a 101 2");
    mst_book_stale(&shelf.book, MST_BOOK_RECONNECT);
    expect_part(5, SNAPSHOT | WHOLE, "b 99 1, a 100 2", "live: 99x1 | 100x2");
    assert_int_equal(mst_book_time(&shelf.book), 5);
    expect_part(6, UPDATE | WHOLE, "b 99 3", "live: 99x3 | 100x2");
}

TEST_CASE(a_book_that_goes_stale_midway_shows_no_half_message) {
    shelf_open(CAPACITY);
    shelf_apply(SNAPSHOT | FIRST, "b 100 1");
    mst_book_stale(&shelf.book, MST_BOOK_RECONNECT);
    expect_book("stale: |");
    shelf_expect(SNAPSHOT | WHOLE, "b 99 1, a 100 2", "live: 99x1 | 100x2");
}

TEST_CASE(a_crossed_book_is_flagged_at_the_end_of_a_message) {
    shelf_begin(CAPACITY, "b 100 1, a 101 2");
    shelf_expect(UPDATE | WHOLE, "b 101 1",
                 "live: 101x1 100x1 | 101x2 crossed");
    shelf_expect(UPDATE | WHOLE, "b 101 0", "live: 100x1 | 101x2");
    shelf_expect(UPDATE | WHOLE, "a 99.5 1",
                 "live: 100x1 | 99.5x1 101x2 crossed");
    shelf_expect(SNAPSHOT | WHOLE, "b 100 1", "live: 100x1 |");
    /* Crossed within the message, but not at its end. */
    shelf_expect(UPDATE | WHOLE, "b 105 1, a 101 1, b 105 0",
                 "live: 100x1 | 101x1");
    shelf_apply(UPDATE | FIRST, "b 105 1");
    assert_false((mst_book_flags(&shelf.book) & MST_BOOK_CROSSED) != 0);
    shelf_expect(UPDATE | LAST, "a 101 0, a 106 1",
                 "live: 105x1 100x1 | 106x1");
}

TEST_CASE(a_book_without_levels_is_refused) {
    struct mst_level levels[2];
    struct mst_book book;

    assert_int_equal(mst_book_init(&book, levels, 1), 0);
    assert_int_equal(mst_book_init(&book, levels, 0), MST_ERR_ARGUMENT);
    assert_int_equal(mst_book_init(&book, NULL, 1), MST_ERR_ARGUMENT);
    assert_int_equal(mst_book_init(NULL, levels, 1), MST_ERR_ARGUMENT);
    assert_int_equal(mst_book_init(&book, levels, UINT32_MAX / 4 + 1),
                     MST_ERR_ARGUMENT);
}

/* ---- Compared with a book that keeps all levels ---- */

#define PRICES 40

/* Applies a random message to the book and to all[]: the amounts of the prices
 * 1 to PRICES, 0 if there is no level. */
static void random_message(int all[2][PRICES], uint64_t *seed) {
    bool snapshot = random_next(seed) % 20 == 0;
    size_t parts = 1 + random_below(seed, 3);
    struct text *text = text_new();

    if (snapshot) {
        memset(all, 0, 2 * sizeof *all);
    }
    for (size_t part = 0; part < parts; part++) {
        text_clear(text);
        for (uint64_t n = random_next(seed) % 12; n > 0; n--) {
            size_t side = random_next(seed) % 2;
            size_t price = random_below(seed, PRICES);
            int amount = (int)(random_next(seed) % 3);

            if (snapshot && all[side][price] != 0) {
                continue; /* each price once in a snapshot */
            }
            all[side][price] = amount;
            text_add(text, "%s%c %zu %d", text->len == 0 ? "" : ",",
                     side == MST_BID ? 'b' : 'a', price + 1, amount);
        }
        shelf_apply((snapshot ? SNAPSHOT : UPDATE) | (part == 0 ? FIRST : 0) |
                        (part + 1 == parts ? LAST : 0),
                    text_get(text));
    }
}

static void add_all(struct text *text, const int *amounts, bool down) {
    for (size_t i = 0; i < PRICES; i++) {
        size_t price = down ? PRICES - 1 - i : i;

        if (amounts[price] != 0) {
            text_add(text, " %zux%d", price + 1, amounts[price]);
        }
    }
}

TEST_CASE(random_messages_leave_the_book_they_should) {
    int all[2][PRICES] = {{0}};
    uint64_t seed = 7;

    shelf_begin(PRICES, "");
    for (int i = 0; i < 5000; i++) {
        struct text *expected = text_new();
        size_t bid = PRICES, ask = 0;

        random_message(all, &seed);
        text_add(expected, "live:");
        add_all(expected, all[MST_BID], true);
        text_add(expected, " |");
        add_all(expected, all[MST_ASK], false);
        while (bid > 0 && all[MST_BID][bid - 1] == 0) {
            bid--;
        }
        while (ask < PRICES && all[MST_ASK][ask] == 0) {
            ask++;
        }
        if (bid >= ask + 1 && ask < PRICES) {
            text_add(expected, " crossed");
        }
        expect_book(text_get(expected));
    }
}

/* ---- The spread and the mid ---- */

/* Expects "1 and 100.5", or "0 and 0" and an error's name. */
static void expect_prices(const char *name, const char *expected) {
    struct mst_decimal spread = {7, 1, true}, mid = {7, 1, true};
    int spread_rc = mst_book_spread(&shelf.book, &spread);
    int mid_rc = mst_book_mid(&shelf.book, &mid);
    char texts[2][MST_DECIMAL_TEXT_LEN];

    expect_int(name, spread_rc, mid_rc);
    mst_decimal_format(spread, texts[0]);
    mst_decimal_format(mid, texts[1]);
    expect_text(name, expected,
                printed("%s%s and %s%s%s%s", texts[0],
                        spread.inexact ? "~" : "", texts[1],
                        mid.inexact ? "~" : "", spread_rc != 0 ? ": " : "",
                        spread_rc != 0 ? error_name(spread_rc) : ""));
}

TEST_CASE(the_spread_and_the_mid_are_exact) {
    static const struct {
        const char *levels, *expected;
    } cases[] = {
        {"b 100 1, b 99 1, a 101 1, a 102 1", "1 and 100.5"},
        {"b 100 1, a 100.5 1", "0.5 and 100.25"},
        {"b 0.00012 1, a 0.000120001 1", "0.000000001 and 0.0001200005"},
        {"b 10 1, a 1e3 1", "990 and 505"},
        /* Crossed: the service aggregates. */
        {"b 101 1, a 100 1", "-1 and 100.5"},
        {"b 100 1, a 100 1", "0 and 100"},
        /* The sum has 19 digits, the mid has 18. */
        {"b 999999999999999997 1, a 999999999999999999 1",
         "2 and 999999999999999998"},
        {"b 99999999999999997 1, a 99999999999999998 1",
         "1 and 99999999999999997.5"},
        /* More than 18 digits: truncated. */
        {"b 123456789012345678 1, a 123456789012345679 1",
         "1 and 123456789012345678~"},
        {"b 1e-18 1, a 1 1", "0.999999999999999999 and 0.5~"},
        /* There is no smaller unit. */
        {"b 1e-64 1, a 3e-64 1",
         "0.0000000000000000000000000000000000000000000000000000000000000002 "
         "and "
         "0.0000000000000000000000000000000000000000000000000000000000000002"},
        {"b 1e-64 1, a 4e-64 1",
         "0.0000000000000000000000000000000000000000000000000000000000000003 "
         "and "
         "0.0000000000000000000000000000000000000000000000000000000000000002~"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        shelf_begin(CAPACITY, cases[i].levels);
        expect_prices(cases[i].levels, cases[i].expected);
    }
}

TEST_CASE(the_mid_is_as_far_from_either_side) {
    uint64_t seed = 7;

    for (int i = 0; i < 20000; i++) {
        int64_t bid = (int64_t)(random_next(&seed) % 100000000000000000);
        int64_t ask = bid + (int64_t)(random_next(&seed) % 1000000);
        int scale = (int)(random_next(&seed) % 30);
        struct mst_decimal spread, mid, bids, asks;
        const char *levels =
            printed("b %llde-%d 1, a %llde-%d 1", (long long)bid, scale,
                    (long long)ask, scale);

        shelf_begin(CAPACITY, levels);
        assert_int_equal(mst_book_spread(&shelf.book, &spread), 0);
        assert_int_equal(mst_book_mid(&shelf.book, &mid), 0);
        bids = mst_level_price(mst_book_level(&shelf.book, MST_BID, 0));
        asks = mst_level_price(mst_book_level(&shelf.book, MST_ASK, 0));
        if (mst_decimal_cmp(mst_decimal_sub(mid, bids),
                            mst_decimal_sub(asks, mid)) != 0 ||
            mst_decimal_cmp(mst_decimal_add(bids, spread), asks) != 0 ||
            mid.inexact || spread.inexact) {
            expect_failed("%s", levels);
        }
    }
}

TEST_CASE(a_side_that_shows_no_level_is_an_error) {
    shelf_open(1);
    expect_prices("empty", "0 and 0: NO_LEVELS");
    shelf_apply(SNAPSHOT | WHOLE, "");
    expect_prices("no side", "0 and 0: NO_LEVELS");
    shelf_apply(SNAPSHOT | WHOLE, "b 100 1");
    expect_prices("one side", "0 and 0: NO_LEVELS");
    shelf_apply(SNAPSHOT | WHOLE, "a 101 1");
    expect_prices("the other side", "0 and 0: NO_LEVELS");
    shelf_apply(SNAPSHOT | WHOLE, "b 100 1, a 101 1, a 102 1");
    expect_prices("both", "1 and 100.5");
    shelf_apply(UPDATE | WHOLE, "a 101 0");
    expect_prices("the best is beyond the horizon", "0 and 0: HORIZON");
    shelf_apply(SNAPSHOT | FIRST, "b 100 1, a 101 1");
    expect_prices("building", "0 and 0: NO_LEVELS");
}

TEST_CASE(prices_of_a_stale_book_are_what_was_known) {
    shelf_begin(CAPACITY, "b 100 1, a 101 1");
    mst_book_stale(&shelf.book, MST_BOOK_RECONNECT);
    expect_prices("stale", "1 and 100.5");
}

RUN_WITH(expect_begin, shelf_tear_down, NULL, NULL)
