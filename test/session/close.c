/*
 * Before a session begins and after it ends: no clock, no entropy, closing and
 * wiping in every state.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

/* ---- no clock, no entropy ---- */

static void local_expect(int error) {
    session_start_all();
    assert_true(session_until(MST_EVENT_CLOSED, 1000));
    expect_int("error", error, session.seen.closed.error);
    expect_int("permanent", false, session.seen.closed.permanent);
    uint64_t looks = session.mock.calls[MST_MOCK_UNIX_NS] +
                     session.mock.calls[MST_MOCK_ENTROPY];
    session_run(SESSION_MINUTE);
    looks = session.mock.calls[MST_MOCK_UNIX_NS] +
            session.mock.calls[MST_MOCK_ENTROPY] - looks;
    /* Once a second; each check may read both. */
    assert_in_range(looks, 58, 125);
    expect_int("resolutions", 0, session.mock.calls[MST_MOCK_RESOLVE]);
    expect_int("connections", 0, session.mock.connects);
    expect_int("reported once", 1, session.seen.events[MST_EVENT_CLOSED]);
    session.mock.plan.clock_unset = false;
    if (mst_mock_wall(&session.mock) < MST_MOCK_WALL_NS) {
        mst_mock_set_wall(&session.mock, MST_MOCK_WALL_NS);
    }
    session.mock.plan.entropy_none = false;
    uint64_t begin = session_now();
    assert_true(session_until(MST_EVENT_OPEN, 5000));
    assert_true(session_now() - begin <= 1000);
}

TEST_CASE(test_clock_not_set) {
    session_begin_tls("localhost");
    session.mock.plan.clock_unset = true;
    local_expect(MST_ERR_CLOCK);
}

/* A clock that starts in 1970 counts as not set. */
TEST_CASE(test_clock_in_1970) {
    session_begin_tls("localhost");
    mst_mock_set_wall(&session.mock, INT64_C(1000000000));
    local_expect(MST_ERR_CLOCK);

    session_begin_tls("localhost");
    mst_mock_set_wall(&session.mock, INT64_C(1000000000) * MST_CLOCK_MIN);
    session_start_all();
    session_run(100);
    assert_true(session.mock.calls[MST_MOCK_RESOLVE] > 0);
}

TEST_CASE(test_no_entropy) {
    for (int tls = 0; tls < 2; tls++) {
        session_begin_over(tls);
        session.mock.plan.entropy_none = true;
        local_expect(MST_ERR_ENTROPY);
    }
    session_begin_tls("localhost");
    session_start_all();
    assert_true(session_until_subscribed(20000));
    session.mock.plan.entropy_none = true;
    uint64_t connects = session.mock.connects;
    service_end(&session.service, MST_ERR_RESET);
    session_run(SESSION_MINUTE);
    expect_int("connections", connects, session.mock.connects);
    session.mock.plan.entropy_none = false;
    assert_true(session_until_subscribed(5000));
}

/* Masks must be unpredictable: without random bytes no frame is sent, and the
 * stream ends for lack of entropy, or with the error that ended it. */
TEST_CASE(test_entropy_runs_out) {
    struct mst_random *random = &session.client.link.random;

    for (int broken = 0; broken < 2; broken++) {
        session_begin_open();
        session_run(1000);
        session.mock.plan.entropy_none = true;
        for (int i = 0; i < 64 && random->len >= 4; i++) {
            service_frame(&session.service, 0x80, 9, "x", 1);
            session_run(1);
        }
        expect_int("still open", MST_STATE_OPEN, session_state());
        service_frame(&session.service, broken ? 0xC0 : 0x80, 9, "x", 1);
        session_until_closed("nothing to mask with", 1000,
                             broken ? MST_ERR_WS_RESERVED : MST_ERR_ENTROPY,
                             MST_STATE_OPEN);
        session.mock.plan.entropy_none = false;
        assert_true(session_until_subscribed(SESSION_MINUTE));
    }
}

/* ---- closing in every state ---- */

/* Polls count times, or until the client waits and no event is due. */
static size_t polls_make(size_t count) {
    size_t polls = 0;

    for (; polls < count; polls++) {
        struct mst_event event;
        if (mst_poll(&session.client, &event) == 0) {
            mst_mock_advance(&session.mock, 1);
        }
        if (session_now() > 30000) {
            break;
        }
    }
    return polls;
}

