/*
 * Makes the POSIX port and BearSSL faster on a desktop: port/primitives, and
 * c-ares for names.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_cares.h"
#include "mst_primitives.h"
#include "posix_client.h"

/* Does its work once, for all clients of the program. */
void posix_client_equip(struct posix_client *posix,
                        const struct client *client) {
    static struct mst_primitives primitives;

    if (primitives.count > 0) {
        return;
    }
    mst_cares_init(&posix->posix);
    if (client->tls &&
        mst_primitives_init(&primitives, client->clients, &posix->port) != 0) {
        client_fail("primitives");
    }
}
