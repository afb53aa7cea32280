/*
 * A book whose spare one is lent to a second connection: both follow the
 * market by themselves, until the spare is taken over or forgotten.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "oracle_stream.h"
#include "support_book.h"

#include <inttypes.h>
#include <stdio.h>

#include "mini_stream.c" /* NOLINT(bugprone-suspicious-include) */

#define CAPACITY 4

/* A live book, whose spare one is lent. */
static void open_lent(struct shelf *shelf)
{
    shelf_open(shelf, CAPACITY);
    assert_int_equal(mst_book_set_spare(&shelf->book, &shelf->spare), 0);
    shelf_apply(shelf, SNAPSHOT | WHOLE, "b 100 1, a 101 1");
    assert_true(book_lend(&shelf->book));
}

/* A part that comes by the second connection, at the shelf's time. */
static void apply_lent(struct shelf *shelf, int flags, const char *levels)
{
    apply_part(&shelf->spare, shelf->time_ns, flags, levels);
}

static void only_a_spare_that_is_free_is_lent(void **state)
{
    struct shelf shelf;

    (void)state;
    shelf_open(&shelf, CAPACITY);
    assert_false(book_lend(&shelf.book));
    assert_int_equal(mst_book_set_spare(&shelf.book, &shelf.spare), 0);
    shelf_apply(&shelf, SNAPSHOT | FIRST, "b 100 1");
    assert_false(book_lend(&shelf.book));
    shelf_apply(&shelf, SNAPSHOT | LAST, "a 101 1");
    expect_book(&shelf.book, "live: 100x1 | 101x1");
    assert_true(book_lend(&shelf.book));
    shelf_close(&shelf);
}

static void each_follows_its_own_connection(void **state)
{
    struct shelf shelf;

    (void)state;
    open_lent(&shelf);
    shelf_apply(&shelf, UPDATE | WHOLE, "b 99 2");
    apply_lent(&shelf, UPDATE | WHOLE, "b 98 7");
    expect_book(&shelf.book, "live: 100x1 99x2 | 101x1");
    apply_part(&shelf.spare, 1, SNAPSHOT | FIRST, "b 100 5");
    shelf_apply(&shelf, UPDATE | FIRST, "b 100 3");
    expect_book(&shelf.book, "building: |"); /* its spare is not at hand */
    expect_book(&shelf.spare, "building: |");
    apply_part(&shelf.spare, 1, SNAPSHOT | LAST, "a 101 5");
    expect_book(&shelf.spare, "live: 100x5 98x7 | 101x5");
    shelf_apply(&shelf, UPDATE | LAST, "a 101 3");
    expect_book(&shelf.book, "live: 100x3 99x2 | 101x3");
    shelf_close(&shelf);
}

static void a_live_spare_is_shown_at_once(void **state)
{
    struct shelf shelf;

    (void)state;
    open_lent(&shelf);
    for (int round = 0; round < 3; round++) {
        apply_lent(&shelf, SNAPSHOT | WHOLE, "b 90 1, a 91 1");
        book_take_back(&shelf.book, true);
        expect_book(&shelf.book, "live: 90x1 | 91x1");
        shelf_apply(&shelf, UPDATE | WHOLE, "b 89 1");
        expect_book(&shelf.book, "live: 90x1 89x1 | 91x1");
        /* It has a spare one as before. */
        shelf_apply(&shelf, SNAPSHOT | FIRST, "b 80 1");
        expect_book(&shelf.book, "stale: 90x1 89x1 | 91x1");
        shelf_apply(&shelf, SNAPSHOT | LAST, "a 81 1");
        expect_book(&shelf.book, "live: 80x1 | 81x1");
        assert_true(book_lend(&shelf.book));
    }
    shelf_close(&shelf);
}

/* Taken over at each point of its way to be live. */
static void a_spare_that_is_building_goes_on(void **state)
{
    static const struct {
        int flags;
        const char *levels;
    } parts[] = {
        {UPDATE | WHOLE, "b 88 2"},   {UPDATE | FIRST, "b 87 2"},
        {UPDATE | LAST, "b 89 0"},    {SNAPSHOT | FIRST, "b 90 1"},
        {SNAPSHOT, "b 89 1, b 88 1"}, {SNAPSHOT | LAST, "a 91 1"},
    };

    (void)state;
    for (size_t over = 0; over < COUNT(parts); over++) {
        struct shelf shelf;

        open_lent(&shelf);
        for (size_t i = 0; i < COUNT(parts); i++) {
            int64_t time_ns = (parts[i].flags & SNAPSHOT) != 0 ? 5 : 6;

            if (i == over) {
                book_take_back(&shelf.book, true);
            }
            if (i >= over) {
                expect_book(&shelf.book, "stale: 100x1 | 101x1");
            }
            apply_part(i < over ? &shelf.spare : &shelf.book, time_ns,
                       parts[i].flags, parts[i].levels);
        }
        expect_book(&shelf.book, "live: 90x1 88x2 87x2 | 91x1");
        shelf_close(&shelf);
    }
}

