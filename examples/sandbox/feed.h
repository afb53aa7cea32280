/*
 * The exchange behind the service: its markets, and the clock that moves
 * them.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_FEED_H
#define SANDBOX_FEED_H

#include "market.h"

#define FEED_RATE_MAX 1000 /* a change needs a millisecond of its own */
#define FEED_MARKETS_MAX 10000
#define FEED_MARKETS_DEFAULT 4

struct feed;

typedef void (*feed_callback)(const struct market *market,
                              const struct market_change *change,
                              void *user_data);

/* Wall clock, ns since 1970. */
int64_t feed_now_ns(void);

struct feed_market {
    struct market_spec spec; /* the symbol outlives the feed */
    int rate;                /* changes a second, 0 (none) to FEED_RATE_MAX */
    guint levels;            /* see market_new */
};

/* So many markets: the four, then others like them; an array of struct
 * feed_market, to be released. */
GArray *feed_default_markets(guint count, int rate, guint levels);

/* markets: of struct feed_market, with unique symbols; crosses: as of
 * market_new, all of them. */
struct feed *feed_new(const GArray *markets, bool crosses, uint32_t seed);
void feed_free(struct feed *feed);

/* Lets the markets move; every change goes to the callback. In which order they
 * come depends on the rates alone. */
void feed_start(struct feed *feed, feed_callback callback, void *user_data);

/* Levels of all sides of all markets. */
guint feed_levels(const struct feed *feed);

guint feed_count(const struct feed *feed);
const struct market *feed_at(const struct feed *feed, guint index);

/* NULL when there is no such market. */
const struct market *feed_find(const struct feed *feed, const char *symbol);

#endif
