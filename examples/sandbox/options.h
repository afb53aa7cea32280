/* The command line. SPDX-License-Identifier: 0BSD */
#ifndef SANDBOX_OPTIONS_H
#define SANDBOX_OPTIONS_H

#include "writer.h"

#define OPTIONS_NO_PAGE G_MININT

struct options {
    char *state; /* directory; NULL: quirk_help is set */
    int ws_port; /* 0: a free one; so the next two */
    int auth_port;
    int api_port;
    int page_port;       /* OPTIONS_NO_PAGE: there is no page */
    gboolean keep_ports; /* those that are 0 are those of the last time */
    char *bind;          /* NULL: loopback */
    char **host_names;   /* NULL: none beside localhost */
    int token_lifetime;  /* s */
    int token_window;    /* s, of the quirk token-limit */
    int rate;
    int levels;           /* 0: the markets' own number */
    int markets;          /* 0: what is usual, or the script's */
    int executions;       /* that the truth keeps */
    int lose;             /* one of how many updates; 0: none */
    int ping;             /* s between pings; 0: none */
    gboolean wait;        /* for a subscription, before the markets move */
    int64_t seed;         /* 0 to 2^32 - 1 */
    char *address_status; /* NULL: APPROVED */
    enum writer_error_shape error_shape;
    char *play;   /* a recording; NULL: none */
    double speed; /* of it */
    char *script; /* file; NULL: none */
    char *faults; /* file; NULL: none to begin with */
    quirk_set quirks;
    bool quirk_help; /* only list the quirks */
};

/* Options that are not given have their defaults. options_free is needed in
 * either case. */
bool options_parse(struct options *options, int argc, char **argv,
                   GError **error);
void options_free(struct options *options);

#endif
