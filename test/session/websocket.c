/*
 * What RFC 6455 demands of a client on a connection: what it sends, and the
 * close codes for errors. Frames alone are tested in unit/ws.c and
 * unit/ws_large.c.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE
#include "session.h"

/* ---- the opening handshake ---- */

/* However long the response takes, subscribe requests wait for it. */
TEST_CASE(test_nothing_is_sent_before_the_101) {
    session_begin();
    session.service.upgrade.delay_ms = 5000;
    session_start_and_run(4000);
    expect_int("state", MST_STATE_UPGRADE, session_state());
    expect_int("upgrades", 1, session.service.upgrades.count);
    expect_int("requests", 0, session.service.requests.count);
    expect_int("pings", 0, session.service.pings.count);
    expect_text("wrong", "", session.service.core.wrong);
    assert_true(session_until_subscribed(5000));
}

/* A redirect would send the token to another server. */
TEST_CASE(test_redirects_are_not_followed) {
    static const char *const statuses[] = {"301 Moved", "302 Found",
                                           "303 See Other", "307 Temporary",
                                           "308 Permanent"};

    for (size_t i = 0; i < COUNT(statuses); i++) {
        session_begin();
        session.service.upgrade.raw = printed(
            SERVICE_EMPTY("%s\r\nLocation: ws://evil.example/"), statuses[i]);
        session_start_all();
        session_until_closed(statuses[i], SESSION_MINUTE, MST_ERR_WS_UPGRADE,
                             MST_STATE_UPGRADE);
        session_run(10 * SESSION_MINUTE);
        session.service.upgrade.raw = NULL;
        assert_true(session_until_subscribed(10 * SESSION_MINUTE));
    }
}

/* ---- keys and masks ---- */

/* Records sent frames, and parses them. Wraps the port's send. */
static struct {
    struct mst_port below;
    struct text sent;
} wire;

static int wire_send(void *context, int link, const void *data, size_t len) {
    int n = wire.below.send(context, link, data, len);

    if (n > 0) {
        text_add_bytes(&wire.sent, data, (size_t)n);
    }
    return n;
}

static void wire_begin(void) {
    text_clear(&wire.sent);
    wire.below = session.port;
    session.port.send = wire_send;
}

/* A new nonce for each connection (section 4.1), of which all is drawn. */
TEST_CASE(test_each_connection_has_a_key_of_its_own) {
    static const char name[] = "Sec-WebSocket-Key: ";
    char keys[20][25];
    size_t count = 0;

    session_begin();
    wire_begin();
    session_open();
    for (int i = 1; i < 20; i++) {
        session_break(MST_ERR_EOF);
        assert_true(session_until_subscribed(SESSION_HOUR));
    }
    const char *at = wire.sent.data, *end = at + wire.sent.len;
    while (count < COUNT(keys) &&
           (at = memmem(at, (size_t)(end - at), name, strlen(name))) != NULL) {
        at += strlen(name);
        snprintf(keys[count], sizeof keys[count], "%s", at);
        for (size_t i = 0; i < count; i++) {
            assert_string_not_equal(keys[i], keys[count]);
        }
        count++;
    }
    expect_int("keys", COUNT(keys), count);
    for (size_t at_char = 0; at_char < 22; at_char++) { /* and then "==" */
        size_t same = 0;
        for (size_t i = 0; i < count; i++) {
            same += keys[i][at_char] == keys[0][at_char];
        }
        assert_in_range(same, 1, COUNT(keys) - 1);
    }
}

/* Each frame has a new mask from the port's random bytes, like the nonce
 * (section 5.3): none repeats, and no bit is constant. */
TEST_CASE(test_each_frame_has_a_mask_of_its_own) {
    enum { FRAMES = 500 };
    static uint32_t masks[FRAMES];
    uint32_t ones = 0, zeros = 0;
    size_t at = 0, count = 0;

    session_begin_open();
    wire_begin();
    for (int i = 0; i < FRAMES; i++) {
        unsigned stock = session.client.link.random.len;
        service_frame(&session.service, 0x80, MST_WS_PING, "ping", 4);
        session_run(1);
        if (session.client.link.random.len < stock) { /* else refilled */
            expect_int("taken", 4, stock - session.client.link.random.len);
        }
    }
    while (at < wire.sent.len && count < FRAMES) {
        const uint8_t *frame = (const uint8_t *)wire.sent.data + at;
        size_t len = frame[1] & 0x7Fu;

        assert_int_equal(frame[0], 0x80 | MST_WS_PONG);
        assert_int_equal(frame[1], 0x80 | 4);
        memcpy(&masks[count], frame + 2, 4);
        for (size_t i = 0; i < count; i++) {
            assert_int_not_equal(masks[i], masks[count]);
        }
        ones |= masks[count];
        zeros |= ~masks[count];
        count++;
        at += 6 + len;
    }
    expect_int("frames", FRAMES, count);
    expect_int("bits that are always 0", 0, ~ones);
    expect_int("bits that are always 1", 0, ~zeros);
}

