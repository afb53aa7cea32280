/*
 * Builds the messages of the streaming interface.
 *
 * Each function with a writer returns JSON text that the caller frees with
 * g_free.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_MESSAGE_H
#define SANDBOX_MESSAGE_H

#include "executions.h"
#include "writer.h"

/* The most bytes of a level in a message. */
#define MESSAGE_LEVEL_SIZE 160

enum message_error {
    MESSAGE_OK,
    MESSAGE_MALFORMED_REQUEST,
    MESSAGE_UNKNOWN_ACTION,
    MESSAGE_UNKNOWN_CHANNEL,
    MESSAGE_UNKNOWN_CHANNEL_PARAMS_CONFIGURATION,
    MESSAGE_NO_EFFECT_ACTION,
    MESSAGE_INTERNAL_SERVER_ERROR,
};

/* Returns the code as text. */
const char *message_error_code(enum message_error error);

char *message_error(const struct writer *writer, enum message_error error);

/* market_data: the whole book at the time of its last change. */
char *message_snapshot(const struct writer *writer,
                       const struct market *market);

/* market_data: the levels that changed. */
char *message_update(const struct writer *writer, const struct market *market,
                     const struct market_change *change);

/* market_data.top_of_book: both best levels. */
char *message_top(const struct writer *writer, const struct market *market);

/* execution_data */
char *message_trade(const struct writer *writer,
                    const struct execution *execution);

/* heartbeat */
char *message_heartbeat(const struct writer *writer, int64_t time_ns);

/* Messages with a channel, or a type, that the specification does not name. */
char *message_unknown_channel(const struct writer *writer, int64_t time_ns);
char *message_unknown_type(const struct writer *writer);

/* Returns the book without quirks, for comparison, with at most `levels` levels
 * per side; to be released. */
json_t *message_truth(const struct market *market, guint levels);

#endif
