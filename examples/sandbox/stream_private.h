/*
 * What the files of the streaming interface share: stream.c has who subscribed
 * to what and what is sent to them, peer.c has one client.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_STREAM_PRIVATE_H
#define SANDBOX_STREAM_PRIVATE_H

#include "delay.h"
#include "early.h"
#include "stream.h"

struct stream {
    const struct around *around;
    struct writer writer;
    GRand *chance;     /* what is lost or late: apart from the writer's, so that
                      nobody's requests change it */
    GHashTable *early; /* NULL: without this quirk */
    GHashTable *delays; /* NULL: without this quirk */
    guint serial;       /* of the last subscription */
    guint last_number;  /* of a peer */
    size_t backlog_max;
    GPtrArray *peers; /* struct peer, owned */
    guint second_timer;
    guint seconds; /* that it has counted */
    bool begun;    /* there was a subscription */
};

/* A client that was admitted, from its handshake on; data is such a one. */
struct peer *peer_new(struct stream *stream, SoupServerMessage *handshake,
                      SoupWebsocketConnection *websocket,
                      const struct token_client *client);
void peer_free(gpointer data);

/* Sends what answers no request, of the subscription with this serial number;
 * the second one frees the text. */
void peer_push(struct peer *peer, guint serial, const char *text);
void peer_push_take(struct peer *peer, guint serial, char *text);

#endif
