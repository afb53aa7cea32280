/*
 * The session's deadlines: for each stage, for silence, for slow peers, and for
 * the waits between attempts.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

/* ---- deadlines ---- */

/* Expects a timeout of this stage after ms, and recovery without the fault. */
static void expect_timeout(const char *name, enum mst_state stage,
                           uint32_t ms) {
    session_start_all();
    session_until_closed(name, 2 * ms, MST_ERR_TIMEOUT, stage);
    expect_int(name, ms, session.seen.closed_ms);
    expect_int(name, false, session.seen.closed.permanent);
    memset(&session.mock.plan, 0, sizeof session.mock.plan);
    session_hang(MST_STATE_OFF);
    session_expect_subscribed(SESSION_MINUTE, "%s", name);
}

/* Begins with a peer that hangs in this stage. */
static void begin_hanging(enum mst_state stage) {
    session_begin_over(stage == MST_STATE_TLS);
    session_hang(stage);
}

/* Expects the stage's default timeout, and the configured one. */
static void expect_deadline(enum mst_state stage, uint32_t *limit_ms,
                            uint32_t usual_ms) {
    begin_hanging(stage);
    expect_timeout("default", stage, usual_ms);
    begin_hanging(stage);
    *limit_ms = 700;
    expect_timeout("configured", stage, 700);
}

TEST_CASE(test_resolve_deadline) {
    expect_deadline(MST_STATE_RESOLVE, &session.config.resolve_ms, 10000);
}

TEST_CASE(test_connect_deadline) {
    expect_deadline(MST_STATE_CONNECT, &session.config.connect_ms, 10000);
    begin_hanging(MST_STATE_CONNECT);
    session.mock.plan.connect_error[1] = MST_MOCK_NEVER;
    session.mock.plan.addresses = 2;
    session.config.connect_ms = 300;
    expect_timeout("each address", MST_STATE_CONNECT, 600);
}

TEST_CASE(test_tls_deadline) {
    expect_deadline(MST_STATE_TLS, &session.config.tls_ms, 30000);
}

/* A port with its own TLS, which reports the handshake. */
static struct {
    int (*connect)(void *context, int link, int address);
    uint64_t until_ms; /* virtual time; then: */
    uint32_t step_ms;  /* time that each call takes */
    int result;
} shaking;

static int shake(void *context, int link, int address) {
    enum mst_state state = session_state();
    int rc =
        state == MST_STATE_TLS ? 1 : shaking.connect(context, link, address);

    if (rc != 1) {
        return rc;
    }
    mst_mock_advance(&session.mock, shaking.step_ms);
    return session_now() < shaking.until_ms ? MST_PORT_IN_TLS : shaking.result;
}

static void begin_shaking(uint64_t until_ms, int result) {
    session_begin();
    shaking.connect = session.port.connect;
    shaking.until_ms = until_ms;
    shaking.step_ms = 0;
    shaking.result = result;
    session.port.connect = shake;
    session.mock.plan.addresses = 2;
    session_start_all();
}

TEST_CASE(test_tls_of_the_port) {
    /* The handshake has tls_ms, after connect_ms. */
    begin_shaking(12000, 1);
    for (int i = 0; i < 13; i++) {
        session_run(1000);
    }
    assert_true(session_until_subscribed(SESSION_MINUTE));

    begin_shaking(MST_MOCK_NO_TIME, 1);
    session_until_closed("too long", SESSION_MINUTE, MST_ERR_TIMEOUT,
                         MST_STATE_TLS);
    expect_int("too long", 30000, session.seen.closed_ms);

    /* Other addresses are not tried. */
    begin_shaking(1, MST_ERR_TLS_NAME);
    session_until_closed("name", SESSION_MINUTE, MST_ERR_TLS_NAME,
                         MST_STATE_TLS);
}

/* Time in which the port computes does not count as silence. */
TEST_CASE(test_tls_of_a_slow_port) {
    begin_shaking(100000, 1);
    shaking.step_ms = 14000;
    assert_true(session_until_subscribed(3 * SESSION_MINUTE));
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
}

TEST_CASE(test_token_deadline) {
    expect_deadline(MST_STATE_TOKEN, &session.config.token_ms, 15000);
    session_begin();
    session.mock.plan.send_stall = true;
    expect_timeout("request not sent", MST_STATE_TOKEN, 15000);
}

TEST_CASE(test_upgrade_deadline) {
    expect_deadline(MST_STATE_UPGRADE, &session.config.upgrade_ms, 15000);
}

