/*
 * How the order book finds levels: keys of prices, places of keys, and updates
 * whose levels are located before the first one is applied.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "support.h"

#include "mini_stream.c" /* NOLINT(bugprone-suspicious-include) */

#define MOST 1100 /* levels per side */

static uint64_t seed = 1;

static struct mst_level level_of(enum mst_side side, struct mst_decimal price) {
    return (struct mst_level){.price_coefficient = price.coefficient,
                              .price_exponent = price.exponent,
                              .amount_coefficient = 1,
                              .side = (uint8_t)side};
}

static uint32_t key_of(const struct mst_book_side *s, enum mst_side side,
                       struct mst_decimal price) {
    const struct mst_level level = level_of(side, price);

    return book_key(s, &level);
}

static int64_t random_from(int64_t least, int64_t most) {
    return least + (int64_t)(random_next(&seed) % (uint64_t)(most - least + 1));
}

/* ---- Keys ---- */

/* Returns similar prices and others, of any length, and below 0. */
static struct mst_decimal random_price(void) {
    struct mst_decimal price = {.exponent = (int8_t)random_from(-6, 1)};
    int64_t most = 1;

    switch (random_from(0, 3)) {
    case 0:
        for (int64_t digits = random_from(1, 18); digits > 0; digits--) {
            most *= 10;
        }
        price.coefficient = random_from(-most / 10, most - 1);
        price.exponent = (int8_t)random_from(-64, 63);
        break;
    case 1: price.coefficient = random_from(-3, 3); break;
    default:
        price.coefficient = random_from(99, 101);
        for (int e = price.exponent; e > -6; e--) {
            price.coefficient *= 10;
        }
        price.coefficient += random_from(-2, 2);
        price.exponent = -6;
        while (price.coefficient % 10 == 0 && random_from(0, 1) == 0) {
            price.coefficient /= 10;
            price.exponent++;
        }
    }
    return price;
}

/* In any unit a better price never has a smaller key, and an exact key belongs
 * to one price only. */
TEST_CASE(keys_are_in_the_order_of_prices) {
    static const int8_t units[] = {-72, -12, -6, -5, 0, 3, 73, INT8_MAX};

    for (size_t i = 0; i < 400000; i++) {
        const struct mst_book_side s = {.unit = units[i % COUNT(units)]};
        enum mst_side side = (enum mst_side)random_from(MST_BID, MST_ASK);
        struct mst_decimal a = random_price(), b = random_price();
        int better = mst_decimal_cmp(a, b) * (side == MST_BID ? 1 : -1);
        uint32_t p = key_of(&s, side, a), q = key_of(&s, side, b);

        if (better > 0 ? p < q : better < 0 ? p > q : p != q) {
            fail_msg("keys %u %u of prices %d apart", p, q, better);
        }
        if (better != 0 && p == q) {
            assert_false(book_key_is_exact(p, side));
        }
    }
}

/* Prices in units have distinct keys, up to twice the best price. */
TEST_CASE(prices_of_nine_digits_have_keys_of_their_own) {
    const struct mst_book_side s = {.unit = -4};

    for (int64_t i = 1; i < 2147483647; i += random_from(1, 99999)) {
        struct mst_decimal price = {i, -4, false}, next = {i + 1, -4, false};
        assert_true(book_key_is_exact(key_of(&s, MST_BID, price), MST_BID));
        assert_true(book_key_is_exact(key_of(&s, MST_ASK, price), MST_ASK));
        assert_true(key_of(&s, MST_BID, price) < key_of(&s, MST_BID, next));
    }
}

/* ---- Places ---- */

static int compare_levels(const void *a, const void *b) {
    return book_compare(a, b);
}

/* Writes distinct levels of a side, worst first. Returns their number. */
static uint32_t random_levels(struct mst_level *levels, uint32_t count,
                              enum mst_side side, int spread) {
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct mst_decimal price =
            spread > 0 ? (struct mst_decimal){5234567 + random_from(0, spread),
                                              -2, false}
                       : random_price();
        levels[i] = level_of(side, price);
        while (levels[i].price_coefficient != 0 &&
               levels[i].price_coefficient % 10 == 0) {
            levels[i].price_coefficient /= 10;
            levels[i].price_exponent++;
        }
    }
    qsort(levels, count, sizeof *levels, compare_levels);
    for (uint32_t i = 0; i < count; i++) {
        if (kept == 0 || book_compare(&levels[kept - 1], &levels[i]) != 0) {
            levels[kept++] = levels[i];
        }
    }
    return kept;
}

static void expect_place(const struct mst_book_side *s, enum mst_side side,
                         struct mst_decimal price) {
    const struct mst_level level = level_of(side, price);
    uint32_t key = key_of(s, side, price), by_key = 0, by_price = 0;
    struct book_sought sought = {&level, key, 0};
    bool found;

    while (by_key < s->count && s->levels[by_key].key < key) {
        by_key++;
    }
    while (by_price < s->count &&
           book_better(side, mst_level_price(&s->levels[by_price]), price) <
               0) {
        by_price++;
    }
    sought.place = book_place(s->levels, s->count, key);
    assert_int_equal(sought.place, by_key);
    found = book_search(s->levels, s->count, &sought) != NULL;
    assert_int_equal(sought.place, by_price);
    assert_int_equal(found,
                     by_price < s->count &&
                         book_compare(&s->levels[by_price], &level) == 0);
}

