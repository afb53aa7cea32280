/*
 * What the three HTTPS listeners have in common.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "http.h"

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

static bool listen_loopback(SoupServer *server, guint port, GError **error)
{
    GError *failure = NULL;

    if (soup_server_listen_local(server, port, SOUP_SERVER_LISTEN_HTTPS,
                                 &failure)) {
        return true;
    }
    if (g_error_matches(failure, G_IO_ERROR, G_IO_ERROR_ADDRESS_IN_USE)) {
        g_propagate_error(error, failure);
        return false;
    }
    /* The machine may have no ::1. */
    g_error_free(failure);
    return soup_server_listen_local(
        server, port, SOUP_SERVER_LISTEN_HTTPS | SOUP_SERVER_LISTEN_IPV4_ONLY,
        error);
}

static bool listen_address(SoupServer *server, const char *address, guint port,
                           GError **error)
{
    GSocketAddress *where =
        g_inet_socket_address_new_from_string(address, port);
    bool ok;

    if (!where) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
                    "%s is not an IP address", address);
        return false;
    }
    ok = soup_server_listen(server, where, SOUP_SERVER_LISTEN_HTTPS, error);
    g_object_unref(where);
    return ok;
}

static guint first_port(SoupServer *server)
{
    GSList *uris = soup_server_get_uris(server);
    guint port = (guint)g_uri_get_port(uris->data);

    g_slist_free_full(uris, (GDestroyNotify)g_uri_unref);
    return port;
}

bool http_server_listen(SoupServer *server, const char *address, guint *port,
                        GError **error)
{
    bool ok = address ? listen_address(server, address, *port, error)
                      : listen_loopback(server, *port, error);

    if (ok) {
        *port = first_port(server);
    } else {
        g_prefix_error(error, "cannot listen on port %u: ", *port);
    }
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
