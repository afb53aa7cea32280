/* The quirk delayed-data. SPDX-License-Identifier: 0BSD */
#include "delay.h"

/* One subscribe per interval is free; each further one adds an interval of
 * delay, up to HOLD_MAX_US. */
#define INTERVAL_US G_USEC_PER_SEC
#define HOLD_MAX_US (5 * INTERVAL_US)

/* The state of an IP address; monotonic times. */
struct address {
    int64_t subscribed_us;
    int64_t held_until_us;
};

struct item {
    guint serial;
    char *text;
};

struct delay_queue {
    struct address *address;
    GQueue items; /* struct item, owned */
    guint timer;  /* set while there are items */
    delay_send send;
    void *user_data;
};

struct delay_queue *delay_queue_new(GHashTable *addresses, const char *address,
                                    delay_send send, void *user_data) {
    struct delay_queue *queue = g_new0(struct delay_queue, 1);

    queue->address = g_hash_table_lookup(addresses, address);
    if (!queue->address) {
        queue->address = g_new0(struct address, 1);
        queue->address->subscribed_us = g_get_monotonic_time() - INTERVAL_US;
        g_hash_table_insert(addresses, g_strdup(address), queue->address);
    }
    queue->send = send;
    queue->user_data = user_data;
    return queue;
}

static void item_free(gpointer data) {
    struct item *item = data;

    g_free(item->text);
    g_free(item);
}

void delay_queue_free(struct delay_queue *queue) {
    g_clear_handle_id(&queue->timer, g_source_remove);
    g_queue_clear_full(&queue->items, item_free);
    g_free(queue);
}

void delay_subscribed(struct delay_queue *queue) {
    struct address *address = queue->address;
    int64_t now_us = g_get_monotonic_time();

    if (now_us - address->subscribed_us < INTERVAL_US) {
        int64_t from_us = MAX(now_us, address->held_until_us);

        address->held_until_us =
            MIN(from_us + INTERVAL_US, now_us + HOLD_MAX_US);
    }
    address->subscribed_us = now_us;
}

static gboolean on_timer(gpointer user_data);

static void start_timer(struct delay_queue *queue) {
    int64_t rest_us = queue->address->held_until_us - g_get_monotonic_time();

    queue->timer =
        g_timeout_add((guint)(MAX(rest_us, 0) / 1000 + 1), on_timer, queue);
}

static gboolean on_timer(gpointer user_data) {
    struct delay_queue *queue = user_data;

    queue->timer = 0;
    if (g_get_monotonic_time() < queue->address->held_until_us) {
        start_timer(queue); /* another subscribe has added to the delay */
        return G_SOURCE_REMOVE;
    }
    while (!g_queue_is_empty(&queue->items)) {
        struct item *item = g_queue_pop_head(&queue->items);

        queue->send(queue->user_data, item->serial, item->text);
        item_free(item);
    }
    return G_SOURCE_REMOVE;
}

bool delay_take(struct delay_queue *queue, guint serial, const char *text) {
    struct item *item;

    if (g_queue_is_empty(&queue->items) &&
        g_get_monotonic_time() >= queue->address->held_until_us) {
        return false;
    }
    item = g_new0(struct item, 1);
    item->serial = serial;
    item->text = g_strdup(text);
    g_queue_push_tail(&queue->items, item);
    if (queue->timer == 0) {
        start_timer(queue);
    }
    return true;
}
