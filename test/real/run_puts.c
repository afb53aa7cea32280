/*
 * Makes several address requests, one after the other, on one transfer. With a
 * ws_url, a client or a rotating pair also streams BTCUSD, and a request
 * follows each part of its book. All use one port, and only objects that a wait
 * has named are polled, so one that it forgets hangs.
 *
 *     run_puts COUNT [pair]       for e2e_put.py
 *
 * With a pair there are more requests than COUNT, until it has rotated.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "real.h"

#define DEPTH 200
#define ROTATE_MS 1000
#define ROTATIONS 2
#define WAIT_MS 60000 /* longer than any wait here */

MST_MEMORY(client_memory, MST_LENGTHS_USUAL);
MST_MEMORY(other_memory, MST_LENGTHS_USUAL);
MST_TRANSFER_MEMORY(transfer_memory, MST_RECORD_IN_ANY, MST_RECORD_OUT_MIN,
                    2048);

static struct real real;
static struct mst_access shared;
static struct mst_client client;
static struct mst_pair pair;
static struct mst_transfer transfer;
static struct mst_book books[2];
static struct mst_level levels[2][2 * DEPTH];

static struct mst_address_request request = {.network = "BASE",
                                             .address = "beside"};
static struct mst_address record;

static bool has_client, has_pair;
static unsigned wanted, rotations; /* the least puts and changes of leader */
static bool under_way, was_live;

static struct {
    unsigned puts, failed, parts, broken, errors, changes;
    unsigned not_live; /* events at which the book was no longer live */
    unsigned astray;   /* events with another object's link */
} seen;

/* The objects to wait for, by the numbers of their links. */
static const struct mst_link *links[REAL_LINKS];
static size_t links_len;

static void wait_for(const struct mst_link *link) {
    links[links_len++] = link;
}

static int poll_link(int number, struct mst_event *event) {
    if (links[number] == &transfer.link) {
        return mst_transfer_poll(&transfer, event);
    }
    return has_pair ? mst_pair_poll(&pair, event) : mst_poll(&client, event);
}

/* Starts the next request, with its number as nickname. */
static int next_put(void) {
    static char nickname[16];

    under_way = true;
    snprintf(nickname, sizeof nickname, "%u", seen.puts + seen.failed + 1);
    request.nickname = nickname;
    return mst_address_put(&transfer, &request, &record);
}

static bool is_enough(void) {
    return seen.puts + seen.failed >= wanted && seen.changes >= rotations;
}

static bool is_live(void) {
    const struct mst_book *book =
        has_pair ? mst_pair_book(&pair, "BTCUSD") : &books[0];

    return mst_book_state(book) == MST_BOOK_LIVE;
}

/* Handles an event. Returns 0, or the error of a request that cannot start. */
static int take(const struct mst_event *event) {
    bool is_put = event->type == MST_EVENT_ADDRESS;
    bool streams = has_client || has_pair;

    seen.astray += is_put != (links[event->link] == &transfer.link);
    seen.parts += event->type == MST_EVENT_PART;
    seen.broken +=
        event->type == MST_EVENT_CLOSED && event->as.failure.error != MST_OK;
    seen.errors += event->type == MST_EVENT_ERROR;
    seen.changes += event->type == MST_EVENT_LEADER;
    seen.not_live += was_live && !is_live();
    was_live |= is_live();
    if (is_put) {
        under_way = false;
        *(event->as.address.error == 0 ? &seen.puts : &seen.failed) += 1;
    }
    if (!under_way && !is_enough() &&
        event->type == (streams ? MST_EVENT_PART : MST_EVENT_ADDRESS)) {
        return next_put();
    }
    return 0;
}

/* Prepares the objects, on one access. */
static int start(void) {
    int rc = mst_access_init(&shared, &real.config);

    real.config.access = &shared;
    for (size_t i = 0; i < 2; i++) {
        rc = rc ? rc : mst_book_init(&books[i], levels[i], DEPTH);
    }
    if (has_client) {
        wait_for(&client.link);
        rc = rc ? rc
                : mst_client_init(&client, &real.config, &real.port,
                                  &client_memory);
        rc = rc ? rc
                : mst_subscribe(&client, MST_MARKET_DATA, "BTCUSD", &books[0]);
    } else if (has_pair) {
        wait_for(&pair.clients[0].link);
        wait_for(&pair.clients[1].link);
        rc = rc ? rc
                : mst_pair_init(&pair, &real.config, ROTATE_MS, &real.port,
                                &client_memory, &other_memory);
        rc = rc ? rc
                : mst_pair_subscribe(&pair, MST_MARKET_DATA, "BTCUSD",
                                     &books[0], &books[1]);
    }
    real.config.link = (int)links_len;
    wait_for(&transfer.link);
    rc = rc ? rc
            : mst_transfer_init(&transfer, &real.config, &real.port,
                                &transfer_memory);
    return rc || has_client || has_pair ? rc : next_put();
}

/* Waits, and handles all events. Returns 0 or an error. */
static int turn(void) {
    int rc = mst_posix_wait(&real.posix, links, links_len, WAIT_MS), number;
    struct mst_event event;

    while (rc >= 0 && (number = mst_posix_next(&real.posix)) >= 0) {
        while (rc >= 0 && (rc = poll_link(number, &event)) > 0) {
            rc = take(&event);
        }
    }
    return rc;
}

int main(int argc, char **argv) {
    int rc = real_begin(&real);
    unsigned tokens = 0;

    wanted = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
    has_pair = argc > 2 && strcmp(argv[2], "pair") == 0;
    has_client = !has_pair && real.config.ws_url != NULL;
    rotations = has_pair ? ROTATIONS : 0;
    rc = rc ? rc : start();
    while (rc >= 0 && (under_way || !is_enough())) {
        rc = turn();
    }
    if (rc < 0) {
        fprintf(stderr, "%s\n", mst_posix_strerror(rc));
        return EXIT_FAILURE;
    }
    for (size_t i = 0; i < links_len; i++) {
        tokens += mst_link_stats(links[i])->tokens;
    }
    printf("{\"puts\": %u, \"failed\": %u, \"parts\": %u, \"broken\": %u, "
           "\"errors\": %u, \"changes\": %u, \"not_live\": %u, "
           "\"astray\": %u, \"tokens\": %u, \"nickname\": \"%s\"}\n",
           seen.puts, seen.failed, seen.parts, seen.broken, seen.errors,
           seen.changes, seen.not_live + (links_len > 1 && !is_live()),
           seen.astray, tokens, record.nickname);
    mst_transfer_wipe(&transfer);
    if (has_client) {
        mst_client_wipe(&client);
    } else if (has_pair) {
        mst_pair_wipe(&pair);
    }
    real_end(&real);
    return EXIT_SUCCESS;
}
