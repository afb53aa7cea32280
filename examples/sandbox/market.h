/*
 * One synthetic market: a random-walk order book in integer ticks and lots.
 *
 * No I/O and no clock: the same seed and the same number of steps give the
 * same book and the same trades.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_MARKET_H
#define SANDBOX_MARKET_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Bounds of what market_new takes as levels: a step may remove four. */
#define MARKET_DEPTH_LEAST 8
#define MARKET_DEPTH_MOST 80000
#define MARKET_DEPTH_USUAL 150 /* at most, where nothing else is asked for */

struct market_spec {
    const char *symbol;
    int price_decimals;  /* a tick is 10^-price_decimals */
    int amount_decimals; /* a lot is 10^-amount_decimals */
    int64_t start_price; /* ticks; the walk is drawn back to it */
    int max_gap;         /* ticks between neighbouring levels when added */
    int max_amount;      /* lots in a new level */
};

enum market_side { MARKET_BID, MARKET_ASK, MARKET_SIDES };

struct market_level {
    int64_t price;  /* ticks */
    int64_t amount; /* lots; 0 only in a change: the level is gone */
};

/* What one step did. */
struct market_change {
    int64_t time_ns;              /* since 1970; in a later millisecond than
                                     the change before */
    GArray *levels[MARKET_SIDES]; /* struct market_level, each price once */
    GArray *trades;               /* struct market_level: what was taken */
    bool top_changed;             /* price or amount of a best level */
};

/* A step changes it; others only read it, down to `steps`. */
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

/* levels: of each side after each step; 0: from 100 to 150. The symbol must
 * outlive the market. A deep book has a smaller tick than the spec says, so
 * that no price gets near 0. crosses: the best bid may be at or above the best
 * ask. */
struct market *market_new(const struct market_spec *spec, guint levels,
                          bool crosses, uint32_t seed, int64_t now_ns);
void market_free(struct market *market);

/* Moves the market on. The answer is valid until the next step. */
const struct market_change *market_step(struct market *market, int64_t now_ns);

#endif