TEST_CASE(test_closing_deadline) {
    for (int configured = 0; configured < 2; configured++) {
        session_begin();
        session.service.rules.no_echo = true;
        session.config.ping_ms = 200; /* silence does not count any more */
        session.config.silence_ms = 500;
        session.config.closing_ms = configured ? 700 : 0;
        session_open();
        uint64_t begin = session_now();
        mst_close(&session.client);
        session_run(SESSION_MINUTE);
        expect_int("closing", configured ? 700 : 3000, session_now() - begin);
        expect_int("state", MST_STATE_OFF, session_state());
        expect_int("close code", 1000, session.service.close_code);
    }
}

/* ---- slow peers ---- */

/* A byte a second does not extend a stage. */
TEST_CASE(test_drip_in_stages) {
    session_begin_tls("localhost");
    session.mock.plan.drip = 1;
    expect_timeout("TLS", MST_STATE_TLS, 30000);
    session_begin();
    session.mock.plan.drip = 1;
    expect_timeout("token", MST_STATE_TOKEN, 15000);

    session_begin();
    session.mock.plan.data_ms = 5;
    session_start_all();
    while (session_state() != MST_STATE_UPGRADE) {
        session_run(1);
    }
    uint64_t begin = session_now();
    session.mock.plan.drip = 1;
    session_until_closed("upgrade", SESSION_MINUTE, MST_ERR_TIMEOUT,
                         MST_STATE_UPGRADE);
    assert_in_range(session.seen.closed_ms - begin, 14999, 15000);
}

#define LARGE 60000

static void send_large(void) {
    const char *text = printed("{%*s", LARGE - 1, "}");

    service_frame(&session.service, 0x80, 1, text, LARGE);
}

TEST_CASE(test_drip_in_a_frame) {
    session_begin_open();
    session.mock.plan.drip = 1;
    send_large();
    session_until_closed("a byte a second", 2 * SESSION_MINUTE, MST_ERR_SLOW,
                         MST_STATE_OPEN);
    assert_in_range(session.seen.closed_ms, 1000, 65000);
    session.mock.plan.drip = 0;
    assert_true(session_until_subscribed(SESSION_MINUTE));

    /* Faster, but below the minimum rate. */
    session.mock.plan.drip = 500;
    send_large();
    session_until_closed("below the minimum rate", 2 * SESSION_MINUTE,
                         MST_ERR_SLOW, MST_STATE_OPEN);
    session.mock.plan.drip = 0;
    assert_true(session_until_subscribed(SESSION_MINUTE));
}

/* A large snapshot on a slow line is received in full. */
TEST_CASE(test_large_frame_on_a_slow_line) {
    session_begin();
    session.config.min_rate = 400;
    session_open();
    session.mock.plan.drip = 500;
    send_large();
    session_run(3 * SESSION_MINUTE);
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    expect_int("delivered", 1, session.seen.events[MST_EVENT_UNKNOWN]);
}

/* Each part lengthens the time by as much as it has bytes. */
TEST_CASE(test_large_frame_in_parts) {
    const char *text = printed("{%*s", LARGE - 1, "}");

    session_begin();
    session.config.silence_ms = 200;
    session.config.min_rate = 100000;
    session_open();
    service_bytes(&session.service, "\x81\x7e\xea\x60", 4);
    for (int at = 0; at < LARGE; at += LARGE / 10) {
        session_run(50);
        service_bytes(&session.service, text + at, LARGE / 10);
    }
    session_run(50);
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    expect_int("delivered", 1, session.seen.events[MST_EVENT_UNKNOWN]);
}

/* ---- liveness ---- */

TEST_CASE(test_silence) {
    session_begin();
    session.service.rules.no_pong = true;
    session_open();
    session_run(5000);
    service_push(&session.service, "heartbeat", "");
    session_run(0);
    uint64_t last = session_now();
    assert_true(session_until(MST_EVENT_CLOSED, 2 * SESSION_MINUTE));
    expect_int("ping", (long long)last + 20000, session.service.pings.first_ms);
    session_expect_closed("silence", MST_ERR_SILENCE, MST_STATE_OPEN);
    expect_int("silence", (long long)last + 60000, session.seen.closed_ms);
    assert_true(session_until_subscribed(SESSION_MINUTE));
}

