/*
 * A line that accepts no bytes, and a peer that never stops sending. Sent
 * frames stay whole, a dead link is detected, and mst_poll() returns.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

#define ANSWER_MS 10000u

static struct service *const service = &session.service;

/* ---- a request sent in several pieces ---- */

static const char *market_name(int i) {
    return printed("MARKET-%02d-OF-MANY", i);
}

/* Subscribes to as many markets as possible: the request is far larger than the
 * output record. */
static void wish_for_many(void) {
    for (int i = 0; i < MST_SUBSCRIPTIONS_MAX; i++) {
        assert_int_equal(session_wish(MST_TOP_OF_BOOK, market_name(i)), 0);
    }
}

static void wishes_back_and_again(void) {
    for (int i = 0; i < MST_SUBSCRIPTIONS_MAX; i += 2) {
        const char *market = market_name(i);
        assert_int_equal(session_leave(MST_TOP_OF_BOOK, market), 0);
        if (i % 4 == 0) {
            assert_int_equal(session_wish(MST_TOP_OF_BOOK, market), 0);
        }
    }
    session_list();
}

/* Sends a response for all of them: each granted, or each refused. */
static void answer_early(const char *result) {
    struct text *text = text_new();

    text_add(text, "{\"type\":\"subscribe\",\"channels\":[");
    for (int i = 0; i < MST_SUBSCRIPTIONS_MAX; i++) {
        text_add(text,
                 "%s{\"type\":\"market_data.top_of_book\",\"params\":{"
                 "\"market\":\"%s\"},%s}",
                 i > 0 ? "," : "", market_name(i), result);
    }
    text_add(text, "]}");
    service_text(service, text_get(text));
}

enum disturbance {
    DEADLINE,
    ERROR_PASSING,
    ERROR_LASTING,
    ANSWER_GRANTED,
    ANSWER_REFUSED,
    ANSWER_LIST,
    CHANGE_OF_MIND,
    DISTURBANCES
};

static void disturb(enum disturbance what) {
    switch (what) {
    case DEADLINE: session_run(ANSWER_MS + 1000); break;
    case ERROR_PASSING:
        service_text(
            service,
            "{\"type\":\"error\",\"error\":\"INTERNAL_SERVER_ERROR\"}");
        break;
    case ERROR_LASTING:
        service_text(service,
                     "{\"type\":\"error\",\"error\":\"UNKNOWN_CHANNEL\"}");
        break;
    case ANSWER_GRANTED: answer_early("\"success\":true"); break;
    case ANSWER_REFUSED:
        answer_early("\"success\":false,\"error\":\"UNKNOWN_CHANNEL\"");
        break;
    case ANSWER_LIST:
        service_text(service,
                     "{\"type\":\"subscription_list\",\"channels\":[]}");
        break;
    default: wishes_back_and_again(); break;
    }
    session_run(10);
}

/* Records the request of wish_for_many() without a disturbance. */
static void request_alone(struct text *text) {
    session_begin();
    session_start();
    wish_for_many();
    session_run(2000);
    text_add_bytes(text, service->opening, strlen(service->opening));
    assert_true(text->len > 3 * MST_RECORD_OUT_MIN);
}

static size_t wanted_after(enum disturbance what) {
    return what == CHANGE_OF_MIND ? MST_SUBSCRIPTIONS_MAX * 3 / 4
                                  : MST_SUBSCRIPTIONS_MAX;
}

/* Stalls the line after this many bytes of the request, lets something happen,
 * and continues. */
static void expect_whole(const char *request, size_t at,
                         enum disturbance what) {
    const char *name = printed("disturbance %d at byte %zu", (int)what, at);

    session_begin();
    session_connect();
    session_stall_after(at);
    wish_for_many();
    session_run(10);
    disturb(what);
    session_unstall();
    session_run(1);
    if (session.seen.events[MST_EVENT_CLOSED] == 0) {
        expect_text(name, request, service->opening);
    }
    session_run(2 * SESSION_MINUTE);
    expect_int(name, wanted_after(what), service_len(service));
}

