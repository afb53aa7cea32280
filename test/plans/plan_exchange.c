/*
 * The connections of a service that acts on a plan, built on the scripted one.
 * plan_feed.c has its market data, plan_requests.c its answers. See plan.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "plan_private.h"

#define BUSY_MESSAGES 4000 /* in one plan */

uint32_t exchange_pick(struct exchange *x, uint32_t n) {
    return random_below(&x->random, n);
}

bool exchange_happens(struct exchange *x, enum plan_fault fault) {
    return x->strength[fault] > 0 &&
           exchange_pick(x, 256) <= x->strength[fault];
}

static uint64_t now_ms(const struct exchange *x) {
    return mst_mock_elapsed(x->mock);
}

/* ---- bytes ---- */

static size_t exchange_write(void *context, int link, const void *data,
                             size_t len) {
    struct exchange *x = context;
    size_t taken = x->line.write(x->line.context, link, data, len);

    x->links[link].written += taken;
    return taken;
}

static void exchange_cut(void *context, int link, int error) {
    const struct exchange *x = context;

    x->line.end(x->line.context, link, error);
}

void exchange_link_end(struct exchange *x, int link) {
    int error = exchange_pick(x, 2) == 0 ? MST_ERR_RESET : MST_ERR_EOF;

    NOTE(x, "link %d is ended by the service", link);
    x->links[link].blamed = true;
    exchange_cut(x, link, error);
}

/* Sends only the first bytes of a message, then ends the connection. */
static void send_torn(struct exchange *x, int link, const char *text,
                      size_t len) {
    unsigned char head[10];
    size_t head_len = mst_mock_service_head(head, 0x81, len);

    service_write(&x->service, link, head, head_len);
    service_write(&x->service, link, text,
                  len > 0 ? exchange_pick(x, (uint32_t)len) : 0);
    exchange_link_end(x, link);
}

/* Sends a message in several frames, maybe with pings in between. */
static void send_frames(struct exchange *x, int link, const char *text,
                        size_t len) {
    unsigned opcode = 1;

    do {
        size_t part = 1 + exchange_pick(x, (uint32_t)len + 1);
        part = part < len ? part : len;
        service_link_frame(&x->service, link, part == len ? 0x80 : 0, opcode,
                           text, part);
        if (part < len && exchange_pick(x, 4) == 0) {
            service_link_frame(&x->service, link, 0x80, 9, "ping", 4);
        }
        text += part;
        len -= part;
        opcode = 0;
    } while (len > 0);
}

bool exchange_send(struct exchange *x, int link, const char *text, size_t len,
                   unsigned opcode, const struct plan_message *message) {
    struct plan_link *l = &x->links[link];
    struct plan_message m = {.says = SAYS_OTHER};

    if (!l->open || mst_mock_room(x->mock, link) == 0) {
        return false;
    }
    if (mst_mock_room(x->mock, link) < 2 * len + 1024 ||
        l->messages_len == PLAN_MESSAGES) {
        exchange_link_end(x, link); /* the client does not read */
        return false;
    }
    if (opcode == 1 && exchange_happens(x, FAULT_TORN)) {
        send_torn(x, link, text, len);
        return false;
    }
    if (opcode == 1 && exchange_happens(x, FAULT_FRAMES)) {
        send_frames(x, link, text, len);
    } else {
        service_link_frame(&x->service, link, 0x80, opcode, text, len);
    }
    NOTE(x, "link %d is sent %.*s", link, (int)len, text);
    if (x->service.core.links[link].close_sent && l->over == OVER_NOT) {
        l->over = OVER_CLOSED;
    }
    if (message != NULL) {
        m = *message;
    }
    if (m.says == SAYS_ANSWER && l->over != OVER_NOT) {
        m.says = SAYS_OTHER;
    }
    if (m.says >= SAYS_EXECUTION && l->over != OVER_NOT) {
        l->heard.lost += l->over == OVER_WRONG;
    } else {
        m.end = l->written;
        l->messages[(l->messages_at + l->messages_len++) % PLAN_MESSAGES] = m;
    }
    return true;
}

void exchange_send_later(struct exchange *x, int link, const char *text,
                         size_t len, const struct plan_message *message,
                         uint32_t ms) {
    if (ms == 0) {
        exchange_send(x, link, text, len, 1, message);
        return;
    }
    for (size_t i = 0; i < PLAN_LATER; i++) {
        struct plan_later *later = &x->later[i];
        if (later->text != NULL) {
            continue;
        }
        *later = (struct plan_later){.due_ms = now_ms(x) + ms,
                                     .serial = ++x->serial,
                                     .link = link,
                                     .generation = x->links[link].generation,
                                     .says = message != NULL,
                                     .text = malloc(len + 1),
                                     .len = len};
        if (later->text == NULL) {
            abort();
        }
        if (message != NULL) {
            later->message = *message;
        }
        memcpy(later->text, text, len);
        mst_mock_wake(x->mock, ms);
        return;
    }
    /* No slot is free: the text is never sent. */
}

/* Returns the text that is due first, or NULL. */
static struct plan_later *later_next(struct exchange *x) {
    struct plan_later *best = NULL;

