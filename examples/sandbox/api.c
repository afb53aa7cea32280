/*
 * The HTTP API.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "api.h"

#include "http.h"
#include "message.h"

#include <string.h>

#define TRUTH_PATH "/sandbox/truth"
#define FAULTS_PATH "/sandbox/faults"

static void on_unknown_path(SoupServer *server, SoupServerMessage *message,
                            const char *path, GHashTable *query,
                            gpointer user_data)
{
    (void)server;
    (void)path;
    (void)query;
    (void)user_data;
    http_reply_not_found(message);
}

static void refuse_method(SoupServerMessage *message, const char *allowed,
                          const char *detail)
{
    soup_message_headers_replace(
        soup_server_message_get_response_headers(message), "Allow", allowed);
    http_reply_problem(message, SOUP_STATUS_METHOD_NOT_ALLOWED, detail);
}

static void on_truth(SoupServer *server, SoupServerMessage *message,
                     const char *path, GHashTable *query, gpointer user_data)
{
    const struct feed *feed = user_data;
    const char *symbol = query ? g_hash_table_lookup(query, "market") : NULL;
    const struct market *market = symbol ? feed_find(feed, symbol) : NULL;

    (void)server;
    if (strcmp(path, TRUTH_PATH) != 0) {
        http_reply_not_found(message);
    } else if (strcmp(soup_server_message_get_method(message), "GET") != 0) {
        refuse_method(message, "GET", "This can only be read.");
    } else if (!symbol) {
        http_reply_problem(message, SOUP_STATUS_BAD_REQUEST,
                           "The query names no market.");
    } else if (!market) {
        http_reply_problem(message, SOUP_STATUS_NOT_FOUND,
                           "There is no such market.");
    } else {
        http_reply_json(message, SOUP_STATUS_OK, "application/json",
                        message_truth(market));
    }
}

/* The request's body as JSON; NULL, with an error: it is none. */
static json_t *read_body(SoupServerMessage *message, GError **error)
{
    GBytes *bytes = soup_message_body_flatten(
        soup_server_message_get_request_body(message));
    json_error_t reason;
    gsize len;
    const char *data = g_bytes_get_data(bytes, &len);
    json_t *json =
        json_loadb(data ? data : "", len, JSON_REJECT_DUPLICATES, &reason);

    if (!json) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA,
                    "line %d, column %d: %s", reason.line, reason.column,
                    reason.text);
    }
    g_bytes_unref(bytes);
    return json;
}

static void set_faults(struct faults *faults, SoupServerMessage *message)
{
    GError *error = NULL;
    json_t *json = read_body(message, &error);

    if (json && faults_set(faults, json, &error)) {
        http_reply_json(message, SOUP_STATUS_OK, "application/json",
                        faults_json(faults));
    } else {
        http_reply_problem(message, SOUP_STATUS_BAD_REQUEST, error->message);
        g_error_free(error);
    }
    json_decref(json);
}

static void on_faults(SoupServer *server, SoupServerMessage *message,
                      const char *path, GHashTable *query, gpointer user_data)
{
    struct faults *faults = user_data;
    const char *method = soup_server_message_get_method(message);

    (void)server;
    (void)query;
    if (strcmp(path, FAULTS_PATH) != 0) {
        http_reply_not_found(message);
    } else if (strcmp(method, "GET") == 0) {
        http_reply_json(message, SOUP_STATUS_OK, "application/json",
                        faults_json(faults));
    } else if (strcmp(method, "POST") == 0) {
        set_faults(faults, message);
    } else {
        refuse_method(message, "GET, POST", "Faults are read and set.");
    }
}

void api_add(SoupServer *server, const struct feed *feed, struct faults *faults)
{
    soup_server_add_handler(server, TRUTH_PATH, on_truth, (gpointer)feed, NULL);
    soup_server_add_handler(server, FAULTS_PATH, on_faults, faults, NULL);
    soup_server_add_handler(server, NULL, on_unknown_path, NULL, NULL);
}
