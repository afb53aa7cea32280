/*
 * The markets, and the clock that moves them.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "feed.h"

#include <string.h>
#include <time.h>

static const struct market_spec market_specs[] = {
    {"BTCUSD", 2, 8, 9500000, 400, 200000000},
    {"ETHUSD", 2, 8, 350000, 20, 1500000000},
    {"SOLUSD", 3, 6, 180000, 12, 500000000},
    {"LTCUSD", 3, 6, 95000, 12, 800000000},
};

struct feed {
    struct market *markets[G_N_ELEMENTS(market_specs)];
    int rate;
    int64_t started_us; /* monotonic */
    int64_t steps;      /* of each market since then */
    guint timer;
    feed_callback callback;
    void *user_data;
};

int64_t feed_now_ns(void) {
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

struct feed *feed_new(uint32_t seed, int rate, guint levels) {
    struct feed *feed = g_new0(struct feed, 1);

    feed->rate = rate;
    for (guint i = 0; i < G_N_ELEMENTS(market_specs); i++) {
        feed->markets[i] =
            market_new(&market_specs[i], levels, seed + i, feed_now_ns());
    }
    return feed;
}

void feed_free(struct feed *feed) {
    if (feed->timer != 0) {
        g_source_remove(feed->timer);
    }
    for (guint i = 0; i < G_N_ELEMENTS(market_specs); i++) {
        market_free(feed->markets[i]);
    }
    g_free(feed);
}

static gboolean on_tick(gpointer user_data) {
    struct feed *feed = user_data;
    int64_t elapsed_us = g_get_monotonic_time() - feed->started_us;
    int64_t due = elapsed_us * feed->rate / G_USEC_PER_SEC;

    /* After a stall, a second's worth at most is made up for. */
    feed->steps = MAX(feed->steps, due - feed->rate);
    for (; feed->steps < due; feed->steps++) {
        for (guint i = 0; i < G_N_ELEMENTS(market_specs); i++) {
            struct market *market = feed->markets[i];

            feed->callback(market, market_step(market, feed_now_ns()),
                           feed->user_data);
        }
    }
    return G_SOURCE_CONTINUE;
}

void feed_start(struct feed *feed, feed_callback callback, void *user_data) {
    /* Several ticks a step, so that steps are evenly spaced. */
    int tick_ms = CLAMP(250 / feed->rate, 1, 25);

    feed->callback = callback;
    feed->user_data = user_data;
    feed->started_us = g_get_monotonic_time();
    feed->timer = g_timeout_add((guint)tick_ms, on_tick, feed);
}

guint feed_levels(const struct feed *feed) {
    guint levels = 0;

    for (guint i = 0; i < G_N_ELEMENTS(market_specs); i++) {
        levels += market_levels(feed->markets[i], MARKET_BID)->len +
                  market_levels(feed->markets[i], MARKET_ASK)->len;
    }
    return levels;
}

const struct market *feed_find(const struct feed *feed, const char *symbol) {
    for (guint i = 0; i < G_N_ELEMENTS(market_specs); i++) {
        if (strcmp(market_specs[i].symbol, symbol) == 0) {
            return feed->markets[i];
        }
    }
    return NULL;
}