/* The book takes part in the message that the connection is in, or it does
 * not: it never takes part in the rest of one. */
static void a_spare_that_was_given_up_begins_anew(void **state)
{
    struct shelf shelf;

    (void)state;
    open_lent(&shelf);
    apply_lent(&shelf, SNAPSHOT | FIRST, "b 90 1");
    mst_book_stale(&shelf.spare, MST_BOOK_BAD_MESSAGE);
    book_take_back(&shelf.book, true);
    shelf_apply(&shelf, SNAPSHOT | LAST, "b 89 1");
    expect_book(&shelf.book, "stale: 100x1 | 101x1");
    shelf_apply(&shelf, SNAPSHOT | FIRST, "b 88 1");
    expect_book(&shelf.book, "stale: 100x1 | 101x1");
    shelf_apply(&shelf, SNAPSHOT | LAST, "a 89 1");
    expect_book(&shelf.book, "live: 88x1 | 89x1");
    shelf_close(&shelf);
}

static void a_spare_of_an_empty_book_is_taken_over_as_any(void **state)
{
    struct shelf shelf;

    (void)state;
    shelf_open(&shelf, CAPACITY);
    assert_int_equal(mst_book_set_spare(&shelf.book, &shelf.spare), 0);
    assert_true(book_lend(&shelf.book));
    apply_part(&shelf.spare, 2, UPDATE | WHOLE, "b 98 1");
    book_take_back(&shelf.book, true);
    expect_book(&shelf.book, "empty: |");
    apply_part(&shelf.book, 1, SNAPSHOT | WHOLE, "b 90 1, b 90 2");
    expect_book(&shelf.book, "stale: |");
    shelf_close(&shelf);
}

/* The rest of a message, and nothing before it. */
static void a_spare_in_which_nothing_began_is_not_shown(void **state)
{
    struct shelf shelf;

    (void)state;
    shelf_open(&shelf, CAPACITY);
    assert_int_equal(mst_book_set_spare(&shelf.book, &shelf.spare), 0);
    assert_true(book_lend(&shelf.book));
    shelf_apply(&shelf, SNAPSHOT | WHOLE, "b 100 1, a 101 1");
    apply_lent(&shelf, UPDATE, "b 99 1");
    book_take_back(&shelf.book, true);
    shelf_apply(&shelf, UPDATE | LAST, "b 98 1");
    expect_book(&shelf.book, "stale: 100x1 | 101x1");
    shelf_close(&shelf);
}

static void a_spare_that_is_not_used_is_forgotten(void **state)
{
    struct shelf shelf;

    (void)state;
    open_lent(&shelf);
    apply_lent(&shelf, SNAPSHOT | WHOLE, "b 90 1, a 91 1");
    book_take_back(&shelf.book, false);
    expect_book(&shelf.book, "live: 100x1 | 101x1");
    shelf_apply(&shelf, UPDATE | FIRST, "b 99 1");
    expect_book(&shelf.book, "stale: 100x1 | 101x1");
    shelf_apply(&shelf, UPDATE | LAST, "a 102 1");
    expect_book(&shelf.book, "live: 100x1 99x1 | 101x1 102x1");
    shelf_close(&shelf);
}

