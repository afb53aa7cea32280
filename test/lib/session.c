/*
 * Shared by the session tests: see session.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

#define GUARD_BYTE 0xA7

struct session session;

static const struct {
    const char *name;
    unsigned char *bytes;
} guards[] = {
    {"client, before", session.guard_0},
    {"client, after", session.guard_1},
    {"memory, after", session.guard_2},
    {"books, before", session.guard_3},
    {"books, after", session.guard_4},
    {"pair, before", session.guard_6},
    {"pair, after", session.guard_7},
    {"other books, after", session.guard_8},
    {"other memory, after", session.guard_9},
    {"transfer, after", session.guard_10},
    {"transfer's memory, after", session.guard_11},
};

/* ---- events ---- */

static void failure_copy(struct mst_failure *copy, char *text,
                         const struct mst_failure *failure) {
    *copy = *failure;
    snprintf(text, MST_TEXT_MAX + 1, "%s", failure->text);
    copy->text = text;
}

static void closed_record(struct session_seen *seen,
                          const struct mst_event *event) {
    const struct mst_failure *failure = &event->as.failure;

    failure_copy(&seen->closed, seen->closed_text, failure);
    seen->closed_ms = mst_mock_elapsed(&session.mock);
    if (failure->error == MST_ERR_TLS_TIME) {
        expect_int("clock_s", mst_mock_wall(&session.mock) / 1000000000,
                   failure->clock_s);
    }
    text_add(&seen->record, "closed %s in %s%s http %d ws %d \"%s\"\n",
             error_name(failure->error), mst_state_name(failure->stage),
             failure->permanent ? " permanent" : "", failure->http_status,
             failure->ws_code, failure->text);
}

static void address_record(struct session_seen *seen,
                           const struct mst_event *event) {
    struct mst_address_result *copy = &seen->address;

    *copy = event->as.address;
    seen->address_ms = mst_mock_elapsed(&session.mock);
    seen->problem = *copy->problem;
    copy->problem = &seen->problem;
    snprintf(seen->address_text, sizeof seen->address_text, "%s", copy->text);
    copy->text = seen->address_text;
    assert_true(copy->body_len < sizeof seen->address_body);
    memset(seen->address_body, 0, sizeof seen->address_body);
    if (copy->body != NULL) {
        memcpy(seen->address_body, copy->body, copy->body_len);
        copy->body = seen->address_body;
    }
    text_add(&seen->record, "address %s http %d \"%s\"\n",
             error_name(copy->error), copy->http_status, copy->text);
}

static bool session_event(void *context, const struct mst_event *event) {
    struct session_seen *seen = &session.seen;

    (void)context;
    assert_in_range(event->type, MST_EVENT_OPEN, MST_EVENT_UNKNOWN);
    seen->events[event->type]++;
    if (event->generation < seen->generations[event->link]) {
        expect_failed("generation %u after %u on link %d", event->generation,
                      seen->generations[event->link], event->link);
    }
    if (event->received_ns < seen->received_ns[event->link]) {
        expect_failed("received %llu ns after %llu on link %d",
                      (unsigned long long)event->received_ns,
                      (unsigned long long)seen->received_ns[event->link],
                      event->link);
    }
    seen->received_ns[event->link] = event->received_ns;
    seen->generation = event->generation;
    seen->generations[event->link] = event->generation;
    text_add(&seen->record, "%u: ", event->generation);
    if (event->type == MST_EVENT_OPEN) {
        text_add(&seen->record, "open\n");
    } else if (event->type == MST_EVENT_CLOSED) {
        closed_record(seen, event);
    } else if (event->type == MST_EVENT_ADDRESS) {
        address_record(seen, event);
    } else {
        record_event(&seen->record, event);
    }
    if (event->type == MST_EVENT_ERROR) {
        failure_copy(&seen->error, seen->error_text, &event->as.failure);
    }
    return session.stop == MST_EVENT_NONE || event->type != session.stop;
}

