/*
 * Objects of the environment on real sockets, for the programs that the
 * end-to-end tests run.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef REAL_H
#define REAL_H

#include "mst_posix.h"

#define REAL_LINKS 3

/* A port, and what the environment says of the service. */
struct real {
    struct mst_posix_link links[REAL_LINKS];
    struct mst_posix posix;
    struct mst_port port;
    struct mst_posix_anchors anchors;
    struct mst_config config;
};

/* Reads MINI_STREAM_WS_URL, _AUTH_URL, _BASE_URL, _CLIENT_ID, _CLIENT_SECRET
 * and _CA into config, which the program may then change. Returns 0 or an
 * error for mst_posix_strerror(). */
int real_begin(struct real *real);

/* Frees what was loaded, once all objects are closed. */
void real_end(struct real *real);

#endif
