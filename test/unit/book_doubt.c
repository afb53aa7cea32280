/*
 * Tests of the order book with a faulty service: its time goes back, or parts
 * of messages arrive in an impossible order.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "support_book.h"

#define CAPACITY 4
#define SECOND INT64_C(1000000000)
#define MILLISECOND INT64_C(1000000)

/* ---- The service's time goes back ---- */

#define SNAPSHOT_NS (100 * SECOND)
#define RECEIVED_NS UINT64_C(7000000000)

static void open_live(void) {
    shelf_open(CAPACITY);
    apply_part_at(SNAPSHOT_NS, RECEIVED_NS, SNAPSHOT | WHOLE,
                  "b 100 1, b 99 1, a 101 1");
    expect_flags(0);
}

/* Applies an update older than the snapshot, received later_ns after it. It is
 * dropped, and the flag tells if that may be wrong. */
static void expect_dropped(int64_t time_ns, uint64_t later_ns,
                           const char *levels, bool doubt) {
    apply_part_at(time_ns, RECEIVED_NS + later_ns, UPDATE | WHOLE, levels);
    expect_book("live: 100x1 99x1 | 101x1");
    expect_int(levels, doubt ? MST_BOOK_TIME_STEP : 0,
               mst_book_flags(&shelf.book));
}

TEST_CASE(what_comes_soon_after_a_snapshot_may_be_older) {
    open_live();
    expect_dropped(SNAPSHOT_NS - SECOND, 0, "b 100 5", false);
    expect_dropped(SNAPSHOT_NS - MILLISECOND, 2 * SECOND - 1, "b 98 5", false);
}

TEST_CASE(what_comes_long_after_a_snapshot_is_newer) {
    static const int64_t times[] = {SNAPSHOT_NS - MILLISECOND,
                                    SNAPSHOT_NS - 3600 * SECOND, 0};

    for (size_t i = 0; i < COUNT(times); i++) {
        open_live();
        expect_dropped(times[i], 2 * SECOND, "b 100 1", true);
        /* The flag stays until the next snapshot. */
        apply_part_at(SNAPSHOT_NS + SECOND, RECEIVED_NS + SECOND,
                      UPDATE | WHOLE, "b 100 1");
        expect_flags(MST_BOOK_TIME_STEP);
        apply_part_at(SNAPSHOT_NS + SECOND, RECEIVED_NS, SNAPSHOT | WHOLE,
                      "b 90 1");
        expect_flags(0);
    }
}

/* Amounts are absolute: an update that the snapshot contains changes nothing,
 * or is followed by others. One that it does not contain must count. So if
 * snapshot and update have the same time, the later one counts. */
TEST_CASE(an_update_of_the_snapshots_moment_counts) {
    static const struct {
        int64_t older_ns;
        const char *levels, *expected;
    } updates[] = {
        {0, "b 100 1, b 99 1, a 101 1.0", "live: 100x1 99x1 | 101x1"},
        {0, "b 98 0, a 102 0E-8", "live: 100x1 99x1 | 101x1"},
        {0, "b 100 2, b 99 0, a 102 1", "live: 100x2 | 101x1 102x1"},
        {MILLISECOND - 1, "b 100 2", "live: 100x2 99x1 | 101x1"},
        {MILLISECOND, "b 100 2", "live: 100x1 99x1 | 101x1"},
    };

    for (size_t i = 0; i < COUNT(updates); i++) {
        open_live();
        apply_part_at(SNAPSHOT_NS - updates[i].older_ns, RECEIVED_NS,
                      UPDATE | WHOLE, updates[i].levels);
        expect_book(updates[i].expected);
        expect_flags(0);
    }
}

/* Unless a newer update has set the level, or it is beyond the horizon. */
TEST_CASE(what_is_newer_than_the_moment_stays) {
    open_live();
    apply_part_at(SNAPSHOT_NS + MILLISECOND, RECEIVED_NS, UPDATE | WHOLE,
                  "b 100 7");
    apply_part_at(SNAPSHOT_NS, RECEIVED_NS, UPDATE | WHOLE, "b 100 1");
    expect_book("live: 100x7 99x1 | 101x1");

    shelf_open(1);
    apply_part_at(SNAPSHOT_NS, RECEIVED_NS, SNAPSHOT | WHOLE,
                  "b 100 1, b 99 1, a 101 1");
    apply_part_at(SNAPSHOT_NS, RECEIVED_NS, UPDATE | WHOLE, "b 99 2");
    expect_book("live: 100x1 | 101x1");
    expect_flags(0);
}

