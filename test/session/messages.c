/*
 * Bad input on the stream: frames, close frames and messages. Checks what is
 * reported, and how the session recovers.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

/* ---- frames ---- */

TEST_CASE(test_bad_frames) {
    static const struct {
        const char *name, *bytes;
        size_t len;
        int error;
    } cases[] = {
        {"reserved bit", BYTES("\xC1\x02{}"), MST_ERR_WS_RESERVED},
        {"second reserved bit", BYTES("\xA1\x02{}"), MST_ERR_WS_RESERVED},
        {"third reserved bit", BYTES("\x91\x02{}"), MST_ERR_WS_RESERVED},
        {"reserved opcode", BYTES("\x83\x02{}"), MST_ERR_WS_RESERVED},
        {"reserved control opcode", BYTES("\x8B\x00"), MST_ERR_WS_RESERVED},
        {"masked", BYTES("\x81\x82{}"), MST_ERR_WS_MASKED},
        {"length in too many bytes", BYTES("\x81\x7E\x00\x02{}"),
         MST_ERR_WS_LENGTH},
        {"negative length", BYTES("\x81\x7F\x80\x00\x00\x00\x00\x00\x00\x00"),
         MST_ERR_WS_LENGTH},
        {"fragmented ping", BYTES("\x09\x01x"), MST_ERR_WS_CONTROL},
        {"large ping", BYTES("\x89\x7E\x01\x00"), MST_ERR_WS_CONTROL},
        {"fragmented close", BYTES("\x08\x02\x03\xE8"), MST_ERR_WS_CONTROL},
        {"continuation of nothing", BYTES("\x80\x02{}"), MST_ERR_WS_FRAGMENT},
        {"message inside of a message", BYTES("\x01\x01{\x81\x02{}"),
         MST_ERR_WS_FRAGMENT},
        {"invalid UTF-8", BYTES("\x81\x03\"\xC0\""), MST_ERR_WS_UTF8},
        {"invalid UTF-8 over two frames", BYTES("\x01\x02\"\xC3\x80\x01x"),
         MST_ERR_WS_UTF8},
        {"invalid UTF-8 long before the end of its frame",
         BYTES("\x81\x7F\0\0\0\0\1\0\0\0\"\xED\xA0"), MST_ERR_WS_UTF8},
        {"invalid UTF-8 before the last frame", BYTES("\x01\x02\"\xFF"),
         MST_ERR_WS_UTF8},
        {"a character cut off at the end", BYTES("\x81\x02\"\xC3"),
         MST_ERR_WS_UTF8},
        {"malformed close", BYTES("\x88\x01x"), MST_ERR_WS_CLOSE},
        {"close with 999", BYTES("\x88\x02\x03\xE7"), MST_ERR_WS_CLOSE},
        {"close with 1004", BYTES("\x88\x02\x03\xEC"), MST_ERR_WS_CLOSE},
        {"close with 1005", BYTES("\x88\x02\x03\xED"), MST_ERR_WS_CLOSE},
        {"close with 1006", BYTES("\x88\x02\x03\xEE"), MST_ERR_WS_CLOSE},
        {"close with 1015", BYTES("\x88\x02\x03\xF7"), MST_ERR_WS_CLOSE},
        {"close with 5000", BYTES("\x88\x02\x13\x88"), MST_ERR_WS_CLOSE},
        {"close with a reason that is not UTF-8", BYTES("\x88\x03\x03\xE8\xC0"),
         MST_ERR_WS_UTF8},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        session_begin_open();
        uint64_t begin = session_now();
        service_bytes(&session.service, cases[i].bytes, cases[i].len);
        service_push(&session.service, "heartbeat", "");
        if (!session_until(MST_EVENT_CLOSED, 10000)) {
            expect_failed("%s: was not noticed", cases[i].name);
        }
        expect_int(cases[i].name, cases[i].error, session.seen.closed.error);
        expect_int(cases[i].name,
                   cases[i].error == MST_ERR_WS_UTF8 ? 1007 : 1002,
                   session.service.close_code);
        expect_int("closed as soon as the service has answered", begin,
                   session.seen.closed_ms);
        expect_int("nothing after the error", 0,
                   session.seen.events[MST_EVENT_HEARTBEAT]);
        session_expect_subscribed(SESSION_MINUTE, "%s", cases[i].name);
    }
}

TEST_CASE(test_service_closes) {
    session_begin_open();
    service_close(&session.service, 1013, "try again l\xC3\xA4ter");
    session_until_closed("close frame", 5000, MST_ERR_WS_CLOSED,
                         MST_STATE_OPEN);
    expect_int("code", 1013, session.seen.closed.ws_code);
    expect_text("reason", "try again l\xC3\xA4ter", session.seen.closed.text);
    expect_int("answered with", 1013, session.service.close_code);
    assert_true(session_until_subscribed(5000));

    service_frame(&session.service, 0x80, 8, "", 0);
    session.service.core.links[0].close_sent = true;
    session_until_closed("without code", 5000, MST_ERR_WS_CLOSED,
                         MST_STATE_OPEN);
    expect_int("code", 1005, session.seen.closed.ws_code);
    assert_true(session_until_subscribed(5000));

    service_end(&session.service, MST_ERR_EOF);
    session_until_closed("without close frame", 5000, MST_ERR_EOF,
                         MST_STATE_OPEN);
    assert_true(session_until_subscribed(5000));
}

