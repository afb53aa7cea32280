/*
 * Whatever the service does for a while, and whatever the caller does:
 *
 * - once the service behaves, everything wished for is subscribed and live
 *   within a bound, and a request for an address comes through;
 * - at no moment is a book live and without a flag though a message has come
 *   that tells otherwise, level by level (plan_model.c);
 * - no execution is lost without being counted (plan_heard.c);
 * - every request for an address ends in exactly one event (plan_put.c).
 *
 * The caller has a client, or a pair that rotates or is in hot standby, and a
 * transfer beside it. Plans are drawn from seeds (plan.h).
 *
 * PLANS: how many plans; PLANS_SEED: the first one's seed. One plan alone is
 * told with all that happens.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "plan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

/* Meanwhile, and always: so many attempts of all links in a row take so long at
 * least, and requests are apart. */
#define ATTEMPTS 64
#define ATTEMPTS_MS (ATTEMPTS * 1000u)
#define GAP_MS 1000u

#define DOUBTS ~(unsigned)(MST_BOOK_CROSSED | MST_BOOK_THIN)

/* What the tops of a market have said of its book. */
struct tops {
    unsigned disagreements;
    int64_t since_ns;
};

static struct {
    struct plan plan;
    struct mst_mock mock;
    struct mst_port port;
    int (*recv)(void *context, int link, void *data, size_t len);
    struct exchange exchange;
    struct plan_object object;
    struct plan_put put;
    uint64_t closing_ms;       /* since when the object closes, or 0 */
    bool over;                 /* the last poll said so */
    bool wished[PLAN_MARKETS]; /* for the market's book */
    bool listed[MST_MOCK_LINKS][PLAN_MARKETS + 1];
    struct tops tops[PLAN_MARKETS + 1];
    uint64_t attempts, attempts_ms[ATTEMPTS]; /* how many, and when */
    uint64_t request_ms;                      /* of the last, or 0 */
    bool failed, told;
    /* Of all plans. */
    uint64_t events, live, changes, closed;
    uint64_t recover_ms, recover_most_ms, recover_most_seed;
} run;

static uint64_t now_ms(void) {
    return mst_mock_elapsed(&run.mock);
}

