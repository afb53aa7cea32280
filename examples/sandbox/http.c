/*
 * What the three HTTPS servers have in common.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "http.h"

#include "listen.h"

#include <string.h>

#define BODY_MAX 65536

/* libsoup would collect a body of any size before it asks a handler. */
static void on_body_chunk(SoupServerMessage *message, GBytes *chunk,
                          gpointer user_data)
{
    SoupMessageBody *body = soup_server_message_get_request_body(message);

    (void)chunk;
    (void)user_data;
    if (body->length > BODY_MAX) {
        soup_message_body_set_accumulate(body, FALSE);
        soup_message_body_truncate(body);
        http_reply_problem(message, SOUP_STATUS_REQUEST_ENTITY_TOO_LARGE,
                           "The request body is too large.");
    }
}

static void on_request_started(SoupServer *server, SoupServerMessage *message,
                               gpointer user_data)
{
    (void)server;
    (void)user_data;
    g_signal_connect(message, "got-chunk", G_CALLBACK(on_body_chunk), NULL);
}

SoupServer *http_server_new(GTlsCertificate *certificate)
{
    SoupServer *server = soup_server_new("tls-certificate", certificate, NULL);

    g_signal_connect(server, "request-started", G_CALLBACK(on_request_started),
                     NULL);
    return server;
}

bool http_server_listen(SoupServer *server, const char *address, guint *port,
                        GError **error)
{
    GPtrArray *sockets = listen_open(address, port, error);
    bool ok = sockets != NULL;

    for (guint i = 0; ok && i < sockets->len; i++) {
        ok = soup_server_listen_socket(server, g_ptr_array_index(sockets, i),
                                       SOUP_SERVER_LISTEN_HTTPS, error);
    }
    g_clear_pointer(&sockets, g_ptr_array_unref);
    return ok;
}

void http_reply_json(SoupServerMessage *message, guint status,
                     const char *content_type, json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT);

    /* libsoup 3.2 does not notice that a client closed a connection that is
     * kept alive. */
    soup_message_headers_replace(
        soup_server_message_get_response_headers(message), "Connection",
        "close");
    soup_server_message_set_status(message, status, NULL);
    soup_server_message_set_response(message, content_type, SOUP_MEMORY_TAKE,
                                     text, strlen(text));
    json_decref(json);
}

void http_reply_problem(SoupServerMessage *message, guint status,
                        const char *detail)
{
    http_reply_json(message, status, "application/problem+json",
                    json_pack("{s:s, s:s, s:i, s:s}", "type", "about:blank",
                              "title", soup_status_get_phrase(status), "status",
                              (int)status, "detail", detail));
}

void http_reply_not_found(SoupServerMessage *message)
{
    http_reply_problem(message, SOUP_STATUS_NOT_FOUND,
                       "There is nothing at this path.");
}
