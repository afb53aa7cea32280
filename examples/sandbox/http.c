/* What the HTTP servers share. SPDX-License-Identifier: 0BSD */
#include "http.h"

#include <string.h>

#define BODY_MAX 65536

/* Rejects large bodies: libsoup collects a body before it calls a handler. */
static void on_body_chunk(SoupServerMessage *message, GBytes *chunk,
                          gpointer user_data) {
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
                               gpointer user_data) {
    (void)server;
    (void)user_data;
    g_signal_connect(message, "got-chunk", G_CALLBACK(on_body_chunk), NULL);
}

SoupServer *http_server_new(GTlsCertificate *certificate) {
    SoupServer *server = soup_server_new("tls-certificate", certificate, NULL);

    g_signal_connect(server, "request-started", G_CALLBACK(on_request_started),
                     NULL);
    return server;
}

void http_server_accept(GSocketConnection *connection, GSocketAddress *local,
                        GSocketAddress *remote, void *user_data) {
    static const char *const protocols[] = {"http/1.1", NULL};
    SoupServer *server = user_data;
    /* Clients have no certificates. The default database would cost each
     * connection a copy of the system's trust store: 4 MB, 10 ms. */
    g_autoptr(GIOStream) tls = g_initable_new(
        g_tls_backend_get_server_connection_type(g_tls_backend_get_default()),
        NULL, NULL, "base-io-stream", connection, "certificate",
        soup_server_get_tls_certificate(server), "database", NULL, NULL);

    g_tls_connection_set_advertised_protocols(G_TLS_CONNECTION(tls), protocols);
    soup_server_accept_iostream(server, tls, local, remote, NULL);
}

void http_reply(SoupServerMessage *message, guint status, const char *type,
                SoupMemoryUse use, const char *text, gsize len) {
    /* libsoup 3.2 keeps only connections alive that it accepted itself, and
     * does not notice when a client closes one of these. */
    soup_message_headers_replace(
        soup_server_message_get_response_headers(message), "Connection",
        "close");
    soup_server_message_set_status(message, status, NULL);
    soup_server_message_set_response(message, type, use, text, len);
}

/* Releases json. */
static void reply_json(SoupServerMessage *message, guint status,
                       const char *content_type, json_t *json) {
    char *text = json_dumps(json, JSON_COMPACT);

    http_reply(message, status, content_type, SOUP_MEMORY_TAKE, text,
               strlen(text));
    json_decref(json);
}

void http_reply_json(SoupServerMessage *message, guint status, json_t *json) {
    reply_json(message, status, "application/json", json);
}

/* Releases meta. */
static void reply_problem(SoupServerMessage *message, guint status,
                          const char *detail, json_t *meta) {
    reply_json(message, status, "application/problem+json",
               json_pack("{s:s, s:s, s:i, s:s, s:o}", "type", "about:blank",
                         "title", soup_status_get_phrase(status), "status",
                         (int)status, "detail", detail, "meta", meta));
}

void http_reply_problem(SoupServerMessage *message, guint status,
                        const char *detail) {
    reply_problem(message, status, detail, json_object());
}

void http_reply_invalid(SoupServerMessage *message,
                        struct schema_error *error) {
    g_autofree char *detail =
        g_strconcat(error->path, *error->path ? " " : "", error->text, NULL);

    reply_problem(message, SOUP_STATUS_BAD_REQUEST, detail,
                  json_pack("{s:s}", "field", error->path));
    schema_error_clear(error);
}

void http_reply_not_found(SoupServerMessage *message) {
    http_reply_problem(message, SOUP_STATUS_NOT_FOUND,
                       "This path does not exist.");
}

void http_reply_method(SoupServerMessage *message, const char *allowed) {
    soup_message_headers_replace(
        soup_server_message_get_response_headers(message), "Allow", allowed);
    http_reply_problem(message, SOUP_STATUS_METHOD_NOT_ALLOWED,
                       "This path does not allow the method.");
}

bool http_has_type(SoupMessageHeaders *headers, const char *type) {
    const char *given = soup_message_headers_get_content_type(headers, NULL);

    return given && g_ascii_strcasecmp(given, type) == 0;
}

bool http_check_json(SoupServerMessage *message) {
    if (http_has_type(soup_server_message_get_request_headers(message),
                      "application/json")) {
        return true;
    }
    http_reply_problem(message, SOUP_STATUS_UNSUPPORTED_MEDIA_TYPE,
                       "The content type must be application/json.");
    return false;
}

json_t *http_read_json(SoupServerMessage *message, struct schema_error *error) {
    g_autoptr(GBytes) bytes = soup_message_body_flatten(
        soup_server_message_get_request_body(message));
    json_error_t reason;
    gsize len;
    const char *data = g_bytes_get_data(bytes, &len);
    json_t *json =
        json_loadb(data ? data : "", len, JSON_REJECT_DUPLICATES, &reason);

    if (!json) {
        schema_refuse(error, "", NULL, "line %d, column %d: %s", reason.line,
                      reason.column, reason.text);
    }
    return json;
}
