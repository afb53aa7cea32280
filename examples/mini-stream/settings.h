/*
 * Where the service is and who the client is: from options, environment and
 * profile, in this order of precedence. Shared by the subcommands.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <argp.h>
#include <stdbool.h>

#include "mst_posix.h"

/* The settings that options, environment and profile have in common. */
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

/* Returns a setting's key in a profile. */
const char *profile_key(enum setting setting);

/* Settings from one source. Values are allocated; NULL: not set. */
struct layer {
    char *value[SETTING_COUNT];
};

void layer_set(struct layer *layer, enum setting setting, const char *value);
void layer_free(struct layer *layer);

/* Reads a profile. Relative paths start from its folder. shared: allow other
 * sections than [service]. Returns false with an error that names file and
 * line. */
bool profile_read(struct layer *layer, const char *path, bool shared,
                  char *error, size_t error_len);

/* Reads auth_url and one other URL from a JSON object. Returns false with an
 * error that names file and, if possible, line and column. */
bool endpoints_read(struct layer *layer, enum setting url, const char *path,
                    char *error, size_t error_len);

/* Bytes of an error, with its NUL. */
#define SETTINGS_ERROR_LEN 512

#define SETTINGS_ENV_SECRET "MINI_STREAM_CLIENT_SECRET"
#define SETTINGS_URLS (SETTING_BASE_URL + 1)

/* Bytes of a secret, at most. */
#define SECRET_MAX 1023

struct secret {
    char text[SECRET_MAX + 1];
};

/* Takes the secret from an environment variable and wipes it there. Returns 1;
 * 0 if the variable is empty; -1 with an error if it is too long or not one
 * line. */
int secret_from_env(struct secret *secret, const char *name, char *error,
                    size_t error_len);

/* Reads the secret, a single line, from a file. Refuses a file that others can
 * access, or of another owner, unless root gave it to this user alone. secret
 * NULL only checks a file that others read. Returns false with an error. */
bool secret_from_file(struct secret *secret, const char *path, char *error,
                      size_t error_len);

void secret_wipe(struct secret *secret);

struct settings {
    enum setting url; /* the URL needed besides auth_url, or SETTING_AUTH_URL */
    struct layer options;       /* of options; once resolved, of all sources */
    char *shown[SETTINGS_URLS]; /* the URLs as they may be printed */
    char *profile;              /* from the option, or NULL */
    bool profile_shared;        /* it may have other sections */
    bool no_environment;        /* only the secret comes from it */
    /* Sources: "option", "environment", "profile", "endpoints" or NULL; the
     * profile's path, or NULL; of the secret, a variable's name or a path, or
     * NULL. */
    const char *origin[SETTING_COUNT];
    char *profile_path;
    const char *secret_origin;
    struct secret secret;
    enum settings_tls {
        SETTINGS_FAST,    /* BearSSL with port/primitives */
        SETTINGS_BEARSSL, /* without it */
        SETTINGS_OPENSSL  /* loads trust anchors itself */
    } tls;
    struct mst_posix_anchors anchors;
};

/* Keys of long options. Those of settings follow KEY_SETTING. */
enum { KEY_SETTING = 0x100 };

/* The only child of a subcommand's parser. The input is a struct settings,
 * zeroed except for url. */
extern const struct argp_child settings_children[];

#define SETTINGS_HELP                                                          \
    "The environment: MINI_STREAM_WS_URL, _AUTH_URL, _BASE_URL, _ENDPOINTS, "  \
    "_CLIENT_ID, _SECRET_FILE, _CA, _PROXY, _TLS and _PROFILE replace the "    \
    "options of these names; MINI_STREAM_CLIENT_SECRET is the secret itself. " \
    "Options take precedence over the environment, the environment over the "  \
    "profile.\n"                                                               \
    "\n"                                                                       \
    "A profile is an INI file with a section [service] and the keys ws_url, "  \
    "auth_url, base_url, endpoints, client_id, secret_file, ca, proxy and "    \
    "tls. Relative paths start from the profile's folder.\n"                   \
    "\n"                                                                       \
    "Byte order marks and line ends around a setting or the secret are "       \
    "removed, wherever it comes from; `stream --verbose' reports it.\n"

/* Completes the settings from environment and profile, loads secret and trust
 * anchors, and fills in config, which borrows from settings: of the URLs only
 * the needed ones. Returns false with an error. */
bool settings_resolve(struct settings *settings, struct mst_config *config,
                      char error[SETTINGS_ERROR_LEN]);

/* Returns the path of the profile of this name or path, or of the default one
 * (NULL). Allocated; NULL if there is no default one. */
char *settings_profile(const char *wanted);

/* Returns a URL as it may be printed, allocated: everything before the last '@'
 * is masked, even in a malformed URL, because it may be a password. */
char *settings_url_shown(const char *url);

/* Writes the error for a client that the library refused with rc: the fault of
 * a URL, or the error with both URLs. */
void settings_refused(const struct settings *settings, int rc,
                      char error[SETTINGS_ERROR_LEN]);

void settings_free(struct settings *settings);

#endif