enum { CLOSE_ANSWERED, CLOSE_UNANSWERED, CLOSE_REFUSED, CLOSE_TLS };

static void close_begin(int how) {
    session_begin_over(how == CLOSE_TLS);
    session.mock.plan.resolve_ms = 2;
    session.mock.plan.connect_ms = 2;
    session.mock.plan.data_ms = 2;
    session.mock.plan.recv_max = 40;
    session.mock.plan.send_max = 60;
    session.service.rules.no_echo = how == CLOSE_UNANSWERED;
    if (how == CLOSE_REFUSED) {
        session.mock.plan.connect_error[0] = MST_ERR_REFUSED;
    }
    session_start_all();
}

TEST_CASE(test_close_everywhere) {
    unsigned seen = 0;

    for (int how = CLOSE_ANSWERED; how <= CLOSE_TLS; how++) {
        for (size_t n = 0; n < 1500; n += n >= 300           ? 97
                                          : how == CLOSE_TLS ? 7
                                                             : 1) {
            close_begin(how);
            polls_make(n);
            seen |= 1u << session_state();
            uint64_t begin = session_now();
            mst_close(&session.client);
            mst_close(&session.client);
            expect_int("subscribe", MST_ERR_CLOSED,
                       session_wish(MST_HEARTBEAT, NULL));
            session_run(SESSION_MINUTE);
            if (session_now() - begin > 3000) {
                expect_failed("closed after %zu polls: took %d ms", n,
                              (int)(session_now() - begin));
            }
            expect_int("state", MST_STATE_OFF, session_state());
            expect_int("link left", false, mst_mock_in_use(&session.mock, 0));
            uint64_t calls = session.mock.calls[MST_MOCK_ANY];
            session_run(SESSION_MINUTE);
            expect_int("calls after", calls, session.mock.calls[MST_MOCK_ANY]);
        }
    }
    unsigned all = 1u << MST_STATE_WAIT | 1u << MST_STATE_TLS |
                   1u << MST_STATE_RESOLVE | 1u << MST_STATE_CONNECT |
                   1u << MST_STATE_TOKEN | 1u << MST_STATE_UPGRADE |
                   1u << MST_STATE_OPEN;
    expect_int("states seen", all, seen & all);
}

TEST_CASE(test_wipe_everywhere) {
    for (size_t n = 0; n < 600; n += n < 300 ? 1 : 7) {
        close_begin(n < 300 ? CLOSE_ANSWERED : CLOSE_TLS);
        polls_make(n % 300);
        mst_client_wipe(&session.client);
        for (size_t i = 0; i < session.lengths.size; i++) {
            if (session.memory[i] != 0 && session.memory[i] != 0xA7) {
                expect_failed("after %zu polls: byte %zu is left", n % 300, i);
                break;
            }
        }
        expect_int("link left", false, mst_mock_in_use(&session.mock, 0));
        session_check();
    }
}

/* ---- the peer in the closing handshake ---- */

/* The peer sends more bytes after its close frame, and its socket accepts none.
 * The client ends without a busy loop until closing_ms. */
TEST_CASE(test_dead_after_its_close_frame) {
    /* A close frame with 1001, then a text message in full or in part. */
    static const char *const behind[] = {"", "\x81\x02{}", "\x81\x7D{",
                                         "\xFF\xFF\xFF"};

    for (size_t i = 0; i < COUNT(behind) * 4; i++) {
        bool tls = i % 2 == 0, refuses = i / 2 % 2 == 0;
        const char *bytes = printed("\x88\x02\x03\xE9%s", behind[i / 4]);

        session_begin_over(tls);
        session_open();
        session_run(3000);
        if (refuses) {
            session_fail_next(MST_MOCK_SEND, MST_ERR_RESET);
        } else {
            session_stall_after(0);
        }
        uint64_t begin = session_now();
        uint64_t calls = session.mock.calls[MST_MOCK_ANY];
        service_bytes(&session.service, bytes, strlen(bytes));
        session_until_closed("the peer closes", 5000, MST_ERR_WS_CLOSED,
                             MST_STATE_OPEN);
        expect_int("code", 1001, session.seen.closed.ws_code);
        expect_int("ms until then", refuses ? 0 : 3000, session_now() - begin);
        assert_in_range(session.mock.calls[MST_MOCK_ANY] - calls, 1, 40);
        session_unstall();
        session_expect_subscribed(SESSION_MINUTE, "%zu", i);
    }
}

