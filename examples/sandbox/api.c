/*
 * The HTTP API.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "api.h"

#include "http.h"

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

void api_add(SoupServer *server)
{
    soup_server_add_handler(server, NULL, on_unknown_path, NULL, NULL);
}
