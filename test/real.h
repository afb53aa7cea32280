/*
 * A client of the environment on real sockets, for the programs that the
 * end-to-end tests run.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef REAL_H
#define REAL_H

#include "mst_posix.h"

/* A client with both links, its port, and what the environment says of it. */
struct real {
    struct mst_old_client client;
    struct mst_posix_link links[MST_LINKS_MAX];
    struct mst_posix posix;
    struct mst_port port;
    struct mst_posix_anchors anchors;
    struct mst_old_config config;
    unsigned char
        memory[MST_OLD_MEMORY_LEN(MST_RECORD_IN_ANY, MST_RECORD_OUT_MIN, 2048,
                                  MST_OLD_STAGING_USUAL, MST_LINKS_MAX)];
};

/* Reads MINI_STREAM_WS_URL, _AUTH_URL, _BASE_URL, _CLIENT_ID, _CLIENT_SECRET
 * and _CA into config, which the program may then change. Returns 0 or an
 * error for mst_posix_strerror(). */
int real_begin(struct real *real);

/* Initialises the client. */
int real_start(struct real *real);

/* Closes the client in good order and frees what was loaded. */
void real_end(struct real *real);

#endif
