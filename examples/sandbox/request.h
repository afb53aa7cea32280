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

struct subscription {
    enum channel channel;
    const struct market *market; /* NULL for the heartbeat */
};

/* Whether the array of struct subscription holds this one. */
bool subscription_held(const GArray *held, enum channel channel,
                       const struct market *market);

/* Carries out one request and returns the answer's text, for g_free.
 *
 * held and begun are arrays of struct subscription: those of the connection,
 * which the request changes, and, appended, those that it began. */
char *request_answer(const char *text, size_t len, const struct feed *feed,
                     enum message_error_shape shape, GArray *held,
                     GArray *begun);

#endif
