/*
 * The HTTP API.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "api.h"

#include "http.h"
#include "message.h"
#include "text.h"

#include <string.h>

#define TRUTH_PATH "/sandbox/truth"
#define EXECUTIONS_PATH TRUTH_PATH "/executions"
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

static const char *query_value(GHashTable *query, const char *name) {
    return query ? g_hash_table_lookup(query, name) : NULL;
}

/* The market that a GET of this path asks for; NULL: it was answered. */
static const struct market *
market_asked(const struct around *around, SoupServerMessage *message,
             const char *path, const char *wanted_path, GHashTable *query) {
    const char *symbol = query_value(query, "market");
    const struct market *market = NULL;

    if (strcmp(path, wanted_path) != 0) {
        http_reply_not_found(message);
    } else if (strcmp(soup_server_message_get_method(message), "GET") != 0) {
        http_reply_method(message, "GET");
    } else if (!symbol) {
        http_reply_problem(message, SOUP_STATUS_BAD_REQUEST,
                           "The query does not name a market.");
    } else {
        market = feed_find(around->feed, symbol);
        if (!market) {
            http_reply_problem(message, SOUP_STATUS_NOT_FOUND,
                               "There is no such market.");
        }
    }
    return market;
}

static void on_truth(SoupServer *server, SoupServerMessage *message,
                     const char *path, GHashTable *query, gpointer user_data) {
    const struct around *around = user_data;
    const struct market *market =
        market_asked(around, message, path, TRUTH_PATH, query);
    json_t *truth = NULL;

    (void)server;
    if (!market) {
        return;
    }
    truth = around->played
                ? played_truth(around->played, market_spec(market)->symbol,
                               G_MAXUINT)
                : message_truth(market, G_MAXUINT);
    if (truth) {
        http_reply_json(message, SOUP_STATUS_OK, "application/json", truth);
    } else {
        http_reply_problem(message, SOUP_STATUS_NOT_FOUND,
                           "The recording has not reached this book yet.");
    }
}

static void on_executions(SoupServer *server, SoupServerMessage *message,
                          const char *path, GHashTable *query,
                          gpointer user_data) {
    const struct around *around = user_data;
    const struct market *market =
        market_asked(around, message, path, EXECUTIONS_PATH, query);
    const char *since = query_value(query, "since");
    int64_t since_ns = 0;

    (void)server;
    if (!market) {
        return;
    }
    if (around->played) {
        http_reply_problem(message, SOUP_STATUS_NOT_FOUND,
                           "Executions of a recording are not kept.");
        return;
    }
    if (since && !text_time(since, &since_ns)) {
        http_reply_problem(message, SOUP_STATUS_BAD_REQUEST,
                           "since must be a time such as "
                           "2024-01-01T00:00:00.123Z.");
        return;
    }
    http_reply_json(message, SOUP_STATUS_OK, "application/json",
                    executions_json(around->executions, market, since_ns));
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
        faults_take(faults, message, faults_set);
    } else {
        http_reply_method(message, "GET, POST");
    }
}

void api_add(SoupServer *server, const struct around *around) {
    soup_server_add_handler(server, TRUTH_PATH, on_truth, (gpointer)around,
                            NULL);
    soup_server_add_handler(server, EXECUTIONS_PATH, on_executions,
                            (gpointer)around, NULL);
    soup_server_add_handler(server, FAULTS_PATH, on_faults, around->faults,
                            NULL);
    address_add(server, around);
    soup_server_add_handler(server, NULL, on_unknown_path, NULL, NULL);
}
