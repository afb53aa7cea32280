/*
 * The network of the tool: the POSIX port, with a proxy and OpenSSL if settings
 * or environment ask for them.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef NETWORK_H
#define NETWORK_H

#include "mst_openssl.h"
#include "mst_posix.h"
#include "mst_primitives.h"
#include "mst_proxy.h"
#include "settings.h"

/* Zeroed at first, except for quiet. */
struct network {
    bool quiet; /* print no warnings */
    /* The number of trust anchors, their store, and the unusable
     * certificates. */
    char trust[SETTINGS_ERROR_LEN];
    struct mst_port port; /* for links from 0 on */
    struct mst_posix posix;
    struct mst_posix_link *links;
    struct mst_primitives primitives;
    struct mst_port direct; /* posix's port */
    struct mst_proxy proxy;
    struct mst_proxy_link *proxied;
    struct mst_port below; /* proxy's port, or direct */
    struct mst_openssl openssl;
    struct mst_openssl_link *secured;
};

/* Prepares the port for this many links. Returns false with a line in error. A
 * program has one network. */
bool network_begin(struct network *network, const struct settings *settings,
                   size_t links, char error[SETTINGS_ERROR_LEN]);
/* The longest sleep in ms: a signal may come just before it. */
#define NETWORK_WAIT_MS 200

/* Sleeps until the link may have something to do, NETWORK_WAIT_MS at most. */
void network_wait(struct network *network, const struct mst_link *link);

void network_end(struct network *network);

/* Returns the proxy for an endpoint, or NULL. */
const struct mst_proxy *network_proxy(const struct network *network,
                                      const struct mst_endpoint *endpoint);

/* Returns " through the proxy HOST:PORT" if it may be involved in a failure,
 * else "". */
const char *network_via(int error, enum mst_state stage);

#endif