TEST_CASE(a_snapshot_much_older_than_updates_before_it_is_doubt) {
    static const struct {
        int64_t older_ns;
        unsigned flags;
    } snapshots[] = {{2 * SECOND, 0}, {2 * SECOND + 1, MST_BOOK_TIME_STEP}};

    for (size_t i = 0; i < COUNT(snapshots); i++) {
        shelf_open(CAPACITY);
        apply_part(SNAPSHOT_NS, UPDATE | WHOLE, "b 100 2");
        expect_part(SNAPSHOT_NS - snapshots[i].older_ns, SNAPSHOT | WHOLE,
                    "b 100 1, b 99 1", "live: 100x2 99x1 |");
        expect_flags(snapshots[i].flags);
    }
}

/* A delayed snapshot arrives after a book with a newer update was reset, for a
 * resync or after a snapshot out of order. Times of another connection do not
 * count. */
TEST_CASE(a_snapshot_older_than_an_update_of_an_earlier_book_is_doubt) {
    static const struct {
        int64_t older_ns;
        enum mst_book_reason reason;
        unsigned flags;
    } cases[] = {
        {2 * SECOND, MST_BOOK_RESYNC, 0},
        {2 * SECOND + 1, MST_BOOK_RESYNC, MST_BOOK_TIME_STEP},
        {2 * SECOND + 1, MST_BOOK_BAD_MESSAGE, MST_BOOK_TIME_STEP},
        {2 * SECOND + 1, MST_BOOK_RECONNECT, 0},
        {2 * SECOND + 1, MST_BOOK_DETACHED, MST_BOOK_TIME_STEP},
        {2 * SECOND + 1, MST_BOOK_NO_SNAPSHOT, MST_BOOK_TIME_STEP},
        {2 * SECOND + 1, MST_BOOK_DISORDER, MST_BOOK_TIME_STEP},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t old_ns = SNAPSHOT_NS + SECOND - cases[i].older_ns;

        shelf_open(CAPACITY);
        apply_part(SNAPSHOT_NS, SNAPSHOT | WHOLE, "b 100 1");
        apply_part(SNAPSHOT_NS + SECOND, UPDATE | WHOLE, "b 100 2");
        if (cases[i].reason == MST_BOOK_DISORDER) {
            apply_part(old_ns - 1, SNAPSHOT | WHOLE, "b 100 1");
            expect_int("reason", MST_BOOK_DISORDER,
                       mst_book_reason(&shelf.book));
        } else {
            mst_book_stale(&shelf.book, cases[i].reason);
        }
        expect_part(old_ns, SNAPSHOT | WHOLE, "b 100 1", "live: 100x1 |");
        expect_flags(cases[i].flags);
        /* The doubt ends with an update of the service's new time. */
        apply_part(old_ns + 1, UPDATE | WHOLE, "b 100 2");
        apply_part(old_ns + 1, SNAPSHOT | WHOLE, "b 100 3");
        expect_flags(0);
    }
}

static void check_bid(int64_t time_ns, uint64_t later_ns) {
    struct mst_top top = {
        .market = "BTCUSD",
        .time_ns = time_ns,
        .has_bid = true,
        .bid = {.price_coefficient = 98, .amount_coefficient = 1},
    };

    mst_book_check(&shelf.book, &top, RECEIVED_NS + later_ns);
}

/* The service's time has gone back, without an update since then. */
TEST_CASE(an_older_top_of_book_that_comes_late_counts) {
    open_live();
    for (int i = 0; i < 2 * MST_DISAGREEMENTS; i++) {
        check_bid((1 + i) * 10 * SECOND, 2 * SECOND - 1);
    }
    expect_flags(0);
    for (int i = 0; i < MST_DISAGREEMENTS; i++) {
        expect_flags(0);
        check_bid((1 + i) * SECOND, 2 * SECOND);
    }
    expect_flags(MST_BOOK_DISAGREES);
}

