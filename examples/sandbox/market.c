/* A random-walk order book. SPDX-License-Identifier: 0BSD */
#include "market.h"

#define DEPTH_MIN 100U

/* Deeper books have a tick a hundred times smaller. */
#define COARSE_DEPTH_MAX 1000U

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)

static struct market_level *level_at(const GArray *levels, guint index) {
    return &g_array_index(levels, struct market_level, index);
}

static struct market_level best(const struct market *market,
                                enum market_side side) {
    return *level_at(market->levels[side], 0);
}

/* Returns the price this many ticks further from the other side. */
static int64_t away(enum market_side side, int64_t price, int64_t ticks) {
    return side == MARKET_BID ? price - ticks : price + ticks;
}

/* Returns the index of the level with this price, or where to insert it. */
static guint level_position(const struct market *market, enum market_side side,
                            int64_t price) {
    const GArray *levels = market->levels[side];
    guint first = 0;
    guint end = levels->len;

    while (first < end) {
        guint i = first + (end - first) / 2;
        int64_t other = level_at(levels, i)->price;

        if (side == MARKET_BID ? other > price : other < price) {
            first = i + 1;
        } else {
            end = i;
        }
    }
    return first;
}

static void record_level(struct market *market, enum market_side side,
                         struct market_level level) {
    GArray *changed = market->change.levels[side];

    for (guint i = 0; i < changed->len; i++) {
        if (level_at(changed, i)->price == level.price) {
            level_at(changed, i)->amount = level.amount;
            return;
        }
    }
    g_array_append_val(changed, level);
}

/* Changes the book, as no other function does. Amount 0 removes the level. */
static void set_level(struct market *market, enum market_side side,
                      int64_t price, int64_t amount) {
    GArray *levels = market->levels[side];
    struct market_level level = {.price = price, .amount = amount};
    guint i = level_position(market, side, price);
    bool present = i < levels->len && level_at(levels, i)->price == price;

    if (amount == 0 && present) {
        g_array_remove_index(levels, i);
    } else if (present) {
        *level_at(levels, i) = level;
    } else {
        g_array_insert_val(levels, i, level);
    }
    record_level(market, side, level);
}

static enum market_side random_side(struct market *market) {
    return g_rand_boolean(market->random) ? MARKET_BID : MARKET_ASK;
}

/* Small amounts are more likely than large ones. */
static int64_t random_amount(struct market *market) {
    int a = g_rand_int_range(market->random, 1, market->spec.max_amount + 1);
    int b = g_rand_int_range(market->random, 1, market->spec.max_amount + 1);

    return MIN(a, b);
}

static int random_gap(struct market *market) {
    return g_rand_int_range(market->random, 1, market->spec.max_gap + 1);
}

/* Returns a level of the side; those near the top are more likely. */
static struct market_level random_level(struct market *market,
                                        enum market_side side) {
    const GArray *levels = market->levels[side];
    int a = g_rand_int_range(market->random, 0, (int)levels->len);
    int b = g_rand_int_range(market->random, 0, (int)levels->len);

    return *level_at(levels, (guint)MIN(a, b));
}

/* Takes an amount from a best level. The further the price is from its start,
 * the more likely is the side that brings it back. */
static void trade(struct market *market) {
    int64_t start = market->spec.start_price;
    int64_t middle =
        (best(market, MARKET_BID).price + best(market, MARKET_ASK).price) / 2;
    int64_t pull = CLAMP((start - middle) * 2000 / start, -400, 400);
    bool up = g_rand_int_range(market->random, 0, 1000) < 500 + pull;
    enum market_side side = up ? MARKET_ASK : MARKET_BID;
    struct market_level top = best(market, side);
    struct market_level taken = {
        .price = top.price,
        .amount = random_amount(market),
    };

    taken.amount = MIN(taken.amount, top.amount);
    g_array_append_val(market->change.trades, taken);
    set_level(market, side, top.price, top.amount - taken.amount);
}

/* Adds a new best level in the spread, if there is room. In a market that
 * crosses, it may go beyond the other side's best, as in a book of several
 * venues; nothing more is added there until trades have uncrossed the book. */
static void improve(struct market *market) {
    enum market_side side = random_side(market);
    struct market_level top = best(market, side);
    int64_t room =
        best(market, MARKET_ASK).price - best(market, MARKET_BID).price - 1;

    if (room > 0) {
        int most = (int)room + (market->crosses ? market->spec.max_gap : 0);
        int ticks = g_rand_int_range(market->random, 1, most + 1);

        set_level(market, side, away(side, top.price, -ticks),
                  random_amount(market));
    }
}