/* ---- runs ---- */

/* A poll without an event must leave none from an earlier one. */
static int polled(int rc, const struct mst_event *event) {
    if (rc <= 0) {
        expect_int("no event", MST_EVENT_NONE, event->type);
    }
    return rc;
}

static int poll_client(void *object, struct mst_event *event) {
    return polled(mst_poll(object, event), event);
}

static int poll_transfer(void *object, struct mst_event *event) {
    return polled(mst_transfer_poll(object, event), event);
}

static int poll_pair(void *object, struct mst_event *event) {
    return polled(mst_pair_poll(object, event), event);
}

void session_run_with(uint32_t ms, bool (*on_event)(void *context,
                                                    const struct mst_event *)) {
    struct session *s = &session;
    struct mst_mock_object objects[2];
    size_t count = 0;

    if (s->has_client) {
        objects[count++] = (struct mst_mock_object){
            poll_client, &s->client, {&s->client.link}};
    }
    if (s->has_pair) {
        objects[count++] = (struct mst_mock_object){
            poll_pair,
            &s->pair,
            {&s->pair.clients[0].link, &s->pair.clients[1].link}};
    }
    if (s->has_transfer) {
        objects[count++] = (struct mst_mock_object){
            poll_transfer, &s->transfer, {&s->transfer.link}};
    }
    mst_mock_run_objects(&s->mock, objects, count, ms, on_event, NULL);
}

void session_run(uint32_t ms) {
    session.stop = MST_EVENT_NONE;
    session_run_with(ms, session_event);
}

bool session_until(enum mst_event_type type, uint32_t ms) {
    unsigned before = session.seen.events[type];

    session.stop = type;
    session_run_with(ms, session_event);
    return session.seen.events[type] > before;
}

static const char *const markets[] = {"BTCUSD", "ETHUSD"};

bool session_link_subscribed(int link) {
    const struct service *service = &session.service;

    for (enum mst_channel channel = MST_MARKET_DATA;
         channel <= MST_EXECUTION_DATA; channel++) {
        for (size_t i = 0; i < COUNT(markets); i++) {
            if (!service_link_has(service, link, mst_channel_name(channel),
                                  markets[i])) {
                return false;
            }
        }
    }
    return service_link_has(service, link, "heartbeat", "") &&
           service->core.links[link].subscriptions_len == 7;
}

const struct mst_book *session_book(size_t market) {
    return session.has_pair ? mst_pair_book(&session.pair, markets[market])
                            : &session.books[market];
}

bool session_subscribed(void) {
    bool subscribed = false;

    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        subscribed |= session_link_subscribed(i);
    }
    for (size_t i = 0; i < COUNT(session.books); i++) {
        if (mst_book_state(session_book(i)) != MST_BOOK_LIVE) {
            return false;
        }
    }
    return subscribed;
}

bool session_until_subscribed(uint32_t ms) {
    uint64_t end = mst_mock_elapsed(&session.mock) + ms;

    while (!session_subscribed() && mst_mock_elapsed(&session.mock) < end) {
        session_run(100);
    }
    return session_subscribed();
}

void session_expect_subscribed(uint32_t ms, const char *format, ...) {
    char name[128];
    const char *record;
    va_list args;

    if (session_until_subscribed(ms)) {
        return;
    }
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    record = text_get(&session.seen.record);
    if (session.seen.record.len > 2000) {
        record += session.seen.record.len - 2000;
    }
    expect_failed("%s: not subscribed, in state %s\n%s", name,
                  mst_state_name(session_state()), record);
}

void session_lengths(size_t message, size_t read_ahead) {
    session.lengths = (struct mst_memory){session.memory,
                                          MST_MEMORY_LEN(MST_RECORD_IN_ANY,
                                                         MST_RECORD_OUT_MIN,
                                                         message, read_ahead),
                                          MST_RECORD_IN_ANY,
                                          MST_RECORD_OUT_MIN,
                                          message,
                                          read_ahead};
}