TEST_CASE(test_request_stays_whole) {
    struct text *request = text_new();

    request_alone(request);
    for (enum disturbance what = DEADLINE; what < DISTURBANCES; what++) {
        for (size_t at = 0; at < request->len; at += 149) {
            expect_whole(text_get(request), at, what);
        }
    }
}

/* A request waits behind a pong: responses meanwhile do not count. */
TEST_CASE(test_request_behind_a_pong) {
    char payload[MST_WS_CONTROL_MAX];

    for (enum disturbance what = DEADLINE; what < DISTURBANCES; what++) {
        session_begin();
        session_connect();
        session_run(100);
        session_stall_after(0);
        memset(payload, 'p', sizeof payload);
        for (int i = 0; i < 8; i++) {
            service_frame(service, 0x80, 9, payload, sizeof payload);
            session_run(1);
        }
        wish_for_many();
        session_run(10);
        disturb(what);
        session_unstall();
        session_run(2 * SESSION_MINUTE);
        expect_int("subscribed", wanted_after(what), service_len(service));
    }
}

/* ---- a dead link ---- */

/* Expects the end by silence at this time after the last byte. Until then the
 * program may sleep. */
static void expect_found_dead(const char *name, uint64_t last_ms,
                              uint32_t silence_ms) {
    while (session.seen.events[MST_EVENT_CLOSED] == 0 &&
           session_now() < last_ms + 2 * silence_ms) {
        session_run(500);
        if (session.seen.events[MST_EVENT_CLOSED] == 0 &&
            mst_next_deadline_ms(&session.client.link) == 0) {
            expect_failed("%s: spins", name);
            return;
        }
    }
    session_expect_closed(name, MST_ERR_SILENCE, MST_STATE_OPEN);
    expect_int(name, (long long)last_ms + silence_ms, session.seen.closed_ms);
    session_unstall();
    session_run(SESSION_MINUTE);
    expect_int(name, MST_STATE_OPEN, session_state());
}

TEST_CASE(test_stalled_link_is_found_dead) {
    static const uint32_t silence_ms[] = {60000, 25000};
    char payload[MST_WS_CONTROL_MAX] = "";

    for (size_t i = 0; i < COUNT(silence_ms); i++) {
        /* A request is half sent; its response's deadline is far away. */
        session_begin();
        session.config.silence_ms = silence_ms[i];
        session.config.answer_ms = 10 * SESSION_MINUTE;
        session_connect();
        session_run(100);
        uint64_t last = service->upgrades.last_ms;
        session_stall_after(100);
        wish_for_many();
        expect_found_dead("a request", last, silence_ms[i]);

        /* A pong is half sent. */
        session_begin();
        session.config.silence_ms = silence_ms[i];
        session_connect();
        session_stall_after(40);
        for (int n = 0; n < 8; n++) {
            service_frame(service, 0x80, 9, payload, sizeof payload);
            session_run(1);
        }
        last = session_now() - 1;
        expect_found_dead("a pong", last, silence_ms[i]);
    }
}

/* With the defaults, a request that cannot be sent ends the connection when its
 * response is due. */
TEST_CASE(test_unwritten_request_ends_the_link) {
    session_begin();
    session_connect();
    session_run(15000);
    uint64_t begin = session_now();
    session_stall_after(100);
    wish_for_many();
    session_until_closed("not written", 2 * SESSION_MINUTE, MST_ERR_ANSWER,
                         MST_STATE_OPEN);
    expect_int("closed", (long long)begin + ANSWER_MS, session.seen.closed_ms);
    session_unstall();
    session_run(SESSION_MINUTE);
    expect_int("subscribed", MST_SUBSCRIPTIONS_MAX, service_len(service));
}

/* A fast start does not excuse a frame that then stops. */
TEST_CASE(test_burst_then_nothing) {
    static unsigned char piece[60000];
    unsigned char head[10];

    session_begin_open();
    service_bytes(service, head, mst_mock_service_head(head, 0x82, 100000000));
    for (int i = 0; i < 170; i++) {
        service_bytes(service, piece, sizeof piece);
        session_run(1);
    }
    assert_true(session_stats()->bytes_in > 10000000);
    uint64_t last = session_now() - 1;
    mst_mock_freeze(&session.mock, service->core.stream);
    session_until_closed("stops", 2 * SESSION_MINUTE, MST_ERR_SILENCE,
                         MST_STATE_OPEN);
    expect_int("after", (long long)last + 60000, session.seen.closed_ms);
    assert_true(session_until_subscribed(SESSION_MINUTE));
}

