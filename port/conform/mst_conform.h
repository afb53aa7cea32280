/*
 * The test of a port's contract (port/README.md). It runs wherever the port
 * does, on a desktop or on the device itself, against peer.py.
 *
 * It calls only the port, allocates nothing and needs 1 KB of stack.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef MST_CONFORM_H
#define MST_CONFORM_H

#include "mini_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

struct mst_conform {
    struct mst_port port;
    int links; /* that it has: numbers 0 to links - 1 */

    const char *host;     /* the peer's, resolved like any other name */
    uint16_t peer_port;   /* peer.py listens here */
    uint16_t closed_port; /* nobody listens here */
    const char *nowhere;  /* a name without an address */
    bool proxied;         /* through an HTTP proxy: closed_port and nowhere are
                           * MST_ERR_PROXY_GATEWAY, and a reset may arrive as
                           * an ordinary end */
    uint32_t much;        /* bytes: more than all buffers on the way hold, such
                           * as 100,000 on a board, 8,000,000 on a desktop. Of
                           * more, only 8,000,000 are read */
    bool tls;             /* the peer uses TLS, and the port does it itself */

    /* Lets the port's network stack work, and sleeps for a ms or so. */
    void (*wait)(void *context);
    /* Sleeps until the port wakes this thread, or for a minute; NULL if the
     * port does not wake it. */
    void (*wait_woken)(void *context);
    /* Called after each case: why is NULL if it passed. */
    void (*report)(void *context, const char *name, const char *why);
    void *context;
};

/* Runs all cases, in about ten seconds, and returns how many failed. If the
 * clock does not advance, only the first case runs. */
int mst_conform_run(const struct mst_conform *conform);

#ifdef __cplusplus
}
#endif

#endif
