/*
 * Prints the best bid and ask of a market at every update of its book.
 * Usage: first CA_FILE MARKET, with MINI_STREAM_WS_URL, _AUTH_URL, _CLIENT_ID
 * and _CLIENT_SECRET in the environment.    SPDX-License-Identifier: 0BSD
 */
#include <stdio.h>
#include <stdlib.h>

#include "mini_stream.h"
#include "mst_posix.h"

static struct mst_client client; /* the whole state: nothing is allocated */
static unsigned char memory[MST_MEMORY_LEN_DEFAULT];
static struct mst_level levels[2 * 100]; /* 100 bids and 100 asks */
static struct mst_book book;

static void print_best(const char *label, enum mst_side side)
{
    const struct mst_level *level = mst_book_level(&book, side, 0);
    char price[MST_DECIMAL_TEXT_LEN] = "-";

    if (level) {
        mst_decimal_format(mst_level_price(level), price);
    }
    printf("%s %s  ", label, price);
}

int main(int argc, char **argv)
{
    struct mst_config config = {
        .ws_url = getenv("MINI_STREAM_WS_URL"),
        .auth_url = getenv("MINI_STREAM_AUTH_URL"),
        .client_id = getenv("MINI_STREAM_CLIENT_ID"),
        .client_secret = getenv("MINI_STREAM_CLIENT_SECRET"),
    };
    struct mst_posix_anchors ca;
    struct mst_posix posix;
    struct mst_port port;
    struct mst_event event;
    int rc;

    if (argc != 3 || mst_posix_anchors_load(&ca, argv[1]) != 0) {
        fputs("usage: first CA_FILE MARKET\n", stderr);
        return EXIT_FAILURE;
    }
    config.anchors = ca.anchors;
    config.anchors_len = ca.len;
    mst_posix_init(&posix, &port);
    mst_book_init(&book, levels, 100);
    rc = mst_client_init(&client, &config, &port, memory, sizeof memory);
    if (rc == 0) {
        rc = mst_subscribe(&client, MST_MARKET_DATA, argv[2], &book);
    }
    while (rc >= 0) {
        rc = mst_poll(&client, &event);
        if (rc == 0) {
            mst_posix_wait(&posix, &client, 1000);
        } else if (event.type == MST_EVENT_PART && event.as.part.last) {
            print_best("bid", MST_BID);
            print_best("ask", MST_ASK);
            puts(mst_book_state_name(mst_book_state(&book)));
        } else if (event.type == MST_EVENT_CLOSED) {
            puts(mst_strerror(event.as.failure.error));
        }
    }
    fprintf(stderr, "%s\n", mst_strerror(rc));
    return EXIT_FAILURE;
}
