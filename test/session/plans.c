/*
 * Whatever the service does for a while, and whatever the caller does:
 *
 * - once the service behaves, everything wished for is subscribed and live
 *   within a bound, and a request for an address comes through;
 * - at no moment is a book live and without a flag though a message has come
 *   that tells otherwise, level by level (plan_model.c);
 * - no execution is lost without being counted (plan_heard.c);
 * - every request for an address ends in exactly one event (plan_put.c);
 * - requests, lists, pings and the report of a missing answer come at their
 *   time, however busy the service is, and no link lets the caller sleep for
 *   long, even if another object of its access is not polled (plan_watch.c);
 * - no connection ends for an answer that came in time, whatever its entries
 *   look like, and what it granted is not asked for again (plan_heard.c).
 *
 * The caller has a client, or a pair that rotates or is in hot standby, and a
 * transfer beside it. Plans are drawn from seeds (plan.h).
 *
 * PLANS: how many plans; PLANS_SEED: the first one's seed. One plan alone is
 * told with all that happens.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "plan_run.h"

#define PLANS 2000u
#define PLANS_FAILURES 10u /* after so many, no further plan is run */

/* From the plan's end until all is well, at most, ms: */
#define SILENCE_MS 30000u /* a connection that is no more is noticed, */
#define HELD_MS 300000u   /* a 429 without Retry-After is waited out, */
#define SLOW_MS 60000u    /* or a permanent error, */
#define ATTEMPT_MS 40000u /* hung stages and the wait after them; */
#define REFUSED_MS 60000u /* what was refused is asked for again, */
#define AUDIT_MS 60000u   /* what is not there is found to be missing, */
#define ANSWERS_MS 20000u /* requests, their answers and gaps; */
#define RESYNC_MS MST_RESYNC_EVERY_MS /* a book's budget allows it, */
#define SNAPSHOT_MS 30000u            /* and its snapshot comes. */
#define BOUND_MS                                                    \
    (SILENCE_MS + HELD_MS + SLOW_MS + ATTEMPT_MS + 2 * REFUSED_MS + \
     2 * AUDIT_MS + ANSWERS_MS + RESYNC_MS + SNAPSHOT_MS)
/* A book whose updates went backward, or whose numbers cannot be kept, is left
 * so for longer each time: 10 min, 20, 40. A plan lasts for an hour. */
#define DRIFT_MS (4 * MST_RESYNC_EVERY_MS)

/* A caller that closes is told that all is over, ms. */
#define CLOSING_MS 2000u

static void wish(unsigned market) {
    int rc = plan_object_subscribe(&run.object, MST_MARKET_DATA, market);

    run.wished[market] = rc == 0 || rc == MST_ERR_EXISTS;
    if (rc == 0) {
        run_wish(true);
    }
    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        plan_known_wish(&run.exchange.links[i].known[market]);
    }
}

/* Wishes for all there is, as far as it is not wished for. */
static void wishes_make(void) {
    for (unsigned m = 0; m < run.plan.markets; m++) {
        if (!run.wished[m]) {
            wish(m);
        }
        if (run.plan.tops) {
            (void)plan_object_subscribe(&run.object, MST_TOP_OF_BOOK, m);
        }
        if (run.plan.executions) {
            (void)plan_object_subscribe(&run.object, MST_EXECUTION_DATA, m);
        }
    }
    if (run.plan.beats) {
        (void)plan_object_subscribe(&run.object, MST_HEARTBEAT, 0);
    }
}

/* The object begins, maybe anew. What it asked for before, with an access of
 * its own, it does not know of. */
static void object_begin(void) {
    if (!run.plan.shares) {
        run.attempts = run.request_ms = 0;
    }
    run.closing_ms = 0;
    run.over = false;
    run.unpolled[POLLED_STREAM] = false;
    memset(run.owed_ms, 0, sizeof run.owed_ms);
    memset(run.tops, 0, sizeof run.tops);
    memset(run.wished, 0, sizeof run.wished);
    exchange_release(&run.exchange, true);
    assert_int_equal(plan_object_init(&run.object, &run.port), 0);
    wishes_make();
}

static int reading(void *context, int link, void *data, size_t len) {
    int n = run.recv(context, link, data, len);

    if (n > 0) {
        exchange_read(&run.exchange, link);
    }
    return n;
}

static int looking(void *context, int64_t *ns) {
    int rc = run.unix_ns(context, ns);

    if (rc == 0) {
        *ns += run.exchange.wall_ns;
    }
    return run.exchange.wall_unset ? MST_ERR_CLOCK : rc;
}

static void run_begin(uint64_t seed) {
    struct mst_config *config = &run.plan.config;

    run.failed = false;
    run.attempts = run.request_ms = run.away_ms = 0;
    memset(run.unpolled, 0, sizeof run.unpolled);
    run.exchange.note = run.told ? run_note : NULL;
    plan_begin(&run.plan, seed, &run.mock, &run.port, &run.exchange);
    run.recv = run.port.recv;
    run.port.recv = reading;
    run.unix_ns = run.port.unix_ns;
    run.port.unix_ns = looking;
    config->flags |= MST_TRACE_ALL;
    config->trace = run_trace;
    plan_object_prepare(&run.object, &run.plan);
    object_begin();
    plan_put_begin(&run.put, &run.object, &run.exchange, &run.port);
}

