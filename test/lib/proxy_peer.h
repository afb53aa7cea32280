/*
 * An HTTP proxy between the mock and its peer, and the port that reaches its
 * peer through it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef PROXY_PEER_H
#define PROXY_PEER_H

#include "mst_proxy.h"
#include "session.h"

/* The answer that makes a tunnel. */
#define PROXY_PEER_TUNNEL "HTTP/1.1 200 Connection established\r\n\r\n"

struct proxy_peer {
    /* The port, on top of what the session had. */
    struct mst_proxy proxy;
    struct mst_proxy_link links[MST_MOCK_LINKS];
    struct mst_port below;

    /* For the test to set. */
    const char *answer; /* to each request; NULL: none */
    const char *direct; /* a host that is reached without it, or NULL */
    unsigned refused;   /* so many requests are, first */
    bool silently;      /* they are not answered */

    /* For the test to read. */
    unsigned asked;
    char request[2048]; /* the last one */
    char hosts[2048];   /* that connections were made to, as far as they fit */

    /* Private. */
    struct mst_mock_peer behind;
    struct {
        size_t len;
        bool tunnel;
    } link[MST_MOCK_LINKS];
};

extern struct proxy_peer proxy_peer;

/* The session's port reaches what it did through a proxy of this URL. */
void proxy_peer_begin(const char *url);

#endif