    for (size_t i = 0; i < PLAN_LATER; i++) {
        struct plan_later *later = &x->later[i];
        if (later->text != NULL &&
            (best == NULL || later->due_ms < best->due_ms ||
             (later->due_ms == best->due_ms && later->serial < best->serial))) {
            best = later;
        }
    }
    return best;
}

static void later_free(struct plan_later *later) {
    free(later->text);
    later->text = NULL;
}

static void later_work(struct exchange *x) {
    struct plan_later *later;

    while ((later = later_next(x)) != NULL && later->due_ms <= now_ms(x)) {
        if (x->links[later->link].generation == later->generation) {
            exchange_send(x, later->link, later->text, later->len, 1,
                          later->says ? &later->message : NULL);
        }
        later_free(later);
    }
}

/* ---- what happens to a connection ---- */

static void subscriptions_work(struct exchange *x, struct plan_link *l) {
    unsigned channel = exchange_pick(x, MST_HEARTBEAT + 1);
    unsigned market =
        channel == MST_HEARTBEAT ? 0 : exchange_pick(x, x->plan->markets);

    if (exchange_happens(x, FAULT_FORGET)) {
        l->subscribed[channel][market] = l->granted[channel][market] = false;
        NOTE(x, "the service forgets %s of %s",
             mst_channel_name((enum mst_channel)channel), plan_markets[market]);
    }
    if (exchange_happens(x, FAULT_INVENT)) {
        if (exchange_pick(x, 2) == 0) {
            l->strays = true;
        } else {
            l->subscribed[channel][market] = true;
        }
    }
}

static void garbage_send(struct exchange *x, int link) {
    static const struct {
        unsigned flags, opcode;
    } frames[] = {{0x80, 3}, {0xC0, 1}, {0, 9}, {0x80, 0}, {0, 2}};
    struct plan_writer w = {
        .text = x->text, .size = sizeof x->text, .random = &x->random};
    bool wrong = exchange_pick(x, 32) == 0;

    x->links[link].blamed = true;
    if (wrong) {
        uint32_t at = exchange_pick(x, COUNT(frames));
        service_link_frame(&x->service, link, frames[at].flags,
                           frames[at].opcode, "ab", 2);
    } else {
        plan_garbage(&w);
        exchange_send(x, link, w.text, w.len, 1, NULL);
        wrong = (w.text[0] & 0x80) != 0; /* not UTF-8 */
    }
    if (wrong && x->links[link].over == OVER_NOT) {
        x->links[link].over = OVER_WRONG;
    }
}

static void link_work(struct exchange *x, int link) {
    static const uint16_t codes[] = {1000, 1001, 1002, 1006, 1008, 1011,
                                     1012, 1013, 3000, 4999, 0,    999};
    uint32_t code = exchange_pick(x, 2 * COUNT(codes));
    struct plan_link *l = &x->links[link];

    subscriptions_work(x, l);
    if (exchange_happens(x, FAULT_GARBAGE)) {
        garbage_send(x, link);
    }
    if (exchange_happens(x, FAULT_CLOSE)) {
        NOTE(x, "link %d is closed by the service", link);
        service_link_close(&x->service, link,
                           code < COUNT(codes) ? codes[code]
                                               : exchange_pick(x, 65536),
                           "as planned");
    }
    if (exchange_happens(x, FAULT_RESET)) {
        exchange_link_end(x, link);
    }
    if (exchange_happens(x, FAULT_FREEZE) && exchange_pick(x, 4) == 0) {
        NOTE(x, "link %d is half-open", link);
        l->blamed = true;
        mst_mock_freeze(x->mock, link);
    }
}

static void feed_work(struct exchange *x) {
    exchange_clocks(x);
    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        if (x->links[i].open) {
            link_work(x, i);
        }
    }
    if (!exchange_happens(x, FAULT_SILENCE)) {
        for (unsigned n = 1 + exchange_pick(x, x->plan->markets); n > 0; n--) {
            exchange_feed(x, exchange_pick(x, x->plan->markets));
        }
    }
}

static void beat_work(struct exchange *x) {
    struct plan_writer w = {
        .text = x->text, .size = sizeof x->text, .random = &x->random};
    char time[MST_MOCK_TIME_LEN];

    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        if (x->links[i].open && x->links[i].subscribed[MST_HEARTBEAT][0] &&
            !exchange_happens(x, FAULT_NO_BEATS) &&
            !exchange_happens(x, FAULT_SILENCE)) {
            (void)exchange_time(x, CLOCK_BEATS, time);
            plan_write_beat(&w, time);
            exchange_send(x, i, w.text, w.len, 1, NULL);
        }
    }
}

/* ---- the peer ---- */

/* Finds connections that have become streams. */
static void links_look(struct exchange *x) {
    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        struct plan_link *l = &x->links[i];
        if (l->open || !service_is_stream(&x->service, i)) {
            continue;
        }
        l->open = l->client = true;
        memset(l->subscribed, 0, sizeof l->subscribed);
        memset(l->granted, 0, sizeof l->granted);
        l->strays = l->blamed = false;
        exchange_blame(x);
        l->over = OVER_NOT;
        l->messages_at = l->messages_len = 0;
        for (unsigned m = 0; m < x->plan->markets; m++) {
            plan_known_begin(&l->known[m], &x->books[m]);
        }
    }
}

