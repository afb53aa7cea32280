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

/* rate: changes a second of each market, 1 to FEED_RATE_MAX; levels: see
 * market_new; markets: how many, 1 to FEED_MARKETS_MAX. */
struct feed *feed_new(uint32_t seed, int rate, guint levels, guint markets);
void feed_free(struct feed *feed);

/* Lets the markets move; every change goes to the callback. */
void feed_start(struct feed *feed, feed_callback callback, void *user_data);

/* Levels of all sides of all markets. */
guint feed_levels(const struct feed *feed);

/* NULL when there is no such market. */
const struct market *feed_find(const struct feed *feed, const char *symbol);

#endif
