/*
 * Shared by programs that measure mini_stream on the POSIX port: a port and a
 * configuration for the server of client.h, and handling of clients and events.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef POSIX_CLIENT_H
#define POSIX_CLIENT_H

#include "client.h"
#include "event.h"
#include "mst_posix.h"

struct posix_client {
    struct mst_posix posix;
    struct mst_port port; /* already has the token, as the other clients do */
    struct mst_posix_anchors anchors;
    char url[256];
    struct mst_config config; /* the caller may change it */
};

/* Prepares a port with these links, or ends the program. */
void posix_client_begin(struct posix_client *shared,
                        const struct client *client,
                        struct mst_posix_link *links, size_t links_len);

/* Initialises a client and subscribes to all channels of the markets, or ends
 * the program. */
void posix_client_start(const struct posix_client *shared,
                        struct mst_client *stream,
                        const struct mst_memory *memory, unsigned markets);

/* Adds to the port what a program is measured with. Call it before initialising
 * a client without a session. client_alone.c, client_openssl.c and posix_fast.c
 * each define it. */
void posix_client_equip(struct posix_client *posix,
                        const struct client *client);

void posix_client_end(struct posix_client *shared);

/* Takes an event; *sum is that of the client's current message. True after the
 * connection's last message. */
static inline bool posix_client_take(const struct mst_event *event,
                                     uint64_t *sum) {
    if (event_sum(event, sum)) {
        uint64_t whole = *sum;

        *sum = 0;
        return client_message(whole);
    }
    if (event->type == MST_EVENT_ERROR ||
        (event->type == MST_EVENT_CLOSED &&
         event->as.failure.error != MST_ERR_WS_CLOSED)) {
        client_fail(mst_strerror(event->as.failure.error));
    }
    return false;
}

#endif
