/*
 * The arguments of `mini-stream address put`.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef ADDRESS_OPTIONS_H
#define ADDRESS_OPTIONS_H

#include "settings.h"

struct address_options {
    struct settings settings;
    struct mst_address_request request;
    struct mst_travelrule travelrule; /* the request's, if it has one */
    unsigned seconds;                 /* for all attempts */
    bool json;
};

/* Reads the arguments into options; ends the program where they are wrong or
 * break a rule of requests, or ask for help. */
void address_options_parse(struct address_options *options, int argc,
                           char **argv);

#endif
