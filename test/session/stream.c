/*
 * The session on the mock port, in virtual time: the main job gives the same
 * result with any slicing, any clock and after any fault of the port.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

static struct service *const service = &session.service;

/* ---- the main job ---- */

TEST_CASE(test_main_job) {
    session_begin();
    session_main_job();
    session_run(5000);

    const unsigned *events = session.seen.events;
    expect_int("token requests", 1, service->tokens.count);
    expect_int("upgrades", 1, service->upgrades.count);
    expect_int("requests", 1, service->requests.count);
    expect_int("opens", 1, events[MST_EVENT_OPEN]);
    expect_int("entries", 7, events[MST_EVENT_ENTRY]);
    expect_int("responses", 1, events[MST_EVENT_RESPONSE]);
    /* Two snapshots, then ten rounds of the feed. */
    expect_int("parts", 2 + 20, events[MST_EVENT_PART]);
    expect_int("tops", 20, events[MST_EVENT_TOP]);
    expect_int("executions", 20, events[MST_EVENT_EXECUTION]);
    expect_int("heartbeats", 10, events[MST_EVENT_HEARTBEAT]);
    expect_int("errors", 0, events[MST_EVENT_ERROR]);
    expect_int("closed", 0, events[MST_EVENT_CLOSED]);

    const struct mst_stats *stats = session_stats();
    expect_int("messages", 1 + 2 + 70, stats->messages);
    expect_int("stats.tokens", 1, stats->tokens);
    expect_int("stats.opens", 1, stats->opens);
    expect_int("stats.failures", 0, stats->failures);
    expect_int("state", MST_STATE_OPEN, session_state());
}

#define BOOK_TEXT(amount) \
    "live: 100x1 99.5x" amount " 99x3.125 | 101x1.5 101.5x2.5"
#define SNAPSHOT_TEXT BOOK_TEXT("2")

TEST_CASE(test_book_follows) {
    session_new();
    const struct mst_book *book = &session.books[1];
    expect_int("before", MST_BOOK_EMPTY, mst_book_state(book));
    assert_true(session_until_subscribed(5000));
    expect_book_text("snapshot", SNAPSHOT_TEXT, book);

    /* An update of the other market, then one of this market. */
    session_run(10);
    service_push(service, "market_data", "BTCUSD");
    service_push(service, "market_data", "ETHUSD");
    session_run(10);
    expect_book_text("updated", BOOK_TEXT("2.25"), book);
    expect_book_text("the other's", BOOK_TEXT("1.25"), &session.books[0]);

    /* A lost connection makes it stale at once, and a snapshot live again. */
    service_end(service, MST_ERR_RESET);
    assert_true(session_until(MST_EVENT_CLOSED, 100));
    expect_int("without connection", MST_BOOK_STALE, mst_book_state(book));
    assert_true(session_until_subscribed(10000));
    expect_book_text("new snapshot", SNAPSHOT_TEXT, book);
}

/* A snapshot far longer than the message buffer is delivered in parts. The book
 * keeps the best levels. */
TEST_CASE(test_large_snapshot) {
    enum { LEVELS = 1200 };
    struct text *text = text_new();

    session_begin();
    session_lengths(256, 4096);
    session_open();
    session_run(100);
    unsigned parts = session.seen.events[MST_EVENT_PART];
    text_add(text, "{\"channel\":\"market_data\",\"payload\":{"
                   "\"market\":\"BTCUSD\",\"type\":\"SNAPSHOT\","
                   "\"time\":\"" TIME "\",\"bids\":[");
    for (int i = 1; i <= LEVELS; i++) {
        text_add(text, "%s" LEVEL("%d", "0.%d"), i > 1 ? "," : "", i, i);
    }
    text_add(text, "],\"asks\":[]}}");
    service_text(service, text_get(text));
    session_run(100);
    expect_int("parts", (LEVELS + MST_PART_LEVELS - 1) / MST_PART_LEVELS,
               session.seen.events[MST_EVENT_PART] - parts);
    expect_book_text("the best levels",
                     "live: 1200x0.12 1199x0.1199 1198x0.1198 1197x0.1197 "
                     "1196x0.1196 1195x0.1195 1194x0.1194 1193x0.1193 |",
                     &session.books[0]);

    /* A connection that breaks within such a message aborts it. */
    service_frame(service, 0, 1, text_get(text), text->len / 2);
    service_end(service, MST_ERR_RESET);
    assert_true(session_until(MST_EVENT_CLOSED, 100));
    assert_non_null(strstr(text_get(&session.seen.record),
                           "part BTCUSD aborted\n1: closed"));
    assert_true(session_until_subscribed(10000));
}

