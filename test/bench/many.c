/*
 * Many clients in one thread: measures the processor time of a message if the
 * same messages arrive over up to 200 connections. The command line is that of
 * client.h, with the number of clients (1 to 200) at its end.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "posix_client.h"

#define CLIENTS_MAX 200

static struct posix_client shared;
static struct mst_client clients[CLIENTS_MAX];
static unsigned char bytes[CLIENTS_MAX][MST_MEMORY_LEN(MST_LENGTHS_USUAL)];
static const struct mst_link *objects[CLIENTS_MAX];
static uint64_t sums[CLIENTS_MAX]; /* of each client's current message */

static void start(unsigned number, unsigned markets) {
    static struct mst_memory memories[CLIENTS_MAX];

    memories[number] = (struct mst_memory){bytes[number], sizeof bytes[number],
                                           MST_LENGTHS_USUAL};
    shared.config.link = (int)number;
    posix_client_start(&shared, &clients[number], &memories[number], markets);
    objects[number] = &clients[number].link;
}

/* Polls a client until it has no more events. True after the last message. */
static bool receive(int number) {
    struct mst_event event;
    int rc;

    while ((rc = mst_poll(&clients[number], &event)) > 0) {
        if (posix_client_take(&event, &sums[number])) {
            return true;
        }
    }
    if (rc < 0) {
        client_fail(mst_strerror(rc));
    }
    return false;
}

static void receive_all(unsigned count) {
    for (;;) {
        int number;

        mst_posix_wait(&shared.posix, objects, count, 1000);
        while ((number = mst_posix_next(&shared.posix)) >= 0) {
            if (receive(number)) {
                return;
            }
        }
    }
}

int main(int argc, char **argv) {
    static struct mst_posix_link links[CLIENTS_MAX];
    const struct client *client = client_begin(argc, argv);

    if (client->clients > CLIENTS_MAX) {
        client_fail("too many clients");
    }
    posix_client_begin(&shared, client, links, client->clients);
    posix_client_equip(&shared, client);
    for (unsigned i = 0; i < client->clients; i++) {
        start(i, client->markets);
    }
    receive_all(client->clients);
    for (unsigned i = 0; i < client->clients; i++) {
        mst_client_wipe(&clients[i]);
    }
    posix_client_end(&shared);
    return client_end();
}
