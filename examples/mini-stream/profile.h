/*
 * Files that say where the service is and who the client is: the INI profile
 * and the JSON file of endpoints.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef PROFILE_H
#define PROFILE_H

#include <stdbool.h>
#include <stddef.h>

/* What can be set, in options, environment and profile alike. */
enum setting {
    SETTING_WS_URL,
    SETTING_AUTH_URL,
    SETTING_BASE_URL,
    SETTING_ENDPOINTS,
    SETTING_CLIENT_ID,
    SETTING_SECRET_FILE,
    SETTING_CA,
    SETTING_PROXY,
    SETTING_TLS,
    SETTING_COUNT
};

/* Its key in a profile's section [service]. */
const char *profile_key(enum setting setting);

/* One source of settings. A value is allocated, or NULL where not set. */
struct layer {
    char *value[SETTING_COUNT];
};

/* Copies a value in. */
void layer_set(struct layer *layer, enum setting setting, const char *value);

/* Frees all values. */
void layer_free(struct layer *layer);

/* Reads a profile; a relative path in it counts from its folder. shared: other
 * sections than [service] are somebody else's. Returns false with a line in
 * error that names file and line. */
bool profile_read(struct layer *layer, const char *path, bool shared,
                  char *error, size_t error_len);

/* Reads auth_url and one other URL from a JSON object. Returns false with a
 * line in error that names file, line and column where it can. */
bool endpoints_read(struct layer *layer, enum setting url, const char *path,
                    char *error, size_t error_len);

#endif
