/*
 * Serves a recording.
 *
 * A recording has clients and pairs. The two connections of a pair have the
 * same data. One of them leads, and its messages are served. When it ends, the
 * other one leads, because its books are the same by then.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "played.h"

#include "frames.h"
#include "played_book.h"

#include "examples/mini-stream/recording.h"

#include <gio/gio.h>
#include <stdio.h>

#define NO_LINK RECORDING_NUMBERS

/* Pieces read in one turn of the main loop. */
#define TURN_MAX 64

/* Executions of a connection that are kept until the other one of its pair
 * brings them too. */
#define EXECUTIONS_MAX 10000

/* One market on one connection. */
struct market {
    struct played_book *book;
    char *top; /* the last message, or NULL */
};

/* The successive connections of a client or of a half of a pair. */
struct link {
    struct played *played;
    guint number;
    guint object;
    guint other; /* number of the other one of the pair, or NO_LINK */
    struct frames *frames;
    GHashTable *markets; /* symbol to struct market, both owned */
    bool has_led;        /* since it was opened */
    GQueue executions;   /* texts not yet brought by the other one of the pair;
                          * served already if has_led */
};

struct played {
    char *path;
    double speed;
    GPtrArray *symbols;
    GHashTable *known; /* the symbols as a set */
    struct recording recording;
    struct recording_item item; /* the next one, a RECORDING_IN */
    int64_t time_ns;            /* its recorded time */
    int64_t first_ns;           /* that of the first one, or -1 */
    int64_t started_us;         /* monotonic */
    struct link *links[RECORDING_NUMBERS];
    guint leads[RECORDING_NUMBERS]; /* link by object, or NO_LINK */
    struct played_room room;
    const char *trouble; /* why it has stopped, or NULL */
    guint timer;
    played_message message;
    void *user_data;
};

/* ---- markets ---- */

static void market_free(gpointer data) {
    struct market *market = data;

    played_book_free(market->book);
    g_free(market->top);
    g_free(market);
}

/* Returns the market's name as it was subscribed. The service may write it in
 * another case, so a single name that differs only in case counts. Else
 * NULL. */
static const char *known_name(const struct played *played, const char *name) {
    const char *found = NULL;

    if (g_hash_table_contains(played->known, name)) {
        return name;
    }
    for (guint i = 0; i < played->symbols->len; i++) {
        const char *symbol = g_ptr_array_index(played->symbols, i);

        if (g_ascii_strcasecmp(symbol, name) == 0) {
            if (found) {
                return NULL;
            }
            found = symbol;
        }
    }
    return found;
}

static struct market *market_of(const struct link *link, const char *symbol) {
    struct market *market = g_hash_table_lookup(link->markets, symbol);

    if (!market) {
        market = g_new0(struct market, 1);
        market->book = played_book_new(&link->played->room);
        g_hash_table_insert(link->markets, g_strdup(symbol), market);
    }
    return market;
}

/* Returns the market of the first leading connection that has it, or NULL. */
static const struct market *leading_market(const struct played *played,
                                           const char *symbol) {
    for (guint i = 0; i < RECORDING_NUMBERS; i++) {
        const struct link *link = played->leads[i] != NO_LINK
                                      ? played->links[played->leads[i]]
                                      : NULL;
        const struct market *market =
            link ? g_hash_table_lookup(link->markets, symbol) : NULL;

        if (market) {
            return market;
        }
    }
    return NULL;
}

json_t *played_truth(const struct played *played, const char *symbol,
                     guint levels) {
    const struct market *market = leading_market(played, symbol);
    json_t *json = market ? played_book_json(market->book, levels) : NULL;

    if (json) {
        json_object_set_new(json, "market", json_string(symbol));
    }
    return json;
}

static char *snapshot_text(const struct market *market, const char *symbol) {
    json_t *payload = played_book_json(market->book, G_MAXUINT);
    json_auto_t *message = NULL;

    if (!payload) {
        return NULL;
    }
    json_object_set_new(payload, "market", json_string(symbol));
    json_object_set_new(payload, "type", json_string("SNAPSHOT"));
    message =
        json_pack("{s:s, s:o}", "channel", "market_data", "payload", payload);
    return json_dumps(message, JSON_COMPACT);
}

char *played_snapshot(const struct played *played, const char *symbol) {
    const struct market *market = leading_market(played, symbol);

    return market ? snapshot_text(market, symbol) : NULL;
}

char *played_top(const struct played *played, const char *symbol) {
    const struct market *market = leading_market(played, symbol);

    return market ? g_strdup(market->top) : NULL;
}

/* ---- messages ---- */

/* Keeps data for the first message of later subscriptions. */
static void keep(const struct link *link, const char *channel,
                 const char *symbol, json_t *payload, const char *text) {
    struct market *market = market_of(link, symbol);

    if (g_str_equal(channel, "market_data") &&
        !played_book_take(market->book, payload, strlen(text))) {
        link->played->trouble = "not enough memory for its books";
    } else if (g_str_equal(channel, "market_data.top_of_book")) {
        g_free(market->top);
        market->top = g_strdup(text);
    }
}

