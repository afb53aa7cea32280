/* Sends data to the subscribers. SPDX-License-Identifier: 0BSD */
#include "stream.h"

#include "http.h"
#include "message.h"

#include <string.h>

/* The key of the admitted client in a handshake's message. */
#define CLIENT_KEY "sandbox-client"

/* The largest backlog of a client, in addition to a snapshot of each market. */
#define BACKLOG_MAX ((size_t)4 << 20)

/* The size of a recording's snapshots. */
#define RECORDED_MAX ((size_t)64 << 20)

/* The most that late executions are late. */
#define LATE_MAX_MS 1000

#define NS_PER_MS INT64_C(1000000)

/* Handles all paths. If it answers, libsoup skips the WebSocket handshake. */
static void on_request(SoupServer *server, SoupServerMessage *message,
                       const char *path, GHashTable *query,
                       gpointer user_data) {
    const struct stream *stream = user_data;
    const struct token_client *client;

    (void)server;
    (void)query;
    if (strcmp(path, "/") != 0) {
        http_reply_not_found(message);
        return;
    }
    if (faults_answer(stream->around->faults, FAULT_UPGRADE, message)) {
        return;
    }
    client = token_admit(stream->around->tokens, message, TOKEN_SCOPE_STREAM);
    if (client && !client->allow_listed) {
        http_reply_problem(message, SOUP_STATUS_FORBIDDEN,
                           "The client is not on the allow list.");
    }
    g_object_set_data(G_OBJECT(message), CLIENT_KEY, (gpointer)client);
}

static void on_connection(SoupServer *server, SoupServerMessage *message,
                          const char *path, SoupWebsocketConnection *websocket,
                          gpointer user_data) {
    struct stream *stream = user_data;

    (void)server;
    (void)path;
    g_ptr_array_add(stream->peers,
                    peer_new(stream, message, websocket,
                             g_object_get_data(G_OBJECT(message), CLIENT_KEY)));
    if (stream->around->journal) {
        journal_request(stream->around->journal, "stream", message);
    }
    script_happened(stream->around->script, SCRIPT_CONNECT);
}

static bool wanted(const struct stream *stream, enum channel channel,
                   const struct market *market) {
    for (guint i = 0; i < stream->peers->len; i++) {
        const struct peer *peer = g_ptr_array_index(stream->peers, i);

        if (subscription_find(peer->held, channel, market)) {
            return true;
        }
    }
    return false;
}

/* Sends the text to the subscribers, and frees it. */
static void publish_take(const struct stream *stream, enum channel channel,
                         const struct market *market, char *text) {
    for (guint i = 0; i < stream->peers->len; i++) {
        struct peer *peer = g_ptr_array_index(stream->peers, i);
        const struct subscription *subscription =
            subscription_find(peer->held, channel, market);

        if (subscription) {
            peer_push(peer, subscription->serial, text);
        }
    }
    g_free(text);
}

