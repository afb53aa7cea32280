/*
 * Tests of a book with a spare one: what it shows while a message is merged.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "support_book.h"

#include <string.h>

#define CAPACITY 4

static void open_with_spare(struct shelf *shelf, size_t capacity) {
    shelf_open(shelf, capacity);
    assert_int_equal(mst_book_set_spare(&shelf->book, &shelf->spare), 0);
}

/* The same, live. */
static void open_live(struct shelf *shelf) {
    open_with_spare(shelf, CAPACITY);
    shelf_apply(shelf, SNAPSHOT | WHOLE, "b 100 1, b 99 2, a 101 3");
    expect_book(&shelf->book, "live: 100x1 99x2 | 101x3");
}

static void a_spare_that_does_not_fit_is_refused(void **state) {
    struct mst_level more[2 * (CAPACITY + 1)], room[2 * CAPACITY];
    struct mst_book larger, third;
    struct shelf shelf;

    (void)state;
    shelf_open(&shelf, CAPACITY);
    assert_int_equal(mst_book_init(&larger, more, CAPACITY + 1), 0);
    assert_int_equal(mst_book_init(&third, room, CAPACITY), 0);
    assert_int_equal(mst_book_set_spare(&shelf.book, NULL), MST_ERR_ARGUMENT);
    assert_int_equal(mst_book_set_spare(&shelf.book, &shelf.book),
                     MST_ERR_ARGUMENT);
    assert_int_equal(mst_book_set_spare(&shelf.book, &larger),
                     MST_ERR_ARGUMENT);
    assert_int_equal(mst_book_set_spare(&larger, &shelf.book),
                     MST_ERR_ARGUMENT);
    assert_int_equal(mst_book_set_spare(&shelf.book, &shelf.spare), 0);
    /* One that has a spare is none. */
    assert_int_equal(mst_book_set_spare(&third, &shelf.book), MST_ERR_ARGUMENT);
    assert_int_equal(mst_book_set_spare(&shelf.spare, &shelf.book),
                     MST_ERR_ARGUMENT);
    shelf_close(&shelf);
}

static void what_was_refused_is_not_used(void **state) {
    struct shelf shelf;

    (void)state;
    shelf_open(&shelf, CAPACITY);
    assert_int_equal(mst_book_set_spare(&shelf.book, &shelf.book),
                     MST_ERR_ARGUMENT);
    shelf_apply(&shelf, SNAPSHOT | WHOLE, "b 100 1");
    shelf_apply(&shelf, SNAPSHOT | FIRST, "b 90 1");
    expect_book(&shelf.book, "building: |");
    shelf_apply(&shelf, SNAPSHOT | LAST, "a 91 1");
    expect_book(&shelf.book, "live: 90x1 | 91x1");
    shelf_close(&shelf);
}

static void the_first_snapshot_has_nothing_to_show_meanwhile(void **state) {
    struct mst_decimal sum;
    struct shelf shelf;

    (void)state;
    open_with_spare(&shelf, CAPACITY);
    expect_book(&shelf.book, "empty: |");
    apply_part(&shelf.book, 6, UPDATE | WHOLE, "b 98 1");
    expect_book(&shelf.book, "building: |");
    expect_int("reason", MST_BOOK_NO_SNAPSHOT, mst_book_reason(&shelf.book));
    apply_part(&shelf.book, 5, SNAPSHOT | FIRST, "b 100 1");
    expect_book(&shelf.book, "building: |");
    expect_int("reason", MST_BOOK_IN_MESSAGE, mst_book_reason(&shelf.book));
    assert_int_equal(mst_book_amount(&shelf.book, MST_BID,
                                     (struct mst_decimal){1, 0, false}, &sum),
                     MST_ERR_NO_LEVELS);
    apply_part(&shelf.book, 5, SNAPSHOT | LAST, "a 101 1");
    expect_book(&shelf.book, "live: 100x1 98x1 | 101x1");
    expect_int("reason", MST_BOOK_OK, mst_book_reason(&shelf.book));
    shelf_close(&shelf);
}

