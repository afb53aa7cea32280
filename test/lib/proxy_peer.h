/*
 * An HTTP proxy between the mock and its peer, and a port that connects through
 * it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef PROXY_PEER_H
#define PROXY_PEER_H

#include "mst_proxy.h"
#include "session.h"

/* The response that opens a tunnel. */
#define PROXY_PEER_TUNNEL "HTTP/1.1 200 Connection established\r\n\r\n"

struct proxy_peer {
    /* The port, over the session's port. */
    struct mst_proxy proxy;
    struct mst_proxy_link links[MST_MOCK_LINKS];
    struct mst_port below;

    /* For the test to set. */
    const char *answer; /* to each request; NULL: none */
    const char *direct; /* a host that is reached without it, or NULL */
    unsigned refused;   /* number of first requests that are refused */
    bool silently;      /* these get no response */

    /* For the test to read. */
    unsigned asked;
    char request[2048]; /* the last one */
    char hosts[2048];   /* hosts of the connections, as far as they fit */

    /* Private. */
    struct mst_mock_peer behind;
    struct {
        size_t len;
        bool tunnel;
    } link[MST_MOCK_LINKS];
};

extern struct proxy_peer proxy_peer;

/* Makes the session connect through a proxy with this URL. */
void proxy_peer_begin(const char *url);

#endif
