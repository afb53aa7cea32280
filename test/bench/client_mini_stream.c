/*
 * mini_stream on the POSIX port, with the lengths for speed or the usual ones
 * of examples/first.c.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "posix_client.h"

static struct posix_client shared;
static struct mst_client stream;
MST_MEMORY(usual, MST_LENGTHS_USUAL);
MST_MEMORY(fast, MST_LENGTHS_FAST);

/* Without TLS, the record's buffer is the size of one read. */
MST_MEMORY(fast_plain, 524288, MST_RECORD_OUT_FULL, 2048, 0);

static void watch(void *context, const struct mst_trace *trace) {
    (void)context;
    if (trace->kind == MST_TRACE_STATE && trace->state == MST_STATE_RESOLVE) {
        client_connecting();
    }
}

/* Receives up to the connection's last message. */
static void receive(void) {
    const struct mst_link *link = &stream.link;
    struct mst_event event;
    uint64_t sum = 0;

    for (;;) {
        int rc = mst_poll(&stream, &event);

        if (rc < 0) {
            client_fail(mst_strerror(rc));
        } else if (rc == 0) {
            mst_posix_wait(&shared.posix, &link, 1, 1000);
        } else if (posix_client_take(&event, &sum)) {
            return;
        }
    }
}

int main(int argc, char **argv) {
    static struct mst_posix_link links[1];
    const struct client *client = client_begin(argc, argv);
    const struct mst_memory *memory = client->usual ? &usual
                                      : client->tls ? &fast
                                                    : &fast_plain;

    posix_client_begin(&shared, client, links, 1);
    shared.config.backoff_ms = shared.config.backoff_max_ms = 1;
    shared.config.trace = watch;
    do {
        /* A client keeps its TLS session as it reconnects; a new one has
         * none. */
        if (!client->resume || mst_link_stats(&stream.link)->opens == 0) {
            posix_client_equip(&shared, client);
            posix_client_start(&shared, &stream, memory, client->markets);
            mst_subscribe(&stream, MST_HEARTBEAT, NULL, NULL);
        }
        receive();
        if (!client->resume) {
            mst_client_wipe(&stream);
        }
    } while (client_again());
    posix_client_end(&shared);
    return client_end();
}