static void the_old_book_is_shown_while_a_snapshot_is_merged(void **state) {
    struct shelf shelf;

    (void)state;
    open_live(&shelf);
    for (int round = 0; round < 3; round++) {
        shelf_apply(&shelf, SNAPSHOT | FIRST, "b 90 1, b 89 1");
        expect_book(&shelf.book, "stale: 100x1 99x2 | 101x3");
        expect_int("reason", MST_BOOK_IN_MESSAGE, mst_book_reason(&shelf.book));
        shelf_apply(&shelf, SNAPSHOT, "a 91 1");
        expect_book(&shelf.book, "stale: 100x1 99x2 | 101x3");
        shelf_apply(&shelf, SNAPSHOT | LAST, "a 92 1");
        expect_book(&shelf.book, "live: 90x1 89x1 | 91x1 92x1");
        shelf_apply(&shelf, UPDATE | WHOLE, "b 90 0");
        expect_book(&shelf.book, "live: 89x1 | 91x1 92x1");
        shelf_apply(&shelf, SNAPSHOT | WHOLE, "b 100 1, b 99 2, a 101 3");
        expect_book(&shelf.book, "live: 100x1 99x2 | 101x3");
    }
    shelf_close(&shelf);
}

static void the_old_book_is_shown_while_an_update_is_merged(void **state) {
    struct shelf shelf;

    (void)state;
    open_live(&shelf);
    for (int round = 0; round < 3; round++) {
        shelf_apply(&shelf, UPDATE | FIRST, "b 100 0");
        expect_book(&shelf.book, "stale: 100x1 99x2 | 101x3");
        shelf_apply(&shelf, UPDATE | LAST, "a 101 4");
        expect_book(&shelf.book, "live: 99x2 | 101x4");
        shelf_apply(&shelf, UPDATE | WHOLE, "b 100 1, a 101 3");
        expect_book(&shelf.book, "live: 100x1 99x2 | 101x3");
    }
    shelf_close(&shelf);
}

static void a_message_that_does_not_count_changes_nothing(void **state) {
    struct shelf shelf;

    (void)state;
    open_live(&shelf);
    apply_part(&shelf.book, 1, UPDATE | FIRST, "b 100 0");
    expect_book(&shelf.book, "live: 100x1 99x2 | 101x3");
    apply_part(&shelf.book, 1, UPDATE | LAST, "a 101 0");
    expect_book(&shelf.book, "live: 100x1 99x2 | 101x3");
    shelf_close(&shelf);
}

/* From the stale mark on, through what comes before the snapshot. */
static void the_old_book_is_shown_until_the_next_is_whole(void **state) {
    struct shelf shelf;

    (void)state;
    open_live(&shelf);
    mst_book_stale(&shelf.book, MST_BOOK_RECONNECT);
    expect_book(&shelf.book, "stale: 100x1 99x2 | 101x3");
    shelf_apply(&shelf, UPDATE | WHOLE, "b 95 1");
    expect_book(&shelf.book, "stale: 100x1 99x2 | 101x3");
    expect_int("reason", MST_BOOK_RECONNECT, mst_book_reason(&shelf.book));
    apply_part(&shelf.book, 5, SNAPSHOT | FIRST, "b 96 1");
    expect_book(&shelf.book, "stale: 100x1 99x2 | 101x3");
    apply_part(&shelf.book, 5, SNAPSHOT | LAST, "a 97 1");
    expect_book(&shelf.book, "live: 96x1 95x1 | 97x1");
    shelf_close(&shelf);
}

/* Whichever way a message ends early: the old book stays, the rest of the
 * message is nothing, and the next snapshot is merged as ever. */
static void a_message_that_ends_early_leaves_the_old_book(void **state) {
    static const struct {
        int message;
        bool aborted;
        enum mst_book_reason reason;
    } ends[] = {
        {SNAPSHOT, true, MST_BOOK_ABORTED},
        {UPDATE, true, MST_BOOK_ABORTED},
        {SNAPSHOT, false, MST_BOOK_RESYNC},
        {UPDATE, false, MST_BOOK_RESYNC},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(ends); i++) {
        struct shelf shelf;

        open_live(&shelf);
        shelf_apply(&shelf, ends[i].message | FIRST, "b 99 0, b 90 1");
        if (ends[i].aborted) {
            shelf_apply(&shelf, ends[i].message | ABORTED, "");
        } else {
            mst_book_stale(&shelf.book, MST_BOOK_RESYNC);
            shelf_apply(&shelf, ends[i].message | LAST, "b 100 0");
        }
        expect_book(&shelf.book, "stale: 100x1 99x2 | 101x3");
        expect_int("reason", ends[i].reason, mst_book_reason(&shelf.book));
        shelf_apply(&shelf, UPDATE | WHOLE, "b 88 1");
        expect_book(&shelf.book, "stale: 100x1 99x2 | 101x3");
        shelf_apply(&shelf, SNAPSHOT | FIRST, "b 80 1");
        expect_book(&shelf.book, "stale: 100x1 99x2 | 101x3");
        shelf_apply(&shelf, SNAPSHOT | LAST, "a 81 1");
        expect_book(&shelf.book, "live: 80x1 | 81x1");
        shelf_close(&shelf);
    }
}

