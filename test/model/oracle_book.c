/*
 * A book and its oracle: see oracle_book.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "oracle_book.h"

#include "oracle_stream.h"

#define WRONG(b, ...)                                          \
    do {                                                       \
        if ((b)->text[0] == '\0') {                            \
            snprintf((b)->text, sizeof(b)->text, __VA_ARGS__); \
        }                                                      \
    } while (0)

static size_t below(struct oracle_book *b, size_t bound) {
    return (size_t)(random_next(&b->seed) % bound);
}

/* ---- Expectations ---- */

static bool is_equal(struct mst_decimal a, struct mst_decimal b) {
    return a.coefficient == b.coefficient && a.exponent == b.exponent &&
           a.inexact == b.inexact;
}

static struct mst_decimal price_of(const struct oracle_book *b, int64_t price) {
    return oracle_decimal(price, b->oracle.price_exponent);
}

static struct mst_decimal amount_of(const struct oracle_book *b,
                                    const struct oracle_level *level) {
    struct mst_decimal amount =
        oracle_decimal(level->amount, b->oracle.amount_exponent);

    amount.inexact = level->inexact;
    return amount;
}

static bool is_level(const struct oracle_book *b,
                     const struct oracle_level *expected,
                     const struct mst_level *level) {
    return level != NULL && level->side == expected->side &&
           level->time_ns == expected->time_ns &&
           is_equal(mst_level_price(level), price_of(b, expected->price)) &&
           is_equal(mst_level_amount(level), amount_of(b, expected));
}

/* The horizon equals the oracle's, and moves only towards the top until the
 * next snapshot. */
static void check_horizon(struct oracle_book *b, enum mst_side side,
                          bool fresh) {
    const struct oracle *o = &b->oracle;
    struct mst_decimal horizon = {0, 0, false};
    bool cut = mst_book_horizon(&b->book, side, &horizon);

    if (cut != o->cut[side] ||
        (cut && !is_equal(horizon, price_of(b, o->horizon[side])))) {
        WRONG(b, "horizon of side %d", side);
    }
    if (!fresh && b->was_cut[side]) {
        int cmp = cut ? mst_decimal_cmp(horizon, b->was_horizon[side]) : 0;

        if (!cut || (side == MST_BID ? cmp < 0 : cmp > 0)) {
            WRONG(b, "horizon of side %d has moved away", side);
        }
    }
    b->was_cut[side] = cut;
    b->was_horizon[side] = horizon;
}

/* A side has exactly the oracle's levels, in order. */
static void check_side(struct oracle_book *b, enum mst_side side) {
    const struct oracle_level *levels = b->oracle.sides[side].levels;
    size_t depth = oracle_depth(&b->oracle, side);

    if (mst_book_depth(&b->book, side) != depth) {
        WRONG(b, "depth of side %d: %zu for %zu", side,
              mst_book_depth(&b->book, side), depth);
        return;
    }
    for (size_t rank = 0; rank < depth; rank++) {
        if (!is_level(b, &levels[rank], mst_book_level(&b->book, side, rank))) {
            WRONG(b, "level %zu of side %d", rank, side);
            return;
        }
    }
    if (mst_book_level(&b->book, side, depth) != NULL) {
        WRONG(b, "level beyond the depth of side %d", side);
    }
}

/* A random price: one of the side's, or one next to it. */
static int64_t sample_price(struct oracle_book *b, enum mst_side side) {
    const struct oracle_list *list = &b->oracle.sides[side];
    int64_t price = b->middle;

    if (list->count > 0) {
        price = list->levels[below(b, list->count)].price;
    }
    price += below(b, 3) == 0 ? (int64_t)below(b, 3) - 1 : 0;
    return price > 0 ? price : 1;
}

#define E18 1000000000000000000u

/* A sum that may have more than 18 digits. */
struct wide {
    uint64_t high, low; /* high * 10^18 + low */
};

static struct wide wide_add(struct wide a, uint64_t n) {
    uint64_t low = a.low + n % E18;

    return (struct wide){a.high + n / E18 + low / E18, low % E18};
}

static struct wide wide_times_ten(struct wide a) {
    return (struct wide){a.high * 10 + a.low * 10 / E18, a.low * 10 % E18};
}

