/*
 * mini_stream on the port for POSIX systems: with the lengths for speed, or
 * as it comes, like examples/first.c.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "client.h"
#include "corpus.h"
#include "event.h"
#include "mst_posix.h"

#include <stdio.h>
#include <time.h>

static struct mst_client stream;
MST_MEMORY(usual, MST_LENGTHS_USUAL);
MST_MEMORY(fast, MST_LENGTHS_FAST);

/* In the clear, what a record has room for is read at once. */
MST_MEMORY(fast_plain, 524288, MST_RECORD_OUT_FULL, 2048, 0);

/* A token that is at hand, as the other clients have it. */
static int token_load(void *context, uint32_t key, char *token, size_t cap,
                      int64_t *until_s) {
    (void)context;
    (void)key;
    *until_s = time(NULL) + 3600;
    return snprintf(token, cap, "%s", CLIENT_TOKEN);
}

static void watch(void *context, const struct mst_trace *trace) {
    (void)context;
    if (trace->kind == MST_TRACE_STATE && trace->state == MST_STATE_RESOLVE) {
        client_connecting();
    }
}

static void subscribe_all(unsigned markets) {
    char market[CORPUS_MARKET_LEN + 1];

    mst_subscribe(&stream, MST_HEARTBEAT, NULL, NULL);
    for (unsigned i = 0; i < markets; i++) {
        corpus_market(i, market);
        mst_subscribe(&stream, MST_MARKET_DATA, market, NULL);
        mst_subscribe(&stream, MST_TOP_OF_BOOK, market, NULL);
        mst_subscribe(&stream, MST_EXECUTION_DATA, market, NULL);
    }
}

/* Until the connection's last message. */
static void receive(struct mst_posix *posix) {
    const struct mst_link *link = &stream.link;
    struct mst_event event;
    uint64_t sum = 0;

    for (;;) {
        int rc = mst_poll(&stream, &event);

        if (rc < 0) {
            client_fail(mst_strerror(rc));
        } else if (rc == 0) {
            mst_posix_wait(posix, &link, 1, 1000);
        } else if (event_sum(&event, &sum)) {
            if (client_message(sum)) {
                return;
            }
            sum = 0;
        } else if (event.type == MST_EVENT_ERROR ||
                   (event.type == MST_EVENT_CLOSED &&
                    event.as.failure.error != MST_ERR_WS_CLOSED)) {
            client_fail(mst_strerror(event.as.failure.error));
        }
    }
}

int main(int argc, char **argv) {
    const struct client *client = client_begin(argc, argv);
    struct mst_posix_anchors anchors = {.len = 0};
    static struct mst_posix_link links[1];
    struct mst_posix posix;
    struct mst_port port;
    char url[256];
    struct mst_config config = {
        .ws_url = url,
        .auth_url = client->tls ? "https://localhost" : "http://localhost",
        .client_id = "id",
        .client_secret = "secret",
        .flags = client->tls ? 0 : MST_ALLOW_PLAIN,
        .request_gap_ms = 1,
        .backoff_ms = 1,
        .backoff_max_ms = 1,
        .trace = watch,
    };

    snprintf(url, sizeof url, "%s://%s:%s%s", client->tls ? "wss" : "ws",
             CLIENT_HOST, client->port, client->path);
    if (client->tls && mst_posix_anchors_load(&anchors, client->ca) != 0) {
        client_fail(client->ca);
    }
    const struct mst_memory *memory = client->usual ? &usual
                                      : client->tls ? &fast
                                                    : &fast_plain;

    config.anchors = anchors.anchors;
    config.anchors_len = anchors.len;
    mst_posix_init(&posix, links, 1, &port);
    port.token_load = token_load;
    do {
        /* A client that goes on keeps its TLS session, a new one has none. */
        if (!client->resume || mst_client_stats(&stream)->opens == 0) {
            int rc = mst_client_init(&stream, &config, &port, memory);

            if (rc != 0) {
                client_fail(mst_strerror(rc));
            }
            subscribe_all(client->markets);
        }
        receive(&posix);
        if (!client->resume) {
            mst_client_wipe(&stream);
        }
    } while (client_again());
    mst_posix_free(&posix);
    mst_posix_anchors_free(&anchors);
    return client_end();
}
