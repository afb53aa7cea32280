/*
 * Faults known from other clients of this kind, with a test for each class that
 * needs a whole session: stalls, floods, state of the last connection, missing
 * texts, and texts that fill their buffer.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

/* ---- a huge length ---- */

/* A frame of 2^63 - 1 bytes whose payload never comes, or slowly: the client
 * does not wait forever. */
TEST_CASE(test_a_huge_length_does_not_stall) {
    static const char header[] = "\x81\x7F\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF{";

    for (int drips = 0; drips < 2; drips++) {
        session_begin();
        session.service.rules.no_pong = true; /* or it is in the frame */
        session_open();
        uint64_t begin = session_now();
        service_bytes(&session.service, BYTES(header));
        for (int s = 0; s < 120 && session.seen.events[MST_EVENT_CLOSED] == 0;
             s++) {
            session_run(1000);
            service_bytes(&session.service, " ", (size_t)drips);
        }
        session_expect_closed(drips ? "a byte a second" : "nothing",
                              MST_ERR_SLOW, MST_STATE_OPEN);
        assert_in_range(session.seen.closed_ms - begin, 1000, 70000);
        assert_true(session_until_subscribed(SESSION_MINUTE));
    }
}

/* ---- the last connection ---- */

/* A connection may end at any byte of this: in a header, a character, a
 * message, a control frame or a part of a book. */
static const char debris[] =
    "\x01\x03\"\xE2\x82" /* within a character */
    "\x89\x03pin"        /* a ping between frames */
    "\x00\x02\xAC\""     /* the message continues */
    "\x80\x00"           /* and ends */
    "\x81\x7E\x01\x00"   /* a message of 256 bytes begins */
    "{\"channel\":\"market_data\",\"payload\":{\"market\":\"BTCUSD\","
    "\"type\":\"UPDATE\",\"time\":\"2026-01-03T00:00:00.000Z\",\"bids\":["
    "{\"price\":\"99.5\",\"amount\":\"7\"},{\"price\":\"1\\u00";

/* Ends a connection after these bytes. The next connection must not differ from
 * a first one. */
static void expect_nothing_left(const char *name, size_t len, int error) {
    struct text *expected = text_new(), *got = text_new();

    for (int after = 0; after < 2; after++) {
        session_begin_open();
        if (after) {
            service_bytes(&session.service, debris, len);
            session_run(len % 2); /* or ends at once */
        }
        session_break(error);
        uint64_t pongs = session.service.pongs.count;
        assert_true(session_until_subscribed(SESSION_MINUTE));
        text_clear(&session.seen.record);
        memset(session.seen.events, 0, sizeof session.seen.events);
        service_frame(&session.service, 0, MST_WS_TEXT, "{\"a\"", 4);
        service_frame(&session.service, 0x80, MST_WS_CONTINUATION, ":1}", 3);
        session_run(1);
        expect_int(name, 1, session.seen.events[MST_EVENT_UNKNOWN]);
        expect_int(name, 0, session.seen.events[MST_EVENT_ERROR]);
        expect_int(name, pongs, session.service.pongs.count);
        for (size_t i = 0; i < 2; i++) {
            expect_int(name, MST_BOOK_LIVE, mst_book_state(session_book(i)));
            expect_int(name, 3, mst_book_depth(session_book(i), MST_BID));
        }
        session_record_copy(after ? got : expected);
    }
    expect_text(name, text_get(expected), text_get(got));
}

TEST_CASE(test_nothing_is_left_of_the_last_connection) {
    for (size_t len = 1; len < sizeof debris; len++) {
        const char *name = printed("%zu bytes", len);

        expect_nothing_left(name, len, MST_ERR_EOF);
        expect_nothing_left(name, len, MST_ERR_RESET);
    }
}

/* Pings of one connection are not answered on the next. */
TEST_CASE(test_no_pong_for_the_last_connection) {
    session_begin_open();
    session_stall_after(0);
    for (int i = 0; i < 3; i++) {
        service_frame(&session.service, 0x80, MST_WS_PING, "old", 3);
        session_run(10);
    }
    session_break(MST_ERR_RESET);
    session_unstall();
    assert_true(session_until_subscribed(SESSION_MINUTE));
    session_run(1000);
    expect_int("pongs", 0, session.service.pongs.count);
}