/* ---- a peer that never stops ---- */

/* Far more than one poll may read. */
#define REFILLS_MAX 5000

static struct {
    const char *bytes;
    size_t len, refills;
    bool on;
} flood;

/* Keeps the input full. */
static void flood_more(void *context, int link) {
    char piece[1024];

    if (!flood.on || link != ((struct service *)context)->core.stream) {
        return;
    }
    if (++flood.refills == REFILLS_MAX) {
        expect_failed("a poll does not return");
        flood.on = false;
        return;
    }
    for (size_t i = 0; i < sizeof piece; i++) {
        piece[i] = flood.bytes[i % flood.len];
    }
    service_bytes(context, piece, sizeof piece / flood.len * flood.len);
}

/* Polls for ms, once per ms. Returns false once the client is closed. */
static bool flood_run(uint32_t ms) {
    struct mst_event event;

    while (ms > 0) {
        flood.refills = 0;
        int rc = mst_poll(&session.client, &event);
        if (rc < 0) {
            return false;
        }
        mst_mock_advance(&session.mock, 1);
        ms--;
    }
    return true;
}

static void expect_flood_survived(const char *name, const char *head,
                                  size_t head_len) {
    session_begin();
    session.config.closing_ms = 50;
    service->rules.no_echo = true;
    session_open();
    session.mock.peer.drained = flood_more;
    flood.on = true;
    service_bytes(service, head, head_len);
    flood_more(service, service->core.stream);
    assert_true(flood_run(20));
    expect_int(name, MST_STATE_OPEN, session_state());
    /* The flood continues, and the client can be closed all the same. */
    mst_close(&session.client);
    uint64_t begin = session_now();
    if (flood_run(200)) {
        expect_failed("%s: does not close", name);
    }
    assert_in_range(session_now() - begin, 49, 51);
    flood.on = false;
    session_check();
}

TEST_CASE(test_floods) {
    static const struct {
        const char *name, *head;
        size_t head_len;
        const char *bytes;
        size_t len;
    } cases[] = {
        {"pongs", BYTES(""), BYTES("\x8A\x00")},
        {"pings", BYTES(""), BYTES("\x89\x02hi")},
        {"empty fragments", BYTES("\x01\x01{"), BYTES("\x00\x00")},
        {"a text that is skipped",
         BYTES("\x81\x7F\x00\x00\x10\x00\x00\x00\x00\x00]]"), BYTES("   ")},
        {"a text too large",
         BYTES("\x81\x7F\x00\x00\x10\x00\x00\x00\x00\x00{\"a\":\""),
         BYTES("zzz")},
        {"a binary message", BYTES("\x82\x7F\x00\x00\x10\x00\x00\x00\x00\x00"),
         BYTES("zzz")},
        {"binary messages", BYTES(""), BYTES("\x82\x01z")},
        {"errors", BYTES(""), BYTES("\x81\x01]")},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        flood.bytes = cases[i].bytes;
        flood.len = cases[i].len;
        expect_flood_survived(cases[i].name, cases[i].head, cases[i].head_len);
    }
}

/* If input causes no event, one poll reads 64 times and then returns. */
TEST_CASE(test_a_poll_goes_round_so_often) {
    const uint64_t *calls = &session.mock.calls[MST_MOCK_RECV];
    struct mst_event event;

    session_begin_open();
    for (int i = 0; i < 200; i++) {
        service_frame(service, 0x80, MST_WS_PONG, "", 0);
    }
    session.mock.plan.recv_max = 1;
    uint64_t before = *calls;
    expect_int("events", 0, mst_poll(&session.client, &event));
    expect_int("calls", 64, *calls - before);
}

RUN_SESSIONS(NULL, NULL)
