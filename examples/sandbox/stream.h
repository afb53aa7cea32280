/*
 * The streaming interface: who subscribed to what, and what is sent to them.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_STREAM_H
#define SANDBOX_STREAM_H

#include "connection.h"
#include "executions.h"
#include "faults.h"
#include "feed.h"
#include "journal.h"
#include "played.h"
#include "relay.h"
#include "script.h"
#include "token.h"
#include "writer.h"

#include <libsoup/soup.h>

struct stream_options {
    quirk_set quirks;
    enum writer_error_shape error_shape;
    int lose;      /* about one of so many market_data updates is not sent; 0:
                      each is */
    guint ping;    /* s between pings; 0: none are sent */
    uint32_t seed; /* of what is left to chance */
};

struct stream;

/* There is a first subscription; what it begins with was sent. */
typedef void (*stream_began)(void *user_data);

/* What the stream needs of the others, all of which must outlive it. */
struct stream_around {
    SoupServer *server;
    struct relay *relay; /* in front of the server */
    struct token_store *tokens;
    const struct feed *feed;
    struct faults *faults;
    struct executions *executions; /* that it adds to */
    struct script *script;         /* that is told what happens */
    const struct played *played;   /* a recording that is served; or NULL */
    stream_began began;            /* NULL: nobody waits for it */
    void *user_data;               /* of it */
    struct journal *journal; /* of what is asked and answered; NULL: none */
};

/* Serves the root path of the server. */
struct stream *stream_new(const struct stream_around *around,
                          const struct stream_options *options);
void stream_free(struct stream *stream);

/* A feed_callback: sends the change to those who subscribed; user_data is
 * the stream. */
void stream_publish(const struct market *market,
                    const struct market_change *change, void *user_data);

/* A played_message: sends it to those who subscribed, or to all if it is of no
 * channel that there is; user_data is the stream. */
void stream_forward(const char *channel, const char *market, const char *text,
                    void *user_data);

/* One client, for those who only look. */
struct stream_peer {
    guint number; /* unique */
    int64_t since_ns;
    const struct token_client *client;
    const struct connection *connection;
    const GArray *held; /* struct subscription */
};

/* How many there are, and one of them. */
guint stream_count(const struct stream *stream);
struct stream_peer stream_peer_at(const struct stream *stream, guint index);

/* Starts to close every connection, because the service ends. */
void stream_close(struct stream *stream);

#endif