/* Returns the market of a message, or NULL. */
static const char *symbol_of(const struct played *played,
                             const json_t *message) {
    const char *name = json_string_value(
        json_object_get(json_object_get(message, "payload"), "market"));

    return name ? known_name(played, name) : NULL;
}

static void serve(const struct played *played, const char *channel,
                  const char *symbol, const char *text) {
    played->message(channel, symbol ? symbol : "", text, played->user_data);
}

static struct link *other_of(const struct link *link) {
    struct link *other =
        link->other != NO_LINK ? link->played->links[link->other] : NULL;

    return other && other->object == link->object ? other : NULL;
}

static void forget_executions(struct link *link) {
    g_queue_clear_full(&link->executions, g_free);
}

/* Records an execution. Returns true if the other one of the pair served it. */
static bool was_served(struct link *link, const char *text) {
    struct link *other = other_of(link);
    GList *found;

    if (!other) {
        return false;
    }
    found =
        g_queue_find_custom(&other->executions, text, (GCompareFunc)g_strcmp0);
    if (found) {
        g_free(found->data);
        g_queue_delete_link(&other->executions, found);
        return other->has_led;
    }
    g_queue_push_tail(&link->executions, g_strdup(text));
    if (link->executions.length > EXECUTIONS_MAX) {
        g_free(g_queue_pop_head(&link->executions));
    }
    return false;
}

/* A frames_message. Serves data, not responses and invalid JSON. */
static void on_message(void *user_data, const char *data, gsize len) {
    struct link *link = user_data;
    struct played *played = link->played;
    json_auto_t *json = json_loadb(data, len, 0, NULL);
    const char *channel = json_string_value(json_object_get(json, "channel"));
    const char *symbol = symbol_of(played, json);

    if (channel && !played->trouble) {
        g_autofree char *text = g_strndup(data, len);
        bool served =
            g_str_equal(channel, "execution_data") && was_served(link, text);

        if (symbol) {
            keep(link, channel, symbol, json_object_get(json, "payload"), text);
        }
        if (played->leads[link->object] == link->number && !served) {
            serve(played, channel, symbol, text);
        }
    }
}

/* ---- connections ---- */

static void link_free(struct link *link) {
    frames_free(link->frames);
    forget_executions(link);
    g_hash_table_unref(link->markets);
    g_free(link);
}

static void link_new(struct played *played, guint number, guint object,
                     guint other) {
    struct link *link = g_new0(struct link, 1);

    g_clear_pointer(&played->links[number], link_free);
    link->played = played;
    link->number = number;
    link->object = object;
    link->other = other;
    link->frames = frames_new(on_message, link);
    link->markets =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, market_free);
    played->links[number] = link;
    played->leads[object] = NO_LINK;
}

static bool object_new(struct played *played,
                       const struct recording_item *item) {
    const guint object = (guint)item->values[0];
    const bool pair = item->kind == RECORDING_PAIR;
    struct recording_setup setup;
    guint number;

    if (!recording_setup_read(item->data, item->len, &setup)) {
        return false;
    }
    number = (guint)setup.config.link;
    link_new(played, number, object, pair ? number + 1 : NO_LINK);
    if (pair) {
        link_new(played, number + 1, object, number);
    }
    return true;
}

/* Sends all books of a connection that starts to lead. */
static void tell_books(const struct link *link) {
    GHashTableIter each;
    gpointer symbol;
    gpointer market;

    g_hash_table_iter_init(&each, link->markets);
    while (g_hash_table_iter_next(&each, &symbol, &market)) {
        g_autofree char *text = snapshot_text(market, symbol);

        if (text) {
            serve(link->played, "market_data", symbol, text);
        }
    }
}

static void lead(struct link *link) {
    link->played->leads[link->object] = link->number;
    link->has_led = true;
}

/* Sends the executions that only this connection has brought. */
static void tell_executions(struct link *link) {
    char *text;

    while ((text = g_queue_pop_head(&link->executions)) != NULL) {
        json_auto_t *json = json_loads(text, 0, NULL);

        serve(link->played, "execution_data", symbol_of(link->played, json),
              text);
        g_free(text);
    }
}

/* Ends a connection. If it led and the other one of its pair is open, that one
 * leads. */
static void end_link(const struct link *link) {
    struct link *other = other_of(link);

    if (link->played->leads[link->object] == link->number && other &&
        frames_open(other->frames)) {
        lead(other);
        tell_books(other);
        tell_executions(other);
    }
}

static void take_bytes(struct played *played,
                       const struct recording_item *item) {
    struct link *link = played->links[item->values[0]];
    bool was_open = link && frames_open(link->frames);
    guint leader;

    if (!link) {
        return;
    }
    leader = played->leads[link->object];
    if (!was_open &&
        (leader == NO_LINK || !frames_open(played->links[leader]->frames))) {
        lead(link);
    }
    frames_take(link->frames, item->data, item->len);
    if (was_open && !frames_open(link->frames)) {
        end_link(link); /* so that the other one leads at once */
    }
}

