/* What the HTTP servers share. SPDX-License-Identifier: 0BSD */
#ifndef SANDBOX_HTTP_H
#define SANDBOX_HTTP_H

#include "schema.h"

#include <libsoup/soup.h>

/* Returns a server that does not listen, and that rejects large request bodies.
 * If the certificate is NULL, it is for plain HTTP. */
SoupServer *http_server_new(GTlsCertificate *certificate);

/* A listener_accepted: serves one request on the connection, over TLS;
 * user_data is the server. */
void http_server_accept(GSocketConnection *connection, GSocketAddress *local,
                        GSocketAddress *remote, void *user_data);

/* Answers with these bytes, then closes the connection. */
void http_reply(SoupServerMessage *message, guint status, const char *type,
                SoupMemoryUse use, const char *text, gsize len);

/* Answers with a JSON body; releases json. */
void http_reply_json(SoupServerMessage *message, guint status, json_t *json);

/* Answers with application/problem+json (RFC 9457). */
void http_reply_problem(SoupServerMessage *message, guint status,
                        const char *detail);

/* Answers 400 with a problem that names the field, and clears the error. */
void http_reply_invalid(SoupServerMessage *message, struct schema_error *error);

/* Answer 404; 405 with the allowed methods. */
void http_reply_not_found(SoupServerMessage *message);
void http_reply_method(SoupServerMessage *message, const char *allowed);

/* Returns true if Content-Type is this type. */
bool http_has_type(SoupMessageHeaders *headers, const char *type);

/* Returns true if the request's Content-Type is JSON; else answers 415. */
bool http_check_json(SoupServerMessage *message);

/* Returns the request's body, to be released. If it is no JSON or has a
 * duplicate key, returns NULL and sets the error. */
json_t *http_read_json(SoupServerMessage *message, struct schema_error *error);

#endif
