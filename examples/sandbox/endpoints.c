/* The files with the sandbox's ports. SPDX-License-Identifier: 0BSD */
#include "endpoints.h"

#include "schema.h"
#include "state.h"

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>

#define PORT(name, needed)                                            \
    SCHEMA_FIELD(name, SCHEMA_NUMBER, .required = (needed), .min = 1, \
                 .max = G_MAXUINT16)

static const struct schema_field *const fields[] = {
    PORT("ws", true), PORT("auth", true), PORT("api", true),
    PORT("page", false), NULL};

struct endpoints {
    char *path;       /* of endpoints.json */
    char *ports_path; /* of ports.json */
    char *text;       /* what this sandbox wrote to endpoints.json */
};

struct endpoints *endpoints_new(const char *state) {
    struct endpoints *endpoints = g_new0(struct endpoints, 1);

    endpoints->path = g_build_filename(state, "endpoints.json", NULL);
    endpoints->ports_path = g_build_filename(state, "ports.json", NULL);
    g_remove(endpoints->path);
    return endpoints;
}

void endpoints_free(struct endpoints *endpoints) {
    g_free(endpoints->path);
    g_free(endpoints->ports_path);
    g_free(endpoints->text);
    g_free(endpoints);
}

bool endpoints_recall(const struct endpoints *endpoints, struct ports *ports,
                      GError **error) {
    /* In the order of fields. */
    guint *const all[] = {&ports->ws, &ports->auth, &ports->api, &ports->page};
    json_auto_t *json = NULL;

    if (!g_file_test(endpoints->ports_path, G_FILE_TEST_EXISTS)) {
        return true;
    }
    json = schema_load(endpoints->ports_path, fields, error);
    for (guint i = 0; json && i < G_N_ELEMENTS(all); i++) {
        if (*all[i] == 0) {
            *all[i] = (guint)json_integer_value(
                json_object_get(json, fields[i]->name));
        }
    }
    return json != NULL;
}

bool endpoints_tell(struct endpoints *endpoints, const struct ports *ports,
                    GError **error) {
    bool has_page = ports->page != ENDPOINTS_NO_PAGE;
    json_auto_t *numbers =
        json_pack("{s:i, s:i, s:i, s:o*}", "ws", (int)ports->ws, "auth",
                  (int)ports->auth, "api", (int)ports->api, "page",
                  has_page ? json_integer(ports->page) : NULL);
    json_auto_t *urls = json_pack(
        "{s:o, s:o, s:o, s:o*}", "ws_url",
        json_sprintf("wss://localhost:%u/", ports->ws), "auth_url",
        json_sprintf("https://localhost:%u", ports->auth), "base_url",
        json_sprintf("https://localhost:%u", ports->api), "page_url",
        has_page ? json_sprintf("http://127.0.0.1:%u/", ports->page) : NULL);
    g_autofree char *text = json_dumps(numbers, JSON_COMPACT);

    endpoints->text = json_dumps(urls, JSON_COMPACT);
    return state_write(endpoints->ports_path, text, strlen(text), 0666,
                       error) &&
           state_write(endpoints->path, endpoints->text,
                       strlen(endpoints->text), 0666, error);
}

void endpoints_end(const struct endpoints *endpoints) {
    g_autofree char *text = NULL;

    if (g_file_get_contents(endpoints->path, &text, NULL, NULL) &&
        g_strcmp0(text, endpoints->text) == 0) {
        g_remove(endpoints->path);
    }
}
