/* One client of the stream. SPDX-License-Identifier: 0BSD */
#include "stream.h"

#include "message.h"
#include "request.h"

#define MESSAGE_MAX 65536

/* libsoup drops the connection at a larger frame, without a close code. So it
 * may read frames above MESSAGE_MAX, which are then closed with a code. */
#define FRAME_MAX ((guint64)256 * MESSAGE_MAX)

void peer_free(gpointer data) {
    struct peer *peer = data;

    g_signal_handlers_disconnect_by_data(peer->websocket, peer);
    g_clear_pointer(&peer->delay, delay_queue_free);
    connection_free(peer->connection);
    g_object_unref(peer->websocket);
    g_array_unref(peer->held);
    g_free(peer);
}

/* Sends all messages except responses. */
void peer_push(struct peer *peer, guint serial, const char *text) {
    if (!peer->delay || !delay_take(peer->delay, serial, text)) {
        connection_send(peer->connection, text);
    }
}

void peer_push_take(struct peer *peer, guint serial, char *text) {
    peer_push(peer, serial, text);
    g_free(text);
}

/* A delay_send: sends a delayed message unless its subscription has ended. */
static void send_delayed(void *user_data, guint serial, const char *text) {
    const struct peer *peer = user_data;

    for (guint i = 0; i < peer->held->len; i++) {
        if (subscription_at(peer->held, i)->serial == serial) {
            connection_send(peer->connection, text);
            return;
        }
    }
}

/* Send the first messages of a subscription; a recording may have none yet. */
static void begin_top(struct peer *peer, const struct subscription *begun) {
    const struct stream *stream = peer->stream;
    const struct played *played = stream->around->played;
    char *text = played ? played_top(played, begun->market->spec.symbol)
                        : message_top(&stream->writer, begun->market);

    if (text) {
        peer_push_take(peer, begun->serial, text);
    }
}

static void begin_book(struct peer *peer, struct subscription *begun) {
    const struct stream *stream = peer->stream;
    const struct played *played = stream->around->played;
    char *snapshot = played
                         ? played_snapshot(played, begun->market->spec.symbol)
                         : message_snapshot(&stream->writer, begun->market);
    const GQueue *updates;

    if (!snapshot) {
        return;
    }
    if (!stream->early) {
        peer_push_take(peer, begun->serial, snapshot);
        return;
    }
    updates = early_begin(stream->early, begun, snapshot);
    for (const GList *each = updates->head; each; each = each->next) {
        peer_push(peer, begun->serial, each->data);
    }
}

static void begin(struct peer *peer, struct subscription *begun) {
    begun->serial = ++peer->stream->serial;
    switch (begun->channel) {
    case CHANNEL_MARKET_DATA: begin_book(peer, begun); break;
    case CHANNEL_TOP_OF_BOOK: begin_top(peer, begun); break;
    case CHANNEL_EXECUTION_DATA:
    case CHANNEL_HEARTBEAT:
    case CHANNEL_COUNT: break;
    }
}

/* Returns true if a fault withholds the response. *carried_out: the request
 * still takes effect. */
static bool answer_withheld(const struct stream *stream, bool *carried_out) {
    struct faults *faults = stream->around->faults;
    const json_t *fault = faults_get(faults, FAULT_NO_ANSWER);

    *carried_out =
        !fault || json_is_true(json_object_get(fault, "carried_out"));
    if (fault) {
        faults_use(faults, FAULT_NO_ANSWER);
    }
    return fault != NULL;
}

static void subscribed(struct stream *stream) {
    script_happened(stream->around->script, SCRIPT_SUBSCRIBE);
    if (!stream->begun && stream->around->began) {
        stream->around->began(stream->around);
    }
    stream->begun = true;
}

static void note(const struct peer *peer, const char *text, size_t len,
                 const char *reply) {
    if (peer->stream->around->journal) {
        journal_message(peer->stream->around->journal, peer->number, text, len,
                        reply);
    }
}

