/*
 * The operation that creates or updates a crypto destination address.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "api.h"

#include "http.h"

#include <string.h>

#define ADDRESS_PATH "/v2/transfer/crypto-destination-address"

/* Ends the connection without an answer, if a fault demands it. */
static bool lose_answer(const struct around *around,
                        SoupServerMessage *message) {
    GIOStream *connection;

    if (!faults_get(around->faults, FAULT_ADDRESS_LOST)) {
        return false;
    }
    faults_use(around->faults, FAULT_ADDRESS_LOST);
    if (around->journal) {
        journal_request(around->journal, "api", message);
    }
    connection = soup_server_message_steal_connection(message);
    g_io_stream_close(connection, NULL, NULL);
    g_object_unref(connection);
    return true;
}

static void put(const struct around *around, const struct token_client *client,
                SoupServerMessage *message,
                const struct address_request *request) {
    GError *error = NULL;
    json_t *record =
        address_store_put(around->addresses, client->id, request, &error);

    if (record && lose_answer(around, message)) {
        json_decref(record);
    } else if (record) {
        http_reply_json(message, SOUP_STATUS_OK, "application/json",
                        json_pack("{s:o}", "address", record));
    } else if (error) {
        http_reply_problem(message, SOUP_STATUS_INTERNAL_SERVER_ERROR,
                           error->message);
        g_error_free(error);
    } else {
        http_reply_problem(message, SOUP_STATUS_NOT_FOUND,
                           "There is no address with this id.");
    }
}

static void on_address(SoupServer *server, SoupServerMessage *message,
                       const char *path, GHashTable *query,
                       gpointer user_data) {
    const struct around *around = user_data;
    const struct token_client *client;
    struct address_request request;
    struct schema_error error;
    json_t *json;

    (void)server;
    (void)query;
    if (strcmp(path, ADDRESS_PATH) != 0) {
        http_reply_not_found(message);
        return;
    }
    if (soup_server_message_get_method(message) != SOUP_METHOD_PUT) {
        http_reply_method(message, "PUT");
        return;
    }
    if (faults_answer(around->faults, FAULT_ADDRESS, message)) {
        return;
    }
    client = token_admit(around->tokens, message, TOKEN_SCOPE_ADDRESS);
    if (!client) {
        return;
    }
    if (!http_check_json(message)) {
        return;
    }
    json = http_read_json(message, &error);
    if (json && address_request_read(&request, json, &error)) {
        put(around, client, message, &request);
    } else {
        http_reply_invalid(message, &error);
    }
    json_decref(json);
}

void address_add(SoupServer *server, const struct around *around) {
    soup_server_add_handler(server, ADDRESS_PATH, on_address, (gpointer)around,
                            NULL);
}