__attribute__((format(printf, 1, 2))) static void note(const char *format,
                                                       ...) {
    va_list args;

    printf("%9" PRIu64 ".%03u  ", now_ms() / 1000, (unsigned)(now_ms() % 1000));
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

__attribute__((format(printf, 1, 2))) static void plan_fail(const char *format,
                                                            ...) {
    struct text text = {0};
    char what[400];
    va_list args;

    if (run.failed) {
        return;
    }
    run.failed = true;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    plan_describe(&run.plan, &text);
    expect_failed("PLANS_SEED=%" PRIu64 " PLANS=1, at %" PRIu64 " ms: %s\n%s",
                  run.plan.seed, now_ms(), what, text_get(&text));
    text_free(&text);
}

/* ---- what is always so ---- */

/* The book of a market that the caller sees, or NULL. */
static struct mst_book *shown(unsigned market) {
    return run.object.paired
               ? mst_pair_book(&run.object.pair, plan_markets[market])
               : &run.object.books[0][market];
}

static bool is_live(const struct mst_book *book) {
    return book != NULL && mst_book_state(book) == MST_BOOK_LIVE;
}

static bool is_sure(const struct mst_book *book) {
    return is_live(book) && (mst_book_flags(book) & DOUBTS) == 0;
}

/* A live book shows what can be known by the connection that feeds it. */
static void book_check(unsigned market) {
    const struct mst_book *book = shown(market);
    char text[300] = "it is live without a connection";
    bool good = false;

    if (!is_sure(book)) {
        return;
    }
    for (int i = 0; i < MST_MOCK_LINKS && !good; i++) {
        const struct plan_link *l = &run.exchange.links[i];
        good = l->client &&
               (plan_object_has_one_book(&run.object, market) ||
                book == &run.object.books[i][market]) &&
               plan_known_check(&l->known[market], market, book, text,
                                sizeof text);
    }
    run.live++;
    if (!good) {
        plan_fail("%s", text);
    }
}

static void books_check(void) {
    for (unsigned m = 0; m < run.plan.markets && !run.failed; m++) {
        book_check(m);
    }
}

static unsigned market_of(const char *name) {
    unsigned m = 0;

    while (m < run.plan.markets && strcmp(name, plan_markets[m]) != 0) {
        m++;
    }
    return m;
}

/* Does a side of a book contradict the best level of a message? */
static bool side_disagrees(const struct mst_book *book, enum mst_side side,
                           bool has, const struct mst_level *best) {
    const struct mst_level *level = mst_book_level(book, side, 0);
    struct mst_decimal horizon;

    if (level == NULL) {
        return has && !mst_book_horizon(book, side, &horizon);
    }
    return !has ||
           mst_decimal_cmp(mst_level_price(level), mst_level_price(best)) !=
               0 ||
           mst_decimal_cmp(mst_level_amount(level), mst_level_amount(best)) !=
               0;
}

/* A book that the top of book has contradicted for long enough is in doubt. */
static void top_check(const struct mst_top *top) {
    unsigned m = market_of(top->market);
    const struct mst_book *book = m < run.plan.markets ? shown(m) : NULL;
    struct tops *t = &run.tops[m];

    if (m == run.plan.markets) {
        return;
    }
    if (!is_live(book) ||
        (!side_disagrees(book, MST_BID, top->has_bid, &top->bid) &&
         !side_disagrees(book, MST_ASK, top->has_ask, &top->ask))) {
        t->disagreements = 0;
        return;
    }
    if (top->time_ns + PLAN_MS_NS <= mst_book_time(book)) {
        return; /* of a time that the book has left behind */
    }
    if (t->disagreements++ == 0) {
        t->since_ns = top->time_ns;
    }
    if (t->disagreements >= MST_DISAGREEMENTS &&
        top->time_ns - t->since_ns >= MST_DISAGREEMENT_MS * PLAN_MS_NS &&
        (mst_book_flags(book) & DOUBTS) == 0) {
        plan_fail("%s disagrees with the top of book, and is not in doubt",
                  top->market);
    }
}

static void books_note(struct text *text) {
    for (unsigned m = 0; m < run.plan.markets; m++) {
        const struct mst_book *book = shown(m);
        if (book == NULL) {
            text_add(text, "             %s has no book\n", plan_markets[m]);
            continue;
        }
        text_add(text, "             %s %s, %s, flags %u, %zu | %zu\n",
                 plan_markets[m], mst_book_state_name(mst_book_state(book)),
                 mst_book_reason_name(mst_book_reason(book)),
                 mst_book_flags(book), mst_book_depth(book, MST_BID),
                 mst_book_depth(book, MST_ASK));
    }
}

static void event_note(const struct mst_event *event) {
    struct text text = {0};

    if (event->type == MST_EVENT_OPEN) {
        text_add(&text, "open\n");
    } else if (event->type == MST_EVENT_CLOSED) {
        text_add(&text, "closed %s in %s, \"%s\", again in %u ms\n",
                 error_name(event->as.failure.error),
                 mst_state_name(event->as.failure.stage),
                 event->as.failure.text, event->as.failure.retry_ms);
    } else {
        record_event(&text, event);
    }
    books_note(&text);
    note("link %d event %s", event->link, text_get(&text));
    text_free(&text);
}

/* The client begins a market's book anew, or all books. */
static void restart(int link, unsigned market) {
    for (unsigned m = 0; m < run.plan.markets; m++) {
        if (m == market || market == run.plan.markets) {
            plan_known_restart(&run.exchange.links[link].known[m]);
        }
    }
}

/* What an answer means for the books: what was unsubscribed, or is not in a
 * list, is begun anew. */
static void answer_note(const struct mst_event *event) {
    bool *listed = run.listed[event->link];

    if (event->type == MST_EVENT_RESPONSE) {
        bool list = event->as.response.action == MST_SUBSCRIPTION_LIST;
        for (unsigned m = 0; m < run.plan.markets && list; m++) {
            if (!listed[m]) {
                restart(event->link, m);
            }
            listed[m] = false;
        }
    } else if (event->as.entry.action == MST_UNSUBSCRIBE) {
        restart(event->link, market_of(event->as.entry.market));
    } else if (event->as.entry.action == MST_SUBSCRIPTION_LIST &&
               event->as.entry.channel == MST_MARKET_DATA) {
        listed[market_of(event->as.entry.market)] = true;
    }
}

/* Another client leads: what its books are compared with begins anew, and so do
 * the books that follow it. */
static void leader_note(void) {
    run.changes++;
    memset(run.tops, 0, sizeof run.tops);
    for (unsigned m = 0; m < run.plan.markets; m++) {
        for (int i = 0;
             i < MST_MOCK_LINKS && plan_object_has_one_book(&run.object, m);
             i++) {
            plan_known_wish(&run.exchange.links[i].known[m]);
        }
    }
    books_check();
}

/* What the caller was told otherwise. */
static void heard_check(void) {
    if (run.exchange.wrong != NULL) {
        plan_fail("%s", run.exchange.wrong);
    }
}

/* The caller does not poll for a while. */
static void away(uint32_t most_ms) {
    uint32_t ms = exchange_pick(&run.exchange, most_ms);

    plan_put_away(&run.put, ms);
    mst_mock_advance(&run.mock, ms);
}

static bool on_event(void *context, const struct mst_event *event) {
    (void)context;
    run.events++;
    if (event->link == PLAN_PUT_LINK) {
        plan_put_event(&run.put, event);
    } else {
        exchange_event(&run.exchange, event);
    }
    if (run.told) {
        event_note(event);
    }
    switch (event->type) {
    case MST_EVENT_PART:
        if (market_of(event->as.part.market) < run.plan.markets) {
            unsigned m = market_of(event->as.part.market);
            book_check(m);
            if (event->as.part.snapshot) {
                run.tops[m].disagreements = 0;
            }
        }
        break;
    case MST_EVENT_TOP: top_check(&event->as.top); break;
    case MST_EVENT_ENTRY:
    case MST_EVENT_RESPONSE: answer_note(event); break;
    case MST_EVENT_ERROR:
        restart(event->link, run.plan.markets);
        books_check();
        break;
    case MST_EVENT_CLOSED: books_check(); break;
    case MST_EVENT_LEADER: leader_note(); break;
    default: break;
    }
    heard_check();
    /* A slow caller is busy with the event for a while. */
    if (exchange_happens(&run.exchange, FAULT_SLOW_CALLER) &&
        exchange_pick(&run.exchange, 16) == 0) {
        away(20000);
    }
    return !run.failed;
}

/* Nothing is asked for again and again. */
static void storm_check(const struct mst_trace *trace) {
    if (trace->kind == MST_TRACE_REQUEST) {
        if (run.request_ms != 0 && now_ms() < run.request_ms + GAP_MS) {
            plan_fail("a request %u ms after another one",
                      (unsigned)(now_ms() - run.request_ms));
        }
        run.request_ms = now_ms();
    } else if (trace->kind == MST_TRACE_STATE &&
               trace->state == MST_STATE_RESOLVE) {
        uint64_t *at_ms = &run.attempts_ms[run.attempts++ % ATTEMPTS];
        if (run.attempts > ATTEMPTS && now_ms() < *at_ms + ATTEMPTS_MS) {
            plan_fail("%u attempts in %u ms", ATTEMPTS,
                      (unsigned)(now_ms() - *at_ms));
        }
        *at_ms = now_ms();
    }
}

static void on_trace(void *context, const struct mst_trace *trace) {
    (void)context;
    exchange_trace(&run.exchange, trace);
    storm_check(trace);
    for (unsigned m = 0; m < run.plan.markets; m++) {
        if (trace->kind == MST_TRACE_REQUEST &&
            strcmp(trace->text, "subscribe") == 0) {
            plan_known_ask(&run.exchange.links[trace->link].known[m]);
        }
    }
    if (!run.told || trace->kind >= MST_TRACE_OPEN) {
        return;
    }
    note("link %d: kind %d, %s to %s, %s, %" PRId64 " %s", trace->link,
         trace->kind, mst_state_name(trace->from), mst_state_name(trace->state),
         trace->error != 0 ? error_name(trace->error) : "-", trace->value,
         trace->text != NULL ? trace->text : "");
}

/* ---- a plan ---- */

static void wish(unsigned market) {
    int rc = plan_object_subscribe(&run.object, MST_MARKET_DATA, market);

    run.wished[market] = rc == 0 || rc == MST_ERR_EXISTS;
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
    memset(run.tops, 0, sizeof run.tops);
    memset(run.listed, 0, sizeof run.listed);
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

static void run_begin(uint64_t seed) {
    struct mst_config *config = &run.plan.config;

    run.failed = false;
    run.attempts = run.request_ms = 0;
    run.exchange.note = run.told ? note : NULL;
    plan_begin(&run.plan, seed, &run.mock, &run.port, &run.exchange);
    run.recv = run.port.recv;
    run.port.recv = reading;
    config->flags |= MST_TRACE_ALL;
    config->trace = on_trace;
    plan_object_prepare(&run.object, &run.plan);
    object_begin();
    plan_put_begin(&run.put, &run.object, &run.exchange, &run.port);
}

static int poll_client(void *object, struct mst_event *event) {
    int rc = mst_poll(object, event);

    run.over = rc < 0;
    return rc;
}

static int poll_pair(void *object, struct mst_event *event) {
    int rc = mst_pair_poll(object, event);

    run.over = rc < 0;
    return rc;
}

static int poll_put(void *object, struct mst_event *event) {
    return mst_transfer_poll(object, event);
}

/* A caller that closes is told of each end, and that all is over, in time. */
static void closing_check(void) {
    if (run.closing_ms == 0) {
        return;
    }
    if (!run.over && now_ms() > run.closing_ms + CLOSING_MS) {
        plan_fail("it is closed, and does not end");
    }
    for (int i = 0; i < PLAN_CLIENTS && run.over; i++) {
        if (run.exchange.links[i].heard.open) {
            plan_fail("it is over, and of the end the caller is not told");
        }
    }
}

static void run_until(uint64_t until_ms) {
    const struct mst_mock_object objects[] = {
        run.object.paired
            ? (struct mst_mock_object){poll_pair,
                                       &run.object.pair,
                                       {&run.object.pair.clients[0].link,
                                        &run.object.pair.clients[1].link}}
            : (struct mst_mock_object){poll_client,
                                       &run.object.client,
                                       {&run.object.client.link}},
        {poll_put, &run.put.transfer, {&run.put.transfer.link}}};

    if (until_ms > now_ms() && !run.failed) {
        mst_mock_run_objects(&run.mock, objects, COUNT(objects),
                             (uint32_t)(until_ms - now_ms()), on_event, NULL);
        books_check();
        exchange_rest(&run.exchange);
        plan_put_rest(&run.put);
        closing_check();
        heard_check();
    }
}

/* The caller closes, or is gone at once. */
static void object_close(bool wipes) {
    if (wipes) {
        plan_object_wipe(&run.object);
        run.over = true;
    } else {
        plan_object_close(&run.object);
        run.closing_ms = now_ms() > 0 ? now_ms() : 1;
    }
    run.closed++;
    exchange_release(&run.exchange, wipes);
    memset(run.wished, 0, sizeof run.wished);
    books_check();
}

static void unwish(unsigned market) {
    (void)plan_object_unsubscribe(&run.object, MST_MARKET_DATA, market);
    run.wished[market] = false;
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

static void plan_play(void) {
    while (now_ms() < run.plan.length_ms && !run.failed) {
        run_until(exchange_next_ms(&run.exchange));
        if (exchange_happens(&run.exchange, FAULT_CALLS)) {
            calls_make();
        }
        if (run.plan.addresses && exchange_pick(&run.exchange, 2) == 0) {
            plan_put_call(&run.put);
        }
        if (exchange_happens(&run.exchange, FAULT_SLOW_CALLER)) {
            away(60000);
        }
    }
}

/* Everything is subscribed, live and without doubt: in hot standby by both
 * connections, but for books of which there is only one. */
static bool is_well(void) {
    const struct exchange *x = &run.exchange;
    bool both = run.plan.standby && run.plan.only_one == 0;
    bool well = both ? exchange_has(x, 0) && exchange_has(x, 1)
                     : exchange_has(x, 0) || exchange_has(x, 1);

    well &= !run.plan.addresses || run.put.well;
    for (unsigned m = 0; m < run.plan.markets; m++) {
        well &=
            is_sure(shown(m)) && (!both || (is_sure(&run.object.books[0][m]) &&
                                            is_sure(&run.object.books[1][m])));
    }
    return well;
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
    text_add(&text, "addresses %s\n",
             !run.plan.addresses || run.put.well ? "well" : "not well");
    books_note(&text);
    plan_fail("not well in time: %s", text_get(&text));
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
    object_close(false);
    run_until(now_ms() + CLOSING_MS + 1);
}

static void plan_recover(void) {
    uint64_t begin_ms, end_ms;

    if (run.told) {
        note("the service behaves");
    }
    exchange_behave(&run.exchange);
    if (run.closing_ms > 0) {
        run_until(now_ms() + CLOSING_MS + 1);
    }
    if (run.over) {
        object_begin();
    }
    begin_ms = now_ms();
    end_ms = begin_ms + BOUND_MS;
    wishes_make();
    while (!run.failed && !is_well() && now_ms() < end_ms) {
        if (run.plan.addresses && !run.put.under_way && !run.put.well &&
            now_ms() >= run.put.back_ms) {
            plan_put_request(&run.put);
        }
        run_until(now_ms() + PLAN_SECOND);
        if (now_ms() >= end_ms && is_drifting()) {
            end_ms = begin_ms + BOUND_MS + DRIFT_MS;
        }
    }
    if (!run.failed && !is_well()) {
        unwell_fail();
    }
    begin_ms = now_ms() - begin_ms;
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
        plan_fail("what the service found wrong: %s",
                  run.exchange.service.wrong);
    }
    if (run.mock.broken != NULL) {
        plan_fail("what the port found wrong: %s", run.mock.broken);
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

static void test_plans(void **state) {
    uint64_t plans = setting("PLANS", PLANS), seed = setting("PLANS_SEED", 1);
    uint64_t done = 0;
    unsigned failures = 0;

    (void)state;
    run.told = plans == 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (; done < plans && failures < PLANS_FAILURES; done++) {
        failures += !plan_test(seed + done);
    }
    totals_print(seed, plans, done, failures);
    expect_int("plans that failed", 0, failures);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        TEST(test_plans),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
