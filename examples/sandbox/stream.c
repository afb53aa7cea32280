/*
 * WebSocket connections, and who is sent what.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "stream.h"

#include "http.h"
#include "request.h"

#include <string.h>

#define MESSAGE_MAX 65536

/* At a larger frame libsoup drops the connection at once, so that no close
 * code arrives. It is given room to read what is merely too large. */
#define FRAME_MAX ((guint64)256 * MESSAGE_MAX)

/* A client that lets this many bytes pile up is closed. */
#define BACKLOG_MAX ((size_t)4 << 20)

/* How long a client has to answer a close frame. */
#define CLOSE_GRACE_S 5

struct stream {
    struct token_store *tokens;
    const struct feed *feed;
    enum message_error_shape error_shape;
    GPtrArray *peers; /* struct peer, owned */
    guint heartbeat_timer;
};

/* One client's connection. */
struct peer {
    struct stream *stream;
    SoupWebsocketConnection *connection;
    GSocket *socket;
    GArray *held;         /* struct subscription, oldest first */
    size_t backlog;       /* bytes sent since libsoup's queue was empty */
    GSource *drain_watch; /* NULL while the backlog is 0 */
    guint kill_timer;
};

static void stop_drain_watch(struct peer *peer)
{
    if (peer->drain_watch) {
        g_source_destroy(peer->drain_watch);
        g_clear_pointer(&peer->drain_watch, g_source_unref);
    }
}

static void peer_free(gpointer data)
{
    struct peer *peer = data;

    stop_drain_watch(peer);
    if (peer->kill_timer != 0) {
        g_source_remove(peer->kill_timer);
    }
    g_signal_handlers_disconnect_by_data(peer->connection, peer);
    g_object_unref(peer->connection);
    g_object_unref(peer->socket);
    g_array_unref(peer->held);
    g_free(peer);
}

static bool peer_open(const struct peer *peer)
{
    return soup_websocket_connection_get_state(peer->connection) ==
           SOUP_WEBSOCKET_STATE_OPEN;
}

/* Without this, closing TLS would wait for a client that does not read. */
static gboolean on_kill_timer(gpointer user_data)
{
    struct peer *peer = user_data;

    peer->kill_timer = 0;
    g_socket_shutdown(peer->socket, TRUE, TRUE, NULL);
    return G_SOURCE_REMOVE;
}

static void peer_close(struct peer *peer, gushort code, const char *reason)
{
    if (peer_open(peer)) {
        peer->kill_timer =
            g_timeout_add_seconds(CLOSE_GRACE_S, on_kill_timer, peer);
        soup_websocket_connection_close(peer->connection, code, reason);
    }
}

static gboolean on_drained(GObject *output, gpointer user_data)
{
    struct peer *peer = user_data;

    (void)output;
    peer->backlog = 0;
    stop_drain_watch(peer);
    return G_SOURCE_REMOVE;
}

/* libsoup does not tell how much it has queued. But while it has anything, it
 * watches for the stream to become writable, at default priority; a watch at
 * a lower one is reached only once the queue is empty. */
static void start_drain_watch(struct peer *peer)
{
    GIOStream *io = soup_websocket_connection_get_io_stream(peer->connection);
    GOutputStream *output = g_io_stream_get_output_stream(io);

    peer->drain_watch = g_pollable_output_stream_create_source(
        G_POLLABLE_OUTPUT_STREAM(output), NULL);
    g_source_set_priority(peer->drain_watch, G_PRIORITY_LOW);
    g_source_set_callback(peer->drain_watch, G_SOURCE_FUNC(on_drained), peer,
                          NULL);
    g_source_attach(peer->drain_watch, NULL);
}

/* Every message goes out through here. */
static void peer_send(struct peer *peer, const char *text)
{
    if (!peer_open(peer)) {
        return;
    }
    soup_websocket_connection_send_text(peer->connection, text);
    peer->backlog += strlen(text);
    if (peer->backlog > BACKLOG_MAX) {
        peer_close(peer, SOUP_WEBSOCKET_CLOSE_POLICY_VIOLATION,
                   "reads too slowly");
    }
    if (!peer->drain_watch) {
        start_drain_watch(peer);
    }
}

static void peer_send_take(struct peer *peer, char *text)
{
    peer_send(peer, text);
    g_free(text);
}

/* What a new subscription begins with. */
static void peer_send_first(struct peer *peer, const struct subscription *begun)
{
    switch (begun->channel) {
    case CHANNEL_MARKET_DATA:
        peer_send_take(peer, message_snapshot(begun->market));
        break;
    case CHANNEL_TOP_OF_BOOK:
        peer_send_take(peer, message_top(begun->market));
        break;
    case CHANNEL_EXECUTION_DATA:
    case CHANNEL_HEARTBEAT:
    case CHANNEL_COUNT: break;
    }
}

static void on_message(SoupWebsocketConnection *connection,
                       SoupWebsocketDataType type, GBytes *bytes,
                       gpointer user_data)
{
    struct peer *peer = user_data;
    GArray *begun;
    const char *text;
    size_t len;

    (void)connection;
    text = g_bytes_get_data(bytes, &len);
    if (type != SOUP_WEBSOCKET_DATA_TEXT) {
        peer_close(peer, SOUP_WEBSOCKET_CLOSE_UNSUPPORTED_DATA,
                   "messages are text");
        return;
    }
    if (len > MESSAGE_MAX) {
        peer_close(peer, SOUP_WEBSOCKET_CLOSE_TOO_BIG, "message too large");
        return;
    }
    begun = g_array_new(FALSE, FALSE, sizeof(struct subscription));
    peer_send_take(peer, request_answer(text, len, peer->stream->feed,
                                        peer->stream->error_shape, peer->held,
                                        begun));
    for (guint i = 0; i < begun->len; i++) {
        peer_send_first(peer, &g_array_index(begun, struct subscription, i));
    }
    g_array_unref(begun);
}

