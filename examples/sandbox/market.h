/*
 * One synthetic market: a random-walk order book in integer ticks and lots.
 *
 * No I/O and no clock: the same seed and the same number of steps give the same
 * book and the same trades.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_MARKET_H
#define SANDBOX_MARKET_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Limits of the levels that market_new accepts. A step may remove four. */
#define MARKET_DEPTH_LEAST 8
#define MARKET_DEPTH_MOST 80000
#define MARKET_DEPTH_USUAL 150 /* the most if levels is 0 */

struct market_spec {
    const char *symbol;
    int price_decimals;  /* a tick is 10^-price_decimals */
    int amount_decimals; /* a lot is 10^-amount_decimals */
    int64_t start_price; /* ticks; the price tends to return to it */
    int max_gap;         /* most ticks between a new level and its neighbour */
    int max_amount;      /* most lots in a new level */
};

enum market_side { MARKET_BID, MARKET_ASK, MARKET_SIDES };

struct market_level {
    int64_t price;  /* ticks */
    int64_t amount; /* lots; 0 in a change: the level was removed */
};

/* What one step did. */
struct market_change {
    int64_t time_ns;              /* since 1970; each change has a later
                                     millisecond than the one before */
    GArray *levels[MARKET_SIDES]; /* struct market_level, each price once */
    GArray *trades;               /* struct market_level: the amounts taken */
    bool top_changed;             /* price or amount of a best level changed */
};

/* Only market.c changes it. Others may read the members down to steps. */
struct market {
    struct market_spec spec;
    GArray *levels[MARKET_SIDES]; /* struct market_level, best first; each side
                                     has one at least */
    int64_t time_ns;              /* of the last change, since 1970 */
    guint steps;                  /* changes so far */
    guint depth_min;
    guint depth_max;
    bool crosses;
    GRand *random;
    struct market_change change;
};

/* levels: the number per side after each step; 0 means 100 to 150. A deep book
 * has a smaller tick than in the spec, so that no price gets near 0. If crosses
 * is true, the best bid may be at or above the best ask. The spec's symbol must
 * outlive the market. */
struct market *market_new(const struct market_spec *spec, guint levels,
                          bool crosses, uint32_t seed, int64_t now_ns);
void market_free(struct market *market);

/* Makes the next change. The result is valid until the next call. */
const struct market_change *market_step(struct market *market, int64_t now_ns);

#endif
