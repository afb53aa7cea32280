/*
 * client_mini_stream.c with TLS by OpenSSL: port/openssl over the POSIX port.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_openssl.h"
#include "posix_client.h"

/* The port keeps sessions for all of its clients: a client that must have none
 * gets a new port. */
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
