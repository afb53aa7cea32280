/* The quirk early-updates. SPDX-License-Identifier: 0BSD */
#include "early.h"

#define RECENT_MAX 8

/* The number of later updates before the snapshot: at least EARLY_MIN and one
 * that removes a level, at most EARLY_MAX. */
#define EARLY_MIN 2
#define EARLY_MAX 20

static void free_texts(gpointer data) {
    g_queue_free_full(data, g_free);
}

GHashTable *early_new(void) {
    return g_hash_table_new_full(NULL, NULL, NULL, free_texts);
}

static GQueue *recent_updates(GHashTable *early, const struct market *market) {
    GQueue *recent = g_hash_table_lookup(early, market);

    if (!recent) {
        recent = g_queue_new();
        g_hash_table_insert(early, (gpointer)market, recent);
    }
    return recent;
}

void early_record(GHashTable *early, const struct market *market,
                  const char *update) {
    GQueue *recent = recent_updates(early, market);

    g_queue_push_tail(recent, g_strdup(update));
    if (recent->length > RECENT_MAX) {
        g_free(g_queue_pop_head(recent));
    }
}

const GQueue *early_begin(GHashTable *early, struct subscription *subscription,
                          char *snapshot) {
    GQueue *recent = recent_updates(early, subscription->market);

    subscription->snapshot = snapshot;
    /* Only the last update can have the snapshot's time: the first is older. */
    if (recent->length > 1) {
        subscription->late_update = g_strdup(g_queue_peek_head(recent));
    }
    return recent;
}

bool early_ends(struct subscription *subscription, bool removes) {
    subscription->early_updates++;
    return subscription->early_updates >= EARLY_MAX ||
           (subscription->early_updates >= EARLY_MIN && removes);
}
