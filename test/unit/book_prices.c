/*
 * Tests of the order book: the spread and the mid.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "support_book.h"

#define CAPACITY 5

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
