/* Masks secrets in texts. SPDX-License-Identifier: 0BSD */
#include "mask.h"

#include <string.h>

#define MASK "***"
#define TEXT_MAX 1000 /* most bytes shown of a text */

/* Returns the length of a secret at the start of the text, or 0. */
static size_t secret_len(const struct token_store *tokens, const char *text) {
    char token[TOKEN_TEXT_LEN + 1];
    const struct token_client *client;
    size_t len = 0;

    for (guint i = 0; (client = token_client_at(i)); i++) {
        if (g_str_has_prefix(text, client->secret)) {
            return strlen(client->secret);
        }
    }
    while (len < TOKEN_TEXT_LEN && (g_ascii_isalnum(text[len]) ||
                                    text[len] == '-' || text[len] == '_')) {
        token[len] = text[len];
        len++;
    }
    token[len] = '\0';
    return len == TOKEN_TEXT_LEN && token_known(tokens, token) ? len : 0;
}

char *mask_text(const struct token_store *tokens, const char *text) {
    GString *out = g_string_new(NULL);

    while (*text != '\0') {
        size_t len = secret_len(tokens, text);

        if (len > 0) {
            g_string_append(out, MASK);
            text += len;
        } else {
            g_string_append_c(out, *text++);
        }
    }
    return g_string_free(out, FALSE);
}

/* Returns true if values with this name are secret. */
static bool is_secret_name(const char *name) {
    static const char *const parts[] = {"secret",     "token",  "passw",
                                        "authorizat", "cookie", "assertion",
                                        "credential", "api_key"};
    g_autofree char *lower = g_ascii_strdown(name, -1);
    bool found = false;

    for (guint i = 0; i < G_N_ELEMENTS(parts); i++) {
        found = found || strstr(lower, parts[i]);
    }
    return found && strcmp(lower, "token_type") != 0;
}

/* Returns the masked value, to be released. Releases json. */
static json_t *mask_take(const struct token_store *tokens, json_t *json) {
    g_autofree char *text = NULL;

    if (!json_is_string(json)) {
        mask_json(tokens, json);
        return json;
    }
    text = mask_text(tokens, json_string_value(json));
    json_decref(json);
    return json_string(text);
}

static void mask_object(const struct token_store *tokens, json_t *object) {
    json_auto_t *masked = json_object();
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value) {
        g_autofree char *shown = mask_text(tokens, name);

        json_object_set_new(masked, shown,
                            is_secret_name(name)
                                ? json_string(MASK)
                                : mask_take(tokens, json_incref(value)));
    }
    json_object_clear(object);
    json_object_update(object, masked);
}

void mask_json(const struct token_store *tokens, json_t *json) {
    if (json_is_object(json)) {
        mask_object(tokens, json);
    }
    for (size_t i = 0; i < json_array_size(json); i++) {
        json_t *value = json_incref(json_array_get(json, i));

        json_array_set_new(json, i, mask_take(tokens, value));
    }
}

/* Shortens a text to TEXT_MAX and adds its length. May free the text. */
static char *cut(char *text) {
    g_autofree char *whole = text;
    size_t len = strlen(text);

    if (len <= TEXT_MAX) {
        return g_steal_pointer(&whole);
    }
    *g_utf8_find_prev_char(text, text + TEXT_MAX + 1) = '\0';
    return g_strdup_printf("%s\u2026 (%zu bytes)", text, len);
}

static char *unreadable(const char *what, size_t len) {
    return g_strdup_printf("(%zu bytes, not shown: no %s)", len, what);
}

char *mask_json_text(const struct token_store *tokens, const char *text,
                     size_t len) {
    json_auto_t *json = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);

    if (!json) {
        return unreadable("JSON", len);
    }
    mask_json(tokens, json);
    return cut(json_dumps(json, JSON_COMPACT));
}

/* Adds a field of a form. An unknown client_id is masked: it may be a secret in
 * the wrong field. */
static void add_field(const struct token_store *tokens, GString *out,
                      const char *name, const char *value) {
    bool plain = strcmp(name, "grant_type") == 0 ||
                 strcmp(name, "scope") == 0 ||
                 (strcmp(name, "client_id") == 0 && token_client_find(value));
    g_autofree char *shown_name = mask_text(tokens, name);
    g_autofree char *shown_value =
        plain ? mask_text(tokens, value) : g_strdup(MASK);

    g_string_append_printf(out, "%s%s=%s", out->len > 0 ? "&" : "", shown_name,
                           shown_value);
}

char *mask_form_text(const struct token_store *tokens, const char *text,
                     size_t len) {
    g_autoptr(GString) out = g_string_new(NULL);
    g_autoptr(GError) error = NULL;
    GUriParamsIter iter;
    char *name;
    char *value;

    g_uri_params_iter_init(&iter, text, (gssize)len, "&",
                           G_URI_PARAMS_WWW_FORM);
    while (g_uri_params_iter_next(&iter, &name, &value, &error)) {
        add_field(tokens, out, name, value);
        g_free(name);
        g_free(value);
    }
    return error ? unreadable("form", len)
                 : cut(g_string_free(g_steal_pointer(&out), FALSE));
}

char *mask_authorization(const char *value) {
    static const char *const schemes[] = {"Bearer", "Basic"};

    for (guint i = 0; i < G_N_ELEMENTS(schemes); i++) {
        size_t len = strlen(schemes[i]);

        if (g_ascii_strncasecmp(value, schemes[i], len) == 0 &&
            value[len] == ' ') {
            return g_strconcat(schemes[i], " " MASK, NULL);
        }
    }
    return g_strdup(MASK);
}
