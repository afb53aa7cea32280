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
                            gpointer user_data) {
    (void)server;
    (void)path;
    (void)query;
    (void)user_data;
    http_reply_not_found(message);
}

static void on_truth(SoupServer *server, SoupServerMessage *message,
                     const char *path, GHashTable *query, gpointer user_data) {
    const struct feed *feed = user_data;
    const char *symbol = query ? g_hash_table_lookup(query, "market") : NULL;
    const struct market *market = symbol ? feed_find(feed, symbol) : NULL;

    (void)server;
    if (strcmp(path, TRUTH_PATH) != 0) {
        http_reply_not_found(message);
    } else if (strcmp(soup_server_message_get_method(message), "GET") != 0) {
        http_reply_method(message, "GET");
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

static void set_faults(struct faults *faults, SoupServerMessage *message) {
    struct schema_error error;
    json_t *json = http_read_json(message, &error);

    if (json && faults_set(faults, json, &error)) {
        http_reply_json(message, SOUP_STATUS_OK, "application/json",
                        faults_json(faults));
    } else {
        http_reply_invalid(message, &error);
    }
    json_decref(json);
}

static void on_faults(SoupServer *server, SoupServerMessage *message,
                      const char *path, GHashTable *query, gpointer user_data) {
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
        http_reply_method(message, "GET, POST");
    }
}

void api_add(SoupServer *server, const struct feed *feed,
             struct faults *faults) {
    soup_server_add_handler(server, TRUTH_PATH, on_truth, (gpointer)feed, NULL);
    soup_server_add_handler(server, FAULTS_PATH, on_faults, faults, NULL);
    soup_server_add_handler(server, NULL, on_unknown_path, NULL, NULL);
}