/* Searches with this unit for each level, for prices next to it, and for the
 * worst and best possible prices. */
static void expect_places(struct mst_book_side *s, enum mst_side side,
                          int8_t unit) {
    const struct mst_decimal low = {-1, 63, false}, high = {1, 63, false};

    s->unit = unit;
    for (uint32_t i = 0; i < s->count; i++) {
        s->levels[i].key = book_key(s, &s->levels[i]);
    }
    for (uint32_t i = 0; i < s->count; i += 1 + s->count / 300) {
        struct mst_decimal price = mst_level_price(&s->levels[i]);
        expect_place(s, side, price);
        price.coefficient++;
        expect_place(s, side, price);
        price.coefficient -= 2;
        expect_place(s, side, price);
    }
    expect_place(s, side, low);
    expect_place(s, side, high);
}

TEST_CASE(places_are_found_among_any_number_of_levels) {
    static const int8_t units[] = {-4, -2, 1, -9, INT8_MAX};
    static struct mst_level levels[MOST];
    struct mst_book_side s = {.levels = levels};

    for (uint32_t count = 0; count <= MOST; count += 1 + count / 16) {
        enum mst_side side = (enum mst_side)(count % 2);
        for (int spread = 0; spread <= 1000000; spread += 500000) {
            s.count = random_levels(levels, count, side, spread);
            for (size_t i = 0; i < COUNT(units); i++) {
                expect_places(&s, side, units[i]);
            }
        }
    }
}

/* Also if a search takes many steps to get near. */
TEST_CASE(places_are_found_among_very_many_levels) {
    static struct mst_level levels[40000];
    static const uint32_t counts[] = {8191, 16383, 32767, COUNT(levels)};

    for (uint32_t i = 0; i < COUNT(levels); i++) {
        levels[i].key = 2 * i + 1;
    }
    for (size_t c = 0; c < COUNT(counts); c++) {
        for (uint32_t i = 0; i < counts[c]; i++) {
            assert_int_equal(book_place(levels, counts[c], 2 * i), i);
            assert_int_equal(book_place(levels, counts[c], 2 * i + 1), i);
        }
        assert_int_equal(book_place(levels, counts[c], UINT32_MAX), counts[c]);
    }
}

/* ---- Updates ---- */

#define PRICES 60
#define CAPACITY 40

/* Two equal books: one gets whole messages, the other their levels one by one,
 * at the same time. */
struct twins {
    struct mst_level room[2][2 * CAPACITY];
    struct mst_book whole, single;
    int64_t time_ns;
};

static struct mst_level random_level(int64_t time_ns) {
    enum mst_side side = (enum mst_side)random_from(MST_BID, MST_ASK);
    int64_t away = random_from(1, PRICES);

    return (struct mst_level){
        .price_coefficient = 100001 + 20 * (side == MST_BID ? -away : away),
        .price_exponent = -2,
        .amount_coefficient = random_from(0, 3) == 0 ? 0 : random_from(1, 99),
        .time_ns = time_ns,
        .side = (uint8_t)side,
    };
}

static void apply(struct mst_book *book, const struct mst_level *levels,
                  size_t count, bool snapshot, int64_t time_ns) {
    const struct mst_part part = {
        .market = "BTCUSD",
        .time_ns = time_ns,
        .levels = levels,
        .count = count,
        .snapshot = snapshot,
        .first = true,
        .last = true,
    };

    mst_book_apply(book, &part, 0);
}

/* Times are BOOK_ALIKE_NS apart, or less. */
static void twins_update(struct twins *twins) {
    struct mst_level levels[BOOK_BATCH + 9];
    size_t count = (size_t)random_from(1, COUNT(levels));

    twins->time_ns += random_from(0, 2) * BOOK_ALIKE_NS / 2;
    for (size_t i = 0; i < count; i++) {
        levels[i] = random_level(twins->time_ns);
        if (i > 0 && random_from(0, 3) == 0) {
            int64_t amount = levels[i].amount_coefficient;
            levels[i] = levels[random_from(0, (int64_t)i - 1)];
            levels[i].amount_coefficient = amount;
        }
    }
    apply(&twins->whole, levels, count, false, twins->time_ns);
    for (size_t i = 0; i < count; i++) {
        apply(&twins->single, &levels[i], 1, false, twins->time_ns);
    }
}