static bool wide_is_above(struct wide a, struct wide b) {
    return a.high > b.high || (a.high == b.high && a.low > b.low);
}

/* True if there are more than 18 digits, without trailing zeros. */
static bool wide_is_long(struct wide a) {
    while (a.high > 0 && a.low % 10 == 0) {
        a = (struct wide){a.high / 10, a.low / 10 + a.high % 10 * (E18 / 10)};
    }
    return a.high > 0;
}

/* A sum of exact amounts that never exceeds 18 digits is exact. Any other is
 * inexact and too small by at most one in the 18th digit per level. */
static void check_sum(struct oracle_book *b, const struct oracle_level *levels,
                      size_t count, struct mst_decimal sum) {
    int exponent = sum.exponent - b->oracle.amount_exponent;
    struct wide total = {0, 0}, got = {0, (uint64_t)sum.coefficient};
    uint64_t unit = 1;
    bool inexact = false;

    for (size_t i = 0; i < count; i++) {
        total = wide_add(total, (uint64_t)levels[i].amount);
        inexact |= levels[i].inexact || wide_is_long(total);
    }
    for (; exponent > 0; exponent--) {
        got = wide_times_ten(got);
    }
    for (uint64_t rest = total.high; rest > 0; rest /= 10) {
        unit *= 10;
    }
    if (sum.inexact != inexact || wide_is_above(got, total) ||
        wide_is_above(total, wide_add(got, inexact ? unit * count : 0))) {
        WRONG(b, "sum of %zu levels", count);
    }
}

/* Finds a price, and adds up the amounts to it. */
static void check_price(struct oracle_book *b, enum mst_side side) {
    const struct oracle *o = &b->oracle;
    const struct oracle_level *levels = o->sides[side].levels;
    size_t depth = oracle_depth(o, side);
    int64_t price = sample_price(b, side);
    size_t at = oracle_place(o, side, price);
    bool has = at < depth && levels[at].price == price;
    bool beyond = o->cut[side] && (side == MST_BID ? price <= o->horizon[side]
                                                   : price >= o->horizon[side]);
    const struct mst_level *found =
        mst_book_find(&b->book, side, price_of(b, price));
    struct mst_decimal sum;
    int rc = mst_book_amount(&b->book, side, price_of(b, price), &sum);

    if (has ? !is_level(b, &levels[at], found) : found != NULL) {
        WRONG(b, "mst_book_find() of side %d", side);
    }
    if (rc != (beyond ? MST_ERR_HORIZON : 0)) {
        WRONG(b, "mst_book_amount() of side %d returns %d", side, rc);
    }
    check_sum(b, levels, has ? at + 1 : at < depth ? at : depth, sum);
}

static bool is_same(const struct mst_level *a, const struct mst_level *b) {
    return is_equal(mst_level_price(a), mst_level_price(b)) &&
           is_equal(mst_level_amount(a), mst_level_amount(b)) &&
           a->time_ns == b->time_ns && a->side == b->side &&
           a->flags == b->flags;
}

/* A book that is not live shows its last live levels, or nothing. */
static void check_shown(struct oracle_book *b, enum mst_side side) {
    size_t depth = mst_book_depth(&b->book, side);

    if (!b->oracle.shows) {
        b->shown_count[side] = 0;
    }
    if (depth != b->shown_count[side]) {
        WRONG(b, "depth of side %d: %zu, showed %zu", side, depth,
              b->shown_count[side]);
        return;
    }
    for (size_t rank = 0; rank < depth; rank++) {
        const struct mst_level *level = mst_book_level(&b->book, side, rank);

        if (!is_same(level, &b->shown[side][rank])) {
            WRONG(b, "level %zu of side %d is not what it was", rank, side);
            return;
        }
    }
}