void session_begin(void) {
    struct session *s = &session;

    session_end();
    memset(s, 0, sizeof *s);
    for (size_t i = 0; i < COUNT(guards); i++) {
        memset(guards[i].bytes, GUARD_BYTE, SESSION_GUARD);
    }
    memset(s->memory, GUARD_BYTE, sizeof s->memory);
    memset(s->levels, GUARD_BYTE, sizeof s->levels);
    memset(s->other_levels, GUARD_BYTE, sizeof s->other_levels);
    memset(s->other_memory, GUARD_BYTE, sizeof s->other_memory);
    memset(s->transfer_memory, GUARD_BYTE, sizeof s->transfer_memory);
    s->begun = true;
    mst_mock_init(&s->mock, &s->port, 1);
    service_init(&s->service, &s->mock);
    s->config.ws_url = "wss://" SERVICE_WS_HOST;
    s->config.auth_url = "https://" SERVICE_AUTH_HOST;
    s->config.client_id = SERVICE_ID;
    s->config.client_secret = SERVICE_SECRET;
    session_lengths(2048, 4096);
    for (size_t i = 0; i < COUNT(s->books); i++) {
        assert_int_equal(
            mst_book_init(&s->books[i], s->levels[i].of, SESSION_LEVELS), 0);
    }
#ifndef MST_NO_TLS
    /* Not used with TLS in the port, but must not be missing. */
    s->config.anchors = &s->anchor.anchor;
    s->config.anchors_len = 1;
#endif
}

int64_t session_stored_s;

int session_token_load(void *context, const uint8_t key[MST_TOKEN_KEY_LEN],
                       char *token, size_t cap, int64_t *until_s) {
    (void)key;
    assert_true(cap >= strlen(SERVICE_TOKEN));
    memcpy(token, SERVICE_TOKEN, strlen(SERVICE_TOKEN));
    *until_s = mst_mock_wall(context) / 1000000000 + session_stored_s;
    return (int)strlen(SERVICE_TOKEN);
}

void session_start(void) {
    struct session *s = &session;

    assert_true(s->lengths.size <= sizeof s->memory);
    assert_int_equal(
        mst_client_init(&s->client, &s->config, &s->port, &s->lengths), 0);
    s->has_client = true;
}

void session_start_transfer(void) {
    struct session *s = &session;
    struct mst_config config = s->config;

    if (config.base_url == NULL) {
        config.base_url = "https://" SERVICE_API_HOST;
    }
    if (s->has_client || s->has_pair) {
        config.access = session_access();
        config.link = s->has_pair ? 2 : 1;
    }
    s->transfer_lengths = s->lengths;
    s->transfer_lengths.data = s->transfer_memory;
    assert_int_equal(mst_transfer_init(&s->transfer, &config, &s->port,
                                       &s->transfer_lengths),
                     0);
    s->has_transfer = true;
}

void session_start_pair(uint32_t rotate_ms) {
    struct session *s = &session;

    s->other_lengths = s->lengths;
    s->other_lengths.data = s->other_memory;
    for (size_t i = 0; i < COUNT(s->others); i++) {
        assert_int_equal(
            mst_book_init(&s->others[i], s->other_levels[i].of, SESSION_LEVELS),
            0);
    }
    assert_int_equal(mst_pair_init(&s->pair, &s->config, rotate_ms, &s->port,
                                   &s->lengths, &s->other_lengths),
                     0);
    s->has_pair = true;
}

static void start_stream(enum session_kind kind, uint32_t rotate_ms) {
    if (kind == SESSION_PAIR || kind == SESSION_STANDBY) {
        session.config.flags |= kind == SESSION_STANDBY ? MST_HOT_STANDBY : 0u;
        session_start_pair(rotate_ms);
    } else {
        session_start();
    }
}

