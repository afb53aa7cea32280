/*
 * The market data of a service that acts on a plan: see plan.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "plan_private.h"

#define CHANGES_MOST (2 * PLAN_PRICES) /* in one update */

/* ---- time ---- */

int64_t exchange_time(struct exchange *x, enum plan_clock clock,
                      char text[MST_MOCK_TIME_LEN]) {
    int64_t ns = mst_mock_wall(x->mock) + x->offset_ns[clock];

    if (x->strength[FAULT_EQUAL] > 0) {
        ns -= ns % (5000 * PLAN_MS_NS);
    }
    if (x->plan->fine && exchange_happens(x, FAULT_FINE)) {
        ns += exchange_pick(x, 999999);
    } else if (x->plan->fine) {
        ns += (int64_t)(++x->serial % 900) * 1000;
    } else {
        ns -= ns % PLAN_MS_NS;
    }
    mst_mock_service_time(ns, x->plan->fine, text);
    return ns;
}

/* Returns a jump of a clock. */
static int64_t jump_ns(struct exchange *x) {
    static const int64_t jumps_ms[] = {0,    1,     50,     500,     1500,
                                       3000, 30000, 300000, 3600000, 86400000};
    int64_t ns = jumps_ms[exchange_pick(x, COUNT(jumps_ms))] * PLAN_MS_NS;

    ns += exchange_pick(x, 4) == 0 ? exchange_pick(x, 2000) * PLAN_MS_NS : 0;
    return exchange_pick(x, 2) == 0 ? ns : -ns;
}

void exchange_clocks(struct exchange *x) {
    if (exchange_happens(x, FAULT_CLOCK)) {
        int64_t ns = jump_ns(x);
        for (unsigned i = 0; i <= CLOCK_BEATS; i++) {
            x->offset_ns[i] = ns;
        }
        NOTE(x, "all times are off by %lld ms", (long long)(ns / PLAN_MS_NS));
    }
    for (unsigned i = 0; i <= CLOCK_BEATS; i++) {
        if (exchange_happens(x, FAULT_CLOCK_UPDATE + i)) {
            x->offset_ns[i] = jump_ns(x);
            NOTE(x, "clock %u is off by %lld ms", i,
                 (long long)(x->offset_ns[i] / PLAN_MS_NS));
        }
    }
    if (exchange_happens(x, FAULT_WALL)) {
        x->wall_ns = jump_ns(x) * (exchange_pick(x, 2) == 0 ? 10000 : 1);
        x->wall_unset = exchange_pick(x, 8) == 0;
        NOTE(x, "the caller's clock is off by %lld ms%s",
             (long long)(x->wall_ns / PLAN_MS_NS),
             x->wall_unset ? ", and not set" : "");
    }
}

/* ---- market data ---- */

static struct plan_writer writer(struct exchange *x) {
    return (struct plan_writer){.text = x->text,
                                .size = sizeof x->text,
                                .random = &x->random,
                                .odd = exchange_happens(x, FAULT_KEYS)};
}

void exchange_snapshot(struct exchange *x, int link, unsigned market,
                       uint32_t ms) {
    struct plan_writer w = writer(x);
    struct plan_message m = {.says = SAYS_SNAPSHOT,
                             .market = market,
                             .first = x->books[market].version,
                             .version = x->books[market].version};
    char time[MST_MOCK_TIME_LEN];

    m.time_ns = exchange_time(x, CLOCK_SNAPSHOTS, time);
    plan_write_snapshot(&w, market, time, &x->books[market]);
    if (exchange_happens(x, FAULT_BROKEN)) {
        x->links[link].blamed = true; /* the client may take it for an answer */
        m.says = SAYS_BROKEN;
        if (!plan_break(&w)) {
            exchange_send(x, link, w.text, w.len, 2, &m);
            return;
        }
    }
    exchange_send_later(x, link, w.text, w.len, &m, ms);
}

/* Returns a delay: a moment, a second or more. */
uint32_t exchange_delay(struct exchange *x, uint32_t most_ms) {
    static const uint32_t delays_ms[] = {3, 50, 1000, 3000, 10000, 600000};
    uint32_t ms = delays_ms[exchange_pick(x, COUNT(delays_ms))];

    return 1 + exchange_pick(x, ms < most_ms ? ms : most_ms);
}

/* Sends a written update or execution: correct or broken, late, or twice. */
static void written_send(struct exchange *x, int link, struct plan_writer *w,
                         struct plan_message m) {
    uint32_t ms = 0;

    if (exchange_happens(x, FAULT_BROKEN)) {
        x->links[link].blamed = true;
        m.says = m.says == SAYS_UPDATE ? SAYS_BROKEN : SAYS_BROKEN_EXECUTION;
        if (!plan_break(w)) {
            exchange_send(x, link, w->text, w->len, 2, &m);
            return;
        }
    }
    if (exchange_happens(x, FAULT_HELD)) {
        ms = exchange_delay(x, 20000);
    }
    exchange_send_later(x, link, w->text, w->len, &m, ms);
    if (exchange_happens(x, FAULT_AGAIN)) {
        exchange_send_later(x, link, w->text, w->len, &m,
                            exchange_pick(x, 2) * exchange_delay(x, 5000));
    }
}

