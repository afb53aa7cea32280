/* The latest requests and responses, masked. SPDX-License-Identifier: 0BSD */
#include "journal.h"

#include "feed.h"
#include "http.h"
#include "mask.h"
#include "writer.h"

#include <string.h>

#define ENTRIES_MAX 100

#define CONTROL_PREFIX "/sandbox/"

/* The key of a server's name on the page, kept with the server. */
#define PLACE_KEY "sandbox-place"

struct journal {
    const struct token_store *tokens;
    json_t *entries; /* an array, oldest first */
    gint64 last;     /* number of the newest entry */
};

/* A request and its response, as masked texts or NULL; keep() frees them. */
struct exchange {
    char *place;
    char *asked; /* a few words */
    char *request;
    char *outcome; /* a few words */
    char *answer;
};

struct journal *journal_new(const struct token_store *tokens) {
    struct journal *journal = g_new0(struct journal, 1);

    journal->tokens = tokens;
    journal->entries = json_array();
    return journal;
}

void journal_free(struct journal *journal) {
    json_decref(journal->entries);
    g_free(journal);
}

/* Frees the text. Makes it valid UTF-8 for JSON: it may have any bytes. */
static json_t *text_json(char *text) {
    g_autofree char *valid = text ? g_utf8_make_valid(text, -1) : NULL;

    g_free(text);
    return valid ? json_string(valid) : json_null();
}

static void keep(struct journal *journal, struct exchange exchange) {
    json_array_append_new(
        journal->entries,
        json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "number",
                  (json_int_t)++journal->last, "time",
                  writer_time(&writer_plain, feed_now_ns(), 3), "place",
                  text_json(exchange.place), "asked", text_json(exchange.asked),
                  "request", text_json(exchange.request), "outcome",
                  text_json(exchange.outcome), "answer",
                  text_json(exchange.answer)));
    if (json_array_size(journal->entries) > ENTRIES_MAX) {
        json_array_remove(journal->entries, 0);
    }
}

/* Returns a body as masked text, or NULL if it is empty. */
static char *body_text(const struct journal *journal,
                       SoupMessageHeaders *headers, SoupMessageBody *body) {
    g_autoptr(GBytes) bytes = soup_message_body_flatten(body);
    gsize len;
    const char *data = g_bytes_get_data(bytes, &len);

    if (len == 0) {
        return NULL;
    }
    return http_has_type(headers, "application/x-www-form-urlencoded")
               ? mask_form_text(journal->tokens, data, len)
               : mask_json_text(journal->tokens, data, len);
}

/* Returns Authorization and body of a request, masked. */
static char *request_text(const struct journal *journal,
                          SoupServerMessage *message) {
    SoupMessageHeaders *headers =
        soup_server_message_get_request_headers(message);
    const char *authorization =
        soup_message_headers_get_one(headers, "Authorization");
    g_autofree char *body = body_text(
        journal, headers, soup_server_message_get_request_body(message));
    g_autofree char *value = NULL;

    if (!authorization) {
        return g_steal_pointer(&body);
    }
    value = mask_authorization(authorization);
    return g_strconcat("Authorization: ", value, body ? "\n" : NULL, body,
                       NULL);
}

static const char *path_of(SoupServerMessage *message) {
    return g_uri_get_path(soup_server_message_get_uri(message));
}

/* Returns method and path. Of a query, shows only that there is one. */
static char *asked_text(const struct journal *journal,
                        SoupServerMessage *message) {
    const char *query = g_uri_get_query(soup_server_message_get_uri(message));
    g_autofree char *path = g_uri_unescape_string(path_of(message), NULL);
    g_autofree char *masked = mask_text(journal->tokens, path ? path : "/***");

    return g_strdup_printf("%s %.200s%s",
                           soup_server_message_get_method(message), masked,
                           query ? "?\u2026" : "");
}

void journal_request(struct journal *journal, const char *place,
                     SoupServerMessage *message) {
    guint status = soup_server_message_get_status(message);
    struct exchange exchange = {
        .place = g_strdup(place),
        .asked = asked_text(journal, message),
        .request = request_text(journal, message),
        .outcome = status > 0 ? g_strdup_printf("%u %s", status,
                                                soup_status_get_phrase(status))
                              : g_strdup("no answer"),
    };

    if (status != SOUP_STATUS_SWITCHING_PROTOCOLS) {
        exchange.answer = body_text(
            journal, soup_server_message_get_response_headers(message),
            soup_server_message_get_response_body(message));
    }
    keep(journal, exchange);
}

static void on_finished(SoupServer *server, SoupServerMessage *message,
                        gpointer user_data) {
    if (!g_str_has_prefix(path_of(message), CONTROL_PREFIX)) {
        journal_request(
            user_data, g_object_get_data(G_OBJECT(server), PLACE_KEY), message);
    }
}

void journal_watch(struct journal *journal, SoupServer *server,
                   const char *place) {
    g_object_set_data(G_OBJECT(server), PLACE_KEY, (gpointer)place);
    g_signal_connect(server, "request-finished", G_CALLBACK(on_finished),
                     journal);
}

/* Returns a request's type, to be freed with g_free(), or NULL. */
static char *type_of(const struct token_store *tokens, const char *text,
                     size_t len) {
    json_auto_t *json = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
    const char *type = json_string_value(json_object_get(json, "type"));

    return type ? mask_text(tokens, type) : NULL;
}

/* Returns the outcome of a request, judged by its response. */
static const char *outcome_of(const char *answer) {
    json_auto_t *json = answer ? json_loads(answer, 0, NULL) : NULL;
    const json_t *channels = json_object_get(json, "channels");
    size_t i;
    json_t *channel;

    json_array_foreach(channels, i, channel) {
        if (json_is_false(json_object_get(channel, "success"))) {
            return "refused in part";
        }
    }
    return channels ? "answered" : answer ? "error" : "no answer";
}

void journal_message(struct journal *journal, guint stream, const char *text,
                     size_t len, const char *answer) {
    g_autofree char *type = type_of(journal->tokens, text, len);
    struct exchange exchange = {
        .place = g_strdup_printf("stream %u", stream),
        .asked = g_strdup_printf("%.60s", type ? type : "message"),
        .request = mask_json_text(journal->tokens, text, len),
        .outcome = g_strdup(outcome_of(answer)),
        .answer = answer
                      ? mask_json_text(journal->tokens, answer, strlen(answer))
                      : NULL,
    };

    keep(journal, exchange);
}

void journal_ended(struct journal *journal, guint stream, gushort code,
                   const char *reason) {
    struct exchange exchange = {
        .place = g_strdup_printf("stream %u", stream),
        .asked = g_strdup("connection"),
        .outcome = code > 0 ? g_strdup_printf("closed with %u", code)
                            : g_strdup("closed without a code"),
        .answer = reason && *reason ? mask_text(journal->tokens, reason) : NULL,
    };

    keep(journal, exchange);
}

json_t *journal_since(const struct journal *journal, gint64 number) {
    json_t *entries = json_array();
    json_t *entry;
    size_t i;

    json_array_foreach(journal->entries, i, entry) {
        if (json_integer_value(json_object_get(entry, "number")) > number) {
            json_array_append(entries, entry);
        }
    }
    return entries;
}
