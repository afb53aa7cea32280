/*
 * The messages of a stream as they were received, from the trace.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef RAW_H
#define RAW_H

#include <stdio.h>

#include "mini_stream.h"

/* Of one link: what came of the response to the opening handshake, then of the
 * frames. */
struct raw_link {
    bool upgraded;
    unsigned end; /* bytes of the empty line that ends the response */
    struct mst_ws ws;
};

struct raw {
    FILE *file;
    bool terminal;  /* it is one */
    uint8_t before; /* the last byte */
    struct raw_link *links;
};

/* A trace; context is a struct raw. Prints each text message as a line. */
void raw_trace(void *context, const struct mst_trace *trace);

#endif
