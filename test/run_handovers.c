/*
 * A stream of BTCUSD that is handed over from one connection to the next, on
 * real sockets; prints what was seen of it as JSON.
 *
 *     run_handovers COUNT        for e2e_rotate.py
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <stdio.h>
#include <stdlib.h>

#include "real.h"

#define DEPTH 200
#define EXECUTIONS 4096

static struct real real;
static struct mst_book book, spare;
static struct mst_level levels[2][2 * DEPTH];

static struct {
    struct mst_execution executions[EXECUTIONS];
    unsigned count, repeats, unmarked, not_live, closed, failed;
    uint32_t generation;
    bool live;
} seen;

/* The same one has come before, and this one does not say so. */
static void take_execution(const struct mst_execution *execution)
{
    bool before = false;

    for (unsigned i = 0; i < seen.count; i++) {
        const struct mst_execution *other = &seen.executions[i];
        before |= other->time_ns == execution->time_ns &&
                  mst_decimal_cmp(other->price, execution->price) == 0 &&
                  mst_decimal_cmp(other->amount, execution->amount) == 0;
    }
    seen.repeats += before;
    seen.unmarked += before && !execution->repeat;
    if (!before && seen.count < EXECUTIONS) {
        seen.executions[seen.count++] = *execution;
    }
}

static void take(const struct mst_event *event)
{
    bool live = mst_book_state(&book) == MST_BOOK_LIVE;

    seen.live |= live;
    seen.not_live += seen.live && !live;
    if (event->generation > seen.generation) {
        seen.generation = event->generation;
    }
    if (event->type == MST_EVENT_EXECUTION) {
        take_execution(&event->as.execution);
    } else if (event->type == MST_EVENT_CLOSED) {
        seen.closed++;
        seen.failed += event->as.failure.error != MST_OK;
    }
}

int main(int argc, char **argv)
{
    unsigned count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
    int rc = real_begin(&real);
    const struct mst_stats *stats = mst_old_client_stats(&real.client);
    struct mst_event event;

    real.config.rotate_ms = 1000;
    mst_book_init(&book, levels[0], DEPTH);
    mst_book_init(&spare, levels[1], DEPTH);
    rc = rc ? rc : mst_book_set_spare(&book, &spare);
    rc = rc ? rc : real_start(&real);
    rc = rc ? rc
            : mst_old_subscribe(&real.client, MST_MARKET_DATA, "BTCUSD", &book);
    rc = rc ? rc
            : mst_old_subscribe(&real.client, MST_EXECUTION_DATA, "BTCUSD",
                                NULL);
    while (rc >= 0 && stats->rotations < count) {
        rc = mst_old_poll(&real.client, &event);
        if (rc == 0) {
            mst_old_posix_wait(&real.posix, &real.client, 1000);
        } else if (rc > 0) {
            take(&event);
        }
    }
    if (rc < 0) {
        fprintf(stderr, "%s\n", mst_posix_strerror(rc));
        return EXIT_FAILURE;
    }
    printf("{\"generation\": %u, \"opens\": %u, \"tokens\": %u, "
           "\"executions\": %u, \"repeats\": %u, \"unmarked\": %u, "
           "\"not_live\": %u, \"closed\": %u, \"failed\": %u}\n",
           (unsigned)seen.generation, (unsigned)stats->opens,
           (unsigned)stats->tokens, seen.count, seen.repeats, seen.unmarked,
           seen.not_live, seen.closed, seen.failed);
    real_end(&real);
    return EXIT_SUCCESS;
}