/* The time goes back while book and top of book disagree. */
TEST_CASE(a_disagreement_lasts_though_the_time_goes_back) {
    open_live();
    check_bid(SNAPSHOT_NS + 3600 * SECOND, 0);
    for (int i = 0; i < MST_DISAGREEMENTS; i++) {
        expect_flags(0);
        check_bid(SNAPSHOT_NS + (1 + i) * SECOND, 0);
    }
    expect_flags(MST_BOOK_DISAGREES);
}

TEST_CASE(the_limit_for_thin_books_holds_whenever_it_is_set) {
    shelf_open(2);
    shelf_apply(SNAPSHOT | FIRST, "b 100 1, b 99 2, b 98 3");
    mst_book_set_thin(&shelf.book, 2);
    shelf_apply(SNAPSHOT | LAST, "");
    expect_flags(0);
    shelf_apply(UPDATE | WHOLE, "b 99 0");
    expect_flags(MST_BOOK_THIN);
    shelf_apply(UPDATE | FIRST, "b 97 1");
    mst_book_set_thin(&shelf.book, 1);
    shelf_apply(UPDATE | LAST, "a 101 1");
    expect_flags(0);
}

/* ---- Parts in any order ---- */

/* A message begins before the last one ends, or continues without a
 * beginning. */
TEST_CASE(a_message_that_does_not_end_makes_a_book_stale) {
    static const struct {
        int flags[2];
        const char *expected;
    } orders[] = {
        {{UPDATE | FIRST, UPDATE | WHOLE}, "building: |"},
        {{UPDATE | FIRST, UPDATE | FIRST}, "building: |"},
        {{UPDATE | FIRST, SNAPSHOT | WHOLE}, "live: 90x1 | 95x1"},
        {{SNAPSHOT | FIRST, SNAPSHOT | WHOLE}, "live: 90x1 | 95x1"},
        {{SNAPSHOT | FIRST, UPDATE | WHOLE}, "building: |"},
        {{UPDATE, SNAPSHOT | WHOLE}, "live: 90x1 | 95x1"},
        {{UPDATE | LAST, UPDATE | WHOLE}, "building: |"},
        {{SNAPSHOT | LAST, SNAPSHOT}, "stale: 100x1 99x1 | 101x1"},
    };

    for (size_t i = 0; i < COUNT(orders); i++) {
        open_live();
        apply_part(SNAPSHOT_NS + 1, orders[i].flags[0], "b 100 7, b 98 1");
        expect_part(SNAPSHOT_NS + 2, orders[i].flags[1], "b 90 1, a 95 1",
                    orders[i].expected);
        if (mst_book_state(&shelf.book) != MST_BOOK_LIVE) {
            expect_int("reason", MST_BOOK_ABORTED,
                       mst_book_reason(&shelf.book));
        }
    }
}

/* Writes a random part; the text has space for 4 levels. */
static void random_part(uint64_t *seed, char *text) {
    size_t count = (size_t)(random_next(seed) % 5);

    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        uint64_t r = random_next(seed);

        text += sprintf(text, "%s%c %u %u", i > 0 ? ", " : "",
                        r % 2 == 0 ? 'b' : 'a', 90 + (unsigned)(r / 2 % 20),
                        (unsigned)(r / 64 % 3));
    }
}

/* With any order of parts the book writes nothing outside of its levels, which
 * precede a protected page, and not too many. The next complete snapshot makes
 * it live. */
TEST_CASE(any_order_of_parts_is_safe) {
    uint64_t seed = 20;

    for (size_t round = 0; round < 600; round++) {
        size_t capacity = 1 + round % 7;

        shelf_open(capacity);
        for (size_t i = 0; i < 60; i++) {
            int flags = (int)(random_next(&seed) % 8);
            char text[64];

            flags |= random_next(&seed) % 50 == 0 ? ABORTED : 0;
            random_part(&seed, text);
            shelf_apply(flags, text);
            assert_in_range(mst_book_depth(&shelf.book, MST_BID), 0, capacity);
            assert_in_range(mst_book_depth(&shelf.book, MST_ASK), 0, capacity);
        }
        shelf_expect(SNAPSHOT | WHOLE, "b 80 1, a 81 1", "live: 80x1 | 81x1");
        expect_flags(0);
    }
}

RUN_WITH(expect_begin, shelf_tear_down, NULL, NULL)