/* ---- messages ---- */

/* Each bad message is dropped; the connection stays open. */
TEST_CASE(test_bad_messages) {
    static const struct {
        const char *text;
        int error;
    } cases[] = {
        {"{\"a\"}", MST_ERR_JSON_SYNTAX},
        {"{}{}", MST_ERR_JSON_SYNTAX},
        {"", MST_ERR_JSON_SYNTAX},
        {"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", MST_ERR_JSON_DEPTH},
        {HEARTBEAT_WITH("{}"), MST_ERR_MESSAGE_SHAPE},
        {HEARTBEAT_AT("now"), MST_ERR_TIME},
        {"{\"channel\":\"heartbeat\",\"channel\":\"heartbeat\",\"payload\":{"
         "\"timestamp\":\"2026-01-02T03:04:05Z\"}}",
         MST_ERR_MESSAGE_KEY},
        {BOOK_MESSAGE("UPDATE", LEVEL("x", "1"), ""), MST_ERR_DECIMAL},
        {BOOK_MESSAGE("UPDATE", LEVEL("1e99", "1"), ""), MST_ERR_DECIMAL_WIDE},
    };

    session_begin_open();
    for (size_t i = 0; i < COUNT(cases); i++) {
        service_text(&session.service, cases[i].text);
        service_push(&session.service, "heartbeat", "");
        session_run(1);
        expect_int(cases[i].text, (long long)i + 1,
                   session.seen.events[MST_EVENT_ERROR]);
        expect_int(cases[i].text, cases[i].error, session.seen.error.error);
        expect_int("the next", (long long)i + 1,
                   session.seen.events[MST_EVENT_HEARTBEAT]);
    }
    service_frame(&session.service, 0x80, 2, "\0\1", 2);
    session_run(1);
    expect_int("binary", MST_ERR_MESSAGE_BINARY, session.seen.error.error);
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    expect_int("bad_messages", COUNT(cases) + 1, session_stats()->bad_messages);
}

/* Only a message that may have held a book's levels makes it stale. */
TEST_CASE(test_books_after_bad_messages) {
#define DEEP "[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]"
    static const struct {
        const char *text; /* NULL: a binary message */
        bool doubt, other_doubt;
    } cases[] = {
        {"{\"type\":\"error\",\"error\":\"X\",\"error\":\"X\"}", false, false},
        {"{\"error\":{\"code\":\"X\",\"code\":\"Y\"}}", false, false},
        {"{\"type\":\"error\",\"error\":" DEEP "}", false, false},
        {"{\"type\":\"greeting\",\"a\":" DEEP "}", false, false},
        {"{\"type\":\"subscribe\",\"channels\":[7]}", false, false},
        {"{\"channel\":\"news\",\"payload\":" DEEP "}", false, false},
        {"{\"channel\":\"heartbeat\",\"payload\":{}}", false, false},
        {"{\"channel\":\"execution_data\",\"payload\":{\"market\":\"BTCUSD\"",
         false, false},
        {"{\"channel\":\"market_data\",\"payload\":{\"market\":\"BTCUSD\"",
         true, false},
        {"{\"channel\":\"market_data\",\"payload\":{", true, true},
        {"{\"channel\":\"news\",\"channel\":\"market_data\"}", true, true},
        {"{\"channel\":\"market_data\",\"channel\":\"news\"}", true, true},
        {"{\"channel\":7,\"a\":" DEEP "}", true, true},
        {"{\"type\":\"a\",\"type\":\"b\",\"channel\":\"market_data\"}", true,
         true},
        {"{\"payload\":{\"market\":\"BTCUSD\",\"time\":7,\"type\":\"UPDATE\"},"
         "\"channel\":\"market_data\"}",
         true, false},
        {"{\"payload\":{\"market\":\"BTCUSD\",\"market\":\"ETHUSD\",\"time\":"
         "\"2026-01-02T03:04:05Z\",\"type\":\"UPDATE\"},\"channel\":"
         "\"market_data\"}",
         true, true},
        {"{\"payload\":{\"market\":\"BTCUSD\",\"time\":7,\"type\":\"UPDATE\"},"
         "\"channel\":\"execution_data\"}",
         false, false},
        {"{\"payload\":" DEEP "}", true, true},
        {"{\"payload\":{\"market\":\"BTCUSD\",", true, true},
        {"", true, true},
        {NULL, true, true},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *name = cases[i].text != NULL ? cases[i].text : "binary";
        bool doubts[2] = {cases[i].doubt, cases[i].other_doubt};

        session_begin_open();
        session.service.rules.delay_ms = 100;
        if (cases[i].text != NULL) {
            service_text(&session.service, cases[i].text);
        } else {
            service_frame(&session.service, 0x80, 2, "\0\1", 2);
        }
        session_run(1);
        expect_int(name, 1, session.seen.events[MST_EVENT_ERROR]);
        for (size_t book = 0; book < 2; book++) {
            expect_int(name, doubts[book] ? MST_BOOK_STALE : MST_BOOK_LIVE,
                       mst_book_state(&session.books[book]));
        }
        session_run(10000);
        assert_true(session_subscribed());
        expect_int(name, doubts[0] + doubts[1], session_stats()->resyncs);
    }
}