void session_start_kind(enum session_kind kind) {
    start_stream(kind, 0);
    if (kind == SESSION_BESIDE) {
        session_start_transfer();
    }
}

void session_start_beside(enum session_kind kind, uint32_t rotate_ms) {
    start_stream(kind, rotate_ms);
    session_start_transfer();
}

static void subscribe_and_wait(void) {
    session_subscribe();
    assert_true(session_until_subscribed(10000));
}

void session_open_kind(enum session_kind kind) {
    session_start_kind(kind);
    subscribe_and_wait();
}

void session_open_pair(uint32_t rotate_ms) {
    session_start_pair(rotate_ms);
    subscribe_and_wait();
}

const char *session_kind_name(enum session_kind kind) {
    static const char *const names[] = {"a client", "a pair",
                                        "a pair in hot standby",
                                        "a client and a transfer"};

    return names[kind];
}

struct mst_access *session_access(void) {
    return session_leader()->link.access;
}

struct mst_client *session_leader(void) {
    return session.has_pair ? &session.pair.clients[session.pair.leads]
                            : &session.client;
}

const struct mst_stats *session_stats(void) {
    return mst_link_stats(&session_leader()->link);
}

enum mst_state session_state(void) {
    return mst_link_state(&session_leader()->link);
}

uint64_t session_now(void) {
    return mst_mock_elapsed(&session.mock);
}

unsigned session_rotations(void) {
    return mst_link_stats(&session.pair.clients[0].link)->rotations +
           mst_link_stats(&session.pair.clients[1].link)->rotations;
}

unsigned session_tokens(void) {
    const struct session *s = &session;

    return s->client.link.stats.tokens + s->transfer.link.stats.tokens +
           s->pair.clients[0].link.stats.tokens +
           s->pair.clients[1].link.stats.tokens;
}

int session_put(void) {
    return mst_address_put(&session.transfer, &session.request,
                           &session.record);
}

void session_put_and_wait(const char *name) {
    if (!session.has_transfer) {
        session_start_transfer();
    }
    expect_int(name, 0, session_put());
    if (!session_until(MST_EVENT_ADDRESS, 2 * SESSION_MINUTE)) {
        expect_failed("%s: no end", name);
    }
}

int session_wish(enum mst_channel channel, const char *market) {
    struct session *s = &session;
    size_t i = market != NULL && strcmp(market, markets[1]) == 0 ? 1 : 0;
    bool has_book = channel == MST_MARKET_DATA;
    struct mst_book *book = has_book ? &s->books[i] : NULL;
    struct mst_book *other = has_book ? &s->others[i] : NULL;

    return s->has_pair
               ? mst_pair_subscribe(&s->pair, channel, market, book, other)
               : mst_subscribe(&s->client, channel, market, book);
}

int session_leave(enum mst_channel channel, const char *market) {
    return session.has_pair
               ? mst_pair_unsubscribe(&session.pair, channel, market)
               : mst_unsubscribe(&session.client, channel, market);
}

int session_resync(enum mst_channel channel, const char *market) {
    return session.has_pair ? mst_pair_resync(&session.pair, channel, market)
                            : mst_resync(&session.client, channel, market);
}

int session_list(void) {
    return session.has_pair ? mst_pair_subscription_list(&session.pair)
                            : mst_subscription_list(&session.client);
}

void session_new_credentials(struct mst_access *access) {
    assert_int_equal(
        mst_access_set_credentials(access, SERVICE_ID, SERVICE_SECRET), 0);
}

void session_new_anchors(struct mst_access *access) {
    assert_int_equal(mst_access_set_anchors(access, &session.anchor.anchor, 1),
                     0);
}

void session_subscribe(void) {
    for (size_t i = 0; i < COUNT(markets); i++) {
        assert_int_equal(session_wish(MST_MARKET_DATA, markets[i]), 0);
        assert_int_equal(session_wish(MST_TOP_OF_BOOK, markets[i]), 0);
        assert_int_equal(session_wish(MST_EXECUTION_DATA, markets[i]), 0);
    }
    assert_int_equal(session_wish(MST_HEARTBEAT, NULL), 0);
}

