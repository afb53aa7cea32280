/*
 * The markets, and the clock that moves them.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "feed.h"

#include <time.h>

/* With a name in the world outside; further ones are called M5, M6 and so
 * on, and are like these. */
static const struct market_spec known[] = {
    {"BTCUSD", 2, 8, 9500000, 400, 200000000},
    {"ETHUSD", 2, 8, 350000, 20, 1500000000},
    {"SOLUSD", 3, 6, 180000, 12, 500000000},
    {"LTCUSD", 3, 6, 95000, 12, 800000000},
};

struct feed {
    GPtrArray *markets;
    GHashTable *names; /* of them */
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

struct feed *feed_new(uint32_t seed, int rate, guint levels, guint markets) {
    struct feed *feed = g_new0(struct feed, 1);

    feed->rate = rate;
    feed->markets = g_ptr_array_new();
    feed->names = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < markets; i++) {
        struct market_spec spec = known[i % G_N_ELEMENTS(known)];
        struct market *market;

        if (i >= G_N_ELEMENTS(known)) {
            char *name = g_strdup_printf("M%u", i + 1);

            spec.symbol = g_intern_string(name);
            g_free(name);
        }
        market = market_new(&spec, levels, seed + i, feed_now_ns());
        g_ptr_array_add(feed->markets, market);
        g_hash_table_insert(feed->names, (gpointer)spec.symbol, market);
    }
    return feed;
}

void feed_free(struct feed *feed) {
    if (feed->timer != 0) {
        g_source_remove(feed->timer);
    }
    for (guint i = 0; i < feed->markets->len; i++) {
        market_free(g_ptr_array_index(feed->markets, i));
    }
    g_ptr_array_unref(feed->markets);
    g_hash_table_unref(feed->names);
    g_free(feed);
}

static gboolean on_tick(gpointer user_data) {
    struct feed *feed = user_data;
    int64_t elapsed_us = g_get_monotonic_time() - feed->started_us;
    int64_t due = elapsed_us * feed->rate / G_USEC_PER_SEC;

    /* After a stall, a second's worth at most is made up for. */
    feed->steps = MAX(feed->steps, due - feed->rate);
    for (; feed->steps < due; feed->steps++) {
        for (guint i = 0; i < feed->markets->len; i++) {
            struct market *market = g_ptr_array_index(feed->markets, i);

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

    for (guint i = 0; i < feed->markets->len; i++) {
        const struct market *market = g_ptr_array_index(feed->markets, i);

        levels += market_levels(market, MARKET_BID)->len +
                  market_levels(market, MARKET_ASK)->len;
    }
    return levels;
}

const struct market *feed_find(const struct feed *feed, const char *symbol) {
    return g_hash_table_lookup(feed->names, symbol);
}