/* A failure's text never comes from an earlier connection or request. */
TEST_CASE(test_text_of_an_earlier_connection) {
    session_begin_open();
    service_close(&session.service, 1013, "come back later");
    assert_true(session_until(MST_EVENT_CLOSED, 5000));
    expect_text("reason", "come back later", session.seen.closed.text);
    /* Responses without a result for the channels. */
    session.service.rules.only_never = "subscribe";
    assert_true(session_until(MST_EVENT_OPEN, 5000));
    for (int i = 0; i < 20 && session.seen.events[MST_EVENT_CLOSED] < 2; i++) {
        service_text(&session.service,
                     "{\"type\":\"subscribe\",\"channels\":[]}");
        session_run(1000);
    }
    expect_int("closed", 1, session.seen.events[MST_EVENT_CLOSED]);
    expect_int("nothing said", MST_ERR_NO_RESULT, session.seen.error.error);
    expect_text("text", "", session.seen.error_text);
    session.service.rules.only_never = NULL;
    assert_true(session_until_subscribed(2 * SESSION_MINUTE));
}

TEST_CASE(test_unknown_things) {
    static const char *const messages[] = {
        "{\"channel\":\"news\",\"payload\":{\"text\":\"hello\"}}",
        "{\"type\":\"greeting\",\"text\":\"hello\"}",
        "{}",
        "{\"hello\":[1,2,{\"a\":null}]}",
    };

    session_begin_open();
    for (size_t i = 0; i < COUNT(messages); i++) {
        service_text(&session.service, messages[i]);
    }
    session_run(10);
    expect_int("unknown", COUNT(messages),
               session.seen.events[MST_EVENT_UNKNOWN]);
    expect_int("stats.unknown", COUNT(messages), session_stats()->unknown);
    expect_int("errors", 0, session.seen.events[MST_EVENT_ERROR]);
    assert_non_null(strstr(text_get(&session.seen.record), messages[3]));
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
}

/* Data of an unknown market, and an invalid part of a book. */
TEST_CASE(test_data_not_asked_for) {
    session_begin_open();
    service_push(&session.service, "market_data", "XRPUSD");
    service_push(&session.service, "market_data", "BTCUSD");
    session_run(10);
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    assert_true(session_subscribed());
}

static unsigned clock_readings;
static struct mst_port whole; /* the original port */

static uint32_t clock_count(void *context) {
    clock_readings++;
    return whole.now_ms(context);
}

/* The clock is read for each event, so deadlines are served first, however much
 * input there is. */
TEST_CASE(test_bursts) {
    struct mst_event event;
    unsigned events = 0;

    for (int each = 0; each < 2; each++) {
        session_begin();
        session.config.flags |= each ? MST_NO_BURST : MST_STRICT_AMOUNTS;
        session_open();
        whole = session.port;
        session.port.now_ms = clock_count;
        clock_readings = events = 0;
        for (int i = 0; i < 100; i++) {
            service_text(&session.service, "{\"channel\":\"news\"}");
        }
        for (unsigned polls = 0; events < 100 && polls < 1000; polls++) {
            events += mst_poll(&session.client, &event) == 1 ? 1 : 0;
        }
        expect_int("events", 100, events);
        assert_in_range(clock_readings, 100, 300);
        session.port = whole;
    }
}

/* A ping is answered while many events are still to be delivered. */
TEST_CASE(test_ping_amid_events) {
    struct mst_event event;
    unsigned events = 0;

    session_begin_open();
    for (int i = 0; i < 40; i++) {
        service_text(&session.service, "{\"channel\":\"news\"}");
        if (i == 4) {
            service_frame(&session.service, 0x80, MST_WS_PING, "ping", 4);
        }
    }
    while (strcmp(session.service.pong, "ping") != 0 && events < 40) {
        events += mst_poll(&session.client, &event) == 1 ? 1 : 0;
    }
    assert_in_range(events, 5, 7);
}

/* An event's time is that of its last byte, even if this is read alone. */
TEST_CASE(test_time_of_the_last_byte) {
    static const char frame[] =
        "\x81\x46{\"channel\":\"heartbeat\",\"payload\":"
        "{\"timestamp\":\"2030-01-02T03:04:05Z\"}}";

    session_begin();
    session.service.rules.feed_ms = session.service.rules.beat_ms = 0;
    session_open();
    service_bytes(&session.service, frame, sizeof frame - 2);
    session_run(500);
    uint64_t before_ns = session.seen.received_ns[0];
    service_bytes(&session.service, "}", 1);
    session_run(500);
    assert_true(session.seen.received_ns[0] >= before_ns + 500 * 1000000);
}

RUN_SESSIONS(NULL, NULL)