/* ---- slicing ---- */

/* Plays a stream with every kind of input: bytes after the 101, fragments,
 * control frames between them, an empty message, an unknown one, an invalid
 * one, a closing handshake and a reconnect. */
static void stream_play(void) {
    static const char half[] = "{\"channel\":\"heartbeat\",\"payload\":{";
    static const char rest[] =
        "\"timestamp\":\"2026-01-02T03:04:05.000000009Z\"}}";

    session_run(1500);
    service_push(service, "market_data", "BTCUSD");
    service_frame(service, 0, 1, half, strlen(half));
    service_frame(service, 0x80, 9, "ping", 4);
    service_frame(service, 0, 0, "", 0);
    service_frame(service, 0x80, 0, rest, strlen(rest));
    service_text(service,
                 "{\"channel\":\"news\",\"payload\":\"\xE2\x82\xAC\"}");
    service_text(service, "{\"channel\":");
    session_run(10);
    expect_text("pong", "ping", service->pong);
    service_push(service, "execution_data", "ETHUSD");
    service_push(service, "market_data.top_of_book", "ETHUSD");
    service_close(service, 1001, "restart");
    session_run(SESSION_MINUTE);
}

static void stream_begin(void) {
    static const char greeting[] = "\x89\x02hi\x81\x02{}";

    session_begin();
    service->rules.greeting = greeting;
    service->rules.greeting_len = sizeof greeting - 1;
    service->framing = SERVICE_CHUNKED;
    service->token.interim = "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n";
    session_start_all();
}

static void stream_expect(const char *name, size_t value,
                          const char *expected) {
    const char *text = printed("%s %zu", name, value);

    stream_play();
    expect_text(text, expected, text_get(&session.seen.record));
    if (!session_subscribed()) {
        expect_failed("%s: not subscribed again", text);
    }
}

TEST_CASE(test_slicing) {
    static const size_t sizes[] = {1, 2, 3, 5, 7, 16, 61, 127, 500};
    struct text *expected = text_new();

    stream_begin();
    stream_play();
    session_record_copy(expected);
    assert_non_null(strstr(text_get(expected), "WS_CLOSED"));
    assert_non_null(strstr(text_get(expected), "unknown"));
    size_t bytes = (size_t)session.mock.bytes_in;

    for (size_t i = 0; i < COUNT(sizes); i++) {
        stream_begin();
        session.mock.plan.recv_max = sizes[i];
        session.mock.plan.send_max = sizes[COUNT(sizes) - 1 - i];
        stream_expect("bytes at a time:", sizes[i], text_get(expected));
    }
    for (size_t offset = 1; offset < bytes; offset++) {
        stream_begin();
        session.mock.plan.cut_at = offset;
        stream_expect("cut at", offset, text_get(expected));
    }
}

/* ---- a long time ---- */

