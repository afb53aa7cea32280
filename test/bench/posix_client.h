/*
 * What the programs that measure mini_stream on the POSIX port share: a port
 * and a configuration for the server of client.h, and what is done with a
 * client and with its events.
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
    struct mst_port port; /* has the token at hand, as the other clients do */
    struct mst_posix_anchors anchors;
    char url[256];
    struct mst_config config; /* may be changed */
};

/* Prepares a port with these links, or ends the program. */
void posix_client_begin(struct posix_client *shared,
                        const struct client *client,
                        struct mst_posix_link *links, size_t links_len);

/* Initialises a client and subscribes to what there is of so many markets, or
 * ends the program. */
void posix_client_start(const struct posix_client *shared,
                        struct mst_client *stream,
                        const struct mst_memory *memory, unsigned markets);

/* Gives the port what a program is to be measured with beside it, before a
 * client is initialised that has no session yet. Each of client_alone.c,
 * client_openssl.c and posix_fast.c has one. */
void posix_client_equip(struct posix_client *posix,
                        const struct client *client);

void posix_client_end(struct posix_client *shared);

/* Takes an event; *sum is that of the message that the client is at. True after
 * the connection's last message. */
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
