/*
 * Reports about the opening handshake and frames (README.md, 31 to 40).
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

/* 32, 33 and 36: header fields that do not belong in a 101. */
TEST_CASE(test_headers_of_a_101) {
    static const char *const headers[] = {
        "Transfer-Encoding: chunked\r\n", "Content-Length: 0\r\n",
        "Content-Length: 5\r\nContent-Type: text/html\r\n",
        "Connection: keep-alive\r\n", "Connection: close,Upgrade\r\n"};

    for (size_t i = 0; i < COUNT(headers); i++) {
        session_begin();
        session.service.upgrade.headers = headers[i];
        session.service.rules.greeting = "\x81\x12{\"channel\":\"news\"}";
        session.service.rules.greeting_len = 20;
        session_open();
        expect_int(headers[i], 1, session.seen.events[MST_EVENT_UNKNOWN]);
        session_run(SESSION_HOUR);
        expect_int(headers[i], 0, session.seen.events[MST_EVENT_CLOSED]);
    }
}

/* 34 and 40: other data instead of a 101. */
TEST_CASE(test_instead_of_a_101) {
    static const struct {
        const char *name, *raw;
        int error, status;
    } cases[] = {
        {"34: an error with a body in chunks",
         "HTTP/1.1 503 Service Unavailable\r\nTransfer-Encoding: "
         "chunked\r\n\r\n5\r\nBusy!\r\n0\r\n\r\n",
         MST_ERR_WS_UPGRADE, 503},
        {"34: one that is cut off",
         "HTTP/1.1 503 Service Unavailable\r\nTransfer-Encoding: "
         "gzip, chunked\r\n\r\nffff\r\nB",
         MST_ERR_WS_UPGRADE, 503},
        {"40: a frame", "\x81\x05Hello", MST_ERR_HTTP_SYNTAX, 0},
        {"40: a frame and then the 101",
         "\x81\x05HelloHTTP/1.1 101 Switching Protocols\r\n\r\n",
         MST_ERR_HTTP_SYNTAX, 0},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        for (int end = 0; end < 2; end++) {
            session_begin();
            service_answer(&session.service.upgrade, cases[i].raw, 0,
                           end ? MST_ERR_EOF : 0);
            session_start_all();
            session_until_closed(cases[i].name, SESSION_MINUTE, cases[i].error,
                                 MST_STATE_UPGRADE);
            expect_int(cases[i].name, cases[i].status,
                       session.seen.closed.http_status);
            session_run(SESSION_HOUR);
            assert_in_range(session.service.upgrades.count, 2, 140);
            session.service.upgrade.raw = NULL;
            session_expect_subscribed(SESSION_MINUTE, "%s", cases[i].name);
        }
    }
}

/* 35: Host has the port only if it is not the scheme's default. */
TEST_CASE(test_host) {
    static const struct {
        const char *url, *wrong; /* what the service says, which has no port */
    } cases[] = {
        {"wss://ws.example", ""},
        {"wss://ws.example:443", ""},
        {"wss://ws.example:80",
         "header Host is \"ws.example:80\", not \"ws.example\""},
        {"wss://ws.example:8443/",
         "header Host is \"ws.example:8443\", not \"ws.example\""},
        {"ws://ws.example", ""},
        {"ws://ws.example:80", ""},
        {"ws://ws.example:443",
         "header Host is \"ws.example:443\", not \"ws.example\""},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        session_begin();
        session.config.flags |= MST_ALLOW_PLAIN;
        session.config.ws_url = cases[i].url;
        session_start();
        session_run(1000);
        expect_text(cases[i].url, cases[i].wrong, session.service.core.wrong);
        session.service.core.wrong[0] = '\0';
    }
}

/* 31: a close frame, and then nothing: the connection stays. */
TEST_CASE(test_closed_but_connected) {
    for (int kind = 0; kind < SESSION_KINDS; kind++) {
        const char *name = session_kind_name((enum session_kind)kind);
        session_begin();
        session_open_kind((enum session_kind)kind);
        session_run(2000);
        service_frame(&session.service, 0x80, MST_WS_CLOSE, "\x03\xE9", 2);
        session_until_closed(name, 15000, MST_ERR_WS_CLOSED, MST_STATE_OPEN);
        session_expect_subscribed(10000, "%s", name);
    }
}

/* 38: the peer continues to send, but stops reading. */
TEST_CASE(test_peer_stops_reading) {
    session_begin();
    session.service.rules.feed_ms = 500;
    session_open();
    session_run(20000);
    session_stall_after(0);
    session_until_closed("noticed", 10 * SESSION_MINUTE, MST_ERR_ANSWER,
                         MST_STATE_OPEN);
    session_unstall();
    session_run(2 * SESSION_MINUTE);
    expect_int("state", MST_STATE_OPEN, session_state());
}

/* 37 and 39: characters of several bytes and frames, cut anywhere, with pauses,
 * also in messages that are larger than the buffer. */
TEST_CASE(test_pieces) {
    static const char text[] =
        "{\"channel\":\"\xC3\xA6\xC3\xB8\xE2\x82\xAC\xF0\x9F\x98\x80\","
        "\"x\":\"\xF0\x9F\x98\x80\xE2\x82\xAC\xC3\xA5\"}";
    static char large[20000];
    const size_t len = sizeof text - 1;

    for (size_t cut = 1; cut < len; cut++) {
        session_begin();
        session_lengths(256, 256);
        session_connect();
        service_frame(&session.service, 0, MST_WS_TEXT, text, cut);
        session_run((uint32_t)cut);
        service_frame(&session.service, 0x80, MST_WS_CONTINUATION, text + cut,
                      len - cut);
        session_run(1);
        expect_int(printed("cut at %zu", cut), 1,
                   session.seen.events[MST_EVENT_UNKNOWN]);
        expect_int("errors", 0, session.seen.events[MST_EVENT_ERROR]);
    }
    for (size_t shift = 0; shift < 4; shift++) {
        size_t at = (size_t)snprintf(large, sizeof large, "{\"channel\":\"%.*s",
                                     (int)shift, "abc");
        while (at + 8 < sizeof large) {
            memcpy(large + at, "\xF0\x9F\x98\x80", 4);
            at += 4;
        }
        memcpy(large + at, "\"}", 2);
        session_begin();
        session_lengths(256, 256);
        session_connect();
        session.mock.plan.drip = 7;
        service_frame(&session.service, 0x80, MST_WS_TEXT, large, at + 2);
        session_run(10000);
        expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    }
}

RUN_SESSIONS(NULL, NULL)
