/* What the HTTP servers share. SPDX-License-Identifier: 0BSD */
#ifndef SANDBOX_HTTP_H
#define SANDBOX_HTTP_H

#include "schema.h"

#include <libsoup/soup.h>

/* A server that does not listen and refuses large request bodies; certificate
 * NULL: it has plain HTTP. */
SoupServer *http_server_new(GTlsCertificate *certificate);

/* A listener_accepted: serves the connection with TLS, for one request;
 * user_data is the server. */
void http_server_accept(GSocketConnection *connection, GSocketAddress *local,
                        GSocketAddress *remote, void *user_data);

/* Answers with these bytes, and closes the connection after it. */
void http_reply(SoupServerMessage *message, guint status, const char *type,
                SoupMemoryUse use, const char *text, gsize len);

/* The same with a JSON body; json is released. */
void http_reply_json(SoupServerMessage *message, guint status, json_t *json);

/* Answers with application/problem+json (RFC 9457). */
void http_reply_problem(SoupServerMessage *message, guint status,
                        const char *detail);

/* Answers 400 with a problem that names the field, and clears the error. */
void http_reply_invalid(SoupServerMessage *message, struct schema_error *error);

/* Answer 404, and 405 with the methods that are allowed. */
void http_reply_not_found(SoupServerMessage *message);
void http_reply_method(SoupServerMessage *message, const char *allowed);

/* Whether the header Content-Type says this. */
bool http_has_type(SoupMessageHeaders *headers, const char *type);

/* Whether the request's body is JSON by its type; if not, answers 415. */
bool http_check_json(SoupServerMessage *message);

/* The request's body, to be released; NULL, with the error set, if it is no
 * JSON or has a key twice. */
json_t *http_read_json(SoupServerMessage *message, struct schema_error *error);

#endif
