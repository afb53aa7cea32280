/*
 * The exchange behind the service: its markets, and the clock that moves them.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_FEED_H
#define SANDBOX_FEED_H

#include "market.h"

#define FEED_RATE_MAX 1000 /* each change has its own millisecond */
#define FEED_MARKETS_MAX 10000
#define FEED_MARKETS_DEFAULT 4

struct feed;

typedef void (*feed_callback)(const struct market *market,
                              const struct market_change *change,
                              void *user_data);

/* Returns the wall clock, ns since 1970. */
int64_t feed_now_ns(void);

struct feed_market {
    struct market_spec spec; /* the symbol must outlive the feed */
    int rate;                /* changes per second, 0 to FEED_RATE_MAX */
    guint levels;            /* see market_new */
};

/* Returns an array of `count` struct feed_market, to be released: four known
 * markets, then others like them. */
GArray *feed_default_markets(guint count, int rate, guint levels);

/* markets: struct feed_market with unique symbols; crosses: see market_new, for
 * all of them. */
struct feed *feed_new(const GArray *markets, bool crosses, uint32_t seed);
void feed_free(struct feed *feed);

/* Starts the markets; every change goes to the callback. The order of changes
 * depends on the rates alone. */
void feed_start(struct feed *feed, feed_callback callback, void *user_data);

/* Returns the number of levels of all books. */
guint feed_levels(const struct feed *feed);

/* Returns all markets (struct market), at least one. */
const GPtrArray *feed_markets(const struct feed *feed);

/* Returns NULL if there is no such market. */
const struct market *feed_find(const struct feed *feed, const char *symbol);

#endif
