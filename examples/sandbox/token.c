/* OAuth 2.0: clients and tokens. SPDX-License-Identifier: 0BSD */
#include "token.h"

#include "http.h"
#include "limit.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <string.h>

#define TOO_MANY_REQUESTS 429 /* RFC 6585; libsoup has no name for it */
#define TOKEN_SIZE 32
G_STATIC_ASSERT(TOKEN_TEXT_LEN == (TOKEN_SIZE * 8 + 5) / 6); /* base64url */

struct token_store {
    GHashTable *tokens;  /* text to struct token */
    struct limit *limit; /* or NULL */
    int lifetime_s;
    struct faults *faults;
    struct script *script;
};

struct token {
    const struct token_client *client;
    unsigned scopes;
    int64_t expires_us; /* monotonic */
};

static const struct {
    const char *name;
    enum token_scope scope;
} scope_names[] = {
    {"exchange:read_aggregated_marketdata_stream", TOKEN_SCOPE_STREAM},
    {"transfer:write_crypto_destination_address", TOKEN_SCOPE_ADDRESS},
};

static const struct token_client clients[] = {
    {"sandbox-client", "sandbox-secret",
     TOKEN_SCOPE_STREAM | TOKEN_SCOPE_ADDRESS, true},
    {"sandbox-noscope", "sandbox-secret", TOKEN_SCOPE_ADDRESS, true},
    {"sandbox-denied", "sandbox-secret",
     TOKEN_SCOPE_STREAM | TOKEN_SCOPE_ADDRESS, false},
};

/* A faults_changed: revokes all tokens if the fault is active. */
static void on_faults(void *user_data) {
    struct token_store *store = user_data;

    if (faults_get(store->faults, FAULT_REVOKE)) {
        g_hash_table_remove_all(store->tokens);
        faults_use(store->faults, FAULT_REVOKE);
    }
}

struct token_store *token_store_new(int lifetime_s, int window_s,
                                    struct faults *faults,
                                    struct script *script) {
    struct token_store *store = g_new0(struct token_store, 1);

    store->tokens =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    store->limit = window_s > 0 ? limit_new(window_s) : NULL;
    store->lifetime_s = lifetime_s;
    store->script = script;
    store->faults = faults;
    faults_watch(faults, on_faults, store);
    return store;
}

void token_store_free(struct token_store *store) {
    g_clear_pointer(&store->limit, limit_free);
    g_hash_table_unref(store->tokens);
    g_free(store);
}

bool token_known(const struct token_store *store, const char *text) {
    return g_hash_table_contains(store->tokens, text);
}

const struct token_client *token_client_at(guint index) {
    return index < G_N_ELEMENTS(clients) ? &clients[index] : NULL;
}

const struct token_client *token_client_find(const char *id) {
    for (guint i = 0; i < G_N_ELEMENTS(clients); i++) {
        if (strcmp(clients[i].id, id) == 0) {
            return &clients[i];
        }
    }
    return NULL;
}

static gboolean token_expired(gpointer key, gpointer value,
                              gpointer user_data) {
    const struct token *token = value;

    (void)key;
    (void)user_data;
    return token->expires_us <= g_get_monotonic_time();
}

/* Returns random bytes as base64url without padding (RFC 4648, section 5). */
static char *random_text(void) {
    unsigned char bytes[TOKEN_SIZE];
    char *text;

    if (gnutls_rnd(GNUTLS_RND_KEY, bytes, sizeof bytes) < 0) {
        g_error("no random bytes");
    }
    text = g_base64_encode(bytes, sizeof bytes);
    g_strdelimit(text, "+", '-');
    g_strdelimit(text, "/", '_');
    text[strcspn(text, "=")] = '\0';
    return text;
}

/* Returns the text of a new token, which the store owns. */
static const char *token_issue(struct token_store *store,
                               const struct token_client *client,
                               unsigned scopes) {
    struct token *token = g_new0(struct token, 1);
    char *text = random_text();

    token->client = client;
    token->scopes = scopes;
    token->expires_us =
        g_get_monotonic_time() + (int64_t)store->lifetime_s * G_USEC_PER_SEC;
    g_hash_table_foreach_remove(store->tokens, token_expired, NULL);
    g_hash_table_insert(store->tokens, text, token);
    return text;
}

