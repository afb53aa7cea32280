/*
 * What a port must do (port/README.md), as a test that runs wherever the port
 * does: on a desktop or on the device itself. Its partner is peer.py.
 *
 * It calls nothing but the port, allocates nothing and needs 1 KB of stack.
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

    const char *host;     /* the peer's, resolved as any other name */
    uint16_t peer_port;   /* where peer.py listens */
    uint16_t closed_port; /* where nobody does */
    const char *nowhere;  /* a name without an address */
    bool proxied;         /* through an HTTP proxy, which has words of its own:
                           * MST_ERR_PROXY_GATEWAY for the port and the name
                           * where nobody is, and for a reset maybe the end */
    uint32_t much;        /* bytes: more than all buffers on the way hold, such
                           * as 100,000 on a board, 8,000,000 on a desktop */
    bool tls;             /* the peer has TLS, and so has the port itself */

    /* Lets the port's network stack work, and sleeps for a ms or so. */
    void (*wait)(void *context);
    /* Sleeps until the port wakes this thread, for a minute at most; NULL if it
     * wakes nobody. */
    void (*wait_woken)(void *context);
    /* Told of each case: why is NULL where it passed. */
    void (*report)(void *context, const char *name, const char *why);
    void *context;
};

/* Runs all cases, which takes some ten seconds: the number that failed. Without
 * a clock that goes on no case but the first. */
int mst_conform_run(const struct mst_conform *conform);

#ifdef __cplusplus
}
#endif

#endif
