/*
 * Many clients in one thread: what a message costs the processor when the same
 * messages come over 200 connections as when they come over one. The command
 * line is that of client.h, with the number of clients (1 to 200) behind it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "client.h"
#include "corpus.h"
#include "event.h"
#include "mst_posix.h"

#include <stdio.h>
#include <time.h>

#define CLIENTS_MAX 200

static struct mst_client clients[CLIENTS_MAX];
static unsigned char bytes[CLIENTS_MAX][MST_MEMORY_LEN(MST_LENGTHS_USUAL)];
static struct mst_posix_link links[CLIENTS_MAX];
static const struct mst_link *objects[CLIENTS_MAX];
static uint64_t sums[CLIENTS_MAX]; /* of the message that each is at */

/* A token that is at hand. */
static int token_load(void *context, uint32_t key, char *token, size_t cap,
                      int64_t *until_s) {
    (void)context;
    (void)key;
    *until_s = time(NULL) + 3600;
    return snprintf(token, cap, "%s", CLIENT_TOKEN);
}

static void begin(unsigned number, struct mst_config *config,
                  const struct mst_port *port, unsigned markets) {
    static struct mst_memory memories[CLIENTS_MAX];
    struct mst_client *client = &clients[number];
    char market[CORPUS_MARKET_LEN + 1];
    int rc;

    memories[number] = (struct mst_memory){bytes[number], sizeof bytes[number],
                                           MST_LENGTHS_USUAL};
    config->link = (int)number;
    rc = mst_client_init(client, config, port, &memories[number]);
    if (rc != 0) {
        client_fail(mst_strerror(rc));
    }
    for (unsigned i = 0; i < markets; i++) {
        corpus_market(i, market);
        mst_subscribe(client, MST_MARKET_DATA, market, NULL);
        mst_subscribe(client, MST_TOP_OF_BOOK, market, NULL);
        mst_subscribe(client, MST_EXECUTION_DATA, market, NULL);
    }
    objects[number] = &client->link;
}

/* Polls a client to the end of its events. True after the last message. */
static bool receive(int number) {
    struct mst_event event;
    int rc;

    while ((rc = mst_poll(&clients[number], &event)) > 0) {
        if (event_sum(&event, &sums[number])) {
            uint64_t sum = sums[number];

            sums[number] = 0;
            if (client_message(sum)) {
                return true;
            }
        } else if (event.type == MST_EVENT_ERROR ||
                   (event.type == MST_EVENT_CLOSED &&
                    event.as.failure.error != MST_ERR_WS_CLOSED)) {
            client_fail(mst_strerror(event.as.failure.error));
        }
    }
    if (rc < 0) {
        client_fail(mst_strerror(rc));
    }
    return false;
}

static void receive_all(struct mst_posix *posix, unsigned count) {
    for (;;) {
        int number;

        mst_posix_wait(posix, objects, count, 1000);
        while ((number = mst_posix_next(posix)) >= 0) {
            if (receive(number)) {
                return;
            }
        }
    }
}

int main(int argc, char **argv) {
    const struct client *client = client_begin(argc, argv);
    struct mst_posix_anchors anchors = {.len = 0};
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
    };

    if (client->clients > CLIENTS_MAX) {
        client_fail("too many clients");
    }
    snprintf(url, sizeof url, "%s://%s:%s%s", client->tls ? "wss" : "ws",
             CLIENT_HOST, client->port, client->path);
    if (client->tls && mst_posix_anchors_load(&anchors, client->ca) != 0) {
        client_fail(client->ca);
    }
    config.anchors = anchors.anchors;
    config.anchors_len = anchors.len;
    mst_posix_init(&posix, links, client->clients, &port);
    port.token_load = token_load;
    for (unsigned i = 0; i < client->clients; i++) {
        begin(i, &config, &port, client->markets);
    }
    receive_all(&posix, client->clients);
    for (unsigned i = 0; i < client->clients; i++) {
        mst_client_wipe(&clients[i]);
    }
    mst_posix_free(&posix);
    mst_posix_anchors_free(&anchors);
    return client_end();
}