/* Answers with an error as in RFC 6749, section 5.2. */
static void refuse(SoupServerMessage *message, const char *error,
                   const char *description) {
    guint status = strcmp(error, "invalid_client") == 0
                       ? SOUP_STATUS_UNAUTHORIZED
                       : SOUP_STATUS_BAD_REQUEST;

    http_reply_json(message, status,
                    json_pack("{s:s, s:s}", "error", error, "error_description",
                              description));
}

/* Returns the form's fields by name, or NULL if it is malformed. A field
 * without a value counts as absent; duplicates are invalid (RFC 6749, 3.2). */
static GHashTable *read_form(SoupServerMessage *message) {
    SoupMessageBody *body = soup_server_message_get_request_body(message);
    g_autoptr(GBytes) bytes = soup_message_body_flatten(body);
    GHashTable *form =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autoptr(GError) error = NULL;
    bool repeated = false;
    GUriParamsIter iter;
    char *name;
    char *value;

    g_uri_params_iter_init(&iter, g_bytes_get_data(bytes, NULL),
                           (gssize)g_bytes_get_size(bytes), "&",
                           G_URI_PARAMS_WWW_FORM);
    while (!repeated && g_uri_params_iter_next(&iter, &name, &value, &error)) {
        if (*value == '\0') {
            g_free(name);
            g_free(value);
        } else {
            repeated = !g_hash_table_insert(form, name, value);
        }
    }
    if (error || repeated) {
        g_clear_pointer(&form, g_hash_table_unref);
    }
    return form;
}

/* Reads scopes separated by single spaces. Returns 0 if any is unknown. */
static unsigned read_scopes(const char *text) {
    g_auto(GStrv) names = g_strsplit(text, " ", -1);
    unsigned scopes = 0;

    for (char **name = names; *name; name++) {
        unsigned scope = 0;

        for (guint i = 0; i < G_N_ELEMENTS(scope_names); i++) {
            if (strcmp(scope_names[i].name, *name) == 0) {
                scope = scope_names[i].scope;
            }
        }
        if (scope == 0) {
            return 0;
        }
        scopes |= scope;
    }
    return scopes;
}

/* Returns the value of expires_in, which a fault may change; NULL: omitted. */
static json_t *told_lifetime(const struct token_store *store) {
    const json_t *fault = faults_get(store->faults, FAULT_EXPIRES_IN);
    json_t *value;

    if (!fault) {
        return json_integer(store->lifetime_s);
    }
    value = json_incref(json_object_get(fault, "value"));
    faults_use(store->faults, FAULT_EXPIRES_IN);
    return value;
}

/* Returns the response with a token. A fault may change its type and scope. */
static json_t *told_token(const struct token_store *store, const char *token,
                          const char *scope) {
    const json_t *fault = faults_get(store->faults, FAULT_GRANTED);
    const char *type = fault ? faults_text(fault, "token_type") : "bearer";
    json_t *json;

    if (fault) {
        scope = faults_text(fault, "scope");
    }
    json =
        json_pack("{s:s, s:o*, s:s, s:s*}", "access_token", token, "expires_in",
                  told_lifetime(store), "token_type", type, "scope", scope);
    if (fault) {
        faults_use(store->faults, FAULT_GRANTED);
    }
    return json;
}

static void grant(struct token_store *store, SoupServerMessage *message,
                  GHashTable *form) {
    const char *grant_type = g_hash_table_lookup(form, "grant_type");
    const char *id = g_hash_table_lookup(form, "client_id");
    const char *secret = g_hash_table_lookup(form, "client_secret");
    const char *scope = g_hash_table_lookup(form, "scope");
    const struct token_client *client = id ? token_client_find(id) : NULL;
    unsigned scopes = scope ? read_scopes(scope) : 0;

    if (!grant_type || !id || !secret) {
        refuse(message, "invalid_request",
               "grant_type, client_id and client_secret are required");
    } else if (strcmp(grant_type, "client_credentials") != 0) {
        refuse(message, "unsupported_grant_type",
               "only client_credentials is supported");
    } else if (!client || strcmp(client->secret, secret) != 0) {
        refuse(message, "invalid_client", "unknown client or wrong secret");
    } else if (scopes == 0 || (scopes & ~client->scopes) != 0) {
        refuse(message, "invalid_scope",
               "the scope is missing, unknown or not allowed for this client");
    } else {
        http_reply_json(
            message, SOUP_STATUS_OK,
            told_token(store, token_issue(store, client, scopes), scope));
        script_happened(store->script, SCRIPT_TOKEN);
    }
}

