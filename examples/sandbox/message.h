/*
 * The text of every message that the streaming side writes, in one place.
 *
 * Each function returns JSON text that the caller frees with g_free.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_MESSAGE_H
#define SANDBOX_MESSAGE_H

#include "market.h"

enum message_error {
    MESSAGE_OK,
    MESSAGE_MALFORMED_REQUEST,
    MESSAGE_UNKNOWN_ACTION,
    MESSAGE_UNKNOWN_CHANNEL,
    MESSAGE_UNKNOWN_CHANNEL_PARAMS_CONFIGURATION,
    MESSAGE_NO_EFFECT_ACTION,
    MESSAGE_INTERNAL_SERVER_ERROR,
};

/* The specification does not show how an error outside a response looks. */
enum message_error_shape {
    MESSAGE_ERROR_PLAIN,  /* {"type":"error","error":CODE} */
    MESSAGE_ERROR_OBJECT, /* {"type":"error","code":CODE,"message":...} */
    MESSAGE_ERROR_NESTED, /* {"error":{"code":CODE,"message":...}} */
};

/* The code as it is written. */
const char *message_error_code(enum message_error error);

char *message_error(enum message_error error, enum message_error_shape shape);

/* market_data: the whole book at the time of its last change. */
char *message_snapshot(const struct market *market);

/* market_data: the levels that changed. */
char *message_update(const struct market *market,
                     const struct market_change *change);

/* market_data.top_of_book: both best levels. */
char *message_top(const struct market *market);

/* execution_data */
char *message_trade(const struct market *market,
                    const struct market_level *taken, int64_t time_ns);

/* heartbeat */
char *message_heartbeat(int64_t time_ns);

#endif
