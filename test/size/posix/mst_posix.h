/*
 * The part of the POSIX port that examples/first.c uses, for boards without
 * headers for sockets: `make size` links the example with it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef MST_POSIX_H
#define MST_POSIX_H

#include "mini_stream.h"

struct mst_posix {
    int socket;
};

struct mst_posix_anchors {
    br_x509_trust_anchor *anchors;
    size_t len;
};

struct mst_posix_link {
    int socket;
};

int mst_posix_init(struct mst_posix *posix, struct mst_posix_link *links,
                   size_t count, struct mst_port *port);
int mst_posix_wait(struct mst_posix *posix,
                   const struct mst_link *const *objects, size_t count,
                   uint32_t max_ms);
int mst_posix_anchors_load(struct mst_posix_anchors *anchors, const char *path);
const char *mst_posix_strerror(int error);

#endif
