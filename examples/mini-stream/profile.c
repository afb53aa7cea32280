/*
 * The INI profile and the JSON file of endpoints: see settings.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "settings.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inifile.h"
#include "line.h"
#include "text.h"

static const char *const keys[SETTING_COUNT + 1] = {
    [SETTING_WS_URL] = "ws_url",
    [SETTING_AUTH_URL] = "auth_url",
    [SETTING_BASE_URL] = "base_url",
    [SETTING_ENDPOINTS] = "endpoints",
    [SETTING_CLIENT_ID] = "client_id",
    [SETTING_SECRET_FILE] = "secret_file",
    [SETTING_CA] = "ca",
    [SETTING_PROXY] = "proxy",
    [SETTING_TLS] = "tls",
};

const char *profile_key(enum setting setting) {
    return keys[setting];
}

/* wiped: a proxy's URL may contain a password */
static void layer_clear(struct layer *layer, enum setting setting) {
    char *value = layer->value[setting];

    if (value && setting == SETTING_PROXY) {
        explicit_bzero(value, strlen(value));
    }
    free(value);
    layer->value[setting] = NULL;
}

void layer_set(struct layer *layer, enum setting setting, const char *value) {
    layer_clear(layer, setting);
    layer->value[setting] = text_must(strdup(value));
}

void layer_free(struct layer *layer) {
    for (int i = 0; i < SETTING_COUNT; ++i) {
        layer_clear(layer, (enum setting)i);
    }
}

struct profile {
    const char *path;
    struct layer *layer;
};

static void profile_set(struct profile *profile, enum setting setting,
                        const char *value) {
    bool is_path = setting == SETTING_ENDPOINTS ||
                   setting == SETTING_SECRET_FILE || setting == SETTING_CA;
    char *path = is_path ? inifile_path(profile->path, value) : NULL;

    layer_set(profile->layer, setting, path ? path : value);
    free(path);
}

static bool profile_value(void *context, const char *section, const char *name,
                          const char *value, char what[INIFILE_WHAT_LEN]) {
    struct profile *profile = context;
    const size_t key = text_find(name, keys);

    if (strcmp(section, "service") != 0) {
        return true;
    }
    if (strcmp(name, "client_secret") == 0) {
        snprintf(what, INIFILE_WHAT_LEN,
                 "a profile cannot contain a secret: use secret_file");
        return false;
    }
    if (!inifile_known("key", name, keys, what)) {
        return false;
    }
    if (profile->layer->value[key]) {
        snprintf(what, INIFILE_WHAT_LEN, "set twice: %s", name);
        return false;
    }
    profile_set(profile, (enum setting)key, value);
    return true;
}

bool profile_read(struct layer *layer, const char *path, bool shared,
                  char *error, size_t error_len) {
    static const char *const sections[] = {"service", NULL};
    struct profile profile = {path, layer};

    return inifile_read(path, "profile", shared ? NULL : sections,
                        profile_value, &profile, error, error_len);
}

bool endpoints_read(struct layer *layer, enum setting url, const char *path,
                    char *error, size_t error_len) {
    const enum setting wanted[] = {url, SETTING_AUTH_URL};
    json_error_t reason;
    FILE *file = line_open(path);
    json_t *root = NULL;
    bool ok = true;

    if (!file) {
        snprintf(error, error_len, "endpoints %s: %s", path, strerror(errno));
        return false;
    }
    root = json_loadf(file, JSON_REJECT_DUPLICATES, &reason);
    fclose(file);
    if (!root) {
        snprintf(error, error_len, "endpoints %s:%d:%d: %s", path, reason.line,
                 reason.column, reason.text);
        return false;
    }
    for (size_t i = 0; ok && i < sizeof wanted / sizeof *wanted; ++i) {
        const json_t *value = json_object_get(root, keys[wanted[i]]);

        ok = json_is_string(value);
        if (ok) {
            layer_set(layer, wanted[i], json_string_value(value));
        } else {
            snprintf(error, error_len, "endpoints %s: \"%s\" is %s", path,
                     keys[wanted[i]], value ? "not a string" : "missing");
        }
    }
    json_decref(root);
    return ok;
}
