/*
 * OAuth 2.0: clients, the token endpoint (RFC 6749), bearer tokens (RFC 6750).
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_TOKEN_H
#define SANDBOX_TOKEN_H

#include "script.h"

#include <libsoup/soup.h>
#include <stdbool.h>

#define TOKEN_TEXT_LEN 43 /* letters, digits, - and _ */

enum token_scope {
    TOKEN_SCOPE_STREAM = 1 << 0,
    TOKEN_SCOPE_ADDRESS = 1 << 1,
};

struct token_client {
    const char *id;
    const char *secret;
    unsigned scopes; /* enum token_scope: those allowed */
    bool allow_listed;
};

struct token_store;

/* window_s: see limit_new; 0 means no limit of requests. Faults and script must
 * outlive the store. */
struct token_store *token_store_new(int lifetime_s, int window_s,
                                    struct faults *faults,
                                    struct script *script);
void token_store_free(struct token_store *store);

/* Returns true if this token was issued and not revoked. Expired ones may be
 * forgotten. */
bool token_known(const struct token_store *store, const char *text);

/* Returns the client with this index, or NULL after the last one. */
const struct token_client *token_client_at(guint index);

/* Returns the client with this id, or NULL. */
const struct token_client *token_client_find(const char *id);

/* Adds POST /oauth2/token to the server. */
void token_endpoint_add(struct token_store *store, SoupServer *server);

/* Returns the client of the request's token, if the token is valid and has this
 * scope. Else answers the request with 401 or 403 and returns NULL. */
const struct token_client *token_admit(struct token_store *store,
                                       SoupServerMessage *message,
                                       enum token_scope scope);

#endif