void session_start_all(void) {
    session_start();
    session_subscribe();
}

void session_start_and_run(uint32_t ms) {
    session_start_all();
    session_run(ms);
}

void session_open(void) {
    session_start();
    subscribe_and_wait();
}

void session_connect(void) {
    session_start();
    assert_true(session_until(MST_EVENT_OPEN, 5000));
}

void session_main_job(void) {
    session.service.rules.feed_ms = 1000;
    session_start_all();
    assert_true(session_until(MST_EVENT_OPEN, 1000));
    session_run(5000);
}

void session_every_call_fails(void (*begin)(uint64_t n), void (*end)(void)) {
    uint64_t calls = 0;

    for (uint64_t n = 0; n <= calls; n++) {
        begin(n);
        session_fail_at(n, MST_MOCK_ANY, MST_ERR_PORT);
        session_start_all();
        session_until_subscribed(SESSION_HOUR);
        session_run(2000);
        if (n == 0) {
            calls = session.mock.calls[MST_MOCK_ANY];
        }
        session_expect_subscribed(SESSION_HOUR, "call %d", (int)n);
        end();
    }
    assert_in_range(calls, 20, 500);
}

void session_new(void) {
    session_begin();
    session_start_all();
}

void session_begin_open(void) {
    session_begin();
    session_open();
}

void session_hang(enum mst_state state) {
    struct mst_mock_plan *plan = &session.mock.plan;

    plan->resolve_error = state == MST_STATE_RESOLVE ? MST_MOCK_NEVER : 0;
    plan->connect_error[0] = state == MST_STATE_CONNECT ? MST_MOCK_NEVER : 0;
    plan->send_stall = state == MST_STATE_CLOSING;
    session.tls.silent = state == MST_STATE_TLS;
    session.service.token.never = state == MST_STATE_TOKEN;
    session.service.upgrade.never = state == MST_STATE_UPGRADE;
}

void session_fail_at(uint64_t n, enum mst_mock_call call, int error) {
    struct mst_mock_plan *plan = &session.mock.plan;

    plan->fail_call = call;
    plan->fail_at = n;
    plan->fail_error = error;
}

void session_fail_next(enum mst_mock_call call, int error) {
    session_fail_at(session.mock.calls[call] + 1, call, error);
}

void session_break(int error) {
    service_end(&session.service, error);
    assert_true(session_until(MST_EVENT_CLOSED, 1000));
}

void session_bad_update(const char *market) {
    service_text(&session.service,
                 printed("{\"channel\":\"market_data\",\"payload\":{"
                         "\"market\":\"%s\",\"type\":\"UPDATE\"}}",
                         market));
}

static int stalling_send(void *context, int link, const void *data,
                         size_t len) {
    struct session *s = &session;
    size_t most = s->send_left > 0 ? s->send_left : 1; /* 1: stalls */
    int n = s->send(context, link, data, len < most ? len : most);

    s->send_left -= n > 0 ? (size_t)n : 0;
    s->mock.plan.send_stall |= s->send_left == 0;
    return n;
}

void session_stall_after(size_t bytes) {
    struct session *s = &session;

    if (s->send == NULL) {
        s->send = s->port.send;
        s->port.send = stalling_send;
    }
    s->send_left = bytes;
    s->mock.plan.send_stall = bytes == 0;
}

void session_unstall(void) {
    session_stall_after(SIZE_MAX);
}

