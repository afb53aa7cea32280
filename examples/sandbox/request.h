/*
 * The three operations of the streaming interface, on the subscriptions of
 * one connection.
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
    guint serial;                /* unique; 0 until data begins */

    /* While the snapshot waits for updates to go first (early-updates): */
    char *snapshot;      /* owned; NULL: sent */
    char *late_update;   /* owned; to follow it; may be NULL */
    guint early_updates; /* changes since it was made */
};

/* An array of struct subscription, oldest first. */
GArray *subscriptions_new(void);
struct subscription *subscription_at(const GArray *held, guint index);

/* NULL: not held. Valid until the array changes. */
struct subscription *subscription_find(const GArray *held, enum channel channel,
                                       const struct market *market);

/* The channel of this name; CHANNEL_COUNT: there is none. */
enum channel channel_find(const char *name);

/* Carries out one request and returns the answer's text, for g_free. held are
 * the subscriptions of the connection; those that the request begins are added
 * with serial 0. */
char *request_answer(const struct writer *writer, const char *text, size_t len,
                     const struct feed *feed, GArray *held);

#endif