static void check(struct oracle_book *b, bool fresh) {
    const struct oracle *o = &b->oracle;

    if (mst_book_state(&b->book) != o->state ||
        mst_book_reason(&b->book) != o->reason) {
        WRONG(b, "state %s (%s) for %s (%s)",
              mst_book_state_name(mst_book_state(&b->book)),
              mst_book_reason_name(mst_book_reason(&b->book)),
              mst_book_state_name(o->state), mst_book_reason_name(o->reason));
        return;
    }
    if (mst_book_flags(&b->book) != o->flags) {
        WRONG(b, "flags %u for %u", mst_book_flags(&b->book), o->flags);
    }
    for (enum mst_side side = MST_BID; side <= MST_ASK; side++) {
        if (o->state != MST_BOOK_LIVE) {
            check_shown(b, side);
        } else {
            check_horizon(b, side, fresh);
            check_side(b, side);
            check_price(b, side);
        }
    }
    if (o->state == MST_BOOK_LIVE && mst_book_time(&b->book) != o->time_ns) {
        WRONG(b, "time %" PRId64 " for %" PRId64, mst_book_time(&b->book),
              o->time_ns);
    }
}

/* ---- Events ---- */

static void remember(struct oracle_book *b) {
    for (enum mst_side side = MST_BID; side <= MST_ASK; side++) {
        b->shown_count[side] = mst_book_depth(&b->book, side);
        for (size_t rank = 0; rank < b->shown_count[side]; rank++) {
            b->shown[side][rank] = *mst_book_level(&b->book, side, rank);
        }
    }
}

static struct mst_decimal spelled(struct oracle_book *b, int64_t units,
                                  int exponent, bool inexact) {
    char text[STREAM_NUMBER_LEN];
    size_t len = stream_spell(&b->seed, units, exponent, inexact, text);
    struct mst_decimal value;

    if (mst_decimal_parse(text, len, &value) != 0) {
        WRONG(b, "number %s", text);
    }
    return value;
}

/* Applies a part to the book, with the numbers in any spelling. */
static void apply(struct oracle_book *b, const struct oracle_part *from) {
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
        const struct oracle_level *level = &from->levels[i];
        struct mst_decimal price =
            spelled(b, level->price, b->oracle.price_exponent, false);
        struct mst_decimal amount = spelled(
            b, level->amount, b->oracle.amount_exponent, level->inexact);

        memset(&levels[i], 0, sizeof levels[i]);
        levels[i].price_coefficient = price.coefficient;
        levels[i].price_exponent = price.exponent;
        levels[i].amount_coefficient = amount.coefficient;
        levels[i].amount_exponent = amount.exponent;
        levels[i].time_ns = level->time_ns;
        levels[i].side = (uint8_t)level->side;
        levels[i].flags = amount.inexact ? MST_LEVEL_INEXACT : 0;
    }
    mst_book_apply(&b->book, &part, from->received_ns);
    oracle_apply(&b->oracle, from);
}

void oracle_book_apply(struct oracle_book *b, const struct oracle_part *part) {
    if (b->oracle.state == MST_BOOK_LIVE &&
        !(part->first && part->last && !part->snapshot)) {
        remember(b);
    }
    apply(b, part);
    check(b, part->snapshot);
}

void oracle_book_stale(struct oracle_book *b, enum mst_book_reason reason) {
    if (b->oracle.state == MST_BOOK_LIVE) {
        remember(b);
    }
    mst_book_stale(&b->book, reason);
    oracle_stale(&b->oracle, reason);
    check(b, false);
}

void oracle_book_open(struct oracle_book *b, uint64_t seed, size_t capacity,
                      size_t thin) {
    size_t len = 2 * capacity * sizeof(struct mst_level);

    *b = (struct oracle_book){.seed = seed, .middle = 1};
    guard_open(&b->guard, len);
    assert_int_equal(
        mst_book_init(&b->book, (void *)guard_room(&b->guard, len), capacity),
        0);
    mst_book_set_thin(&b->book, thin);
    oracle_open(&b->oracle, capacity, thin);
    b->oracle.price_exponent = -2;
    b->oracle.amount_exponent = -8;
    for (unsigned side = 0; side < 2; side++) {
        b->shown[side] = calloc(capacity, sizeof *b->shown[side]);
        assert_non_null(b->shown[side]);
    }
    check(b, true);
}

void oracle_book_close(struct oracle_book *b) {
    guard_close(&b->guard);
    oracle_close(&b->oracle);
    free(b->shown[MST_BID]);
    free(b->shown[MST_ASK]);
}