/* Without random bytes there is no mask, so no frame is sent. */
TEST_CASE(test_no_frame_without_random_bytes) {
    uint64_t pongs = 0;

    session_begin_open();
    session.mock.plan.entropy_none = true;
    for (int i = 0; i < 100 && session.seen.events[MST_EVENT_CLOSED] == 0;
         i++) {
        pongs = session.service.pongs.count;
        service_frame(&session.service, 0x80, MST_WS_PING, "ping", 4);
        session_run(1);
    }
    session_expect_closed("no entropy", MST_ERR_ENTROPY, MST_STATE_OPEN);
    expect_int("pongs to the last ping", 0,
               session.service.pongs.count - pongs);
    session.mock.plan.entropy_none = false;
    assert_true(session_until_subscribed(SESSION_MINUTE));
}

/* ---- control frames ---- */

/* Unsolicited pongs are ignored, and never answered. */
TEST_CASE(test_pongs_are_not_answered) {
    session_begin_open();
    wire_begin();
    for (int i = 0; i < 10; i++) {
        service_frame(&session.service, 0x80, MST_WS_PONG, "unasked", 7);
    }
    session_run(10);
    expect_int("bytes sent", 0, wire.sent.len);
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
}

/* A ping between the fragments of a message is answered, and the message is not
 * affected. */
TEST_CASE(test_a_ping_between_fragments) {
    static const char text[] =
        "{\"channel\":\"news\",\"payload\":\"\xE2\x82\xAC\"}";

    session_begin_open();
    for (size_t i = 0; i + 1 < sizeof text; i++) {
        const char *payload = printed("%03zu", i);

        service_frame(&session.service, i + 2 == sizeof text ? 0x80 : 0,
                      i == 0 ? MST_WS_TEXT : MST_WS_CONTINUATION, text + i, 1);
        service_frame(&session.service, 0x80, MST_WS_PING, payload, 3);
        session_run(1);
        expect_text("pong", payload, session.service.pong);
    }
    expect_int("messages", 1, session.seen.events[MST_EVENT_UNKNOWN]);
    assert_non_null(strstr(text_get(&session.seen.record), text));
}

/* ---- the closing handshake ---- */

/* Every code that a server may send is answered with the same code, and no code
 * with no code (section 7.4.1). */
TEST_CASE(test_a_close_is_answered_with_its_code) {
    static const unsigned codes[] = {1000, 1001, 1002, 1003, 1005, 1007,
                                     1008, 1009, 1010, 1011, 1012, 1013,
                                     1014, 3000, 3999, 4000, 4999};

    session_begin_open();
    for (size_t i = 0; i < COUNT(codes); i++) {
        uint64_t closes = session.service.closes.count;

        if (codes[i] == 1005) {
            service_frame(&session.service, 0x80, MST_WS_CLOSE, "", 0);
            session.service.core.links[0].close_sent = true;
        } else {
            service_close(&session.service, codes[i], "bye");
        }
        session_until_closed("close", 5000, MST_ERR_WS_CLOSED, MST_STATE_OPEN);
        expect_int("code", codes[i], session.seen.closed.ws_code);
        expect_text("reason", codes[i] == 1005 ? "" : "bye",
                    session.seen.closed.text);
        expect_int("answer", codes[i], session.service.close_code);
        expect_int("answers", 1, session.service.closes.count - closes);
        assert_true(session_until_subscribed(SESSION_HOUR));
        session_run(SESSION_MINUTE);
    }
}

/* Bytes after the peer's close frame are ignored, whatever they are: nothing is
 * delivered or answered. */
