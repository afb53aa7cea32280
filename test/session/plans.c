/*
 * Random behaviour of the service for a while, and of the caller. Checks that:
 *
 * - once the service behaves, everything wanted is subscribed and live within
 *   a bound, and address requests succeed;
 * - no book is ever live and without a flag after a message that contradicts
 *   it, level by level (plan_model.c);
 * - no execution is lost without being counted (plan_heard.c);
 * - every address request ends in exactly one event (plan_put.c);
 * - no request comes earlier than the service allows an access that both
 *   objects share, nor before the last request on a connection has a result;
 * - requests, lists, pings and missing answers are handled on time, however
 *   busy the service is; no link lets the caller sleep for long, even if
 *   another object of its access is not polled (plan_watch.c);
 * - no connection ends because of an answer that came in time, whatever its
 *   entries are, and what it granted is not requested again (plan_heard.c).
 *
 * The caller has a client, or a pair that rotates or is in hot standby, and a
 * transfer as well. Plans are drawn from seeds (plan.h).
 *
 * PLANS: the number of plans; PLANS_SEED: the first one's seed. A single plan
 * is printed with all its events.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "plan_run.h"

#define PLANS 500u
#define PLANS_FAILURES 10u /* after this many, no further plan is run */

/* After a plan's end, the longest times until all is well, in ms: */
#define SILENCE_MS 30000u             /* a dead connection is detected, */
#define HELD_MS 300000u               /* a 429 without Retry-After ends, */
#define SLOW_MS 60000u                /* or the wait after a permanent error, */
#define ATTEMPT_MS 40000u             /* stages hang, then a wait; */
#define REFUSED_MS 60000u             /* refused subscriptions are retried, */
#define AUDIT_MS 60000u               /* audits find missing subscriptions, */
#define ANSWERS_MS 20000u             /* requests, answers and gaps; */
#define RESYNC_MS MST_RESYNC_EVERY_MS /* a book's budget allows a resync, */
#define SNAPSHOT_MS 30000u            /* and its snapshot arrives. */
#define BOUND_MS                                                    \
    (SILENCE_MS + HELD_MS + SLOW_MS + ATTEMPT_MS + 2 * REFUSED_MS + \
     2 * AUDIT_MS + ANSWERS_MS + RESYNC_MS + SNAPSHOT_MS)
/* If a book's updates went backward, or its numbers cannot be stored, its
 * resyncs are rare: after 10 min, 20, 40. A plan lasts for an hour. */
#define DRIFT_MS (4 * MST_RESYNC_EVERY_MS)

/* True if a book may need that long, and the plan with it. */
static bool is_drifting(void) {
    bool drifts = false;

    for (unsigned m = 0; m < run.plan.markets; m++) {
        for (unsigned i = 0; i < 2; i++) {
            const struct mst_book *book = &run.object.books[i][m];
            drifts |= (mst_book_flags(book) & MST_BOOK_BACKWARD) != 0 ||
                      mst_book_reason(book) == MST_BOOK_NUMBER;
        }
    }
    return drifts;
}

static void plan_recover(void) {
    run_behave();
    uint64_t begin_ms = run_ms(), end_ms = begin_ms + BOUND_MS;
    while (!run.failed && !run_is_well() && run_ms() < end_ms) {
        run_second();
        if (run_ms() >= end_ms && is_drifting()) {
            end_ms = begin_ms + BOUND_MS + DRIFT_MS;
        }
    }
    if (!run.failed && !run_is_well()) {
        run_unwell("not well in time");
    }
    begin_ms = run_ms() - begin_ms;
    run.recover_ms += begin_ms;
    if (begin_ms > run.recover_most_ms) {
        run.recover_most_ms = begin_ms;
        run.recover_most_seed = run.plan.seed;
    }
}

static bool plan_test(uint64_t seed) {
    plan_draw(&run.plan, seed);
    run_begin();
    if (run.told) {
        struct text text = {0};
        plan_describe(&run.plan, &text);
        printf("%s", text_get(&text));
        text_free(&text);
    }
    run_play();
    plan_recover();
    run_end();
    return !run.failed;
}

/* One line; test/plans/plans.sh adds up its numbers. */
static void totals_print(uint64_t seed, uint64_t plans, uint64_t done,
                         unsigned failures) {
    print_message(
        "PLANS_SEED=%" PRIu64 " PLANS=%" PRIu64 ": %" PRIu64
        " plans, %u failed; %" PRIu64 " events, %" PRIu64
        " looks at a live book, %" PRIu64 " changes of leader, %" PRIu64
        " closed by the caller, %" PRIu64 " executions told, %" PRIu64
        " counted as lost, %" PRIu64 " addresses asked for, %" PRIu64
        " obtained; well after %" PRIu64 " s, %" PRIu64 " s at most (%" PRIu64
        ")\n",
        seed, plans, done, failures, run.events, run.live, run.changes,
        run.closed, run.exchange.told, run.exchange.lost, run.put.requests,
        run.put.done, done > 0 ? run.recover_ms / done / 1000 : 0,
        run.recover_most_ms / 1000, run.recover_most_seed);
}

TEST_CASE(test_plans) {
    uint64_t plans = setting("PLANS", PLANS), seed = setting("PLANS_SEED", 1);
    uint64_t done = 0;
    unsigned failures = 0;

    run.told = plans == 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (; done < plans && failures < PLANS_FAILURES; done++) {
        failures += !plan_test(seed + done);
    }
    totals_print(seed, plans, done, failures);
    expect_int("plans that failed", 0, failures);
}

RUN_CASES(NULL, NULL)
