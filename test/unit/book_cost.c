/*
 * The cost of the order book, counted instead of timed: the bytes that it
 * moves. Comparisons are not counted: a linear search for each would exceed the
 * program's time limit. A build without WORDS moves bytes by assignments, which
 * are not counted: only its books are checked.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "support.h"

static size_t bytes_moved;

static void *counted_move(void *to, const void *from, size_t len) {
    bytes_moved += len;
    return memmove(to, from, len);
}

#define memmove counted_move
#include "mini_stream.c" /* NOLINT(bugprone-suspicious-include) */
#undef memmove

#include "parts.h"

#define LEVELS 80000 /* per side */

enum order { BEST_FIRST, WORST_FIRST, RANDOM, ORDERS };

/* Fills the array with ranks 0 to LEVELS - 1 in this order. */
static void fill_ranks(uint32_t *ranks, enum order order) {
    uint64_t seed = 3;

    for (uint32_t i = 0; i < LEVELS; i++) {
        ranks[i] = order == WORST_FIRST ? LEVELS - 1 - i : i;
    }
    for (uint32_t i = LEVELS; order == RANDOM && i > 1; i--) {
        uint32_t at = (uint32_t)(random_next(&seed) % i), rank = ranks[at];

        ranks[at] = ranks[i - 1];
        ranks[i - 1] = rank;
    }
}

/* Applies a snapshot of both sides in this order to a book with or without
 * space for all levels, after some newer updates. */
static void expect_cheap_snapshot(enum order order, size_t capacity) {
    static struct mst_level room[2 * LEVELS], levels[2 * LEVELS];
    static uint32_t ranks[LEVELS];
    struct mst_level newer[10];
    struct mst_book book;

    assert_int_equal(mst_book_init(&book, room, capacity), 0);
    fill_ranks(ranks, order);
    for (uint32_t i = 0; i < LEVELS; i++) {
        levels[i] = level_at(MST_BID, ranks[i]);
        levels[LEVELS + i] = level_at(MST_ASK, ranks[i]);
    }
    for (uint32_t i = 0; i < COUNT(newer); i++) {
        newer[i] = level_at(MST_BID, 100 * i);
        newer[i].amount_coefficient = 1000;
        newer[i].time_ns = 2;
    }
    parts_apply(&book, newer, COUNT(newer), 2, false);
    bytes_moved = 0;
    parts_apply(&book, levels, 2 * (size_t)LEVELS, 1, true);
    assert_int_equal(mst_book_state(&book), MST_BOOK_LIVE);
    for (enum mst_side side = MST_BID; side <= MST_ASK; side++) {
        assert_int_equal(mst_book_depth(&book, side), capacity);
        for (uint32_t rank = 0; rank < capacity; rank++) {
            struct mst_level expected = level_at(side, rank);

            assert_int_equal(
                mst_book_level(&book, side, rank)->price_coefficient,
                expected.price_coefficient);
        }
    }
    assert_in_range(bytes_moved, 0, 2 * 2 * (size_t)LEVELS * sizeof *levels);
}

TEST_CASE(a_snapshot_in_any_order_moves_few_bytes) {
    for (enum order order = BEST_FIRST; order < ORDERS; order++) {
        expect_cheap_snapshot(order, LEVELS);
        expect_cheap_snapshot(order, 1000);
    }
}

enum { DEPTH = 10000, RANK = 5 };

/* Opens a full book of bids, with a gap after each price. */
static void open_deep(struct mst_book *book) {
    static struct mst_level room[2 * DEPTH], levels[DEPTH];

    assert_int_equal(mst_book_init(book, room, DEPTH), 0);
    for (uint32_t i = 0; i < DEPTH; i++) {
        levels[i] = level_at(MST_BID, i);
    }
    parts_apply(book, levels, DEPTH, 1, true);
    assert_int_equal(mst_book_depth(book, MST_BID), DEPTH);
}

/* Removes and restores a level, which moves at most this many levels. */
static void expect_moves(uint32_t rank, size_t most) {
    struct mst_level change = level_at(MST_BID, rank);
    struct mst_book book;

    open_deep(&book);
    for (int64_t i = 0; i < 100; i++) {
        bytes_moved = 0;
        change.amount_coefficient = i % 2; /* removed, then restored */
        parts_apply(&book, &change, 1, 2 + i, false);
        assert_int_equal(mst_book_depth(&book, MST_BID),
                         i % 2 == 0 ? DEPTH - 1 : DEPTH);
        assert_in_range(bytes_moved, WORDS, most * sizeof change);
    }
}

/* A change at a rank moves only the better levels, or the worse ones if they
 * are fewer, however deep the book. */
TEST_CASE(a_change_near_an_end_moves_few_bytes) {
    expect_moves(RANK, RANK);
    expect_moves(DEPTH - 1 - RANK, RANK);
}

/* Adds a level that is better than the last one. */
static void add_better(struct mst_book *book, struct mst_level *level,
                       int64_t time_ns) {
    level->price_coefficient += 10;
    level->price_coefficient += level->price_coefficient % 10 == 0;
    parts_apply(book, level, 1, time_ns, false);
    assert_int_equal(mst_book_level(book, MST_BID, 0)->price_coefficient,
                     level->price_coefficient);
}

/* Levels are removed at the worse end, which leaves space there, and added near
 * the top, until the array's end. Then all are moved back, once. */
TEST_CASE(room_behind_is_taken_all_at_once) {
    struct mst_level level;
    struct mst_book book;
    size_t before, most = 0;

    open_deep(&book);
    for (int64_t i = 0; i < 100; i++) {
        level = level_at(MST_BID, (uint32_t)(DEPTH - 2 - i));
        level.amount_coefficient = 0;
        parts_apply(&book, &level, 1, 2 + i, false);
    }
    level = level_at(MST_BID, 0);
    bytes_moved = 0;
    for (int64_t i = 1; i <= 100; i++) {
        before = bytes_moved;
        add_better(&book, &level, 1000 + i);
        most = bytes_moved - before > most ? bytes_moved - before : most;
    }
    assert_int_equal(mst_book_depth(&book, MST_BID), DEPTH);
    assert_int_equal(most, WORDS * (DEPTH - 100) * sizeof level);
    assert_int_equal(bytes_moved, most);
}

/* Prices drift away from a full book. It makes space for many new levels at
 * once, so that each moves at most a hundred others on average. */
TEST_CASE(new_levels_in_a_full_book_move_few_bytes) {
    enum { NEW = 2000 };
    struct mst_level level = level_at(MST_BID, 0);
    struct mst_book book;

    open_deep(&book);
    bytes_moved = 0;
    for (int64_t i = 1; i <= NEW; i++) {
        add_better(&book, &level, 1 + i);
    }
    assert_in_range(mst_book_depth(&book, MST_BID), DEPTH - DEPTH / 64, DEPTH);
    assert_in_range(bytes_moved, 0, (size_t)NEW * 100 * sizeof level);
}

RUN_CASES(NULL, NULL)
