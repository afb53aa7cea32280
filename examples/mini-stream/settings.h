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
#include "profile.h"
#include "secret.h"

/* Bytes of a line that says what is wrong. */
#define SETTINGS_ERROR_LEN 512

#define SETTINGS_URLS (SETTING_BASE_URL + 1)

struct settings {
    enum setting url;     /* the one needed beside auth_url, or that itself */
    struct layer options; /* what the options say, then what holds */
    char *shown[SETTINGS_URLS]; /* of that, as it may be printed */
    char *profile;              /* of the option, or NULL */
    bool profile_shared;        /* has other sections as well */
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

/* Says that the library has refused the URLs, or else what they came with. */
void settings_refused(const struct settings *settings, int rc,
                      char error[SETTINGS_ERROR_LEN]);

/* Wipes the secret and frees the rest. */
void settings_free(struct settings *settings);

#endif