/* Sends an update, or loses it. */
static void update_send(struct exchange *x, int link, struct plan_message m) {
    struct plan_writer w = writer(x);
    struct plan_change changes[CHANGES_MOST];
    char time[MST_MOCK_TIME_LEN];

    for (uint32_t v = m.first; v < m.version; v++) {
        changes[v - m.first] = *plan_change(&x->books[m.market], v + 1);
    }

    if (!exchange_happens(x, FAULT_LOST)) {
        m.time_ns = exchange_time(x, CLOCK_UPDATES, time);
        plan_write_update(&w, m.market, time, changes, m.version - m.first);
        written_send(x, link, &w, m);
    }
}

/* Sends the same execution on every connection that has subscribed. */
static void executions_send(struct exchange *x, unsigned market) {
    struct plan_message m = {.says = SAYS_EXECUTION,
                             .market = market,
                             .version = (uint32_t)++x->serial};
    char time[MST_MOCK_TIME_LEN];

    m.time_ns = exchange_time(x, CLOCK_UPDATES, time);
    for (int i = 0; i < PLAN_CLIENTS; i++) {
        const struct plan_link *l = &x->links[i];
        if (l->open && l->subscribed[MST_EXECUTION_DATA][market] &&
            !exchange_happens(x, FAULT_LOST)) {
            struct plan_writer w = writer(x);
            plan_write_execution(&w, market, time, m.version);
            written_send(x, i, &w, m);
        }
    }
}

static void top_send(struct exchange *x, int link, unsigned market) {
    struct plan_writer w = writer(x);
    char time[MST_MOCK_TIME_LEN];

    (void)exchange_time(x, CLOCK_TOPS, time);
    plan_write_top(&w, market, time, &x->books[market]);
    exchange_send(x, link, w.text, w.len, 1, NULL);
}

/* Draws a change: a bid below the middle or an ask above it, with
 * exceptions. */
static struct plan_change change_draw(struct exchange *x) {
    unsigned side = exchange_pick(x, 2);
    unsigned place = exchange_pick(x, 1 + x->plan->depth / 2);
    unsigned price = PLAN_PRICES / 2;

    if (exchange_pick(x, 100) == 0) {
        price = exchange_pick(x, PLAN_PRICES);
    } else {
        price = side == MST_BID ? price - 1 - place : price + place;
    }
    price = price < PLAN_PRICES ? price : PLAN_PRICES / 2;
    return (struct plan_change){
        (uint8_t)side, (uint8_t)price,
        (uint16_t)(exchange_pick(x, 5) < 2 ? 0 : 1 + exchange_pick(x, 999))};
}

/* Changes the true book, each price at most once. Returns false if nothing
 * changed. Sometimes an update of the changes has several parts. */
static bool book_change(struct exchange *x, struct plan_book *book) {
    uint32_t first = book->version;
    unsigned most = exchange_pick(x, 32) == 0 ? CHANGES_MOST : 4;

    for (unsigned i = 1 + exchange_pick(x, most); i > 0; i--) {
        struct plan_change c = change_draw(x);
        bool again = false;
        for (uint32_t v = first; v < book->version; v++) {
            const struct plan_change *other = plan_change(book, v + 1);
            again |= other->side == c.side && other->price == c.price;
        }
        if (!again) {
            book->changes[book->version++ % PLAN_CHANGES] = c;
            book->amounts[c.side][c.price] = c.amount;
        }
    }
    return book->version > first;
}

void exchange_feed(struct exchange *x, unsigned market) {
    struct plan_book *book = &x->books[market];
    struct plan_message m = {
        .says = SAYS_UPDATE, .market = market, .first = book->version};

    if (!book_change(x, book)) {
        return;
    }
    m.version = book->version;
    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        struct plan_link *l = &x->links[i];
        if (!l->open) {
            continue;
        }
        if (l->subscribed[MST_MARKET_DATA][market] ||
            exchange_happens(x, FAULT_UNASKED)) {
            update_send(x, i, m);
        }
        if (exchange_happens(x, FAULT_SNAPSHOT_UNASKED)) {
            exchange_snapshot(x, i, market,
                              exchange_pick(x, 2) * exchange_delay(x, 30000));
        }
        if (l->subscribed[MST_TOP_OF_BOOK][market]) {
            top_send(x, i, market);
        }
    }
    for (unsigned n = exchange_pick(x, 3); n > 0; n--) {
        executions_send(x, market);
    }
}

uint32_t exchange_busy(struct exchange *x) {
    static const char news[] = "{\"channel\":\"news\",\"payload\":{}}";
    uint32_t ready = x->strength[FAULT_BUSY] > 0 ? 1 + exchange_pick(x, 6) : 0;

    for (int i = 0; i < PLAN_CLIENTS; i++) {
        struct plan_link *l = &x->links[i];
        while (l->open && l->messages_len < ready && x->busy > 0) {
            unsigned market = exchange_pick(x, x->plan->markets);
            x->busy--;
            if (l->subscribed[MST_TOP_OF_BOOK][market] &&
                exchange_pick(x, 4) == 0) {
                top_send(x, i, market);
            } else if (!exchange_send(x, i, news, sizeof news - 1, 1, NULL)) {
                break;
            }
        }
    }
    return ready > 0 && x->busy > 0 ? x->event_ms : 0;
}

void exchange_books(struct exchange *x) {
    for (unsigned m = 0; m < x->plan->markets; m++) {
        struct plan_book *book = &x->books[m];
        book->version = 0;
        memset(book->amounts, 0, sizeof book->amounts);
        for (unsigned i = 0; i < x->plan->depth; i++) {
            struct plan_change c = change_draw(x);
            book->amounts[c.side][c.price] = c.amount;
        }
    }
}
