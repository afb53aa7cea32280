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

#include "real.h"

#define DEPTH 200

static struct real real;
static struct mst_book book;
static struct mst_level levels[2 * DEPTH];

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
    return mst_old_address_put(&real.client, &request, &record);
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
    int rc = real_begin(&real);
    bool streams = real.config.ws_url != NULL;
    struct mst_event event;

    mst_book_init(&book, levels, DEPTH);
    rc = rc ? rc : real_start(&real);
    if (rc == 0) {
        rc = streams ? mst_old_subscribe(&real.client, MST_MARKET_DATA,
                                         "BTCUSD", &book)
                     : next_put();
    }
    while (rc >= 0 && seen.puts + seen.failed < count) {
        rc = mst_old_poll(&real.client, &event);
        if (rc == 0) {
            mst_old_posix_wait(&real.posix, &real.client, 1000);
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
    real_end(&real);
    return EXIT_SUCCESS;
}
