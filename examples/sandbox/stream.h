/*
 * The streaming interface: WebSocket connections and what is sent to them.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_STREAM_H
#define SANDBOX_STREAM_H

#include "feed.h"
#include "message.h"
#include "token.h"

#include <libsoup/soup.h>

struct stream;

/* Serves the root path of the server. tokens and feed must outlive it. */
struct stream *stream_new(SoupServer *server, struct token_store *tokens,
                          const struct feed *feed,
                          enum message_error_shape error_shape);
void stream_free(struct stream *stream);

/* A feed_callback: sends the change to those who subscribed; user_data is
 * the stream. */
void stream_publish(const struct market *market,
                    const struct market_change *change, void *user_data);

/* Starts to close every connection, because the service ends. */
void stream_close(struct stream *stream);

/* Connections that are not closed yet. */
guint stream_connections(const struct stream *stream);

#endif