static void add(struct market *market) {
    enum market_side side = random_side(market);
    int64_t price =
        away(side, random_level(market, side).price, random_gap(market));

    set_level(market, side, price, random_amount(market));
}

static void resize(struct market *market) {
    enum market_side side = random_side(market);

    set_level(market, side, random_level(market, side).price,
              random_amount(market));
}

static void cancel(struct market *market) {
    enum market_side side = random_side(market);

    set_level(market, side, random_level(market, side).price, 0);
}

/* Keeps the number of levels within its limits, at the far end of the side. */
static void restock(struct market *market, enum market_side side) {
    GArray *levels = market->levels[side];

    while (levels->len < market->depth_min) {
        int64_t worst = level_at(levels, levels->len - 1)->price;
        int64_t price = away(side, worst, random_gap(market));

        set_level(market, side, price, random_amount(market));
    }
    while (levels->len > market->depth_max) {
        set_level(market, side, level_at(levels, levels->len - 1)->price, 0);
    }
}

static void act(struct market *market) {
    int dice = g_rand_int_range(market->random, 0, 100);

    if (dice < 10) {
        trade(market);
    } else if (dice < 25) {
        improve(market);
    } else if (dice < 45) {
        add(market);
    } else if (dice < 60) {
        cancel(market);
    } else {
        resize(market);
    }
}

static void clear_change(struct market *market) {
    for (int side = 0; side < MARKET_SIDES; side++) {
        g_array_set_size(market->change.levels[side], 0);
    }
    g_array_set_size(market->change.trades, 0);
}

/* Fills a side of a new book; this is not reported as a change. */
static void fill(struct market *market, enum market_side side) {
    int64_t price = away(side, market->spec.start_price, 1);

    for (guint i = 0; i < market->depth_min; i++) {
        struct market_level level = {
            .price = price,
            .amount = random_amount(market),
        };

        g_array_append_val(market->levels[side], level);
        price = away(side, price, random_gap(market));
    }
}

struct market *market_new(const struct market_spec *spec, guint levels,
                          bool crosses, uint32_t seed, int64_t now_ns) {
    struct market *market = g_new0(struct market, 1);

    market->spec = *spec;
    if (levels > COARSE_DEPTH_MAX) {
        market->spec.price_decimals += 2;
        market->spec.start_price *= 100;
    }
    market->depth_min = levels > 0 ? levels : DEPTH_MIN;
    market->depth_max = levels > 0 ? levels : MARKET_DEPTH_USUAL;
    market->crosses = crosses;
    market->random = g_rand_new_with_seed(seed);
    market->time_ns = now_ns;
    market->change.trades =
        g_array_new(FALSE, FALSE, sizeof(struct market_level));
    for (int side = 0; side < MARKET_SIDES; side++) {
        market->levels[side] =
            g_array_new(FALSE, FALSE, sizeof(struct market_level));
        market->change.levels[side] =
            g_array_new(FALSE, FALSE, sizeof(struct market_level));
        fill(market, (enum market_side)side);
    }
    return market;
}

void market_free(struct market *market) {
    for (int side = 0; side < MARKET_SIDES; side++) {
        g_array_unref(market->levels[side]);
        g_array_unref(market->change.levels[side]);
    }
    g_array_unref(market->change.trades);
    g_rand_free(market->random);
    g_free(market);
}

/* Returns the time of the next change. The first change in a second is at its
 * start, so that some times have no fraction. No two changes share a
 * millisecond: messages may carry only milliseconds, and a consumer drops
 * updates that are not later than its snapshot. */
static int64_t next_time_ns(const struct market *market, int64_t now_ns) {
    int64_t least_ns = (market->time_ns / NS_PER_MS + 1) * NS_PER_MS;
    int64_t second_ns = now_ns / NS_PER_S * NS_PER_S;

    return second_ns >= least_ns ? second_ns : MAX(now_ns, least_ns);
}

static bool same_level(struct market_level a, struct market_level b) {
    return a.price == b.price && a.amount == b.amount;
}

const struct market_change *market_step(struct market *market, int64_t now_ns) {
    struct market_level bid = best(market, MARKET_BID);
    struct market_level ask = best(market, MARKET_ASK);

    market->steps++;
    clear_change(market);
    for (int n = g_rand_int_range(market->random, 1, 5); n > 0; n--) {
        act(market);
    }
    restock(market, MARKET_BID);
    restock(market, MARKET_ASK);
    market->time_ns = next_time_ns(market, now_ns);
    market->change.time_ns = market->time_ns;
    market->change.top_changed = !same_level(bid, best(market, MARKET_BID)) ||
                                 !same_level(ask, best(market, MARKET_ASK));
    return &market->change;
}
