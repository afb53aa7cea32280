/*
 * Support for the tests of the order book: see support_book.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "support_book.h"

struct shelf shelf;

static void shelf_close(void) {
    if (shelf.guard.base != NULL) {
        guard_close(&shelf.guard);
    }
    shelf = (struct shelf){0};
}

int shelf_tear_down(void **state) {
    shelf_close();
    return expect_end(state);
}

void shelf_open(size_t capacity) {
    const size_t len = 2 * capacity * sizeof(struct mst_level);
    void *levels;

    shelf_close();
    guard_open(&shelf.guard, len);
    levels = guard_room(&shelf.guard, len);
    assert_int_equal(mst_book_init(&shelf.book, levels, capacity), 0);
}

/* Reads a level. *len is the length of its text. */
static struct mst_level read_level(const char *text, int *len) {
    char side, price_text[32], amount_text[32];
    struct mst_decimal price, amount;

    assert_int_equal(sscanf(text, " %c %31s %31[^, ] %n", &side, price_text,
                            amount_text, len),
                     3);
    assert_int_equal(mst_decimal_parse(price_text, strlen(price_text), &price),
                     0);
    assert_int_equal(
        mst_decimal_parse(amount_text, strlen(amount_text), &amount), 0);
    return (struct mst_level){
        .price_coefficient = price.coefficient,
        .price_exponent = price.exponent,
        .amount_coefficient = amount.coefficient,
        .amount_exponent = amount.exponent,
        .side = side == 'b' ? MST_BID : MST_ASK,
    };
}

struct mst_level level_of(const char *text) {
    int len;

    return read_level(text, &len);
}

void apply_part_at(int64_t time_ns, uint64_t received_ns, int flags,
                   const char *text) {
    struct mst_level levels[MST_PART_LEVELS];
    struct mst_part part = {
        .market = "BTCUSD",
        .time_ns = time_ns,
        .levels = levels,
        .snapshot = (flags & SNAPSHOT) != 0,
        .first = (flags & FIRST) != 0,
        .last = (flags & LAST) != 0,
        .aborted = (flags & ABORTED) != 0,
    };

    while (*text != '\0') {
        int len = 0;

        assert_true(part.count < COUNT(levels));
        levels[part.count] = read_level(text, &len);
        levels[part.count++].time_ns = time_ns;
        text += len;
        text += *text == ',';
    }
    mst_book_apply(&shelf.book, &part, received_ns);
}

void apply_part(int64_t time_ns, int flags, const char *levels) {
    apply_part_at(time_ns, 0, flags, levels);
}

void shelf_apply(int flags, const char *levels) {
    if ((flags & FIRST) != 0) {
        shelf.time_ns += 1000000000;
    }
    apply_part(shelf.time_ns, flags, levels);
}

void expect_book(const char *expected) {
    expect_book_text("book", expected, &shelf.book);
}

void shelf_begin(size_t capacity, const char *levels) {
    shelf_open(capacity);
    shelf_apply(SNAPSHOT | WHOLE, levels);
}

void shelf_expect(int flags, const char *levels, const char *expected) {
    shelf_apply(flags, levels);
    expect_book(expected);
}

void expect_part(int64_t time_ns, int flags, const char *levels,
                 const char *expected) {
    apply_part(time_ns, flags, levels);
    expect_book(expected);
}

void expect_flags(unsigned expected) {
    expect_int("flags", expected, mst_book_flags(&shelf.book));
}
