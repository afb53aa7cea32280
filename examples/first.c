/* Prints the best bid after each event. SPDX-License-Identifier: 0BSD */
#include <stdio.h>
#include <stdlib.h>

#include "mini_stream.h"
#include "mst_posix.h"

static struct mst_client client; /* the whole state: nothing is allocated */
MST_MEMORY(memory, MST_LENGTHS_USUAL);
static struct mst_level levels[2 * 100]; /* 100 bids and 100 asks */
static struct mst_book book;

int main(void) {
    struct mst_posix_anchors ca; /* from a PEM file; NULL: the system's */
    int rc = mst_posix_anchors_load(&ca, getenv("MINI_STREAM_CA"));
    struct mst_config config = {
        .ws_url = getenv("MINI_STREAM_WS_URL"),
        .auth_url = getenv("MINI_STREAM_AUTH_URL"),
        .client_id = getenv("MINI_STREAM_CLIENT_ID"),
        .client_secret = getenv("MINI_STREAM_CLIENT_SECRET"),
        .anchors = ca.anchors,
        .anchors_len = ca.len,
    };
    struct mst_posix_link links[1]; /* one for each client on the port */
    struct mst_posix posix;
    struct mst_port port;
    struct mst_event event;
    const struct mst_link *link = &client.link;
    char price[MST_DECIMAL_TEXT_LEN];

    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* a line at a time, into a pipe */
    mst_posix_init(&posix, links, 1, &port);
    mst_book_init(&book, levels, 100);
    rc = rc ? rc : mst_client_init(&client, &config, &port, &memory);
    rc = rc ? rc : mst_subscribe(&client, MST_MARKET_DATA, "BTCUSD", &book);
    while (rc >= 0) {
        rc = mst_poll(&client, &event); /* never waits */
        if (rc == 0) {
            mst_posix_wait(&posix, &link, 1, 1000);
        } else if (event.type == MST_EVENT_CLOSED) {
            puts(mst_strerror(event.as.failure.error));
        } else if (mst_book_state(&book) == MST_BOOK_LIVE &&
                   mst_book_depth(&book, MST_BID) > 0) {
            mst_decimal_format(
                mst_level_price(mst_book_level(&book, MST_BID, 0)), price);
            puts(price);
        }
    }
    fprintf(stderr, "%s\n", mst_posix_strerror(rc));
    return EXIT_FAILURE;
}