TEST_CASE(test_silence_configured) {
    session_begin();
    session.config.ping_ms = 300;
    session.config.silence_ms = 1000;
    session_open();
    uint64_t pings = session.service.pings.count;
    session_run(3000);
    assert_in_range(session.service.pings.count - pings, 9, 11);
    uint64_t last = session_now();
    mst_mock_freeze(&session.mock, session.service.core.stream);
    session_until_closed("frozen", SESSION_MINUTE, MST_ERR_SILENCE,
                         MST_STATE_OPEN);
    assert_in_range(session.seen.closed_ms, last + 700, last + 1000);
}

/* What a program must wait for. */
TEST_CASE(test_wants) {
    struct mst_client *client = &session.client;

    session_begin();
    session.config.stable_ms = 5000; /* does not count once it is lost */
    session.mock.plan.connect_ms = 100;
    session.mock.plan.send_stall = true;
    session_start();
    expect_int("before the first poll", 0, mst_wants(&client->link));
    session_run(50);
    expect_int("connecting", MST_WANT_WRITE, mst_wants(&client->link));
    session_run(100);
    expect_int("state", MST_STATE_TOKEN, mst_link_state(&client->link));
    expect_int("line is full", MST_WANT_READ | MST_WANT_WRITE,
               mst_wants(&client->link));
    session.mock.plan.send_stall = false;
    session_run(1000);
    expect_int("state", MST_STATE_OPEN, mst_link_state(&client->link));
    expect_int("idle", MST_WANT_READ, mst_wants(&client->link));
    assert_in_range(mst_next_deadline_ms(&client->link), 1, 20000);
    service_end(&session.service, MST_ERR_EOF);
    assert_true(session_until(MST_EVENT_CLOSED, 100));
    session_run(0);
    expect_int("in backoff", 0, mst_wants(&client->link));
    session.mock.plan.connect_ms = SESSION_HOUR;
    while (session_state() != MST_STATE_CONNECT) {
        session_run(1);
    }
    assert_in_range(mst_next_deadline_ms(&client->link), 9990, 10000);
    session_end();
    expect_int("closed", 0, mst_wants(&client->link));
}

/* Time in which the caller does not poll does not count as silence. */
TEST_CASE(test_slow_caller) {
    session_new();
    session.mock.plan.data_ms = 50;
    assert_true(session_until_subscribed(5000));
    service_push(&session.service, "heartbeat", "");
    mst_mock_advance(&session.mock, 10 * SESSION_MINUTE);
    session_run(2000);
    expect_int("bytes were waiting", 0, session.seen.events[MST_EVENT_CLOSED]);
    expect_int("and were read", 1, session.seen.events[MST_EVENT_HEARTBEAT]);
    mst_mock_advance(&session.mock, 10 * SESSION_MINUTE);
    session_run(2000);
    expect_int("nothing was waiting", 0, session.seen.events[MST_EVENT_CLOSED]);
    /* The caller spent the time on an event. */
    service_push(&session.service, "heartbeat", "");
    assert_true(session_until(MST_EVENT_HEARTBEAT, 1000));
    mst_mock_advance(&session.mock, 10 * SESSION_MINUTE);
    session_run(2000);
    expect_int("over an event", 0, session.seen.events[MST_EVENT_CLOSED]);
}

TEST_CASE(test_pings_are_answered) {
    char payload[126];

    session_begin_open();
    for (size_t len = 0; len <= 125; len++) {
        memset(payload, 'a' + (int)(len % 26), len);
        payload[len] = '\0';
        service_frame(&session.service, 0x80, 9, payload, len);
        session_run(1);
        expect_int("pongs", (long long)len + 1, session.service.pongs.count);
        expect_text("payload", payload, session.service.pong);
    }
    /* Of a flood at least the last is answered (RFC 6455, section 5.5.3). */
    for (int i = 0; i < 1000; i++) {
        service_frame(&session.service, 0x80, 9, "flood", 5);
    }
    service_frame(&session.service, 0x80, 9, "last", 4);
    session_run(1);
    expect_text("last of a flood", "last", session.service.pong);
}

/* ---- waits before the next attempt ---- */