static void peer_opened(void *context, int link,
                        const struct mst_endpoint *endpoint) {
    struct exchange *x = context;
    struct plan_link *l = &x->links[link];

    l->open = l->client = false;
    l->generation++;
    l->written = l->traced = 0;
    x->peer.opened(x->peer.context, link, endpoint);
}

static void peer_received(void *context, int link, const void *data,
                          size_t len) {
    struct exchange *x = context;

    x->peer.received(x->peer.context, link, data, len);
    links_look(x);
}

static void peer_closed(void *context, int link) {
    struct exchange *x = context;
    struct service *s = &x->service;

    for (unsigned i = 0; i < COUNT(s->hold_ms); i++) {
        if (now_ms(x) + x->mock->plan.data_ms < s->told_ms[i]) {
            s->hold_ms[i] = 0; /* the client may not have received it */
        }
    }
    x->links[link].open = false;
    x->links[link].generation++;
    x->peer.closed(x->peer.context, link);
}

/* Sets the mock's next wake-up. */
static void exchange_wake(struct exchange *x) {
    const struct plan_later *later = later_next(x);
    uint64_t due =
        x->feed_due_ms < x->beat_due_ms ? x->feed_due_ms : x->beat_due_ms;

    if (later != NULL && later->due_ms < due) {
        due = later->due_ms;
    }
    mst_mock_wake(x->mock, due > now_ms(x) ? (uint32_t)(due - now_ms(x)) : 1u);
}

static void peer_tick(void *context, uint64_t ms) {
    struct exchange *x = context;

    x->peer.tick(x->peer.context, ms);
    links_look(x);
    later_work(x);
    if (ms >= x->feed_due_ms) {
        feed_work(x);
        x->feed_due_ms = ms + 1 + exchange_pick(x, 2 * x->plan->feed_ms);
    }
    if (ms >= x->beat_due_ms) {
        beat_work(x);
        x->beat_due_ms = ms + x->plan->beat_ms;
    }
    exchange_wake(x);
}

void exchange_read(struct exchange *x, int link) {
    x->links[link].read_ms = now_ms(x);
}

void exchange_trace(struct exchange *x, const struct mst_trace *trace) {
    struct plan_link *l = &x->links[trace->link];

    if (trace->kind == MST_TRACE_END) {
        exchange_ended(x, trace->link);
    }
    if (trace->kind != MST_TRACE_IN) {
        return;
    }
    l->traced += trace->len;
    while (l->messages_len > 0 &&
           l->messages[l->messages_at].end <= l->traced) {
        const struct plan_message *m = &l->messages[l->messages_at];
        exchange_look(x, trace->link, m);
        l->messages_at = (l->messages_at + 1) % PLAN_MESSAGES;
        l->messages_len--;
    }
}

void exchange_begin(struct exchange *x, const struct plan *plan,
                    struct mst_mock *mock) {
    x->plan = plan;
    x->mock = mock;
    x->random = plan->seed ^ UINT64_C(0x5DEECE66D);
    x->serial = 0;
    exchange_spells(x);
    x->busy = BUSY_MESSAGES;
    x->wrong = NULL;
    exchange_calm(x);
    service_init(&x->service, mock);
    x->service.rules.expire = true;
    x->line = x->service.core.sink;
    x->service.core.sink =
        (struct mst_mock_sink){x, exchange_write, exchange_cut};
    x->service.on_request = exchange_request;
    x->service.on_request_context = x;
    x->peer = mock->peer;
    mock->peer = (struct mst_mock_peer){.context = x,
                                        .opened = peer_opened,
                                        .received = peer_received,
                                        .closed = peer_closed,
                                        .tick = peer_tick};
    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        x->links[i].open = x->links[i].client = false;
        x->links[i].messages_len = 0;
        x->links[i].heard = (struct plan_heard){.open = false};
    }
    exchange_books(x);
    x->feed_due_ms = plan->feed_ms;
    x->beat_due_ms = plan->beat_ms;
    exchange_change(x);
    exchange_wake(x);
}

void exchange_end(struct exchange *x) {
    for (size_t i = 0; i < PLAN_LATER; i++) {
        later_free(&x->later[i]);
    }
}

bool exchange_has(const struct exchange *x, int link) {
    const struct plan_link *l = &x->links[link];
    const struct plan *plan = x->plan;
    bool has = l->open && l->client && !l->strays &&
               plan->beats == l->subscribed[MST_HEARTBEAT][0];

    for (unsigned m = 0; m < plan->markets; m++) {
        has &= l->subscribed[MST_MARKET_DATA][m] &&
               plan->tops == l->subscribed[MST_TOP_OF_BOOK][m] &&
               plan->executions == l->subscribed[MST_EXECUTION_DATA][m];
    }
    return has;
}
