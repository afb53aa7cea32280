/*
 * Prints the best bid of several markets, with a client for each, in one loop.
 * It is built without TLS (MST_NO_TLS): a proxy on this machine, such as
 * stunnel, must speak TLS to the service.
 *
 *     plain MARKET...
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <stdio.h>
#include <stdlib.h>

#include "mini_stream.h"
#include "mst_posix.h"

#define MARKETS_MAX 8
#define LEVELS 100

static struct mst_posix posix;
static struct mst_posix_link links[MARKETS_MAX];
static struct mst_port port;
static struct mst_access access; /* all clients are of one customer */

static struct mst_client clients[MARKETS_MAX];
static unsigned char bytes[MARKETS_MAX][MST_MEMORY_LEN(MST_LENGTHS_USUAL)];
static struct mst_memory memories[MARKETS_MAX];
static struct mst_level levels[MARKETS_MAX][2 * LEVELS];
static struct mst_book books[MARKETS_MAX];

/* Prepares the client of this number. */
static int begin(int number, const char *market, struct mst_config *config) {
    struct mst_memory memory = {bytes[number], sizeof bytes[number],
                                MST_LENGTHS_USUAL};
    int rc;

    memories[number] = memory;
    config->link = number;
    mst_book_init(&books[number], levels[number], LEVELS);
    rc = mst_client_init(&clients[number], config, &port, &memories[number]);
    return rc != 0 ? rc
                   : mst_subscribe(&clients[number], MST_MARKET_DATA, market,
                                   &books[number]);
}

/* Polls a client until it has no more events. */
static int show(int number, const char *market) {
    char price[MST_DECIMAL_TEXT_LEN];
    struct mst_event event;
    int rc;

    while ((rc = mst_poll(&clients[number], &event)) > 0) {
        if (event.type == MST_EVENT_CLOSED) {
            printf("%s: %s\n", market, mst_strerror(event.as.failure.error));
        } else if (mst_book_depth(&books[number], MST_BID) > 0) {
            mst_decimal_format(
                mst_level_price(mst_book_level(&books[number], MST_BID, 0)),
                price);
            printf("%s: %s\n", market, price);
        }
    }
    return rc;
}

int main(int argc, char **argv) {
    const struct mst_link *objects[MARKETS_MAX];
    struct mst_config config = {
        .ws_url = getenv("MINI_STREAM_WS_URL"), /* ws://localhost:... */
        .auth_url = getenv("MINI_STREAM_AUTH_URL"),
        .client_id = getenv("MINI_STREAM_CLIENT_ID"),
        .client_secret = getenv("MINI_STREAM_CLIENT_SECRET"),
        .access = &access,
        .flags = MST_ALLOW_PLAIN,
    };
    int count = argc - 1, rc = 0;

    if (count < 1 || count > MARKETS_MAX) {
        fputs("usage: plain MARKET... (up to 8)\n", stderr);
        return 2;
    }
    mst_posix_init(&posix, links, MARKETS_MAX, &port);
    rc = mst_access_init(&access, &config);
    for (int i = 0; i < count && rc == 0; i++) {
        rc = begin(i, argv[1 + i], &config);
        objects[i] = &clients[i].link;
    }
    while (rc >= 0) {
        int number;

        mst_posix_wait(&posix, objects, (size_t)count, 1000);
        while (rc >= 0 && (number = mst_posix_next(&posix)) >= 0) {
            rc = show(number, argv[1 + number]);
        }
    }
    fprintf(stderr, "%s\n", mst_strerror(rc));
    return EXIT_FAILURE;
}