static void on_closed(SoupWebsocketConnection *connection, gpointer user_data)
{
    struct peer *peer = user_data;

    (void)connection;
    g_ptr_array_remove_fast(peer->stream->peers, peer);
}

/* A handler for every path: where it answers, libsoup does not go on to the
 * WebSocket handshake. */
static void on_request(SoupServer *server, SoupServerMessage *message,
                       const char *path, GHashTable *query, gpointer user_data)
{
    const struct stream *stream = user_data;
    const struct token_client *client;

    (void)server;
    (void)query;
    if (strcmp(path, "/") != 0) {
        http_reply_not_found(message);
        return;
    }
    client = token_admit(stream->tokens, message, TOKEN_SCOPE_STREAM);
    if (client && !client->allow_listed) {
        http_reply_problem(message, SOUP_STATUS_FORBIDDEN,
                           "The client is not on the allow list.");
    }
}

static void on_connection(SoupServer *server, SoupServerMessage *message,
                          const char *path, SoupWebsocketConnection *connection,
                          gpointer user_data)
{
    struct stream *stream = user_data;
    struct peer *peer = g_new0(struct peer, 1);

    (void)server;
    (void)path;
    peer->stream = stream;
    peer->connection = g_object_ref(connection);
    peer->socket = g_object_ref(soup_server_message_get_socket(message));
    peer->held = g_array_new(FALSE, FALSE, sizeof(struct subscription));
    soup_websocket_connection_set_max_incoming_payload_size(connection,
                                                            FRAME_MAX);
    g_signal_connect(connection, "message", G_CALLBACK(on_message), peer);
    g_signal_connect(connection, "closed", G_CALLBACK(on_closed), peer);
    g_ptr_array_add(stream->peers, peer);
}

static bool wanted(const struct stream *stream, enum channel channel,
                   const struct market *market)
{
    for (guint i = 0; i < stream->peers->len; i++) {
        const struct peer *peer = g_ptr_array_index(stream->peers, i);

        if (subscription_held(peer->held, channel, market)) {
            return true;
        }
    }
    return false;
}

/* Sends the text to those who subscribed, and frees it. */
static void publish_take(const struct stream *stream, enum channel channel,
                         const struct market *market, char *text)
{
    for (guint i = 0; i < stream->peers->len; i++) {
        struct peer *peer = g_ptr_array_index(stream->peers, i);

        if (subscription_held(peer->held, channel, market)) {
            peer_send(peer, text);
        }
    }
    g_free(text);
}

void stream_publish(const struct market *market,
                    const struct market_change *change, void *user_data)
{
    const struct stream *stream = user_data;

    if (wanted(stream, CHANNEL_MARKET_DATA, market)) {
        publish_take(stream, CHANNEL_MARKET_DATA, market,
                     message_update(market, change));
    }
    if (change->top_changed && wanted(stream, CHANNEL_TOP_OF_BOOK, market)) {
        publish_take(stream, CHANNEL_TOP_OF_BOOK, market, message_top(market));
    }
    if (wanted(stream, CHANNEL_EXECUTION_DATA, market)) {
        for (guint i = 0; i < change->trades->len; i++) {
            const struct market_level *taken =
                &g_array_index(change->trades, struct market_level, i);

            publish_take(stream, CHANNEL_EXECUTION_DATA, market,
                         message_trade(market, taken, change->time_ns));
        }
    }
}

static gboolean on_heartbeat_timer(gpointer user_data)
{
    const struct stream *stream = user_data;

    publish_take(stream, CHANNEL_HEARTBEAT, NULL,
                 message_heartbeat(feed_now_ns()));
    return G_SOURCE_CONTINUE;
}

struct stream *stream_new(SoupServer *server, struct token_store *tokens,
                          const struct feed *feed,
                          enum message_error_shape error_shape)
{
    struct stream *stream = g_new0(struct stream, 1);

    stream->tokens = tokens;
    stream->feed = feed;
    stream->error_shape = error_shape;
    stream->peers = g_ptr_array_new_with_free_func(peer_free);
    stream->heartbeat_timer = g_timeout_add(1000, on_heartbeat_timer, stream);
    soup_server_remove_websocket_extension(
        server, SOUP_TYPE_WEBSOCKET_EXTENSION_DEFLATE);
    soup_server_add_handler(server, NULL, on_request, stream, NULL);
    soup_server_add_websocket_handler(server, NULL, NULL, NULL, on_connection,
                                      stream, NULL);
    return stream;
}

void stream_free(struct stream *stream)
{
    g_source_remove(stream->heartbeat_timer);
    g_ptr_array_unref(stream->peers);
    g_free(stream);
}

void stream_close(struct stream *stream)
{
    for (guint i = 0; i < stream->peers->len; i++) {
        peer_close(g_ptr_array_index(stream->peers, i),
                   SOUP_WEBSOCKET_CLOSE_GOING_AWAY, "the service ends");
    }
}

guint stream_connections(const struct stream *stream)
{
    return stream->peers->len;
}
