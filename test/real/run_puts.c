/*
 * Several address requests, one after the other, on one transfer; where there
 * is a ws_url, beside a stream of BTCUSD, one after each part of its book.
 *
 *     run_puts COUNT       for e2e_put.py
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <stdio.h>
#include <stdlib.h>

#include "real.h"

#define DEPTH 200

MST_MEMORY(client_memory, MST_LENGTHS_USUAL);
MST_TRANSFER_MEMORY(transfer_memory, MST_RECORD_IN_ANY, MST_RECORD_OUT_MIN,
                    2048);

static struct real real;
static struct mst_access shared;
static struct mst_client client;
static struct mst_transfer transfer;
static struct mst_book book;
static struct mst_level levels[2 * DEPTH];

static struct mst_address_request request = {.network = MST_NETWORK_BASE,
                                             .address = "beside"};
static struct mst_address record;
static struct { unsigned puts, failed, parts, closed, errors; } seen;

/* Begins the next request; the nickname is its number. */
static int next_put(void) {
    static char nickname[16];

    snprintf(nickname, sizeof nickname, "%u", seen.puts + seen.failed + 1);
    request.nickname = nickname;
    return mst_address_put(&transfer, &request, &record);
}

/* Takes an event. Returns 0, or an error of a request that cannot begin. */
static int take(const struct mst_event *event, unsigned count, bool streams) {
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

/* Prepares the objects, on one access. */
static int start(bool streams) {
    int rc = mst_access_init(&shared, &real.config);

    real.config.access = &shared;
    real.config.link = 1;
    rc = rc ? rc
            : mst_transfer_init(&transfer, &real.config, &real.port,
                                &transfer_memory);
    if (rc != 0 || !streams) {
        return rc ? rc : next_put();
    }
    real.config.link = 0;
    rc = mst_client_init(&client, &real.config, &real.port, &client_memory);
    return rc ? rc : mst_subscribe(&client, MST_MARKET_DATA, "BTCUSD", &book);
}

/* The next event of either; 0 for none. */
static int poll_both(struct mst_event *event, bool streams) {
    int rc = mst_transfer_poll(&transfer, event);

    return rc == 0 && streams ? mst_poll(&client, event) : rc;
}

int main(int argc, char **argv) {
    const struct mst_link *const links[] = {&transfer.link, &client.link};
    unsigned count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
    int rc = real_begin(&real);
    bool streams = real.config.ws_url != NULL;
    struct mst_event event;

    mst_book_init(&book, levels, DEPTH);
    rc = rc ? rc : start(streams);
    while (rc >= 0 && seen.puts + seen.failed < count) {
        rc = poll_both(&event, streams);
        if (rc == 0) {
            mst_posix_wait(&real.posix, links, streams ? 2 : 1, 1000);
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
    mst_transfer_wipe(&transfer);
    if (streams) {
        mst_client_wipe(&client);
    }
    real_end(&real);
    return EXIT_SUCCESS;
}