/* ---- missing texts ---- */

static unsigned failures_seen;

/* Texts of a failure's event can be printed, whatever went wrong. */
static bool texts_are_there(void *context, const struct mst_event *event) {
    const struct mst_failure *failure = &event->as.failure;

    (void)context;
    if (event->type == MST_EVENT_CLOSED || event->type == MST_EVENT_ERROR) {
        failures_seen++;
        if (failure->text == NULL || failure->market == NULL ||
            mst_strerror(failure->error) == NULL ||
            mst_state_name(failure->stage) == NULL ||
            strlen(failure->text) > MST_TEXT_MAX) {
            expect_failed("%d in state %d: a text is missing", failure->error,
                          (int)failure->stage);
        }
    }
    return event->type != MST_EVENT_CLOSED;
}

/* URLs without a path, and a failure in every stage and at every call of the
 * port: no text is NULL. */
TEST_CASE(test_no_text_of_a_failure_is_null) {
    failures_seen = 0;
    for (enum mst_mock_call call = MST_MOCK_RESOLVE; call < MST_MOCK_ANY;
         call++) {
        for (uint64_t n = 1; n < 12; n++) {
            session_begin();
            session_fail_at(n, call,
                            call == MST_MOCK_RESOLVE ? MST_ERR_RESOLVE
                                                     : MST_ERR_RESET);
            assert_null(strchr(session.config.ws_url + strlen("wss://"), '/'));
            session_start_all();
            session_run_with(SESSION_MINUTE, texts_are_there);
        }
    }
    for (enum mst_state stage = MST_STATE_RESOLVE; stage < MST_STATE_OPEN;
         stage++) {
        session_begin();
        session_hang(stage);
        session_start();
        session_run_with(SESSION_MINUTE, texts_are_there);
    }
    assert_true(failures_seen > 20);
}

/* A function that a port may leave out is not called. */
TEST_CASE(test_nothing_left_out_is_followed) {
    static struct mst_client client;
    struct mst_port port;

    session_begin();
    port = session.port;
    port.detail = NULL;
    port.now_ns = NULL;
    port.wants = NULL;
    expect_int(
        "what a port may leave out", 0,
        mst_client_init(&client, &session.config, &port, &session.lengths));
    session.mock.plan.connect_error[0] = MST_ERR_REFUSED;
    for (int i = 0; i < 1000; i++) {
        struct mst_event event;
        (void)mst_poll(&client, &event);
        (void)mst_wants(&client.link);
        mst_mock_advance(&session.mock, 10);
    }
    mst_client_wipe(&client);
    session_check();
}

/* ---- texts that fill their buffer ---- */

static size_t text_seen;

/* Notes the length of the failure's text during its event. */
static bool text_is_seen(void *context, const struct mst_event *event) {
    (void)context;
    if (event->type == MST_EVENT_CLOSED) {
        text_seen = strlen(event->as.failure.text);
    }
    return event->type != MST_EVENT_CLOSED;
}

/* The longest close reason, market and error text: each ends within its buffer,
 * and the next member is intact. */
TEST_CASE(test_texts_that_fill_their_room_end_there) {
    session_begin_open();
    for (size_t over = 0; over < 2; over++) {
        service_text(&session.service,
                     printed(EXECUTION_AT("%s", "1", "2", TIME),
                             repeated("M", MST_MARKET_MAX + over)));
        session_run(1);
        expect_int("executions", 1, session.seen.events[MST_EVENT_EXECUTION]);
        expect_int("errors", over, session.seen.events[MST_EVENT_ERROR]);
    }
    expect_int("error", MST_ERR_MESSAGE_SIZE, session.seen.error.error);

    for (size_t len = MST_TEXT_MAX - 1; len < 124; len++) {
        service_close(&session.service, 1013, repeated("r", len));
        session_run_with(5000, text_is_seen);
        expect_int("length", len < MST_TEXT_MAX ? len : MST_TEXT_MAX,
                   text_seen);
        assert_true(session_until_subscribed(SESSION_HOUR));
    }
}

RUN_SESSIONS(NULL, NULL)