/* Collects the waits after count refused attempts. */
static void waits_collect(uint64_t seed, uint32_t *waits, size_t count) {
    session_begin();
    mst_mock_init(&session.mock, &session.port, seed);
    service_init(&session.service, &session.mock);
    session.mock.plan.connect_error[0] = MST_ERR_REFUSED;
    session_start_all();
    for (size_t i = 0; i < count; i++) {
        assert_true(session_until(MST_EVENT_CLOSED, 2 * SESSION_MINUTE));
        waits[i] = session.seen.closed.retry_ms;
        uint64_t due = session.seen.closed_ms + waits[i];
        uint64_t calls = session.mock.calls[MST_MOCK_RESOLVE];
        if (waits[i] > 1) {
            session_run(waits[i] - 1);
        }
        expect_int("before the wait is over", calls,
                   session.mock.calls[MST_MOCK_RESOLVE]);
        assert_true(session_now() <= due);
    }
    session.mock.plan.connect_error[0] = 0;
    assert_true(session_until_subscribed(2 * SESSION_MINUTE));
}

TEST_CASE(test_backoff_grows) {
    enum { SEEDS = 60, ATTEMPTS = 12 };
    uint64_t sum[ATTEMPTS] = {0};
    uint32_t least[ATTEMPTS], most[ATTEMPTS] = {0};

    memset(least, 0xFF, sizeof least);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint32_t waits[ATTEMPTS];
        waits_collect(seed, waits, ATTEMPTS);
        for (size_t i = 0; i < ATTEMPTS; i++) {
            uint32_t bound = i < 6 ? 1000u << i : 60000;
            if (waits[i] > bound) {
                expect_failed("wait %zu is %u ms, more than %u", i, waits[i],
                              bound);
            }
            sum[i] += waits[i];
            if (waits[i] < least[i]) {
                least[i] = waits[i];
            }
            if (waits[i] > most[i]) {
                most[i] = waits[i];
            }
        }
    }
    for (size_t i = 0; i < ATTEMPTS; i++) {
        /* Full jitter: from 0 to the bound, half of it on average. */
        uint64_t bound = i < 6 ? 1000u << i : 60000;
        assert_in_range(sum[i] / SEEDS, bound / 4, bound * 3 / 4);
        assert_true(least[i] < bound / 4);
        assert_true(most[i] > bound * 3 / 4);
    }
}

TEST_CASE(test_backoff_begins_anew_when_stable) {
    session_begin();
    session.mock.plan.connect_error[0] = MST_ERR_REFUSED;
    session_start_all();
    for (int i = 0; i < 10; i++) {
        assert_true(session_until(MST_EVENT_CLOSED, 2 * SESSION_MINUTE));
    }
    session.mock.plan.connect_error[0] = 0;

    /* Connections that end within half a minute do not count as stable: the
     * waits stay long on average. */
    uint64_t sum = 0;
    for (int i = 0; i < 20; i++) {
        assert_true(session_until(MST_EVENT_OPEN, 2 * SESSION_MINUTE));
        session_run(29000);
        session_break(MST_ERR_EOF);
        sum += session.seen.closed.retry_ms;
    }
    assert_true(sum / 20 > 10000);

    assert_true(session_until_subscribed(2 * SESSION_MINUTE));
    session_run(30000);
    session_break(MST_ERR_EOF);
    assert_true(session.seen.closed.retry_ms <= 1000);
}

TEST_CASE(test_backoff_begins_anew_with_other_credentials) {
    session_begin();
    session.mock.plan.connect_error[0] = MST_ERR_REFUSED;
    session_start_all();
    do {
        assert_true(session_until(MST_EVENT_CLOSED, 2 * SESSION_MINUTE));
    } while (session.seen.closed.retry_ms < 30000);
    assert_int_equal(
        mst_access_set_credentials(session_access(), "other", "secret"), 0);
    assert_true(session_until(MST_EVENT_CLOSED, 1000));
    assert_true(session.seen.closed.retry_ms <= 1000);
}

/* ---- addresses ---- */

static struct mst_port whole; /* the original port */
static int connected_to;

static int noting_connect(void *context, int link, int address) {
    connected_to = address;
    return whole.connect(context, link, address);
}

/* The first address accepts connections, then resets them. */
static int breaking_recv(void *context, int link, void *data, size_t len) {
    return connected_to == 0 ? MST_ERR_RESET
                             : whole.recv(context, link, data, len);
}

TEST_CASE(test_an_address_that_only_accepts) {
    session_begin();
    session.mock.plan.addresses = 2;
    whole = session.port;
    session.port.connect = noting_connect;
    session.port.recv = breaking_recv;
    session_open();
    expect_int("the other", 1, connected_to);
    session.port = whole;
}

RUN_SESSIONS(session_certificates, tls_remove_certificates)