/* Returns true if a fault has answered the request with an error. */
static bool answer_fails(const struct peer *peer, const char *text,
                         size_t len) {
    const struct stream *stream = peer->stream;
    g_autofree char *reply = NULL;

    if (!faults_get(stream->around->faults, FAULT_INTERNAL_ERROR)) {
        return false;
    }
    faults_use(stream->around->faults, FAULT_INTERNAL_ERROR);
    reply = message_error(&stream->writer, MESSAGE_INTERNAL_SERVER_ERROR);
    connection_send(peer->connection, reply);
    note(peer, text, len, reply);
    return true;
}

static void answer(struct peer *peer, const char *text, size_t len) {
    struct stream *stream = peer->stream;
    bool carried_out;
    bool withheld = answer_withheld(stream, &carried_out);
    g_autofree char *reply = NULL;
    guint first = 0;
    guint held;

    if (!carried_out) {
        note(peer, text, len, NULL);
        return;
    }
    if (!withheld && answer_fails(peer, text, len)) {
        return;
    }
    held = peer->held->len;
    writer_begin(&stream->writer, "answer", "", ++peer->requests);
    reply = request_answer(&stream->writer, text, len, stream->around->feed,
                           peer->held);
    if (!withheld) {
        connection_send(peer->connection, reply);
    }
    note(peer, text, len, withheld ? NULL : reply);
    while (first < peer->held->len &&
           subscription_at(peer->held, first)->serial != 0) {
        first++;
    }
    if (peer->delay && first < peer->held->len) {
        delay_subscribed(peer->delay);
    }
    for (guint i = first; i < peer->held->len; i++) {
        begin(peer, subscription_at(peer->held, i));
    }
    if (first < peer->held->len) {
        subscribed(stream);
    } else if (peer->held->len < held) {
        script_happened(stream->around->script, SCRIPT_UNSUBSCRIBE);
    }
}

static void on_message(SoupWebsocketConnection *websocket,
                       SoupWebsocketDataType type, GBytes *bytes,
                       gpointer user_data) {
    struct peer *peer = user_data;
    const char *text;
    size_t len;

    (void)websocket;
    text = g_bytes_get_data(bytes, &len);
    if (type != SOUP_WEBSOCKET_DATA_TEXT) {
        connection_close(peer->connection,
                         SOUP_WEBSOCKET_CLOSE_UNSUPPORTED_DATA,
                         "messages are text");
    } else if (len > MESSAGE_MAX) {
        connection_close(peer->connection, SOUP_WEBSOCKET_CLOSE_TOO_BIG,
                         "message too large");
    } else {
        answer(peer, text, len);
    }
}

static void on_closed(SoupWebsocketConnection *websocket, gpointer user_data) {
    struct peer *peer = user_data;

    if (peer->stream->around->journal) {
        journal_ended(peer->stream->around->journal, peer->number,
                      soup_websocket_connection_get_close_code(websocket),
                      soup_websocket_connection_get_close_data(websocket));
    }
    script_happened(peer->stream->around->script, SCRIPT_DISCONNECT);
    g_ptr_array_remove_fast(peer->stream->peers, peer);
}

struct peer *peer_new(struct stream *stream, SoupServerMessage *handshake,
                      SoupWebsocketConnection *websocket,
                      const struct token_client *client) {
    struct peer *peer = g_new0(struct peer, 1);

    peer->stream = stream;
    peer->number = ++stream->last_number;
    peer->since_ns = feed_now_ns();
    peer->client = client;
    peer->websocket = g_object_ref(websocket);
    peer->connection = connection_new(
        handshake, websocket, stream->around->ws_relay, stream->backlog_max);
    peer->held = subscriptions_new();
    if (stream->delays) {
        g_autofree char *address = connection_address(peer->connection);

        peer->delay =
            delay_queue_new(stream->delays, address, send_delayed, peer);
    }
    soup_websocket_connection_set_max_incoming_payload_size(websocket,
                                                            FRAME_MAX);
    if (stream->around->options->ping > 0) {
        connection_ping(peer->connection, (guint)stream->around->options->ping);
    }
    g_signal_connect(websocket, "message", G_CALLBACK(on_message), peer);
    g_signal_connect(websocket, "closed", G_CALLBACK(on_closed), peer);
    return peer;
}
