/*
 * client_mini_stream.c with TLS of OpenSSL, by port/openssl over the port for
 * POSIX systems.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_openssl.h"
#include "posix_client.h"

/* The port keeps sessions for all of its clients: one that is to have none gets
 * a port anew. */
void posix_client_equip(struct posix_client *posix,
                        const struct client *client) {
    static struct mst_openssl_link secured[1];
    static struct mst_openssl openssl;
    static struct mst_port below;

    if (openssl.context == NULL) {
        below = posix->port;
    }
    mst_openssl_free(&openssl);
    if (mst_openssl_init(&openssl, client->tls ? client->ca : NULL, &below,
                         secured, 1, &posix->port) != 0) {
        client_fail(client->ca);
    }
}