/* What is polled. An object may be left alone, most likely while it fetches a
 * token for all, and is none for the loop then. */
static struct mst_mock_object objects[POLLED];

static void objects_look(void) {
    const struct mst_link *links[POLLED][2] = {
        {run.object.paired ? &run.object.pair.clients[0].link
                           : &run.object.client.link,
         run.object.paired ? &run.object.pair.clients[1].link : NULL},
        {&run.put.transfer.link, NULL}};

    for (unsigned i = 0; i < POLLED; i++) {
        for (unsigned k = 0; k < 2; k++) {
            objects[i].links[k] = run.unpolled[i] ? NULL : links[i][k];
        }
    }
}

static int poll_object(void *object, struct mst_event *event) {
    unsigned which = object == &run.put ? POLLED_PUT : POLLED_STREAM;
    int rc;

    if (run.unpolled[which]) {
        return 0;
    }
    if (which == POLLED_PUT) {
        rc = mst_transfer_poll(&run.put.transfer, event);
    } else {
        rc = run.object.paired ? mst_pair_poll(&run.object.pair, event)
                               : mst_poll(&run.object.client, event);
        run.over = rc < 0;
    }
    for (unsigned k = 0; k < 2 && objects[which].links[k] != NULL; k++) {
        const struct mst_link *link = objects[which].links[k];
        enum mst_state state = mst_link_state(link);
        run_sleep_check(link);
        if (state >= MST_STATE_RESOLVE && state <= MST_STATE_TOKEN &&
            exchange_happens(&run.exchange, FAULT_UNPOLLED)) {
            run_leave(which);
        }
    }
    objects_look();
    return rc;
}

/* A caller that closes is told of each end, and that all is over, in time. */
static void closing_check(void) {
    if (run.closing_ms == 0) {
        return;
    }
    if (!run.over && !run.unpolled[POLLED_STREAM] &&
        run_present_ms() > run.closing_ms + CLOSING_MS) {
        run_fail("it is closed, and does not end");
    }
    for (int i = 0; i < PLAN_CLIENTS && run.over; i++) {
        if (run.exchange.links[i].heard.open) {
            run_fail("it is over, and of the end the caller is not told");
        }
    }
}

static void run_until(uint64_t until_ms) {
    if (until_ms > run_ms() && !run.failed) {
        objects[POLLED_STREAM] = (struct mst_mock_object){.poll = poll_object};
        objects[POLLED_PUT] =
            (struct mst_mock_object){.poll = poll_object, .object = &run.put};
        objects_look();
        mst_mock_run_objects(&run.mock, objects, POLLED,
                             (uint32_t)(until_ms - run_ms()), run_event, NULL);
        run_books_check();
        exchange_rest(&run.exchange);
        if (!run.unpolled[POLLED_PUT]) {
            plan_put_rest(&run.put);
        }
        closing_check();
        run_heard_check();
        run_owed_check();
    }
}

/* The caller closes, or is gone at once. */
static void object_close(bool wipes) {
    if (wipes) {
        plan_object_wipe(&run.object);
        run.over = true;
        memset(run.owed_ms, 0, sizeof run.owed_ms);
    } else {
        plan_object_close(&run.object);
        run.closing_ms = run_present_ms();
    }
    run.closed++;
    exchange_release(&run.exchange, wipes);
    memset(run.wished, 0, sizeof run.wished);
    run_books_check();
}

static void unwish(unsigned market) {
    (void)plan_object_unsubscribe(&run.object, MST_MARKET_DATA, market);
    run.wished[market] = false;
    run_wish(false);
}

/* A wish for a book goes and comes, maybe before the service knows; so does one
 * for another channel. */
static void wishes_change(unsigned market) {
    unsigned channel = exchange_pick(&run.exchange, MST_HEARTBEAT + 3);

    if (channel > MST_MARKET_DATA && channel <= MST_HEARTBEAT) {
        (void)plan_object_unsubscribe(&run.object, (enum mst_channel)channel,
                                      channel == MST_HEARTBEAT ? 0 : market);
    } else if (!run.wished[market]) {
        wishes_make();
    } else {
        unwish(market);
        if (exchange_pick(&run.exchange, 2) == 0) {
            wish(market);
        }
    }
}

/* What a program may do at any time. */
static void calls_make(void) {
    unsigned m = exchange_pick(&run.exchange, run.plan.markets);

    if (run.over) {
        object_begin();
        return;
    }
    switch (exchange_pick(&run.exchange, 12)) {
    case 0:
    case 1: (void)plan_object_resync(&run.object, m); break;
    case 2: (void)plan_object_list(&run.object); break;
    case 3: plan_object_renew(&run.object); break;
    case 4:
    case 5:
        if (run.object.paired) {
            (void)mst_pair_rotate(&run.object.pair);
        }
        break;
    case 6: object_close(false); break;
    case 7: object_close(true); break;
    default: wishes_change(m);
    }
}