/* The spare is free again in the middle of what the book does by itself. */
static void what_began_in_the_book_ends_there(void **state)
{
    static const struct {
        int flags;
        const char *levels;
    } parts[] = {
        {UPDATE | WHOLE, "b 88 2"},   {UPDATE | FIRST, "b 87 2"},
        {UPDATE | LAST, "b 89 0"},    {SNAPSHOT | FIRST, "b 90 1"},
        {SNAPSHOT, "b 89 1, b 88 1"}, {SNAPSHOT | LAST, "a 91 1"},
        {UPDATE | FIRST, "b 87 0"},   {UPDATE | LAST, "b 86 2"},
    };

    (void)state;
    for (size_t back = 0; back < COUNT(parts); back++) {
        struct shelf shelf;

        open_lent(&shelf);
        apply_lent(&shelf, SNAPSHOT | WHOLE, "b 70 1, b 69 1, a 71 1");
        mst_book_stale(&shelf.book, MST_BOOK_RESYNC);
        for (size_t i = 0; i < COUNT(parts); i++) {
            int64_t time_ns = (parts[i].flags & SNAPSHOT) != 0 ? 5 : 6;

            if (i == back) {
                book_take_back(&shelf.book, false);
            }
            apply_part(&shelf.book, time_ns, parts[i].flags, parts[i].levels);
        }
        expect_book(&shelf.book, "live: 90x1 88x2 86x2 | 91x1");
        shelf_close(&shelf);
    }
}

static void crossings_never_become_fewer(void **state)
{
    struct shelf shelf;

    (void)state;
    open_lent(&shelf);
    shelf_apply(&shelf, UPDATE | WHOLE, "b 102 1");
    shelf_apply(&shelf, UPDATE | WHOLE, "b 102 0");
    assert_int_equal(mst_book_crossings(&shelf.book), 1);
    apply_lent(&shelf, SNAPSHOT | WHOLE, "b 90 1, a 91 1");
    book_take_back(&shelf.book, true);
    assert_int_equal(mst_book_crossings(&shelf.book), 1);
    shelf_apply(&shelf, UPDATE | WHOLE, "b 92 1");
    assert_int_equal(mst_book_crossings(&shelf.book), 2);
    assert_true(book_lend(&shelf.book));
    apply_lent(&shelf, SNAPSHOT | WHOLE, "b 94 1, a 91 1");
    book_take_back(&shelf.book, true);
    assert_int_equal(mst_book_crossings(&shelf.book), 3);
    shelf_close(&shelf);
}

/* ---- Two hostile streams, against their oracles ---- */

struct feed {
    struct stream stream;
    struct oracle oracle;
};

static void feed_open(struct feed *feed, size_t capacity, uint64_t *seed)
{
    stream_open(&feed->stream, random_next(seed));
    oracle_open(&feed->oracle, capacity, false, 0);
}

static void feed_close(struct feed *feed)
{
    stream_close(&feed->stream);
    oracle_close(&feed->oracle);
}

static void apply_oracle_part(struct mst_book *book,
                              const struct oracle_part *from)
{
    struct mst_level levels[MST_PART_LEVELS];
    struct mst_part part = {
        .market = "BTCUSD",
        .time_ns = from->time_ns,
        .levels = levels,
        .count = from->count,
        .snapshot = from->snapshot,
        .first = from->first,
        .last = from->last,
        .aborted = from->aborted,
    };

    for (size_t i = 0; i < from->count; i++) {
        struct mst_decimal price = oracle_decimal(from->levels[i].price, 0);
        struct mst_decimal amount = oracle_decimal(from->levels[i].amount, 0);

        levels[i] = (struct mst_level){
            .price_coefficient = price.coefficient,
            .price_exponent = price.exponent,
            .amount_coefficient = amount.coefficient,
            .amount_exponent = amount.exponent,
            .time_ns = from->levels[i].time_ns,
            .side = (uint8_t)from->levels[i].side,
        };
    }
    mst_book_apply(book, &part, from->received_ns);
}

static void feed_step(struct feed *feed, struct mst_book *book)
{
    struct stream_event event;

    stream_next(&feed->stream, &event);
    if (event.is_part) {
        apply_oracle_part(book, &event.part);
        oracle_apply(&feed->oracle, &event.part);
        if (event.part.last && !feed->oracle.begun) {
            stream_resubscribe(&feed->stream);
        }
    } else {
        mst_book_stale(book, event.reason);
        oracle_stale(&feed->oracle, event.reason);
    }
}

/* The second stream is the first from now on. */
static void feed_take_over(struct feed *first, struct feed *second)
{
    enum mst_book_state shown = first->oracle.state;

    feed_close(first);
    *first = *second;
    if (first->oracle.state != MST_BOOK_LIVE) {
        first->oracle.state =
            shown == MST_BOOK_EMPTY ? MST_BOOK_EMPTY : MST_BOOK_STALE;
    }
}

static bool is_as_known(const struct oracle *o, const struct mst_book *book,
                        enum mst_side side)
{
    size_t depth = oracle_depth(o, side);
    bool alike = mst_book_depth(book, side) == depth;

