/*
 * Plays a plan: the caller's objects, polling and calls, and the checks that
 * all is well. See plan_run.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "plan_run.h"

/* From a caller's close to the end, ms. */
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

/* Subscribes all channels that are not subscribed yet. */
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

/* Initialises the object, maybe again. An object with a separate access does
 * not know its earlier requests. */
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

static int connecting(void *context, int link, int address) {
    if (address > 0) { /* this is not in the trace */
        states_note(MST_STATE_CONNECT, STATES_ERROR, MST_STATE_CONNECT);
    }
    return run.connect(context, link, address);
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

void run_begin(void) {
    struct mst_config *config = &run.plan.config;

    run.failed = false;
    run.attempts = run.request_ms = run.away_ms = 0;
    memset(run.unpolled, 0, sizeof run.unpolled);
    run.exchange.note = run.told ? run_note : NULL;
    plan_begin(&run.plan, &run.mock, &run.port, &run.exchange);
    run.connect = run.port.connect;
    run.port.connect = connecting;
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

/* The polled objects. One that is left unpolled, most likely while it fetches a
 * token for both, has no links for the loop. */
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
            objects_look();
        }
    }
    return rc;
}

/* After a close, every connection's end and the object's end come in time. */
static void closing_check(void) {
    if (run.closing_ms == 0) {
        return;
    }
    if (!run.over && !run.unpolled[POLLED_STREAM] &&
        run_present_ms() > run.closing_ms + CLOSING_MS) {
        run_fail("no end after the close");
    }
    for (int i = 0; i < PLAN_CLIENTS && run.over; i++) {
        if (run.exchange.links[i].heard.open) {
            run_fail("no event for a connection's end");
        }
    }
}

void run_until(uint64_t until_ms) {
    if (until_ms >= run_ms() && !run.failed) {
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

/* Closes the object, or wipes it at once. */
static void object_close(bool wipes) {
    if (wipes) {
        plan_object_wipe(&run.object);
        run.over = true;
        memset(run.owed_ms, 0, sizeof run.owed_ms);
    } else {
        states_call(STATES_CLOSE);
        plan_object_close(&run.object);
        states_call(STATES_STEP);
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

/* Unsubscribes or subscribes a book or another channel, maybe before the
 * service knows of the last change. */
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

/* Replaces the credentials: the client may make all requests again at once. */
static void object_renew(void) {
    struct service *s = &run.exchange.service;

    run.attempts = s->connects.count = s->tokens.count = s->upgrades.count = 0;
    states_call(STATES_REPLACED);
    plan_object_renew(&run.object);
    run_until(run_ms());
    states_call(STATES_STEP);
}

/* Makes a call that a program may make at any time. A long plan does not
 * close. */
static void calls_make(void) {
    unsigned m = exchange_pick(&run.exchange, run.plan.markets);

    if (run.over) {
        object_begin();
        return;
    }
    switch (exchange_pick(&run.exchange, run.plan.stays ? 10 : 12)) {
    case 0:
    case 1: (void)plan_object_resync(&run.object, m); break;
    case 2: (void)plan_object_list(&run.object); break;
    case 3: object_renew(); break;
    case 4:
    case 5:
        if (run.object.paired) {
            (void)mst_pair_rotate(&run.object.pair);
        }
        break;
    case 10: object_close(false); break;
    case 11: object_close(true); break;
    default: wishes_change(m);
    }
}

/* Stops polling objects for a while, or polls them again. */
static void objects_leave(void) {
    for (unsigned i = 0; i < POLLED; i++) {
        if (exchange_happens(&run.exchange, FAULT_UNPOLLED)) {
            run_leave(i);
        } else {
            run_return(i);
        }
    }
}

void run_play(void) {
    uint64_t end_ms = run.exchange.begin_ms + run.plan.length_ms;

    while (run_ms() < end_ms && !run.failed) {
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
            run_away(run.plan.away_ms);
        }
    }
}

/* True if everything is subscribed, live and without doubt: in hot standby on
 * both connections. */
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

bool run_is_well(void) {
    return is_put_well() && (run.unpolled[POLLED_STREAM] || is_stream_well());
}

void run_unwell(const char *what) {
    struct text text = {0};
    const struct exchange *x = &run.exchange;

    for (int i = 0; i < (run.object.paired ? 2 : 1); i++) {
        const struct mst_client *c = run.object.paired
                                         ? &run.object.pair.clients[i]
                                         : &run.object.client;
        text_add(&text, "%s, the connection %s; ",
                 mst_state_name(mst_link_state(&c->link)),
                 exchange_has(x, i) ? "has what it should" : "does not");
    }
    text_add(&text, "addresses %s\n", is_put_well() ? "well" : "not well");
    run_books_note(&text);
    run_fail("%s: %s", what, text_get(&text));
    text_free(&text);
}

/* Polls objects again, except for one that may stay unpolled. */
static void objects_return(void) {
    bool leaves = run.plan.leaves && run.closing_ms == 0 && !run.over;

    if (!leaves || run.unpolled[POLLED_PUT]) {
        run_return(POLLED_STREAM);
    }
    if (!leaves) {
        run_return(POLLED_PUT);
    }
}

void run_behave(void) {
    if (run.told) {
        run_note("the service behaves");
    }
    exchange_behave(&run.exchange);
    objects_return();
    if (run.closing_ms > 0) {
        run_until(run_ms() + CLOSING_MS + 1);
    }
    if (run.over) {
        object_begin();
    }
    wishes_make();
}

void run_second(void) {
    if (!is_put_well() && !run.put.under_way && run_ms() >= run.put.back_ms) {
        plan_put_request(&run.put);
    }
    run_until(run_ms() + PLAN_SECOND);
}

void run_end(void) {
    run_return(POLLED_STREAM);
    run_return(POLLED_PUT);
    object_close(false);
    run_until(run_ms() + CLOSING_MS + 1);
    exchange_end(&run.exchange);
}
