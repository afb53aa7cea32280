/*
 * The network of the tool: connections on the POSIX port, through a proxy where
 * settings or environment name one, with OpenSSL where settings say so.
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

/* Zeroed at first but for quiet. */
struct network {
    bool quiet; /* no warnings on standard error */
    /* How many trust anchors there are, where, and what of them is of no use. */
    char trust[SETTINGS_ERROR_LEN];
    struct mst_port port; /* for objects with link numbers from 0 on */
    struct mst_posix posix;
    struct mst_posix_link *links;
    struct mst_primitives primitives;
    struct mst_port direct; /* of posix */
    struct mst_proxy proxy;
    struct mst_proxy_link *proxied;
    struct mst_port below; /* of proxy, or as direct */
    struct mst_openssl openssl;
    struct mst_openssl_link *secured;
};

/* Prepares the port for so many links. Returns false with a line in error.
 * There is one network in a program. */
bool network_begin(struct network *network, const struct settings *settings,
                   size_t links, char error[SETTINGS_ERROR_LEN]);
/* The longest sleep, in ms: a signal may come just before it. */
#define NETWORK_WAIT_MS 200

/* Sleeps until the link may have something to do, NETWORK_WAIT_MS at most. */
void network_wait(struct network *network, const struct mst_link *link);

void network_end(struct network *network);

/* The proxy that the endpoint is reached through, or NULL. */
const struct mst_proxy *network_proxy(const struct network *network,
                                      const struct mst_endpoint *endpoint);

/* " through the proxy HOST:PORT" for a failure that it may have a part in, else
 * empty. */
const char *network_via(int error, enum mst_state stage);

#endif