TEST_CASE(test_nothing_counts_behind_a_close) {
    static const struct {
        const char *bytes;
        size_t len;
    } behind[] = {
        {BYTES("\x81\x13{\"channel\":\"news\"} ")},
        {BYTES("\x89\x04ping")},
        {BYTES("\x88\x02\x03\xE9")},
        {BYTES("\x82\x01x")},
        {BYTES("\xFF\xFF\xFF\xFF")},
        {BYTES("\x81\x7F\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF")},
    };

    for (size_t i = 0; i < COUNT(behind); i++) {
        session_begin_open();
        session.service.core.links[0].close_sent = true;
        service_bytes(&session.service, BYTES("\x88\x02\x0F\xA0"));
        service_bytes(&session.service, behind[i].bytes, behind[i].len);
        session_until_closed("close", 5000, MST_ERR_WS_CLOSED, MST_STATE_OPEN);
        expect_int("code", 4000, session.seen.closed.ws_code);
        expect_int("answer", 4000, session.service.close_code);
        expect_int("answers", 1, session.service.closes.count);
        expect_int("messages", 0, session.seen.events[MST_EVENT_UNKNOWN]);
        expect_int("errors", 0, session.seen.events[MST_EVENT_ERROR]);
        expect_int("pongs", 0, session.service.pongs.count);
        assert_true(session_until_subscribed(SESSION_MINUTE));
    }
}

/* After the client's close frame no request, pong or ping is sent, whatever the
 * program or the service asks for. The service would detect it. */
TEST_CASE(test_nothing_is_sent_behind_our_close) {
    session_begin();
    session.service.rules.no_echo = true;
    session.config.ping_ms = 100;
    session_open();
    assert_int_equal(session_leave(MST_HEARTBEAT, NULL), 0);
    assert_int_equal(session_list(), 0);
    uint64_t requests = session.service.requests.count;
    mst_close(&session.client);
    for (int i = 0; i < 100; i++) {
        service_frame(&session.service, 0x80, MST_WS_PING, "ping", 4);
        session_run(10);
    }
    expect_int("code", 1000, session.service.close_code);
    expect_int("closes", 1, session.service.closes.count);
    expect_int("pongs", 0, session.service.pongs.count);
    expect_int("requests", requests, session.service.requests.count);
}

/* Both close at the same time: the connection ends without an error. */
TEST_CASE(test_both_close_at_once) {
    session_begin();
    session.mock.plan.data_ms = 20;
    session_open();
    service_close(&session.service, 1001, "bye");
    mst_close(&session.client);
    uint64_t begin = session_now();
    session_run(SESSION_MINUTE);
    expect_int("state", MST_STATE_OFF, session_state());
    session_expect_closed("end", MST_OK, MST_STATE_CLOSING);
    expect_int("code", 1000, session.service.close_code);
    expect_int("closes", 1, session.service.closes.count);
    assert_in_range(session_now() - begin, 20, 100);
}

/* After both close frames the connection is over: the client does not wait
 * until the peer hangs up. */
TEST_CASE(test_after_both_closes_it_is_over) {
    session_begin();
    session.service.rules.no_echo = true; /* and it does not hang up */
    session_open();
    mst_close(&session.client);
    session_run(100);
    uint64_t begin = session_now();
    service_bytes(&session.service, BYTES("\x88\x02\x03\xE8"));
    session_run(SESSION_MINUTE);
    session_expect_closed("end", MST_OK, MST_STATE_CLOSING);
    expect_int("ms", 0, session.seen.closed_ms - begin);
}

/* Nor after its close frame to a peer that broke the protocol. */
TEST_CASE(test_after_an_error_it_is_over) {
    session_begin();
    session.service.rules.no_echo = true; /* and it does not hang up */
    session_open();
    uint64_t begin = session_now();
    service_bytes(&session.service, BYTES("\xF1\x00"));
    session_run(SESSION_MINUTE);
    session_expect_closed("end", MST_ERR_WS_RESERVED, MST_STATE_OPEN);
    expect_int("ms", 0, session.seen.closed_ms - begin);
    expect_int("code", 1002, session.service.close_code);
}

/* ---- large and many ---- */

/* One message in fragments of one byte, each after an empty fragment, with
 * pings in between. */
TEST_CASE(test_65536_fragments_are_one_message) {
    enum { FRAGMENTS = 65536 };

    session_begin_open();
    service_frame(&session.service, 0, MST_WS_TEXT, "{", 1);
    for (unsigned i = 2; i < FRAGMENTS; i += 2) {
        service_frame(&session.service, 0, MST_WS_CONTINUATION, "", 0);
        service_frame(&session.service, 0, MST_WS_CONTINUATION, " ", 1);
        if (i % 1024 == 0) {
            session_run(1);
        }
    }
    service_frame(&session.service, 0x80, MST_WS_CONTINUATION, "}", 1);
    session_run(10);
    expect_int("messages", 1, session.seen.events[MST_EVENT_UNKNOWN]);
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    expect_int("errors", 0, session.seen.events[MST_EVENT_ERROR]);
}

RUN_SESSIONS(NULL, NULL)