/* The peer closes while a frame waits to be sent. The client sends the rest of
 * that frame and then its close frame, wherever sending stalls. */
TEST_CASE(test_close_after_a_frame_under_way) {
    static const char ping[125] = "waits";

    for (size_t i = 0; i < 2 * 280; i++) {
        session_begin_over(i % 2 != 0);
        session_open();
        session_run(3000);
        session_stall_after(0);
        for (int n = 0; n < 20; n++) {
            service_frame(&session.service, 0x80, MST_WS_PING, ping,
                          sizeof ping);
            session_run(10);
        }
        service_bytes(&session.service, "\x88\x02\x03\xE9", 4);
        session_run(10);
        expect_int("state", MST_STATE_CLOSING, session_state());
        session_stall_after(i / 2);
        session_run(10);
        session_unstall();
        session_run(50);
        expect_int("ended", MST_ERR_WS_CLOSED, session.seen.closed.error);
        expect_int("answer", 1001, session.service.close_code);
    }
}

/* A client that closes a dead link does not wait to write. */
TEST_CASE(test_nothing_is_wanted_of_a_dead_link) {
    struct mst_event event;

    session_begin_open();
    session_fail_next(MST_MOCK_SEND, MST_ERR_RESET);
    mst_close(&session.client);
    while (mst_poll(&session.client, &event) == 1) {}
    expect_int("wanted", 0, mst_wants(&session.client.link) & MST_WANT_WRITE);
}

/* ---- other cases ---- */

TEST_CASE(test_close_before_a_failure_is_told) {
    struct mst_event event;

    session_begin_open();
    session_cut_message(MST_ERR_RESET);
    mst_close(&session.client);
    assert_int_equal(mst_poll(&session.client, &event), 1);
    expect_int("event", MST_EVENT_CLOSED, event.type);
    expect_int("error", MST_ERR_RESET, event.as.failure.error);
    expect_int("no other attempt", 0, event.as.failure.retry_ms);
    assert_int_equal(mst_poll(&session.client, &event), MST_ERR_CLOSED);
}

TEST_CASE(test_calls_after_a_failed_init) {
    static const int errors[] = {MST_ERR_CREDENTIALS, MST_ERR_ARGUMENT,
                                 MST_ERR_MEMORY};
    struct session *s = &session;
    struct mst_event event;

    for (int i = 0; i < 3; i++) {
        session_begin();
        s->config.client_id = i == 0 ? NULL : SERVICE_ID;
        s->lengths.size = i == 2 ? 1 : s->lengths.size;
        expect_int("init", errors[i],
                   mst_client_init(&s->client, i == 1 ? NULL : &s->config,
                                   &s->port, &s->lengths));
        expect_int("wants", 0, mst_wants(&s->client.link));
        expect_int("sleep", 24 * SESSION_DAY,
                   mst_next_deadline_ms(&s->client.link));
        expect_int("state", MST_STATE_OFF, mst_link_state(&s->client.link));
        expect_int("poll", MST_ERR_CLOSED, mst_poll(&s->client, &event));
    }
}

/* The port's clock wraps after 49 days: mst_next_deadline_ms() returns at most
 * half of that. */
TEST_CASE(test_sleep_is_bounded) {
    struct mst_event event;

    session_begin();
    session.service.token_body = SERVICE_ENDLESS;
    session.config.ping_ms = UINT32_MAX;
    assert_int_equal(mst_client_init(&session.client, &session.config,
                                     &session.port, &session.lengths),
                     MST_ERR_ARGUMENT);
    session.config.ping_ms = session.config.silence_ms = 24 * SESSION_DAY;
    session.config.audit_ms = 24 * SESSION_DAY;
    session_start();
    session_run(SESSION_MINUTE);
    expect_int("open", MST_STATE_OPEN, session_state());
    while (mst_poll(&session.client, &event) == 1) {}
    assert_in_range(mst_next_deadline_ms(&session.client.link),
                    23 * SESSION_DAY, 24 * SESSION_DAY);
}

RUN_SESSIONS(session_certificates, tls_remove_certificates)