TEST_CASE(test_day_of_reconnects) {
    unsigned connections = 0;

    session_begin();
    service->rules.feed_ms = 20000;
    session_start_all();
    while (session_now() < SESSION_DAY) {
        if (!session_until_subscribed(5 * SESSION_MINUTE)) {
            expect_failed("connection %u: not subscribed", connections);
            break;
        }
        session_run(3 * SESSION_MINUTE);
        switch (connections++ % 4) {
        case 0: service_end(service, MST_ERR_EOF); break;
        case 1: service_end(service, MST_ERR_RESET); break;
        case 2: service_close(service, 1012, "restart"); break;
        default: mst_mock_freeze(&session.mock, service->core.stream); break;
        }
        session_run(10);
        text_clear(&session.seen.record);
    }

    assert_in_range(connections, 400, 480);
    expect_int("failures", connections, session_stats()->failures);
    assert_true(service->requests.gap_min_ms >= 1000);
    assert_in_range(service->requests.count, connections, connections + 1);
    /* A token lasts an hour, and is replaced only when needed. */
    assert_in_range(service->tokens.count, 24, 26);
}

/* Longer than 32 bits of ms: an idle stream, with tokens of an hour. */
TEST_CASE(test_weeks_idle) {
    session_new();
    for (int day = 0; day < 60; day++) {
        session_run(SESSION_DAY);
    }
    expect_int("connections", 1, session.seen.events[MST_EVENT_OPEN]);
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    assert_true(session_subscribed());
}

/* ---- the clock ---- */

TEST_CASE(test_monotonic_wrap) {
    /* The clock wraps after these times: in the first stage, before the first
     * response, idle, between ping and pong, in silence, in backoff. */
    static const uint32_t before_ms[] = {0,     1,     999,   5000,  20000,
                                         34999, 50000, 60000, 94900, 95500};
    struct text *expected = text_new();
    uint64_t closed_ms = 0;

    for (size_t i = 0; i < COUNT(before_ms); i++) {
        session_begin();
        session.mock.plan.resolve_ms = 50;
        session.mock.plan.connect_ms = 50;
        session.mock.plan.data_ms = 20;
        if (i > 0) {
            mst_mock_set_now(&session.mock, 0u - before_ms[i]);
        }
        session_start_and_run(10000);
        service_push(service, "market_data", "BTCUSD");
        session_run(25000);
        mst_mock_freeze(&session.mock, service->core.stream);
        session_run(2 * SESSION_MINUTE);
        if (i == 0) {
            session_record_copy(expected);
            closed_ms = session.seen.closed_ms;
            expect_int("closed once", 1, session.seen.events[MST_EVENT_CLOSED]);
        }
        expect_text("events", text_get(expected),
                    text_get(&session.seen.record));
        expect_int("time of the close", closed_ms, session.seen.closed_ms);
        assert_true(session_subscribed());
    }
}

/* The wall clock may jump: the session does not depend on it. */
TEST_CASE(test_wall_clock_jumps) {
    session_begin_open();
    mst_mock_set_wall(&session.mock, MST_MOCK_WALL_NS * 2);
    session_run(5 * SESSION_MINUTE);
    mst_mock_set_wall(&session.mock, MST_MOCK_WALL_NS / 2);
    session_run(5 * SESSION_MINUTE);
    session.mock.plan.clock_unset = true;
    session_run(5 * SESSION_MINUTE);
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
}

/* ---- the port's faults ---- */

/* Connects, receives a message, loses the connection, reconnects. */
static void fault_play(void) {
    session_until_subscribed(SESSION_HOUR);
    service_push(service, "market_data", "BTCUSD");
    service_frame(service, 0x80, 9, "x", 1);
    session_run(30000);
    service_end(service, MST_ERR_EOF);
    session_run(SESSION_MINUTE);
}

/* Each call of one function fails in turn, alone or several in a row. */
static void fault_each(enum mst_mock_call call, int error, uint64_t count) {
    session_new();
    fault_play();
    uint64_t calls = session.mock.calls[call];
    assert_true(calls > 0);
    for (uint64_t n = 1; n <= calls; n++) {
        session_begin();
        session_fail_at(n, call, error);
        session.mock.plan.fail_count = count;
        session_start_all();
        fault_play();
        if (session.mock.failed == 0) {
            expect_failed("call %d, number %d: was not made", (int)call,
                          (int)n);
        }
        session_expect_subscribed(SESSION_HOUR,
                                  "call %d, number %d, error %d, %d times",
                                  (int)call, (int)n, error, (int)count);
    }
}

