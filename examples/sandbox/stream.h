/*
 * The streaming interface: subscriptions, and the data sent to subscribers.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_STREAM_H
#define SANDBOX_STREAM_H

#include "around.h"
#include "connection.h"
#include "delay.h"
#include "early.h"

struct stream {
    const struct around *around;
    struct writer writer;
    GRand *chance;      /* for losses and delays; not the writer's, so that no
                      request changes it */
    GHashTable *early;  /* NULL without this quirk */
    GHashTable *delays; /* NULL without this quirk */
    guint serial;       /* of the last subscription */
    guint last_number;  /* of a peer */
    size_t backlog_max;
    GPtrArray *peers; /* struct peer, owned */
    guint second_timer;
    guint seconds; /* since the start */
    bool begun;    /* there has been a subscription */
};

/* Serves the root path of the server. */
struct stream *stream_new(const struct around *around);
void stream_free(struct stream *stream);

/* A feed_callback: sends the change to its subscribers; user_data is the
 * stream. */
void stream_publish(const struct market *market,
                    const struct market_change *change, void *user_data);

/* A played_message: sends the message to its subscribers, or to all clients if
 * its channel is unknown; user_data is the stream. */
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
    struct delay_queue *delay; /* NULL without this quirk */
};

/* Starts to close all connections at the end of the service. */
void stream_close(struct stream *stream);

/* ---- shared by stream.c and peer.c only ---- */

/* Creates an admitted client from its handshake. peer_free takes a peer. */
struct peer *peer_new(struct stream *stream, SoupServerMessage *handshake,
                      SoupWebsocketConnection *websocket,
                      const struct token_client *client);
void peer_free(gpointer data);

/* Send data of the subscription with this serial number. The second one frees
 * the text. */
void peer_push(struct peer *peer, guint serial, const char *text);
void peer_push_take(struct peer *peer, guint serial, char *text);

#endif
