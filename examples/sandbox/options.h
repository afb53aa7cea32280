/* The command line. SPDX-License-Identifier: 0BSD */
#ifndef SANDBOX_OPTIONS_H
#define SANDBOX_OPTIONS_H

#include "writer.h"

#define OPTIONS_NO_PAGE G_MININT

struct options {
    char *state; /* directory; NULL if quirk_help is set */
    int ws_port; /* 0: a free port; also the next two */
    int auth_port;
    int api_port;
    int page_port;       /* or OPTIONS_NO_PAGE */
    gboolean keep_ports; /* use the last run's ports instead of 0 */
    char *bind;          /* NULL: loopback */
    char **host_names;   /* besides localhost; may be NULL */
    int token_lifetime;  /* s */
    int token_window;    /* s, of the quirk token-limit */
    int rate;
    int levels;           /* 0: varying, see market_new */
    int markets;          /* 0: the script's, or the default */
    int executions;       /* number of executions kept */
    int lose;             /* loses one in N updates; 0: none */
    int ping;             /* s between pings; 0: none */
    gboolean wait;        /* start the markets at the first subscription */
    int64_t seed;         /* 0 to 2^32 - 1 */
    char *address_status; /* NULL: APPROVED */
    enum writer_error_shape error_shape;
    char *play;   /* recording to serve, or NULL */
    double speed; /* of the recording */
    char *script; /* file, or NULL */
    char *faults; /* file, or NULL */
    quirk_set quirks;
    bool quirk_help; /* only list the quirks */
};

/* Sets all options. Call options_free afterwards, even on failure. */
bool options_parse(struct options *options, int argc, char **argv,
                   GError **error);
void options_free(struct options *options);

#endif