static void on_token_request(SoupServer *server, SoupServerMessage *message,
                             const char *path, GHashTable *query,
                             gpointer user_data) {
    struct token_store *store = user_data;
    SoupMessageHeaders *in = soup_server_message_get_request_headers(message);
    SoupMessageHeaders *out = soup_server_message_get_response_headers(message);
    g_autoptr(GHashTable) form = NULL;

    (void)server;
    (void)query;
    soup_message_headers_replace(out, "Cache-Control", "no-store");
    soup_message_headers_replace(out, "Pragma", "no-cache");
    if (strcmp(path, "/oauth2/token") != 0) {
        http_reply_not_found(message);
    } else if (soup_server_message_get_method(message) != SOUP_METHOD_POST) {
        http_reply_method(message, "POST");
    } else if (faults_answer(store->faults, FAULT_TOKEN, message)) {
        return;
    } else if (store->limit &&
               !limit_allows(store->limit,
                             soup_server_message_get_remote_host(message))) {
        http_reply_problem(message, TOO_MANY_REQUESTS,
                           "Too many token requests from this address.");
    } else if (!http_has_type(in, "application/x-www-form-urlencoded")) {
        refuse(message, "invalid_request",
               "the content type must be application/x-www-form-urlencoded");
    } else if (!(form = read_form(message))) {
        refuse(message, "invalid_request",
               "the form is malformed or repeats a field");
    } else {
        grant(store, message, form);
    }
}

void token_endpoint_add(struct token_store *store, SoupServer *server) {
    soup_server_add_handler(server, NULL, on_token_request, store, NULL);
}

static const char *scope_name(enum token_scope scope) {
    guint i = 0;

    while (scope_names[i].scope != scope) {
        i++;
    }
    return scope_names[i].name;
}

/* Returns the token in the request's Authorization header, or NULL. */
static const char *bearer_text(SoupServerMessage *message) {
    const char *header = soup_message_headers_get_one(
        soup_server_message_get_request_headers(message), "Authorization");

    if (!header || g_ascii_strncasecmp(header, "Bearer ", 7) != 0) {
        return NULL;
    }
    return header + 7;
}

/* Answers with an error and a challenge as in RFC 6750, section 3. */
static void challenge(SoupServerMessage *message, guint status,
                      const char *parameters, const char *detail) {
    g_autofree char *text =
        g_strconcat("Bearer realm=\"sandbox\"", parameters, NULL);

    soup_message_headers_replace(
        soup_server_message_get_response_headers(message), "WWW-Authenticate",
        text);
    http_reply_problem(message, status, detail);
}

const struct token_client *token_admit(struct token_store *store,
                                       SoupServerMessage *message,
                                       enum token_scope scope) {
    const char *text = bearer_text(message);
    const struct token *token =
        text ? g_hash_table_lookup(store->tokens, text) : NULL;

    if (!text) {
        challenge(message, SOUP_STATUS_UNAUTHORIZED, "",
                  "A bearer token is required.");
    } else if (!token || token->expires_us <= g_get_monotonic_time()) {
        challenge(message, SOUP_STATUS_UNAUTHORIZED,
                  ", error=\"invalid_token\"",
                  "The token is invalid or has expired.");
    } else if ((token->scopes & scope) == 0) {
        g_autofree char *parameters = g_strdup_printf(
            ", error=\"insufficient_scope\", scope=\"%s\"", scope_name(scope));

        challenge(message, SOUP_STATUS_FORBIDDEN, parameters,
                  "The token does not have the required scope.");
    } else {
        return token->client;
    }
    return NULL;
}
