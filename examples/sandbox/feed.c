/* The markets, and the clock that moves them. SPDX-License-Identifier: 0BSD */
#include "feed.h"

#include <time.h>

/* The markets with real names. Further ones have the same figures and the names
 * M5, M6 and so on. */
static const struct market_spec known[] = {
    {"BTCUSD", 2, 8, 9500000, 400, 200000000},
    {"ETHUSD", 2, 8, 350000, 20, 1500000000},
    {"SOLUSD", 3, 6, 180000, 12, 500000000},
    {"LTCUSD", 3, 6, 95000, 12, 800000000},
};

/* Markets with the same rate. */
struct group {
    int rate;
    int64_t steps; /* of each market, since the start */
    GPtrArray *markets;
};

struct feed {
    GPtrArray *markets;
    GHashTable *names;  /* symbol to market */
    GArray *groups;     /* struct group */
    int64_t started_us; /* monotonic */
    guint timer;
    feed_callback callback;
    void *user_data;
};

int64_t feed_now_ns(void) {
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

GArray *feed_default_markets(guint count, int rate, guint levels) {
    GArray *markets = g_array_new(FALSE, FALSE, sizeof(struct feed_market));

    for (guint i = 0; i < count; i++) {
        struct feed_market market = {
            .spec = known[i % G_N_ELEMENTS(known)],
            .rate = rate,
            .levels = levels,
        };

        if (i >= G_N_ELEMENTS(known)) {
            g_autofree char *name = g_strdup_printf("M%u", i + 1);

            market.spec.symbol = g_intern_string(name);
        }
        g_array_append_val(markets, market);
    }
    return markets;
}

static void add_to_group(const struct feed *feed, struct market *market,
                         int rate) {
    struct group group = {.rate = rate, .markets = NULL};

    for (guint i = 0; i < feed->groups->len; i++) {
        const struct group *each =
            &g_array_index(feed->groups, struct group, i);

        if (each->rate == rate) {
            g_ptr_array_add(each->markets, market);
            return;
        }
    }
    group.markets = g_ptr_array_new();
    g_ptr_array_add(group.markets, market);
    g_array_append_val(feed->groups, group);
}

struct feed *feed_new(const GArray *markets, bool crosses, uint32_t seed) {
    struct feed *feed = g_new0(struct feed, 1);

    feed->markets = g_ptr_array_new_with_free_func((GDestroyNotify)market_free);
    feed->names = g_hash_table_new(g_str_hash, g_str_equal);
    feed->groups = g_array_new(FALSE, FALSE, sizeof(struct group));
    for (guint i = 0; i < markets->len; i++) {
        const struct feed_market *each =
            &g_array_index(markets, struct feed_market, i);
        struct market *market = market_new(&each->spec, each->levels, crosses,
                                           seed + i, feed_now_ns());

        g_ptr_array_add(feed->markets, market);
        g_hash_table_insert(feed->names, (gpointer)each->spec.symbol, market);
        if (each->rate > 0) {
            add_to_group(feed, market, each->rate);
        }
    }
    return feed;
}

void feed_free(struct feed *feed) {
    g_clear_handle_id(&feed->timer, g_source_remove);
    for (guint i = 0; i < feed->groups->len; i++) {
        g_ptr_array_unref(g_array_index(feed->groups, struct group, i).markets);
    }
    g_array_unref(feed->groups);
    g_ptr_array_unref(feed->markets);
    g_hash_table_unref(feed->names);
    g_free(feed);
}

/* Returns when the group's next step is due, us after the start. */
static int64_t next_us(const struct group *group) {
    return (group->steps + 1) * G_USEC_PER_SEC / group->rate;
}

/* Returns the group that is due first, or NULL if none is due by now. */
static struct group *first_due(const struct feed *feed, int64_t elapsed_us) {
    struct group *first = NULL;

    for (guint i = 0; i < feed->groups->len; i++) {
        struct group *each = &g_array_index(feed->groups, struct group, i);

        if (next_us(each) <= elapsed_us &&
            (!first || next_us(each) < next_us(first))) {
            first = each;
        }
    }
    return first;
}

static gboolean on_tick(gpointer user_data) {
    struct feed *feed = user_data;
    int64_t elapsed_us = g_get_monotonic_time() - feed->started_us;
    struct group *group;

    /* After a stall, catch up on one second at most. */
    for (guint i = 0; i < feed->groups->len; i++) {
        group = &g_array_index(feed->groups, struct group, i);
        group->steps =
            MAX(group->steps,
                elapsed_us * group->rate / G_USEC_PER_SEC - group->rate);
    }
    while ((group = first_due(feed, elapsed_us)) != NULL) {
        group->steps++;
        for (guint i = 0; i < group->markets->len; i++) {
            struct market *market = g_ptr_array_index(group->markets, i);

            feed->callback(market, market_step(market, feed_now_ns()),
                           feed->user_data);
        }
    }
    return G_SOURCE_CONTINUE;
}

void feed_start(struct feed *feed, feed_callback callback, void *user_data) {
    int rate = 1;

    for (guint i = 0; i < feed->groups->len; i++) {
        rate = MAX(rate, g_array_index(feed->groups, struct group, i).rate);
    }
    feed->callback = callback;
    feed->user_data = user_data;
    feed->started_us = g_get_monotonic_time();
    /* Several ticks per step, so that steps are evenly spaced. */
    feed->timer = g_timeout_add((guint)CLAMP(250 / rate, 1, 25), on_tick, feed);
}

guint feed_levels(const struct feed *feed) {
    guint levels = 0;

    for (guint i = 0; i < feed->markets->len; i++) {
        const struct market *market = g_ptr_array_index(feed->markets, i);

        levels +=
            market->levels[MARKET_BID]->len + market->levels[MARKET_ASK]->len;
    }
    return levels;
}

const GPtrArray *feed_markets(const struct feed *feed) {
    return feed->markets;
}

const struct market *feed_find(const struct feed *feed, const char *symbol) {
    return g_hash_table_lookup(feed->names, symbol);
}
