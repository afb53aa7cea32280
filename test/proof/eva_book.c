/*
 * A book and its spare: parts of any levels, its calls in any order.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "mini_stream.c"

#ifdef EXACT
#define CAPACITY (EXACT + 1)
#else
#define CAPACITY 300
#endif

static struct mst_level levels[2 * CAPACITY], spare_levels[2 * CAPACITY];
static struct mst_level part_levels[MST_PART_LEVELS];
static struct mst_book book, spare;

static struct mst_decimal any_decimal(void) {
    struct mst_decimal d;

    d.coefficient = Frama_C_long_long_interval(INT64_MIN, INT64_MAX);
    d.exponent = (int8_t)Frama_C_interval(-64, 63);
    d.inexact = any_bool();
    return d;
}

static struct mst_level any_level(void) {
    struct mst_decimal price = any_decimal(), amount = any_decimal();

    return (struct mst_level){price.coefficient,
                              amount.coefficient,
                              any_time(),
                              price.exponent,
                              amount.exponent,
                              (uint8_t)any_below(2),
                              (uint8_t)any_below(2),
                              0};
}

static void apply(void) {
    struct mst_part part = {"BTCUSD",   any_time(), part_levels, 0,
                            any_bool(), any_bool(), any_bool(),  any_bool()};

    for (size_t i = 0; i < MST_PART_LEVELS; i++) {
        part_levels[i] = any_level();
    }
    part.count = any_below(MST_PART_LEVELS + 1);
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

int main(void) {
    (void)mst_book_init(&book, levels, CAPACITY);
    if (any_bool()) {
        (void)mst_book_init(&spare, spare_levels, CAPACITY);
        (void)mst_book_set_spare(&book, &spare);
    }
    mst_book_set_thin(&book, any_size());
    while (any_bool()) {
        switch (any_below(4)) {
        case 0: apply(); break;
        case 1: check(); break;
        case 2: mst_book_stale(&book, MST_BOOK_RECONNECT); break;
        default: look(); break;
        }
    }
    REACHED();
    return 0;
}