void session_cut_message(int error) {
    static const char begin[] =
        "{\"channel\":\"market_data\",\"payload\":{\"market\":\"BTCUSD\","
        "\"type\":\"UPDATE\",\"time\":\"2026-01-03T00:00:00.000Z\",\"bids\":[";
    static unsigned char frame[4096];
    size_t head = mst_mock_service_head(frame, 0x81, sizeof frame);
    size_t len = head + sizeof begin - 1;
    struct mst_event event;

    memcpy(frame + head, begin, sizeof begin - 1);
    for (int i = 0; i <= MST_PART_LEVELS; i++) {
        len +=
            (size_t)snprintf((char *)frame + len, sizeof frame - len,
                             "{\"price\":\"%d\",\"amount\":\"1\"},", 100 + i);
    }
    service_bytes(&session.service, frame, len);
    session_run(100);
    service_end(&session.service, error);
    mst_mock_advance(&session.mock, 100);
    do {
        assert_int_equal(mst_poll(&session.client, &event), 1);
    } while (event.type != MST_EVENT_PART || !event.as.part.aborted);
}

void session_forge_record(void) {
    mst_mock_write(&session.mock, 0,
                   "\x17\x03\x03\x00\x20"
                   "0123456789abcdef0123456789abcdef",
                   37);
    assert_true(session_until(MST_EVENT_CLOSED, 1000));
    session_expect_closed("forged", MST_ERR_TLS_PROTOCOL, MST_STATE_OPEN);
    assert_int_not_equal(session.seen.closed.detail, 0);
    assert_true(session_until_subscribed(10000));
}

static void guard_check(const char *name, const unsigned char *guard,
                        size_t len) {
    for (size_t i = 0; i < len; i++) {
        if (guard[i] != GUARD_BYTE) {
            expect_failed("written beside the %s, at %zu", name, i);
            return;
        }
    }
}

void session_check(void) {
    struct session *s = &session;

    for (size_t i = 0; i < COUNT(guards); i++) {
        guard_check(guards[i].name, guards[i].bytes, SESSION_GUARD);
    }
    if (s->lengths.data == s->memory) {
        guard_check("memory given", s->memory + s->lengths.size,
                    sizeof s->memory - s->lengths.size);
    }
    for (size_t i = 0; i < COUNT(s->levels); i++) {
        guard_check("levels", s->levels[i].guard, SESSION_GUARD);
        guard_check("other levels", s->other_levels[i].guard, SESSION_GUARD);
    }
    expect_text("what the service found wrong", "", s->service.core.wrong);
    expect_text("what the port found wrong", "",
                s->mock.broken != NULL ? s->mock.broken : "");
}

int session_reach(const char *host, uint16_t port) {
    static struct mst_endpoint endpoint;
    const struct mst_port *p = &session.port;
    int rc;

    endpoint = (struct mst_endpoint){.port = port, .tls = true};
    snprintf(endpoint.host, sizeof endpoint.host, "%s", host);
    do {
        rc = p->resolve(p->context, 0, &endpoint);
    } while (rc == 0);
    do {
        rc = p->connect(p->context, 0, 0);
    } while (rc == 0 || rc == MST_PORT_IN_TLS);
    return rc;
}

void session_close(void) {
    struct session *s = &session;

    if (s->has_client) {
        mst_close(&s->client);
    }
    if (s->has_pair) {
        mst_pair_close(&s->pair);
    }
    if (s->has_transfer) {
        mst_transfer_close(&s->transfer);
    }
}

void session_wipe(void) {
    struct session *s = &session;

    if (s->has_transfer) { /* it shares the other's access */
        mst_transfer_wipe(&s->transfer);
    }
    if (s->has_client) {
        mst_client_wipe(&s->client);
    }
    if (s->has_pair) {
        mst_pair_wipe(&s->pair);
    }
    text_free(&s->seen.record);
}

