/* One client's WebSocket connection. SPDX-License-Identifier: 0BSD */
#include "connection.h"

#include <stdbool.h>
#include <string.h>

/* Time for a client to answer a close frame. */
#define CLOSE_GRACE_S 5

/* Interval of checks whether a client's queue is empty. */
#define DRAIN_MS 20

struct connection {
    SoupWebsocketConnection *websocket;
    struct relay *relay;
    GSocketAddress *client;
    size_t backlog_max;
    /* The backlog counts bytes since libsoup's queue was last empty. */
    struct connection_figures figures;
    guint drain_watch; /* a source; 0 while the backlog is 0 */
    guint kill_timer;
    guint ping_timer;
    guint silent_ticks; /* of the ping timer, since the last pong */
};

struct connection *connection_new(SoupServerMessage *message,
                                  SoupWebsocketConnection *websocket,
                                  struct relay *relay, size_t backlog_max) {
    struct connection *connection = g_new0(struct connection, 1);

    connection->websocket = g_object_ref(websocket);
    connection->relay = relay;
    connection->client =
        g_object_ref(soup_server_message_get_remote_address(message));
    connection->backlog_max = backlog_max;
    return connection;
}

void connection_free(struct connection *connection) {
    g_clear_handle_id(&connection->drain_watch, g_source_remove);
    g_clear_handle_id(&connection->kill_timer, g_source_remove);
    g_clear_handle_id(&connection->ping_timer, g_source_remove);
    g_signal_handlers_disconnect_by_data(connection->websocket, connection);
    g_object_unref(connection->websocket);
    g_object_unref(connection->client);
    g_free(connection);
}

static bool is_open(const struct connection *connection) {
    return soup_websocket_connection_get_state(connection->websocket) ==
           SOUP_WEBSOCKET_STATE_OPEN;
}

/* Drops a client that does not read: closing TLS would wait for it. */
static gboolean on_kill_timer(gpointer user_data) {
    struct connection *connection = user_data;

    connection->kill_timer = 0;
    relay_drop(connection->relay, connection->client);
    return G_SOURCE_REMOVE;
}

void connection_close(struct connection *connection, gushort code,
                      const char *reason) {
    if (is_open(connection)) {
        connection->kill_timer =
            g_timeout_add_seconds(CLOSE_GRACE_S, on_kill_timer, connection);
        soup_websocket_connection_close(connection->websocket, code, reason);
    }
}

/* Detects that libsoup's queue is empty, which libsoup does not report. While
 * the queue has data, libsoup waits for the stream to become writable, at
 * default priority. A source of lower priority therefore runs only if the
 * stream is not writable, or the queue is empty. Watching the stream here as
 * well would cost time for every connection at each message. */
static gboolean on_drain_watch(gpointer user_data) {
    struct connection *connection = user_data;
    GIOStream *io =
        soup_websocket_connection_get_io_stream(connection->websocket);
    GOutputStream *output = g_io_stream_get_output_stream(io);

    if (g_pollable_output_stream_is_writable(
            G_POLLABLE_OUTPUT_STREAM(output))) {
        connection->figures.backlog = 0;
        connection->drain_watch = 0;
    } else {
        connection->drain_watch = g_timeout_add_full(
            G_PRIORITY_LOW, DRAIN_MS, on_drain_watch, connection, NULL);
    }
    return G_SOURCE_REMOVE;
}

void connection_send(struct connection *connection, const char *text) {
    if (!is_open(connection)) {
        return;
    }
    soup_websocket_connection_send_text(connection->websocket, text);
    connection->figures.messages++;
    connection->figures.bytes += strlen(text);
    connection->figures.backlog += strlen(text);
    if (connection->figures.backlog > connection->backlog_max) {
        connection_close(connection, SOUP_WEBSOCKET_CLOSE_POLICY_VIOLATION,
                         "reads too slowly");
    }
    if (connection->drain_watch == 0) {
        connection->drain_watch =
            g_idle_add_full(G_PRIORITY_LOW, on_drain_watch, connection, NULL);
    }
}

static void on_pong(SoupWebsocketConnection *websocket, GBytes *data,
                    gpointer user_data) {
    struct connection *connection = user_data;

    (void)websocket;
    (void)data;
    connection->silent_ticks = 0;
}

/* libsoup sends its ping just before or after this, so the pong may come before
 * or after the next tick. One tick without a pong therefore proves nothing. */
static gboolean on_ping_timer(gpointer user_data) {
    struct connection *connection = user_data;

    if (++connection->silent_ticks > 2) {
        connection->ping_timer = 0;
        connection_close(connection, SOUP_WEBSOCKET_CLOSE_POLICY_VIOLATION,
                         "pings not answered");
        return G_SOURCE_REMOVE;
    }
    return G_SOURCE_CONTINUE;
}

void connection_ping(struct connection *connection, guint seconds) {
    g_signal_connect(connection->websocket, "pong", G_CALLBACK(on_pong),
                     connection);
    soup_websocket_connection_set_keepalive_interval(connection->websocket,
                                                     seconds);
    connection->ping_timer =
        g_timeout_add_seconds(seconds, on_ping_timer, connection);
}

struct connection_figures
connection_figures(const struct connection *connection) {
    return connection->figures;
}

char *connection_address(const struct connection *connection) {
    return g_inet_address_to_string(g_inet_socket_address_get_address(
        G_INET_SOCKET_ADDRESS(connection->client)));
}