/* Objects are not polled for a while, or are again. */
static void objects_leave(void) {
    for (unsigned i = 0; i < POLLED; i++) {
        if (exchange_happens(&run.exchange, FAULT_UNPOLLED)) {
            run_leave(i);
        } else {
            run_return(i);
        }
    }
}

static void plan_play(void) {
    while (run_ms() < run.plan.length_ms && !run.failed) {
        objects_leave();
        run_until(exchange_next_ms(&run.exchange));
        if (exchange_happens(&run.exchange, FAULT_CALLS)) {
            calls_make();
        }
        if (run.plan.addresses && !run.unpolled[POLLED_PUT] &&
            exchange_pick(&run.exchange, 2) == 0) {
            plan_put_call(&run.put);
        }
        if (exchange_happens(&run.exchange, FAULT_SLOW_CALLER)) {
            run_away(60000);
        }
    }
}

/* Everything is subscribed, live and without doubt: in hot standby by both
 * connections. */
static bool is_stream_well(void) {
    const struct exchange *x = &run.exchange;
    bool both = run.plan.standby;
    bool well = both ? exchange_has(x, 0) && exchange_has(x, 1)
                     : exchange_has(x, 0) || exchange_has(x, 1);

    for (unsigned m = 0; m < run.plan.markets; m++) {
        well &= run_is_sure(run_shown(m)) &&
                (!both || (run_is_sure(&run.object.books[0][m]) &&
                           run_is_sure(&run.object.books[1][m])));
    }
    return well;
}

static bool is_put_well(void) {
    return !run.plan.addresses || run.put.well || run.unpolled[POLLED_PUT];
}

static bool is_well(void) {
    return is_put_well() && (run.unpolled[POLLED_STREAM] || is_stream_well());
}

static void unwell_fail(void) {
    struct text text = {0};
    const struct exchange *x = &run.exchange;

    for (int i = 0; i < (run.object.paired ? 2 : 1); i++) {
        const struct mst_client *c = run.object.paired
                                         ? &run.object.pair.clients[i]
                                         : &run.object.client;
        text_add(&text, "%s, the connection %s; ",
                 mst_state_name(mst_link_state(&c->link)),
                 exchange_has(x, i) ? "has all" : "lacks something");
    }
    text_add(&text, "addresses %s\n", is_put_well() ? "well" : "not well");
    run_books_note(&text);
    run_fail("not well in time: %s", text_get(&text));
    text_free(&text);
}

/* Is a book left for longer than the others, as its market may be so? */
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

/* The caller closes and waits for the end. */
static void plan_close(void) {
    run_return(POLLED_STREAM);
    run_return(POLLED_PUT);
    object_close(false);
    run_until(run_ms() + CLOSING_MS + 1);
}

/* One object that is not polled may stay so. */
static void plan_return(void) {
    bool leaves = run.plan.leaves && run.closing_ms == 0 && !run.over;

    if (!leaves || run.unpolled[POLLED_PUT]) {
        run_return(POLLED_STREAM);
    }
    if (!leaves) {
        run_return(POLLED_PUT);
    }
}

static void plan_recover(void) {
    uint64_t begin_ms, end_ms;

    if (run.told) {
        run_note("the service behaves");
    }
    exchange_behave(&run.exchange);
    plan_return();
    if (run.closing_ms > 0) {
        run_until(run_ms() + CLOSING_MS + 1);
    }
    if (run.over) {
        object_begin();
    }
    begin_ms = run_ms();
    end_ms = begin_ms + BOUND_MS;
    wishes_make();
    while (!run.failed && !is_well() && run_ms() < end_ms) {
        if (!is_put_well() && !run.put.under_way &&
            run_ms() >= run.put.back_ms) {
            plan_put_request(&run.put);
        }
        run_until(run_ms() + PLAN_SECOND);
        if (run_ms() >= end_ms && is_drifting()) {
            end_ms = begin_ms + BOUND_MS + DRIFT_MS;
        }
    }
    if (!run.failed && !is_well()) {
        unwell_fail();
    }
    begin_ms = run_ms() - begin_ms;
    run.recover_ms += begin_ms;
    if (begin_ms > run.recover_most_ms) {
        run.recover_most_ms = begin_ms;
        run.recover_most_seed = run.plan.seed;
    }
}

static bool plan_test(uint64_t seed) {
    run_begin(seed);
    if (run.told) {
        struct text text = {0};
        plan_describe(&run.plan, &text);
        printf("%s", text_get(&text));
        text_free(&text);
    }
    plan_play();
    plan_recover();
    plan_close();
    if (run.exchange.service.wrong[0] != '\0') {
        run_fail("what the service found wrong: %s",
                 run.exchange.service.wrong);
    }
    if (run.mock.broken != NULL) {
        run_fail("what the port found wrong: %s", run.mock.broken);
    }
    exchange_end(&run.exchange);
    return !run.failed;
}

/* One line, of which test/lib/plans.sh adds up the numbers. */
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
