/*
 * Where the service is and who the client is, from options, environment and
 * profile, in this order of precedence. Shared by the subcommands.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <argp.h>
#include <stdbool.h>

#include "mst_posix.h"

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

/* Bytes of a line that says what is wrong. */
#define SETTINGS_ERROR_LEN 512

#define SETTINGS_ENV_SECRET "MINI_STREAM_CLIENT_SECRET"
#define SETTINGS_URLS (SETTING_BASE_URL + 1)

/* Bytes of a secret. */
#define SECRET_MAX 1023

struct secret {
    char text[SECRET_MAX + 1];
};

/* Takes the secret from the environment variable and wipes it there. Returns
 * 1; 0 where the variable is not set or empty; -1 where it is too long or not
 * one line, with a line in error. */
int secret_from_env(struct secret *secret, const char *name, char *error,
                    size_t error_len);

/* Reads the secret from a file: its only line. Refuses a file of another
 * owner, unless root has given it to this user alone, or that others may
 * access. secret: NULL only looks at a file that others read. Returns false
 * with a line in error. */
bool secret_from_file(struct secret *secret, const char *path, char *error,
                      size_t error_len);

void secret_wipe(struct secret *secret);

struct settings {
    enum setting url;     /* the one needed beside auth_url, or that itself */
    struct layer options; /* what the options say, then what holds */
    char *shown[SETTINGS_URLS]; /* of that, as it may be printed */
    char *profile;              /* of the option, or NULL */
    bool profile_shared;        /* has other sections as well */
    bool no_environment;        /* apart from the secret, it does not count */
    /* Where each was found: "option", "environment", "profile", "endpoints" or
     * NULL; the profile's path, or NULL; and where the secret was: a variable's
     * name or a path, borrowed, or NULL. */
    const char *origin[SETTING_COUNT];
    char *profile_path;
    const char *secret_origin;
    struct secret secret;
    enum settings_tls {
        SETTINGS_FAST,    /* BearSSL with port/primitives */
        SETTINGS_BEARSSL, /* alone */
        SETTINGS_OPENSSL  /* which loads trust anchors itself */
    } tls;
    struct mst_posix_anchors anchors;
};

/* Options for a subcommand's parser, as its only child; the input is a struct
 * settings, zeroed at first but for url. */
extern const struct argp_child settings_children[];

/* What --help says of environment and profile. */
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

/* Adds what environment and profile say, reads secret and trust anchors, and
 * fills the configuration, which borrows from settings; of the URLs, those
 * that are needed. Returns false with a line in error. */
bool settings_resolve(struct settings *settings, struct mst_config *config,
                      char error[SETTINGS_ERROR_LEN]);

/* The path of the profile of this name, or of the default one (NULL); a path is
 * taken as it is. Allocated; NULL if there is no default one. */
char *settings_profile(const char *wanted);

/* A URL as it may be printed, allocated. One with a name and a password is
 * refused, wherever an '@' may be in one that is not. Also where it is
 * misspelt: what is before the last '@' is not shown. */
char *settings_url_shown(const char *url);

/* Says that the library has refused the URLs, or else what they came with. */
void settings_refused(const struct settings *settings, int rc,
                      char error[SETTINGS_ERROR_LEN]);

/* Wipes the secret and frees the rest. */
void settings_free(struct settings *settings);

#endif
