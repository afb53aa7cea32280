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

struct settings {
    struct layer options; /* what the options say, then what holds */
    char *profile;        /* of the option, or NULL */
    struct secret secret;
    struct mst_posix_anchors anchors;
};

/* Options for a subcommand's parser, as its child; the input is a struct
 * settings, zeroed at first. */
extern const struct argp settings_argp;

/* Adds what environment and profile say, reads secret and trust anchors, and
 * fills the configuration, which borrows from settings. Returns false with a
 * line in error. */
bool settings_resolve(struct settings *settings, struct mst_config *config,
                      char error[SETTINGS_ERROR_LEN]);

/* Wipes the secret and frees the rest. */
void settings_free(struct settings *settings);

#endif