void session_end(void) {
    struct session *s = &session;
    struct mst_event event;

    if (!s->begun) {
        return;
    }
    session_close();
    session_run(SESSION_MINUTE);
    expect_int("mst_poll() once closed", s->has_client ? MST_ERR_CLOSED : 0,
               s->has_client ? mst_poll(&s->client, &event) : 0);
    expect_int("mst_pair_poll() once closed", s->has_pair ? MST_ERR_CLOSED : 0,
               s->has_pair ? mst_pair_poll(&s->pair, &event) : 0);
    expect_int("mst_transfer_poll() once closed",
               s->has_transfer ? MST_ERR_CLOSED : 0,
               s->has_transfer ? mst_transfer_poll(&s->transfer, &event) : 0);
    session_check();
    text_free(&s->seen.record);
    s->begun = false;
}

int session_tear_down(void **state) {
    session_end();
    return expect_end(state);
}

void session_record_copy(struct text *text) {
    text_add_bytes(text, session.seen.record.data, session.seen.record.len);
}

void session_expect_closed(const char *name, int error, enum mst_state stage) {
    const struct mst_failure *closed = &session.seen.closed;

    if (session.seen.events[MST_EVENT_CLOSED] == 0) {
        expect_failed("%s: no MST_EVENT_CLOSED", name);
        return;
    }
    if (closed->error != error || closed->stage != stage) {
        expect_failed("%s\n    expected: %s in %s\n    got:      %s in %s",
                      name, mst_strerror(error), mst_state_name(stage),
                      mst_strerror(closed->error),
                      mst_state_name(closed->stage));
    }
}

void session_until_closed(const char *name, uint32_t ms, int error,
                          enum mst_state stage) {
    if (!session_until(MST_EVENT_CLOSED, ms)) {
        fail_msg("%s: no MST_EVENT_CLOSED", name);
    }
    session_expect_closed(name, error, stage);
}

void session_expect_undisturbed(const char *name) {
    const struct mst_client *leader = session_leader();

    expect_int(name, 1, mst_link_stats(&leader->link)->opens);
    expect_int(name, MST_STATE_OPEN, mst_link_state(&leader->link));
    expect_int(name, 0, session.seen.events[MST_EVENT_LEADER]);
    if (!session_subscribed()) {
        expect_failed("%s: not subscribed", name);
    }
}

void session_expect_book(const char *name, enum mst_book_state expected,
                         const struct mst_book *book) {
    expect_text(name, mst_book_state_name(expected),
                mst_book_state_name(mst_book_state(book)));
}

void session_expect_tokens(const char *name, uint64_t count) {
    expect_int(name, count, session.service.tokens.count);
}

/* ---- secrets ---- */

const char *const session_secrets[SESSION_SECRETS] = {
    SERVICE_SECRET, "s%2Bcr%3Dt", SERVICE_TOKEN, "token-AbC.123"};

bool session_contains(const void *what, size_t len) {
    const struct session *s = &session;

    return bytes_contain(&s->client, sizeof s->client, what, len) ||
           bytes_contain(s->memory, sizeof s->memory, what, len) ||
           bytes_contain(&s->pair, sizeof s->pair, what, len) ||
           bytes_contain(s->other_memory, sizeof s->other_memory, what, len) ||
           bytes_contain(&s->transfer, sizeof s->transfer, what, len) ||
           bytes_contain(s->transfer_memory, sizeof s->transfer_memory, what,
                         len);
}

void session_expect_clean(const char *name) {
    for (size_t i = 0; i < SESSION_SECRETS; i++) {
        if (session_contains(session_secrets[i], strlen(session_secrets[i]))) {
            expect_failed("%s: \"%s\" is left", name, session_secrets[i]);
        }
    }
    if (session_contains(SERVICE_ADDRESS_TOKEN,
                         strlen(SERVICE_ADDRESS_TOKEN))) {
        expect_failed("%s: the token for addresses is left", name);
    }
}

void session_expect_no_secret(const char *name, const struct text *text) {
    for (size_t i = 0; i < SESSION_SECRETS; i++) {
        if (bytes_contain(text->data, text->len, session_secrets[i],
                          strlen(session_secrets[i]))) {
            expect_failed("%s has \"%s\"", name, session_secrets[i]);
        }
    }
}
