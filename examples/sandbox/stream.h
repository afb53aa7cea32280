/*
 * The streaming interface: who subscribed to what, and what is sent to them.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_STREAM_H
#define SANDBOX_STREAM_H

#include "around.h"
#include "connection.h"

/* Serves the root path of the server. */
struct stream *stream_new(const struct around *around);
void stream_free(struct stream *stream);

/* A feed_callback: sends the change to those who subscribed; user_data is
 * the stream. */
void stream_publish(const struct market *market,
                    const struct market_change *change, void *user_data);

/* A played_message: sends it to those who subscribed, or to all if it is of no
 * channel that there is; user_data is the stream. */
void stream_forward(const char *channel, const char *market, const char *text,
                    void *user_data);

/* One client. */
struct peer {
    struct stream *stream;
    guint number; /* unique */
    int64_t since_ns;
    const struct token_client *client;
    SoupWebsocketConnection *websocket;
    struct connection *connection;
    GArray *held; /* struct subscription */
    guint requests;
    struct delay_queue *delay; /* NULL: without this quirk */
};

/* Those that there are: struct peer, for others only to look at. */
const GPtrArray *stream_peers(const struct stream *stream);

/* Starts to close every connection, because the service ends. */
void stream_close(struct stream *stream);

#endif