static void a_snapshot_that_is_refused_leaves_the_old_book(void **state) {
    struct shelf shelf;

    (void)state;
    open_live(&shelf);
    shelf_apply(&shelf, SNAPSHOT | WHOLE, "b 90 1, b 90 2");
    expect_book(&shelf.book, "stale: 100x1 99x2 | 101x3");
    expect_int("reason", MST_BOOK_DISORDER, mst_book_reason(&shelf.book));
    shelf_apply(&shelf, SNAPSHOT | WHOLE, "b 90 1");
    expect_book(&shelf.book, "live: 90x1 |");
    shelf_close(&shelf);
}

/* Levels, horizon and sums are of one book, the one that is shown. */
static void the_old_book_is_shown_as_it_was(void **state) {
    const struct mst_decimal deep = {95, 0, false};
    struct mst_decimal horizon, sum;
    struct shelf shelf;

    (void)state;
    open_with_spare(&shelf, 2);
    shelf_apply(&shelf, SNAPSHOT | WHOLE, "b 100 1, b 99 2, b 98 3");
    shelf_apply(&shelf, SNAPSHOT | FIRST, "b 90 1, b 89 1, b 88 1, b 87 1");
    expect_book(&shelf.book, "stale: 100x1 99x2 |");
    assert_true(mst_book_horizon(&shelf.book, MST_BID, &horizon));
    assert_int_equal(horizon.coefficient, 98);
    assert_int_equal(mst_book_amount(&shelf.book, MST_BID, deep, &sum),
                     MST_ERR_HORIZON);
    assert_int_equal(sum.coefficient, 3);
    assert_int_equal(mst_book_time(&shelf.book), shelf.time_ns - 1000000000);
    shelf_apply(&shelf, SNAPSHOT | LAST, "");
    assert_true(mst_book_horizon(&shelf.book, MST_BID, &horizon));
    assert_int_equal(horizon.coefficient, 88);
    shelf_close(&shelf);
}

/* What a caller set holds for the book, not for the memory it is in. */
static void the_limit_for_thin_books_holds_whenever_it_is_set(void **state) {
    struct shelf shelf;

    (void)state;
    open_with_spare(&shelf, 2);
    shelf_apply(&shelf, SNAPSHOT | FIRST, "b 100 1, b 99 2, b 98 3");
    mst_book_set_thin(&shelf.book, 2);
    shelf_apply(&shelf, SNAPSHOT | LAST, "");
    expect_int("flags", 0, mst_book_flags(&shelf.book));
    shelf_apply(&shelf, UPDATE | WHOLE, "b 99 0");
    expect_int("flags", MST_BOOK_THIN, mst_book_flags(&shelf.book));
    shelf_apply(&shelf, UPDATE | FIRST, "b 97 1");
    mst_book_set_thin(&shelf.book, 1);
    shelf_apply(&shelf, UPDATE | LAST, "a 101 1");
    expect_int("flags", 0, mst_book_flags(&shelf.book));
    shelf_close(&shelf);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_spare_that_does_not_fit_is_refused),
        TEST(what_was_refused_is_not_used),
        TEST(the_first_snapshot_has_nothing_to_show_meanwhile),
        TEST(the_old_book_is_shown_while_a_snapshot_is_merged),
        TEST(the_old_book_is_shown_while_an_update_is_merged),
        TEST(a_message_that_does_not_count_changes_nothing),
        TEST(the_old_book_is_shown_until_the_next_is_whole),
        TEST(a_message_that_ends_early_leaves_the_old_book),
        TEST(a_snapshot_that_is_refused_leaves_the_old_book),
        TEST(the_old_book_is_shown_as_it_was),
        TEST(the_limit_for_thin_books_holds_whenever_it_is_set),
    };

    return cmocka_run_group_tests_name("book: spare", tests, NULL, NULL);
}
