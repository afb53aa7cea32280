/* The HTTP API. SPDX-License-Identifier: 0BSD */
#include "api.h"

#include "http.h"
#include "message.h"
#include "text.h"

#include <string.h>

static const char *query_value(GHashTable *query, const char *name) {
    return query ? g_hash_table_lookup(query, name) : NULL;
}

/* Returns the market in the query; else answers and returns NULL. */
static const struct market *market_asked(const struct around *around,
                                         SoupServerMessage *message,
                                         GHashTable *query) {
    const char *symbol = query_value(query, "market");
    const struct market *market =
        symbol ? feed_find(around->feed, symbol) : NULL;

    if (!symbol) {
        http_reply_problem(message, SOUP_STATUS_BAD_REQUEST,
                           "The query does not name a market.");
    } else if (!market) {
        http_reply_problem(message, SOUP_STATUS_NOT_FOUND,
                           "There is no such market.");
    }
    return market;
}

json_t *api_truth(const struct around *around, const struct market *market,
                  guint levels) {
    return around->played
               ? played_truth(around->played, market->spec.symbol, levels)
               : message_truth(market, levels);
}

static void answer_truth(const struct around *around,
                         SoupServerMessage *message, GHashTable *query) {
    const struct market *market = market_asked(around, message, query);
    json_t *truth = NULL;

    if (!market) {
        return;
    }
    truth = api_truth(around, market, G_MAXUINT);
    if (truth) {
        http_reply_json(message, SOUP_STATUS_OK, truth);
    } else {
        http_reply_problem(message, SOUP_STATUS_NOT_FOUND,
                           "The recording has not reached this book yet.");
    }
}

static void answer_executions(const struct around *around,
                              SoupServerMessage *message, GHashTable *query) {
    const struct market *market = market_asked(around, message, query);
    const char *since = query_value(query, "since");
    int64_t since_ns = 0;

    if (!market) {
        return;
    }
    if (around->played) {
        http_reply_problem(message, SOUP_STATUS_NOT_FOUND,
                           "Executions of a recording are not kept.");
    } else if (since && !text_time(since, &since_ns)) {
        http_reply_problem(message, SOUP_STATUS_BAD_REQUEST,
                           "since must be a time such as "
                           "2024-01-01T00:00:00.123Z.");
    } else {
        http_reply_json(message, SOUP_STATUS_OK,
                        executions_json(around->executions, market, since_ns));
    }
}

static void answer_faults(const struct around *around,
                          SoupServerMessage *message, GHashTable *query) {
    (void)query;
    if (soup_server_message_get_method(message) == SOUP_METHOD_POST) {
        faults_take(around->faults, message, faults_set);
    } else {
        http_reply_json(message, SOUP_STATUS_OK, faults_json(around->faults));
    }
}

/* If a fault demands it, ends the connection without a response. */
static bool lose_answer(const struct around *around,
                        SoupServerMessage *message) {
    g_autoptr(GIOStream) connection = NULL;

    if (!faults_get(around->faults, FAULT_ADDRESS_LOST)) {
        return false;
    }
    faults_use(around->faults, FAULT_ADDRESS_LOST);
    if (around->journal) {
        journal_request(around->journal, "api", message);
    }
    connection = soup_server_message_steal_connection(message);
    g_io_stream_close(connection, NULL, NULL);
    return true;
}

static void put(const struct around *around, const struct token_client *client,
                SoupServerMessage *message,
                const struct address_request *request) {
    g_autoptr(GError) error = NULL;
    json_t *record =
        address_store_put(around->addresses, client->id, request, &error);

    if (record && lose_answer(around, message)) {
        json_decref(record);
    } else if (record) {
        http_reply_json(message, SOUP_STATUS_OK,
                        json_pack("{s:o}", "address", record));
    } else if (error) {
        http_reply_problem(message, SOUP_STATUS_INTERNAL_SERVER_ERROR,
                           error->message);
    } else {
        http_reply_problem(message, SOUP_STATUS_NOT_FOUND,
                           "There is no address with this id.");
    }
}

static void answer_address(const struct around *around,
                           SoupServerMessage *message, GHashTable *query) {
    const struct token_client *client;
    struct address_request request;
    struct schema_error error;
    json_auto_t *json = NULL;

    (void)query;
    if (faults_answer(around->faults, FAULT_ADDRESS, message)) {
        return;
    }
    client = token_admit(around->tokens, message, TOKEN_SCOPE_ADDRESS);
    if (!client || !http_check_json(message)) {
        return;
    }
    json = http_read_json(message, &error);
    if (json && address_request_read(&request, json, &error)) {
        put(around, client, message, &request);
    } else {
        http_reply_invalid(message, &error);
    }
}

static const struct {
    const char *path;
    const char *methods[3]; /* ends with NULL */
    void (*answer)(const struct around *around, SoupServerMessage *message,
                   GHashTable *query);
} routes[] = {
    {"/sandbox/truth", {"GET"}, answer_truth},
    {"/sandbox/truth/executions", {"GET"}, answer_executions},
    {"/sandbox/faults", {"GET", "POST"}, answer_faults},
    {"/v2/transfer/crypto-destination-address", {"PUT"}, answer_address},
};

static void on_request(SoupServer *server, SoupServerMessage *message,
                       const char *path, GHashTable *query,
                       gpointer user_data) {
    const char *method = soup_server_message_get_method(message);
    guint i = 0;

    (void)server;
    while (i < G_N_ELEMENTS(routes) && strcmp(path, routes[i].path) != 0) {
        i++;
    }
    if (i == G_N_ELEMENTS(routes)) {
        http_reply_not_found(message);
    } else if (!g_strv_contains(routes[i].methods, method)) {
        g_autofree char *methods = g_strjoinv(", ", (char **)routes[i].methods);

        http_reply_method(message, methods);
    } else {
        routes[i].answer(user_data, message, query);
    }
}

void api_add(SoupServer *server, const struct around *around) {
    soup_server_add_handler(server, NULL, on_request, (gpointer)around, NULL);
}
