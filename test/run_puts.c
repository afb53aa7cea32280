/*
 * Several address requests, one after the other, on one client; where there
 * is a ws_url, beside a stream of BTCUSD, one after each part of its book.
 *
 *     run_puts COUNT       for e2e_put.py
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <stdio.h>
#include <stdlib.h>

#include "mini_stream.h"
#include "mst_posix.h"

#define DEPTH 200

static struct mst_client client;
static struct mst_book book;
static struct mst_level levels[2 * DEPTH];
static unsigned char memory[MST_MEMORY_LEN(
    MST_RECORD_IN_ANY, MST_RECORD_OUT_MIN, 2048, 0, MST_LINKS_MAX)];

static struct mst_address_request request = {.network = MST_NETWORK_BASE,
                                             .address = "beside"};
static struct mst_address record;
static struct {
    unsigned puts, failed, parts, closed, errors;
} seen;

/* Begins the next request; the nickname is its number. */
static int next_put(void)
{
    static char nickname[16];

    snprintf(nickname, sizeof nickname, "%u", seen.puts + seen.failed + 1);
    request.nickname = nickname;
    return mst_address_put(&client, &request, &record);
}

/* Takes an event. Returns 0, or an error of a request that cannot begin. */
static int take(const struct mst_event *event, unsigned count, bool streams)
{
    static bool under_way;

    seen.parts += event->type == MST_EVENT_PART;
    seen.closed += event->type == MST_EVENT_CLOSED;
    seen.errors += event->type == MST_EVENT_ERROR;
    if (event->type == MST_EVENT_ADDRESS) {
        under_way = false;
        *(event->as.address.error == 0 ? &seen.puts : &seen.failed) += 1;
    }
    if (!under_way && seen.puts + seen.failed < count &&
        (event->type == (streams ? MST_EVENT_PART : MST_EVENT_ADDRESS))) {
        under_way = true;
        return next_put();
    }
    return 0;
}

int main(int argc, char **argv)
{
    unsigned count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
    struct mst_posix posix;
    struct mst_port port;
    struct mst_posix_anchors ca;
    int rc = mst_posix_init(&posix, &port);
    int loaded = mst_posix_anchors_load(&ca, getenv("MINI_STREAM_CA"));
    struct mst_config config = {
        .ws_url = getenv("MINI_STREAM_WS_URL"),
        .auth_url = getenv("MINI_STREAM_AUTH_URL"),
        .base_url = getenv("MINI_STREAM_BASE_URL"),
        .client_id = getenv("MINI_STREAM_CLIENT_ID"),
        .client_secret = getenv("MINI_STREAM_CLIENT_SECRET"),
        .anchors = ca.anchors,
        .anchors_len = ca.len,
        .links = MST_LINKS_MAX,
    };
    bool streams = config.ws_url != NULL;
    struct mst_event event;

    mst_book_init(&book, levels, DEPTH);
    rc = rc ? rc : loaded;
    rc = rc ? rc
            : mst_client_init(&client, &config, &port, memory, sizeof memory);
    if (rc == 0) {
        rc = streams ? mst_subscribe(&client, MST_MARKET_DATA, "BTCUSD", &book)
                     : next_put();
    }
    while (rc >= 0 && seen.puts + seen.failed < count) {
        rc = mst_poll(&client, &event);
        if (rc == 0) {
            mst_posix_wait(&posix, &client, 1000);
        } else if (rc > 0) {
            rc = take(&event, count, streams);
        }
    }
    if (rc < 0) {
        fprintf(stderr, "%s\n", mst_posix_strerror(rc));
        return EXIT_FAILURE;
    }
    printf("{\"puts\": %u, \"failed\": %u, \"parts\": %u, \"closed\": %u, "
           "\"errors\": %u, \"live\": %s, \"nickname\": \"%s\"}\n",
           seen.puts, seen.failed, seen.parts, seen.closed, seen.errors,
           mst_book_state(&book) == MST_BOOK_LIVE ? "true" : "false",
           record.nickname);
    mst_close(&client);
    while (mst_poll(&client, &event) >= 0) {
        mst_posix_wait(&posix, &client, 1000);
    }
    mst_posix_free(&posix);
    mst_posix_anchors_free(&ca);
    return EXIT_SUCCESS;
}