    for (size_t rank = 0; rank < depth && alike; rank++) {
        const struct oracle_level *known = &o->sides[side].levels[rank];
        const struct mst_level *level = mst_book_level(book, side, rank);

        alike = mst_decimal_cmp(mst_level_price(level),
                                oracle_decimal(known->price, 0)) == 0 &&
                mst_decimal_cmp(mst_level_amount(level),
                                oracle_decimal(known->amount, 0)) == 0;
    }
    return alike;
}

/* False where a book is not what its oracle says. */
static bool is_right(const struct feed *feed, const struct mst_book *book)
{
    const struct oracle *o = &feed->oracle;

    if (o->state != MST_BOOK_LIVE) {
        return mst_book_state(book) != MST_BOOK_LIVE;
    }
    return mst_book_state(book) == MST_BOOK_LIVE &&
           mst_book_flags(book) == o->flags && is_as_known(o, book, MST_BID) &&
           is_as_known(o, book, MST_ASK);
}

struct pair {
    struct shelf shelf;
    struct feed first, second;
    uint64_t seed;
    bool lent;
    unsigned shown_at_once, goes_on; /* how often a spare was taken over */
};

/* Lends the spare, if it is free, or has it back. */
static void lend_or_take_back(struct pair *pair)
{
    bool use = random_next(&pair->seed) % 2 == 0;

    if (!pair->lent) {
        pair->lent = book_lend(&pair->shelf.book);
        if (pair->lent) {
            feed_open(&pair->second, pair->first.oracle.capacity, &pair->seed);
            pair->first.oracle.spare = false;
        }
        return;
    }
    book_take_back(&pair->shelf.book, use);
    pair->lent = false;
    if (use) {
        pair->shown_at_once += pair->second.oracle.state == MST_BOOK_LIVE;
        pair->goes_on += pair->second.oracle.state == MST_BOOK_BUILDING;
        feed_take_over(&pair->first, &pair->second);
    } else {
        feed_close(&pair->second);
    }
    pair->first.oracle.spare = true;
}

static void lend_step(struct pair *pair)
{
    uint64_t kind = random_next(&pair->seed) % 40;

    if (kind == 0) {
        lend_or_take_back(pair);
    } else if (kind % 2 == 0 && pair->lent) {
        feed_step(&pair->second, &pair->shelf.spare);
    } else {
        feed_step(&pair->first, &pair->shelf.book);
    }
}

static void two_streams_never_mix(void **state)
{
    static const size_t capacities[] = {1, 3, 50, 500};
    unsigned shown_at_once = 0, goes_on = 0;

    (void)state;
    for (size_t round = 0; round < 60; round++) {
        size_t capacity = capacities[round % COUNT(capacities)];
        struct pair pair = {.seed = 100 + round};
        bool right = true;

        shelf_open(&pair.shelf, capacity);
        assert_int_equal(
            mst_book_set_spare(&pair.shelf.book, &pair.shelf.spare), 0);
        feed_open(&pair.first, capacity, &pair.seed);
        pair.first.oracle.spare = true;
        for (size_t i = 0; i < 500 && right; i++) {
            lend_step(&pair);
            right = is_right(&pair.first, &pair.shelf.book) &&
                    (!pair.lent || is_right(&pair.second, &pair.shelf.spare));
            if (!right) {
                expect_failed("round %zu, step %zu%s", round, i,
                              pair.lent ? ", lent" : "");
            }
        }
        shown_at_once += pair.shown_at_once;
        goes_on += pair.goes_on;
        feed_close(&pair.first);
        if (pair.lent) {
            feed_close(&pair.second);
        }
        shelf_close(&pair.shelf);
    }
    assert_in_range(shown_at_once, 20, UINT32_MAX);
    assert_in_range(goes_on, 5, UINT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_a_spare_that_is_free_is_lent),
        TEST(each_follows_its_own_connection),
        TEST(a_live_spare_is_shown_at_once),
        TEST(a_spare_that_is_building_goes_on),
        TEST(a_spare_that_was_given_up_begins_anew),
        TEST(a_spare_of_an_empty_book_is_taken_over_as_any),
        TEST(a_spare_in_which_nothing_began_is_not_shown),
        TEST(a_spare_that_is_not_used_is_forgotten),
        TEST(what_began_in_the_book_ends_there),
        TEST(crossings_never_become_fewer),
        TEST(two_streams_never_mix),
    };

    return cmocka_run_group_tests_name("book: lend", tests, NULL, NULL);
}