static void twins_snapshot(struct twins *twins) {
    struct mst_level levels[2 * PRICES];
    size_t count = 0;

    twins->time_ns += BOOK_ALIKE_NS;
    for (int64_t away = 1; away <= PRICES; away++) {
        for (int side = MST_BID; side <= MST_ASK; side++) {
            struct mst_level level = random_level(twins->time_ns);
            level.side = (uint8_t)side;
            level.price_coefficient =
                100001 + 20 * (side == MST_BID ? -away : away);
            if (random_from(0, 3) == 0) {
                levels[count++] = level;
            }
        }
    }
    apply(&twins->whole, levels, count, true, twins->time_ns);
    apply(&twins->single, levels, count, true, twins->time_ns);
}

static void expect_alike(const struct twins *twins) {
    assert_int_equal(mst_book_state(&twins->whole),
                     mst_book_state(&twins->single));
    assert_int_equal(mst_book_flags(&twins->whole),
                     mst_book_flags(&twins->single));
    for (enum mst_side side = MST_BID; side <= MST_ASK; side++) {
        struct mst_decimal a = {0, 0, false}, b = {0, 0, false};
        size_t depth = mst_book_depth(&twins->whole, side);

        assert_int_equal(depth, mst_book_depth(&twins->single, side));
        assert_int_equal(mst_book_horizon(&twins->whole, side, &a),
                         mst_book_horizon(&twins->single, side, &b));
        assert_int_equal(a.coefficient, b.coefficient);
        for (size_t i = 0; i < depth; i++) {
            assert_memory_equal(mst_book_level(&twins->whole, side, i),
                                mst_book_level(&twins->single, side, i),
                                offsetof(struct mst_level, key));
        }
    }
}

/* A price may occur several times in a message, and the book may be full, or
 * wait for its snapshot. */
TEST_CASE(levels_of_a_message_are_applied_in_order) {
    for (int round = 0; round < 300; round++) {
        struct twins twins = {.time_ns = 1};
        size_t capacity = (size_t)(round % 2 == 0 ? CAPACITY : CAPACITY / 4);

        assert_int_equal(mst_book_init(&twins.whole, twins.room[0], capacity),
                         0);
        assert_int_equal(mst_book_init(&twins.single, twins.room[1], capacity),
                         0);
        for (int64_t i = random_from(0, 3); i > 0; i--) {
            twins_update(&twins);
        }
        twins_snapshot(&twins);
        expect_alike(&twins);
        for (int i = 0; i < 100; i++) {
            twins_update(&twins);
            expect_alike(&twins);
        }
    }
}

/* Sixteen levels are located before the first is applied, but none after a
 * removal. */
TEST_CASE(levels_are_looked_for_ahead) {
    struct mst_level room[2 * CAPACITY], levels[BOOK_BATCH + 1];
    struct mst_book book;

    assert_int_equal(mst_book_init(&book, room, CAPACITY), 0);
    apply(&book, NULL, 0, true, 1);
    for (size_t i = 0; i < COUNT(levels); i++) {
        levels[i] = (struct mst_level){.price_coefficient = 1 + (int64_t)i,
                                       .amount_coefficient = 1,
                                       .time_ns = 2};
    }
    assert_int_equal(book_update(&book, levels, 3), 3);
    assert_int_equal(book_update(&book, levels, COUNT(levels)), BOOK_BATCH);
    levels[4].amount_coefficient = 0;
    assert_int_equal(book_update(&book, levels, COUNT(levels)), 5);
}

/* Bids of a market whose price has another magnitude in each message: keys
 * still distinguish them. */
TEST_CASE(keys_follow_the_best_price) {
    static const int8_t exponents[] = {-2, -9, 30, 30, -64, 40, -3};
    struct mst_level room[2 * CAPACITY], levels[2 * CAPACITY];
    struct mst_book book;
    size_t count = 0;

    assert_int_equal(mst_book_init(&book, room, CAPACITY), 0);
    apply(&book, NULL, 0, true, 1);
    for (size_t i = 0; i < COUNT(exponents); i++) {
        int64_t time_ns = (int64_t)(i + 2) * BOOK_ALIKE_NS;
        for (size_t j = 0; j < count; j++) {
            levels[j].amount_coefficient = 0; /* of the previous message */
        }
        for (size_t j = 0; j < CAPACITY / 2; j++) {
            levels[count + j] = (struct mst_level){
                .price_coefficient = 1234501 + 10 * (int64_t)j,
                .price_exponent = exponents[i],
                .amount_coefficient = 1,
                .time_ns = time_ns,
            };
        }
        apply(&book, levels, count + CAPACITY / 2, false, time_ns);
        memmove(levels, levels + count, CAPACITY / 2 * sizeof *levels);
        count = CAPACITY / 2;
        assert_int_equal(mst_book_depth(&book, MST_BID), count);
        /* The best price has nine digits in units; each unit has two keys. */
        assert_in_range(mst_book_level(&book, MST_BID, 0)->key / 2, 100000000,
                        999999999);
        for (size_t j = 1; j < count; j++) {
            assert_true(mst_book_level(&book, MST_BID, j)->key <
                        mst_book_level(&book, MST_BID, j - 1)->key);
        }
    }
}

RUN_CASES(NULL, NULL)