/* ---- replay ---- */

static void take_item(struct played *played,
                      const struct recording_item *item) {
    struct link *link =
        item->kind > RECORDING_FILE ? played->links[item->values[0]] : NULL;

    switch (item->kind) {
    case RECORDING_CLIENT:
    case RECORDING_PAIR:
        if (!object_new(played, item)) {
            played->trouble = "it has a malformed client";
        }
        break;
    case RECORDING_OPEN:
        if (link) {
            frames_reset(link->frames);
            g_hash_table_remove_all(link->markets);
            link->has_led = false;
            forget_executions(link);
            if (other_of(link)) {
                forget_executions(other_of(link));
            }
        }
        break;
    case RECORDING_STOP:
        if (link) {
            end_link(link);
            frames_reset(link->frames);
        }
        break;
    case RECORDING_RECEIVED: played->time_ns = item->values[1]; break;
    default: break;
    }
}

/* Reads up to the next bytes from the service. Returns false at the end. */
static bool advance(struct played *played) {
    int found;

    while (!played->trouble &&
           (found = recording_next(&played->recording, &played->item)) != 0) {
        if (found < 0) {
            played->trouble = played->recording.error;
        } else if (played->item.kind == RECORDING_IN) {
            if (played->first_ns < 0) {
                played->first_ns = played->time_ns;
            }
            return true;
        } else {
            take_item(played, &played->item);
        }
    }
    return false;
}

/* Returns the time until the next item is due, us. */
static int64_t rest_us(const struct played *played) {
    double due_us =
        (double)(played->time_ns - played->first_ns) / 1000 / played->speed;

    return (int64_t)MIN(due_us, 1e15) -
           (g_get_monotonic_time() - played->started_us);
}

static gboolean on_timer(gpointer user_data) {
    struct played *played = user_data;
    bool more = true;

    played->timer = 0;
    for (int i = 0; more && i < TURN_MAX && rest_us(played) <= 0; i++) {
        take_bytes(played, &played->item);
        more = advance(played);
    }
    if (more) {
        played->timer = g_timeout_add(
            (guint)CLAMP(rest_us(played) / 1000 + 1, 1, G_MAXINT32), on_timer,
            played);
    } else if (played->trouble) {
        fprintf(stderr, "sandbox: %s: %s\n", played->path, played->trouble);
    } else {
        puts("the recording has ended");
        fflush(stdout);
    }
    return G_SOURCE_REMOVE;
}

void played_start(struct played *played, played_message message,
                  void *user_data) {
    played->message = message;
    played->user_data = user_data;
    if (advance(played)) {
        played->started_us = g_get_monotonic_time();
        played->timer = g_timeout_add(0, on_timer, played);
    }
}

/* ---- the file ---- */

static bool open_recording(struct played *played, GError **error) {
    if (recording_open(&played->recording, played->path) == 0) {
        return true;
    }
    g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "%s",
                played->recording.error);
    return false;
}

/* Reads the whole file, to find its markets and any damage. */
static bool read_markets(struct played *played, GError **error) {
    struct recording_item item;
    int found;

    while ((found = recording_next(&played->recording, &item)) > 0) {
        g_autofree char *symbol =
            item.kind == RECORDING_SUBSCRIBE && item.len > 0
                ? g_strndup((const char *)item.data, item.len)
                : NULL;

        if (symbol && !g_hash_table_contains(played->known, symbol)) {
            g_ptr_array_add(played->symbols, symbol);
            g_hash_table_add(played->known, g_steal_pointer(&symbol));
        }
    }
    if (found < 0) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "%s",
                    played->recording.error);
    } else if (played->symbols->len == 0) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA,
                    "%s: no market was recorded", played->path);
    }
    return found == 0 && played->symbols->len > 0;
}

struct played *played_new(const char *path, double speed, GError **error) {
    struct played *played = g_new0(struct played, 1);
    bool ok;

    played->path = g_strdup(path);
    played->speed = speed;
    played->first_ns = -1;
    played->symbols = g_ptr_array_new();
    played->known =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < RECORDING_NUMBERS; i++) {
        played->leads[i] = NO_LINK;
    }
    ok = open_recording(played, error) && read_markets(played, error);
    recording_close(&played->recording);
    if (!ok || !open_recording(played, error)) {
        g_clear_pointer(&played, played_free);
    }
    return played;
}

void played_free(struct played *played) {
    g_clear_handle_id(&played->timer, g_source_remove);
    recording_close(&played->recording);
    for (guint i = 0; i < RECORDING_NUMBERS; i++) {
        g_clear_pointer(&played->links[i], link_free);
    }
    g_ptr_array_unref(played->symbols);
    g_hash_table_unref(played->known);
    g_free(played->path);
    g_free(played);
}

const GPtrArray *played_markets(const struct played *played) {
    return played->symbols;
}
