/*
 * Files that say where the service is and who the client is: the INI profile
 * and the JSON file of endpoints.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE /* asprintf(), explicit_bzero() */

#include "profile.h"

#include <errno.h>
#include <ini.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const keys[SETTING_COUNT] = {
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

/* A proxy's URL may have a password. */
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
    layer->value[setting] = strdup(value);
    if (!layer->value[setting]) {
        abort();
    }
}

void layer_free(struct layer *layer) {
    for (int i = 0; i < SETTING_COUNT; ++i) {
        layer_clear(layer, (enum setting)i);
    }
}

/* A profile being read. inih tells its handler no line number: the reader
 * counts them. */
struct profile {
    FILE *file;
    const char *path;
    struct layer *layer;
    int line, bad_line;
    bool midway; /* inside of a line that is longer than inih's buffer */
    char *error;
    size_t error_len;
};

/* Keeps the first error, and where it was. */
static void profile_error(struct profile *profile, const char *what,
                          const char *name) {
    if (profile->bad_line == 0) {
        profile->bad_line = profile->line;
        snprintf(profile->error, profile->error_len, "%s:%d: %s%s%s",
                 profile->path, profile->line, what, name ? " " : "",
                 name ? name : "");
    }
}

static char *profile_line(char *text, int len, void *context) {
    struct profile *profile = context;

    if (!fgets(text, len, profile->file)) {
        return NULL;
    }
    if (profile->midway) {
        profile_error(profile, "line is too long", NULL);
    } else {
        ++profile->line;
    }
    profile->midway = !strchr(text, '\n');
    return text;
}

static bool is_path(enum setting setting) {
    return setting == SETTING_ENDPOINTS || setting == SETTING_SECRET_FILE ||
           setting == SETTING_CA;
}

/* Sets a value; a relative path counts from the profile's folder. */
static void profile_set(struct profile *profile, enum setting setting,
                        const char *value) {
    const char *slash = strrchr(profile->path, '/');
    char *joined;

    if (!is_path(setting) || value[0] == '/' || !slash) {
        layer_set(profile->layer, setting, value);
        return;
    }
    if (asprintf(&joined, "%.*s/%s", (int)(slash - profile->path),
                 profile->path, value) < 0) {
        abort();
    }
    layer_set(profile->layer, setting, joined);
    free(joined);
}

/* inih's handler: 1 for a good line, 0 for a bad one. */
static int profile_value(void *context, const char *section, const char *name,
                         const char *value) {
    struct profile *profile = context;

    if (strcmp(section, "service") != 0) {
        profile_error(profile, "only the section [service] is known, not",
                      section[0] != '\0' ? section : "(none)");
        return 0;
    }
    if (strcmp(name, "client_secret") == 0) {
        profile_error(profile,
                      "a secret has no place in a profile: use secret_file",
                      NULL);
        return 0;
    }
    for (int i = 0; i < SETTING_COUNT; ++i) {
        if (strcmp(name, keys[i]) != 0) {
            continue;
        }
        if (profile->layer->value[i]) {
            profile_error(profile, "set twice:", name);
            return 0;
        }
        if (value[0] == '\0') {
            profile_error(profile, "no value for", name);
            return 0;
        }
        profile_set(profile, (enum setting)i, value);
        return 1;
    }
    profile_error(profile, "unknown key", name);
    return 0;
}

bool profile_read(struct layer *layer, const char *path, char *error,
                  size_t error_len) {
    struct profile profile = {
        .path = path, .layer = layer, .error = error, .error_len = error_len};
    int bad_line;
    int failed;

    profile.file = fopen(path, "re");
    if (!profile.file) {
        snprintf(error, error_len, "profile %s: %s", path, strerror(errno));
        return false;
    }
    bad_line =
        ini_parse_stream(profile_line, &profile, profile_value, &profile);
    failed = ferror(profile.file) ? errno : 0;
    fclose(profile.file);
    if (failed) {
        snprintf(error, error_len, "profile %s: %s", path, strerror(failed));
        return false;
    }
    if (bad_line < 0) {
        snprintf(error, error_len, "profile %s: out of memory", path);
        return false;
    }
    /* inih says only where the first bad line is; why is known here unless
     * it was the syntax. */
    if (bad_line > 0 &&
        (profile.bad_line == 0 || bad_line < profile.bad_line)) {
        profile.bad_line = 0;
        profile.line = bad_line;
        profile_error(&profile, "neither [section] nor key = value", NULL);
    }
    return profile.bad_line == 0;
}

bool endpoints_read(struct layer *layer, enum setting url, const char *path,
                    char *error, size_t error_len) {
    const enum setting wanted[] = {url, SETTING_AUTH_URL};
    json_error_t reason;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &reason);
    bool ok = true;

    if (!root) {
        if (reason.line > 0) {
            snprintf(error, error_len, "endpoints %s:%d:%d: %s", path,
                     reason.line, reason.column, reason.text);
        } else {
            snprintf(error, error_len, "endpoints %s: %s", path, reason.text);
        }
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