static bool removes_level(const struct market_change *change) {
    for (int side = 0; side < MARKET_SIDES; side++) {
        const GArray *levels = change->levels[side];

        for (guint i = 0; i < levels->len; i++) {
            if (g_array_index(levels, struct market_level, i).amount == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Sends the snapshots that are due after this change. */
static void end_early(const struct stream *stream, const struct market *market,
                      bool removes) {
    for (guint i = 0; i < stream->peers->len; i++) {
        struct peer *peer = g_ptr_array_index(stream->peers, i);
        struct subscription *begun =
            subscription_find(peer->held, CHANNEL_MARKET_DATA, market);

        if (begun && begun->snapshot && early_ends(begun, removes)) {
            peer_push_take(peer, begun->serial,
                           g_steal_pointer(&begun->snapshot));
            if (begun->late_update) {
                peer_push_take(peer, begun->serial,
                               g_steal_pointer(&begun->late_update));
            }
        }
    }
}

static void send_update(struct stream *stream, const struct market *market,
                        const struct market_change *change) {
    char *text;

    if (!stream->early && !wanted(stream, CHANNEL_MARKET_DATA, market)) {
        return;
    }
    text = message_update(&stream->writer, market, change);
    if (stream->early) {
        early_record(stream->early, market, text);
    }
    publish_take(stream, CHANNEL_MARKET_DATA, market, text);
}

static void publish_update(struct stream *stream, const struct market *market,
                           const struct market_change *change) {
    /* One draw per change, sent or not, so that losses are reproducible. */
    int lose = stream->around->options->lose;
    bool lost = lose > 0 && g_rand_int_range(stream->chance, 0, lose) == 0;

    if (!lost) {
        send_update(stream, market, change);
    }
    if (stream->early) {
        end_early(stream, market, !lost && removes_level(change));
    }
}

/* Returns an execution's time as it is sent. */
static int64_t execution_time_ns(const struct stream *stream,
                                 const struct market_change *change) {
    bool late = quirk_on(stream->writer.quirks, QUIRK_LATE_EXECUTIONS) &&
                g_rand_boolean(stream->chance);

    return late ? change->time_ns -
                      NS_PER_MS *
                          g_rand_int_range(stream->chance, 1, LATE_MAX_MS + 1)
                : change->time_ns;
}

static void publish_trades(const struct stream *stream,
                           const struct market *market,
                           const struct market_change *change) {
    bool sent = wanted(stream, CHANNEL_EXECUTION_DATA, market);

    writer_begin(&stream->writer, "executions", market->spec.symbol,
                 market->steps);
    for (guint i = 0; i < change->trades->len; i++) {
        const struct execution execution = {
            .market = market,
            .time_ns = execution_time_ns(stream, change),
            .taken = g_array_index(change->trades, struct market_level, i),
        };

        executions_add(stream->around->executions, &execution);
        if (sent) {
            publish_take(stream, CHANNEL_EXECUTION_DATA, market,
                         message_trade(&stream->writer, &execution));
        }
    }
}

void stream_publish(const struct market *market,
                    const struct market_change *change, void *user_data) {
    struct stream *stream = user_data;
    const struct writer *writer = &stream->writer;

    publish_update(stream, market, change);
    if (change->top_changed && wanted(stream, CHANNEL_TOP_OF_BOOK, market)) {
        publish_take(stream, CHANNEL_TOP_OF_BOOK, market,
                     message_top(writer, market));
    }
    publish_trades(stream, market, change);
}

static void send_all(const struct stream *stream, const char *text) {
    for (guint i = 0; i < stream->peers->len; i++) {
        const struct peer *peer = g_ptr_array_index(stream->peers, i);

        connection_send(peer->connection, text);
    }
}

void stream_forward(const char *channel, const char *market, const char *text,
                    void *user_data) {
    const struct stream *stream = user_data;
    enum channel which = channel_find(channel);

    if (which == CHANNEL_COUNT) {
        send_all(stream, text);
    } else if (which == CHANNEL_HEARTBEAT) {
        publish_take(stream, which, NULL, g_strdup(text));
    } else if (feed_find(stream->around->feed, market)) {
        publish_take(stream, which, feed_find(stream->around->feed, market),
                     g_strdup(text));
    }
}

/* Sends to all clients: nobody can subscribe to unknown channels. */
static void send_unknown(const struct stream *stream) {
    g_autofree char *channel =
        message_unknown_channel(&stream->writer, feed_now_ns());
    g_autofree char *type = message_unknown_type(&stream->writer);

    send_all(stream, channel);
    send_all(stream, type);
}

static gboolean on_second_timer(gpointer user_data) {
    struct stream *stream = user_data;

    writer_begin(&stream->writer, "second", "", ++stream->seconds);
    /* A recording has its own heartbeats. */
    if (!stream->around->played &&
        !faults_get(stream->around->faults, FAULT_NO_HEARTBEAT)) {
        publish_take(stream, CHANNEL_HEARTBEAT, NULL,
                     message_heartbeat(&stream->writer, feed_now_ns()));
    }
    if (quirk_on(stream->writer.quirks, QUIRK_UNKNOWN_CHANNELS)) {
        send_unknown(stream);
    }
    return G_SOURCE_CONTINUE;
}

/* Returns the most bytes of a snapshot of every market. */
static size_t snapshots_size(const struct around *around) {
    return around->played
               ? RECORDED_MAX
               : (size_t)feed_levels(around->feed) * MESSAGE_LEVEL_SIZE;
}

static void close_all(const struct stream *stream, gushort code,
                      const char *reason) {
    for (guint i = 0; i < stream->peers->len; i++) {
        const struct peer *peer = g_ptr_array_index(stream->peers, i);

        connection_close(peer->connection, code, reason);
    }
}

/* A faults_changed. */
static void on_faults(void *user_data) {
    const struct stream *stream = user_data;
    struct faults *faults = stream->around->faults;
    const json_t *garbage = faults_get(faults, FAULT_GARBAGE);
    const json_t *close = faults_get(faults, FAULT_CLOSE);

    if (garbage) {
        send_all(stream, faults_text(garbage, "text"));
        faults_use(faults, FAULT_GARBAGE);
    }
    if (close) {
        close_all(stream, (gushort)faults_number(close, "code"),
                  faults_text(close, "reason"));
        faults_use(faults, FAULT_CLOSE);
    }
}

struct stream *stream_new(const struct around *around) {
    struct stream *stream = g_new0(struct stream, 1);
    SoupServer *server = around->ws_server;
    const struct options *options = around->options;

    stream->around = around;
    stream->writer.quirks = options->quirks;
    stream->writer.error_shape = options->error_shape;
    stream->writer.seed = (uint32_t)options->seed;
    stream->writer.random = g_rand_new_with_seed(stream->writer.seed);
    stream->chance = g_rand_new_with_seed(stream->writer.seed);
    if (!around->played && quirk_on(options->quirks, QUIRK_EARLY_UPDATES)) {
        stream->early = early_new();
    }
    if (quirk_on(options->quirks, QUIRK_DELAYED_DATA)) {
        stream->delays =
            g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    }
    stream->backlog_max = BACKLOG_MAX + snapshots_size(around);
    stream->peers = g_ptr_array_new_with_free_func(peer_free);
    stream->second_timer = g_timeout_add(1000, on_second_timer, stream);
    soup_server_remove_websocket_extension(
        server, SOUP_TYPE_WEBSOCKET_EXTENSION_DEFLATE);
    soup_server_add_handler(server, NULL, on_request, stream, NULL);
    soup_server_add_websocket_handler(server, NULL, NULL, NULL, on_connection,
                                      stream, NULL);
    faults_watch(around->faults, on_faults, stream);
    return stream;
}

void stream_free(struct stream *stream) {
    g_source_remove(stream->second_timer);
    g_ptr_array_unref(stream->peers);
    g_clear_pointer(&stream->early, g_hash_table_unref);
    g_clear_pointer(&stream->delays, g_hash_table_unref);
    g_rand_free(stream->writer.random);
    g_rand_free(stream->chance);
    g_free(stream);
}

void stream_close(struct stream *stream) {
    close_all(stream, SOUP_WEBSOCKET_CLOSE_GOING_AWAY,
              "the service is shutting down");
}
