/*
 * What must always be true while a plan is played, whatever the service and the
 * caller do: see plan_run.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "plan_run.h"

/* The shortest time of PLAN_ATTEMPTS attempts in a row by all links, and
 * between two requests. */
#define ATTEMPTS_MS (PLAN_ATTEMPTS * 1000u)
#define GAP_MS 1000u

/* The client reads pending data for up to READ_FIRST_MS before a timeout
 * counts. Any action may be LATE_MS late. */
#define READ_FIRST_MS 1000u
#define LATE_MS 1000u

/* The longest wait of an object. */
#define SLEEP_MOST_MS 310000u

/* The time for an event that does not delay the client's timeouts: 100 ms
 * between two polls of a link, with three links polled in turn. */
#define EVENT_MS (100u / 3)

#define DOUBTS ~(unsigned)(MST_BOOK_CROSSED | MST_BOOK_THIN)

struct plan_run run;

uint64_t run_ms(void) {
    return mst_mock_elapsed(&run.mock);
}

void run_note(const char *format, ...) {
    va_list args;

    printf("%9" PRIu64 ".%03u  ", run_ms() / 1000, (unsigned)(run_ms() % 1000));
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

void run_fail(const char *format, ...) {
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
    expect_failed("%s=%" PRIu64 ", at %" PRIu64 " ms: %s\n%s",
                  run.plan.stays ? "YEAR_SEED" : "PLANS=1 PLANS_SEED",
                  run.plan.seed, run_ms(), what, text_get(&text));
    text_free(&text);
}

struct mst_book *run_shown(unsigned market) {
    return run.object.paired
               ? mst_pair_book(&run.object.pair, plan_markets[market])
               : &run.object.books[0][market];
}

static bool is_live(const struct mst_book *book) {
    return book != NULL && mst_book_state(book) == MST_BOOK_LIVE;
}

bool run_is_sure(const struct mst_book *book) {
    return is_live(book) && (mst_book_flags(book) & DOUBTS) == 0;
}

/* A live book must match what is known from the connection that feeds it. */
static void book_check(unsigned market) {
    const struct mst_book *book = run_shown(market);
    char text[300] = "live without a connection";
    bool good = false;

    if (!run_is_sure(book)) {
        return;
    }
    for (int i = 0; i < PLAN_CLIENTS && !good; i++) {
        const struct plan_link *l = &run.exchange.links[i];
        bool feeds = !run.object.paired || book == &run.object.books[i][market];
        good = l->client && feeds &&
               plan_known_check(&l->known[market], market, book, text,
                                sizeof text);
    }
    run.live++;
    if (!good) {
        run_fail("%s", text);
    }
}

void run_books_check(void) {
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

/* True if a side of a book contradicts the best level of a message. */
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

/* A book that the top of book has contradicted long enough must be in doubt. */
static void top_check(const struct mst_top *top) {
    unsigned m = market_of(top->market);
    const struct mst_book *book = m < run.plan.markets ? run_shown(m) : NULL;
    struct plan_tops *t = &run.tops[m];

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
        return; /* older than the book */
    }
    if (t->disagreements++ == 0) {
        t->since_ns = top->time_ns;
    }
    if (t->disagreements >= MST_DISAGREEMENTS &&
        top->time_ns - t->since_ns >= MST_DISAGREEMENT_MS * PLAN_MS_NS &&
        (mst_book_flags(book) & DOUBTS) == 0) {
        run_fail("%s disagrees with the top of book, and is not in doubt",
                 top->market);
    }
}

void run_books_note(struct text *text) {
    for (unsigned m = 0; m < run.plan.markets; m++) {
        const struct mst_book *book = run_shown(m);
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
    run_books_note(&text);
    run_note("link %d event %s", event->link, text_get(&text));
    text_free(&text);
}

/* A stale book has forgotten its messages and starts again with the next one. A
 * book that is being built has not, whatever it shows. */
static void restarts_note(int link) {
    for (unsigned m = 0; m < run.plan.markets; m++) {
        int of = run.object.paired ? link : 0;
        if (run.object.books[of][m].state == MST_BOOK_STALE) {
            plan_known_restart(&run.exchange.links[link].known[m]);
        }
    }
}

/* Another client leads: the comparison with tops of book starts again. */
static void leader_note(void) {
    run.changes++;
    memset(run.tops, 0, sizeof run.tops);
    run_books_check();
}

void run_heard_check(void) {
    if (run.exchange.wrong != NULL) {
        run_fail("%s", run.exchange.wrong);
    }
    if (run.exchange.service.core.wrong[0] != '\0') {
        run_fail("what the service found wrong: %s",
                 run.exchange.service.core.wrong);
    }
    if (run.mock.broken != NULL) {
        run_fail("what the port found wrong: %s", run.mock.broken);
    }
}

uint64_t run_present_ms(void) {
    return run_ms() - run.away_ms + 1;
}

/* Lets time pass. What exceeds counts_ms counts as the caller's absence. */
static void pass(uint32_t ms, uint32_t counts_ms) {
    uint32_t away_ms = ms > counts_ms ? ms - counts_ms : 0;

    run.away_ms += away_ms;
    plan_put_away(&run.put, away_ms);
    mst_mock_advance(&run.mock, ms);
}

void run_away(uint32_t most_ms) {
    pass(exchange_pick(&run.exchange, most_ms), 0);
}

void run_leave(unsigned object) {
    if (!run.unpolled[object]) {
        run.unpolled[object] = true;
        run.unpolled_ms[object] = run_present_ms();
        if (run.told) {
            run_note("object %u is not polled", object);
        }
    }
}

/* What the object owes, it owes from now on. */
void run_return(unsigned object) {
    uint64_t ms = run_present_ms() - run.unpolled_ms[object];

    if (!run.unpolled[object]) {
        return;
    }
    run.unpolled[object] = false;
    if (object == POLLED_PUT) {
        plan_put_away(&run.put, (uint32_t)ms);
        return;
    }
    run.closing_ms += run.closing_ms > 0 ? ms : 0;
    for (unsigned i = 0; i < PLAN_CLIENTS * OWED; i++) {
        uint64_t *since_ms = &run.owed_ms[i / OWED][i % OWED];
        *since_ms = *since_ms > 0 ? run_present_ms() : 0;
    }
}

/* ---- what is owed ---- */

/* Returns the time from which a request is owed. One may be outstanding
 * although it seems to have a result. */
static uint64_t request_since_ms(int link, bool sure) {
    const struct mst_config *g = &run.plan.config;

    return run_present_ms() + (sure && !run.exchange.links[link].blamed
                                   ? 0
                                   : g->answer_ms + READ_FIRST_MS);
}

void run_wish(bool wished) {
    uint64_t *since_ms = &run.owed_ms[0][OWED_REQUEST];
    bool open = !run.object.paired &&
                mst_link_state(&run.object.client.link) == MST_STATE_OPEN;

    *since_ms = !wished || !open ? 0
                : *since_ms > 0  ? *since_ms
                                 : request_since_ms(0, true);
}

/* True for a blamed connection of a pair: not every result is an event. */
static bool is_hidden(int link) {
    return run.object.paired && run.exchange.links[link].blamed;
}

static enum mst_action action_of(const char *text) {
    return strcmp(text, "subscribe") == 0     ? MST_SUBSCRIBE
           : strcmp(text, "unsubscribe") == 0 ? MST_UNSUBSCRIBE
                                              : MST_SUBSCRIPTION_LIST;
}

/* True if it is too early to give up the last request. */
static bool is_early(int link) {
    return run_ms() < run.asked_ms[link] + run.plan.config.answer_ms;
}

/* Owed are: a request for a new subscription; a request's bytes and its result;
 * a list every audit_ms; a ping after a silence. */
static void owed_trace(const struct mst_trace *trace) {
    uint64_t *since_ms = run.owed_ms[trace->link], now_ms = run_present_ms();

    switch (trace->kind) {
    case MST_TRACE_STATE:
        memset(since_ms, 0, sizeof run.owed_ms[0]);
        if (trace->state == MST_STATE_OPEN) {
            since_ms[OWED_AUDIT] = since_ms[OWED_PING] = now_ms;
            run_wish(memchr(run.wished, true, sizeof run.wished) != NULL);
        }
        break;
    case MST_TRACE_REQUEST:
        if (since_ms[OWED_RESULT] > 0 && !is_hidden(trace->link) &&
            is_early(trace->link)) {
            run_fail("link %d: a request while another is outstanding",
                     trace->link);
        }
        since_ms[OWED_REQUEST] = 0;
        since_ms[OWED_BYTES] = since_ms[OWED_RESULT] = now_ms;
        run.asked_ms[trace->link] = run_ms();
        run.asked[trace->link] = action_of(trace->text);
        if (run.asked[trace->link] == MST_SUBSCRIPTION_LIST) {
            since_ms[OWED_AUDIT] = now_ms;
        }
        break;
    case MST_TRACE_OUT: since_ms[OWED_BYTES] = since_ms[OWED_PING] = 0; break;
    case MST_TRACE_IN:
        /* During a slow frame one ping is enough. */
        since_ms[OWED_PING] = trace->state == MST_STATE_OPEN &&
                                      run.exchange.strength[FAULT_DRIP] == 0
                                  ? now_ms
                                  : 0;
        break;
    default: break;
    }
}

/* Takes in a result, or an event that may be one. */
static void owed_event(const struct mst_event *event) {
    uint64_t *since_ms = run.owed_ms[event->link];
    bool response = event->type == MST_EVENT_RESPONSE;

    if (!response && event->type != MST_EVENT_ERROR &&
        event->type != MST_EVENT_SERVICE_ERROR) {
        return;
    }
    if (response && event->as.response.action != run.asked[event->link]) {
        return; /* late, or not requested */
    }
    since_ms[OWED_RESULT] = 0;
    if (response && event->as.response.failed > 0) {
        since_ms[OWED_REQUEST] = 0; /* it may have been refused */
    } else if (since_ms[OWED_REQUEST] > 0) {
        since_ms[OWED_REQUEST] = request_since_ms(event->link, response);
    }
}

/* A request must not time out early. This event may come after the next
 * request. */
static void given_up_check(const struct mst_event *event) {
    if (event->as.failure.error == MST_ERR_ANSWER && is_early(event->link) &&
        run_ms() > run.asked_ms[event->link]) {
        run_fail("link %d: a request is given up after %u ms", event->link,
                 (unsigned)(run_ms() - run.asked_ms[event->link]));
    }
}

void run_owed_check(void) {
    const struct mst_config *g = &run.plan.config;
    const struct {
        uint32_t most_ms;
        const char *what;
    } owed[OWED] = {
        [OWED_REQUEST] = {GAP_MS, "a subscription is not requested"},
        [OWED_BYTES] = {0, "a request is not sent"},
        [OWED_RESULT] = {g->answer_ms + READ_FIRST_MS,
                         "a request has no result"},
        /* Both links of a pair share the gaps between requests. */
        [OWED_AUDIT] = {(g->audit_ms + g->answer_ms + READ_FIRST_MS + GAP_MS) *
                            run.plan.links,
                        "a list is not requested"},
        [OWED_PING] = {g->ping_ms, "nothing is sent after a silence"},
    };
    bool stalls = run.exchange.strength[FAULT_STALL] > 0;

    for (unsigned i = 0; i < PLAN_CLIENTS && !run.unpolled[POLLED_STREAM];
         i++) {
        for (unsigned k = 0; k < OWED; k++) {
            uint64_t *since_ms = &run.owed_ms[i][k];
            /* The next request waits for pending output. */
            bool sends = k != OWED_RESULT;
            bool hidden = k == OWED_RESULT && is_hidden((int)i);
            bool waits = k == OWED_REQUEST && run.owed_ms[i][OWED_RESULT] > 0;
            if (*since_ms > 0 && ((sends && stalls) || hidden || waits)) {
                *since_ms = run_present_ms();
            } else if (*since_ms > 0 && run_present_ms() > *since_ms +
                                                               owed[k].most_ms +
                                                               LATE_MS) {
                run_fail("link %u: %s", i, owed[k].what);
            }
        }
    }
}

void run_sleep_check(const struct mst_link *link) {
    uint32_t ms = mst_next_deadline_ms(link);

    if (link->wanted && mst_link_state(link) != MST_STATE_OFF &&
        ms > SLEEP_MOST_MS) {
        run_fail("link %d lets the caller sleep for %u ms", link->config.link,
                 ms);
    }
}

bool run_event(void *context, const struct mst_event *event) {
    (void)context;
    run.events++;
    if (event->link == PLAN_PUT_LINK) {
        plan_put_event(&run.put, event);
    } else {
        exchange_event(&run.exchange, event);
        owed_event(event);
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
    case MST_EVENT_ERROR:
    case MST_EVENT_CLOSED:
        given_up_check(event);
        run_books_check();
        break;
    case MST_EVENT_LEADER: leader_note(); break;
    default: break;
    }
    if (run.on_event != NULL) {
        run.on_event(event);
    }
    run_heard_check();
    pass(exchange_busy(&run.exchange), EVENT_MS);
    run_owed_check();
    /* A slow caller takes a while for the event. */
    if (exchange_happens(&run.exchange, FAULT_SLOW_CALLER) &&
        exchange_pick(&run.exchange, 16) == 0) {
        run_away(20000);
    }
    return !run.failed;
}

/* Attempts and requests must not come too fast. */
static void storm_check(const struct mst_trace *trace) {
    if (trace->kind == MST_TRACE_REQUEST) {
        if (run.request_ms != 0 && run_ms() < run.request_ms + GAP_MS) {
            run_fail("a request %u ms after another one",
                     (unsigned)(run_ms() - run.request_ms));
        }
        run.request_ms = run_ms();
    } else if (trace->kind == MST_TRACE_STATE &&
               trace->state == MST_STATE_RESOLVE) {
        uint64_t *at_ms = &run.attempts_ms[run.attempts++ % PLAN_ATTEMPTS];
        if (run.attempts > PLAN_ATTEMPTS && run_ms() < *at_ms + ATTEMPTS_MS) {
            run_fail("%u attempts in %u ms", PLAN_ATTEMPTS,
                     (unsigned)(run_ms() - *at_ms));
        }
        *at_ms = run_ms();
    }
}

void run_trace(void *context, const struct mst_trace *trace) {
    (void)context;
    if (trace->kind == MST_TRACE_IN) {
        restarts_note(trace->link);
    }
    states_trace(trace);
    exchange_trace(&run.exchange, trace);
    storm_check(trace);
    owed_trace(trace);
    for (unsigned m = 0; m < run.plan.markets; m++) {
        if (trace->kind == MST_TRACE_REQUEST &&
            strcmp(trace->text, "subscribe") == 0) {
            plan_known_ask(&run.exchange.links[trace->link].known[m]);
        }
    }
    if (!run.told || trace->kind >= MST_TRACE_OPEN) {
        return;
    }
    run_note("link %d: kind %d, %s to %s, %s, %" PRId64 " %s", trace->link,
             trace->kind, mst_state_name(trace->from),
             mst_state_name(trace->state),
             trace->error != 0 ? error_name(trace->error) : "-", trace->value,
             trace->text != NULL ? trace->text : "");
}
