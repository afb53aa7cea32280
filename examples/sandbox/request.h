/*
 * Carries out requests on a stream: subscribe, unsubscribe and
 * subscription_list.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_REQUEST_H
#define SANDBOX_REQUEST_H

#include "feed.h"
#include "message.h"

enum channel {
    CHANNEL_MARKET_DATA,
    CHANNEL_TOP_OF_BOOK,
    CHANNEL_EXECUTION_DATA,
    CHANNEL_HEARTBEAT,
    CHANNEL_COUNT,
};

const char *channel_name(enum channel channel);

struct subscription {
    enum channel channel;
    const struct market *market; /* NULL for the heartbeat */
    guint serial;                /* unique; 0 until the first data is sent */

    /* For early-updates, while updates go before the snapshot: */
    char *snapshot;      /* owned; NULL once sent */
    char *late_update;   /* owned; sent after it; may be NULL */
    guint early_updates; /* changes since the snapshot */
};

/* Returns an empty array of struct subscription, for oldest first. */
GArray *subscriptions_new(void);
struct subscription *subscription_at(const GArray *held, guint index);

/* Returns a subscription, or NULL. Valid until the array changes. */
struct subscription *subscription_find(const GArray *held, enum channel channel,
                                       const struct market *market);

/* Returns the channel with this name, or CHANNEL_COUNT. */
enum channel channel_find(const char *name);

/* Carries out a request. Returns the response; free it with g_free(). held has
 * the connection's subscriptions; new ones are added with serial 0. */
char *request_answer(const struct writer *writer, const char *text, size_t len,
                     const struct feed *feed, GArray *held);

#endif