TEST_CASE(test_every_call_fails) {
    static const struct {
        enum mst_mock_call call;
        int error;
    } faults[] = {
        {MST_MOCK_RESOLVE, MST_ERR_RESOLVE},
        {MST_MOCK_CONNECT, MST_ERR_REFUSED},
        {MST_MOCK_CONNECT, MST_ERR_UNREACHABLE},
        {MST_MOCK_SEND, MST_ERR_RESET},
        {MST_MOCK_RECV, MST_ERR_RESET},
        {MST_MOCK_RECV, MST_ERR_EOF},
        {MST_MOCK_RECV, MST_ERR_PORT},
        {MST_MOCK_ENTROPY, MST_ERR_ENTROPY},
    };

    for (size_t i = 0; i < COUNT(faults); i++) {
        fault_each(faults[i].call, faults[i].error, 1);
        fault_each(faults[i].call, faults[i].error, 7);
    }
}

TEST_CASE(test_port_errors_are_named) {
    static const struct {
        enum mst_mock_call call;
        int error;
        enum mst_state stage;
    } faults[] = {
        {MST_MOCK_RESOLVE, MST_ERR_RESOLVE, MST_STATE_RESOLVE},
        {MST_MOCK_CONNECT, MST_ERR_REFUSED, MST_STATE_CONNECT},
        {MST_MOCK_CONNECT, MST_ERR_UNREACHABLE, MST_STATE_CONNECT},
        {MST_MOCK_SEND, MST_ERR_RESET, MST_STATE_TOKEN},
        {MST_MOCK_RECV, MST_ERR_PORT, MST_STATE_TOKEN},
    };

    for (size_t i = 0; i < COUNT(faults); i++) {
        session_begin();
        session_fail_next(faults[i].call, faults[i].error);
        session.mock.plan.detail = 111;
        session_start_all();
        session_until_closed("port error", SESSION_MINUTE, faults[i].error,
                             faults[i].stage);
        expect_int("detail", 111, session.seen.closed.detail);
        expect_int("permanent", false, session.seen.closed.permanent);
        assert_true(session_until_subscribed(SESSION_MINUTE));
    }
}

/* Addresses are tried in turn. Only if all fail the attempt fails. */
TEST_CASE(test_addresses_in_turn) {
    session_begin();
    session.mock.plan.addresses = 3;
    session.mock.plan.connect_error[0] = MST_ERR_REFUSED;
    session.mock.plan.connect_error[1] = MST_MOCK_NEVER;
    session_start_all();
    assert_true(session_until_subscribed(SESSION_MINUTE));
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
}

/* Another address may be another server, with another certificate. But a
 * proxy's other addresses would get the same credentials. */
TEST_CASE(test_errors_of_one_address) {
    static const struct {
        int error;
        bool goes_on;
    } cases[] = {
        {MST_ERR_REFUSED, true},       {MST_ERR_PORT, true},
        {MST_ERR_TLS_ISSUER, true},    {MST_ERR_TLS_NAME, true},
        {MST_ERR_TLS_TIME, true},      {MST_ERR_TLS_CERTIFICATE, true},
        {MST_ERR_TLS_VERSION, true},   {MST_ERR_PROXY_REFUSED, true},
        {MST_ERR_PROXY_GATEWAY, true}, {MST_ERR_PROXY_ANSWER, true},
        {MST_ERR_PROXY_TIMEOUT, true}, {MST_ERR_PROXY_LOGIN, false},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *name = mst_strerror(cases[i].error);
        session_begin();
        session.mock.plan.addresses = 2;
        session.mock.plan.connect_error[0] = cases[i].error;
        session_start_and_run(1000);
        expect_int(name, cases[i].goes_on, session_subscribed());
        expect_int(name, !cases[i].goes_on,
                   session.seen.events[MST_EVENT_CLOSED]);
    }
}

RUN_SESSIONS(NULL, NULL)
