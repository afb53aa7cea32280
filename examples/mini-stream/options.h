/*
 * The arguments of `mini-stream stream`.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "settings.h"

struct options {
    struct settings settings;
    const char *markets[MST_SUBSCRIPTIONS_MAX];
    size_t market_count;
    unsigned channels; /* bit n is channel n of enum mst_channel */
    size_t levels;     /* of a side of a book */
    size_t depth;      /* how many of them lines show */
    uint64_t end_ms;   /* 0: without end */
    bool plain, expect_all;
};

/* Reads the arguments into options; ends the program where they are wrong, or
 * ask for help. name is the program's, for messages. */
void options_parse(struct options *options, const char *name, int argc,
                   char **argv);

#endif
