/*
 * The port's 32-bit clock wraps. The client behaves the same at any reading of
 * the clock, and an old timer does no harm when the clock has advanced by half
 * of its range, or all of it, since.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

#define DAYS(n) ((n) * (uint64_t)SESSION_DAY)
#define LONGEST (24u * SESSION_DAY) /* the longest pause between two polls */

/* Runs for ms, and polls only when the client asks for it. */
static void run_long(uint64_t ms) {
    uint64_t end = session_now() + ms;

    while (session_now() < end) {
        uint64_t left = end - session_now();
        session_run(left < LONGEST ? (uint32_t)left : LONGEST);
    }
}

/* ---- the same at any reading of the clock ---- */

static struct text told;

static void on_trace(void *context, const struct mst_trace *trace) {
    (void)context;
    text_add(&told, "%llu: %d %s %s %d %lld %s\n",
             (unsigned long long)session_now(), (int)trace->kind,
             mst_state_name(trace->from), mst_state_name(trace->state),
             trace->error, (long long)trace->value,
             trace->text != NULL ? trace->text : "");
}

/* Each stage hangs in turn, until its deadline. */
static void play_hangs(void) {
    session_hang(MST_STATE_RESOLVE);
    session_run(25000);
    session_hang(MST_STATE_CONNECT);
    session_run(25000);
    session_hang(MST_STATE_TOKEN);
    session_run(40000);
    session_hang(MST_STATE_UPGRADE);
    session_run(40000);
    session_hang(MST_STATE_OFF);
    session_run(60000);
}

/* Streams for a while, then breaks. Then the connection is half-open, the
 * caller is slow, and requests are not answered. */
static void play_breaks(void) {
    session.service.rules.feed_ms = 700;
    session.service.rules.beat_ms = 5000;
    session_run(20000);
    service_end(&session.service, MST_ERR_RESET);
    session_run(20000);
    mst_mock_advance(&session.mock, 15000);
    session_run(10000);
    session.service.rules.feed_ms = 0;
    mst_mock_freeze(&session.mock, 0);
    session_run(80000);
    (void)session_resync(MST_MARKET_DATA, "BTCUSD");
    session.service.rules.never = true;
    session_run(15000);
    session.service.rules.never = false;
    session_run(60000);
}

/* The service asks the client to wait. */
static void play_waits(void) {
    session.service.token.status = 429;
    session.service.token.retry_s = 50;
    session_run(60000);
    session.service.token = (struct service_script){0};
    session_run(60000);
    session.service.upgrade.status = 403;
    service_end(&session.service, MST_ERR_EOF);
    session_run(10000);
    session.service.upgrade.status = 0;
    session_run(400000);
}

/* The token expires, heartbeats stop, and an audit is due. */
static void play_ends(void) {
    session.service.expires_in = 70;
    session.service.rules.expire = true;
    session.service.rules.beat_ms = 3000;
    session_run(100000);
    session.service.rules.beat_ms = 0;
    session_run(100000);
    session_run(10 * SESSION_MINUTE);
}

static void (*const plays[])(void) = {play_hangs, play_breaks, play_waits,
                                      play_ends};

/* Records the events of a play that begins at this reading of the clock. */
static void play(void (*what)(void), uint32_t clock_ms, bool coarse,
                 struct text *record) {
    text_free(&told);
    session_begin();
    mst_mock_set_now(&session.mock, clock_ms);
    if (coarse) {
        session.port.now_ns = NULL;
    }
    session.config.trace = on_trace;
    session.mock.plan.resolve_ms = session.mock.plan.connect_ms = 15;
    session.mock.plan.data_ms = 20;
    session_start_all();
    what();
    session_record_copy(record);
    text_add_bytes(record, text_get(&told), told.len);
    text_add(record, "lag %lld %lld\n", (long long)session_stats()->lag_ns,
             (long long)session_stats()->lag_max_ns);
    session.config.trace = NULL;
    session_end();
    text_free(&told);
}

/* Starts a minute, and other times, before the clock reaches the middle and the
 * end of its range. */
TEST_CASE(test_clock_wraps) {
    static const uint32_t edges[] = {UINT32_C(1) << 31, 0};
    static const uint32_t before_ms[] = {60000, 1,     30,    1000,  10035,
                                         25000, 47000, 61035, 90000, 120000};

    for (size_t i = 0; i < COUNT(plays) * 2; i++) {
        struct text *first = text_new();
        bool coarse = i % 2;
        play(plays[i / 2], 1000, coarse, first);
        for (size_t j = 0; j < COUNT(edges) * COUNT(before_ms); j++) {
            uint32_t before = before_ms[j / 2];
            struct text *record = text_new();
            play(plays[i / 2], edges[j % 2] - before, coarse, record);
            const char *name = printed("%u ms before the clock wraps", before);
            expect_text(name, text_get(first), text_get(record));
        }
    }
}

/* ---- long after ---- */

static const unsigned pauses[] = {30, 60};

/* Begins with settings that let the client sleep for weeks. */
static void quiet_begin(void) {
    session_begin();
    session.config.ping_ms = 20 * SESSION_DAY;
    session.config.silence_ms = LONGEST;
    session.config.audit_ms = LONGEST;
    session.service.token_body = SERVICE_ENDLESS;
}

static void expect_prompt(const char *name) {
    session_break(MST_ERR_RESET);
    if (session.seen.closed.retry_ms > 1000 ||
        !session_until(MST_EVENT_OPEN, 2000) ||
        !session_until_subscribed(5000)) {
        expect_failed("%s: not back at once, but in %u ms", name,
                      session.seen.closed.retry_ms);
    }
}

/* An idle stream is pinged and audited when due, and stays open. */
TEST_CASE(test_idle_stream) {
    for (size_t i = 0; i < COUNT(pauses); i++) {
        quiet_begin();
        session_open();
        uint64_t begin = session_now();
        run_long(DAYS(pauses[i]));
        session_expect_undisturbed("idle");
        /* Each pong and each list counts as a sign of life. */
        assert_in_range(session.service.pings.count, 1, pauses[i] / 20);
        expect_int("audits", (session_now() - begin) / LONGEST,
                   session.service.lists);
        service_push(&session.service, "execution_data", "BTCUSD");
        assert_true(session_until(MST_EVENT_EXECUTION, 100));
        expect_prompt("idle");
    }
}

/* A connection that goes dead after a long pause is still detected. */
TEST_CASE(test_dead_line_later) {
    for (size_t i = 0; i < COUNT(pauses); i++) {
        quiet_begin();
        session_open();
        run_long(DAYS(pauses[i]));
        mst_mock_freeze(&session.mock, 0);
        uint64_t begin = session_now();
        while (session.seen.events[MST_EVENT_CLOSED] == 0 &&
               session_now() < begin + DAYS(30)) {
            session_run(SESSION_HOUR);
        }
        session_expect_closed("dead", MST_ERR_SILENCE, MST_STATE_OPEN);
        assert_in_range(session.seen.closed_ms - begin, DAYS(1), DAYS(24));
        assert_true(session_until_subscribed(5000));
    }
}

/* Waits for heartbeats that arrive every 20 days, but 24 days at most. */
TEST_CASE(test_rare_heartbeats) {
    quiet_begin();
    session.config.heartbeat_ms = LONGEST;
    session_open();
    for (int i = 0; i < 4; i++) {
        service_push(&session.service, "heartbeat", "");
        run_long(DAYS(20));
    }
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    run_long(DAYS(3));
    expect_int("not yet", 0, session.seen.events[MST_EVENT_CLOSED]);
    run_long(DAYS(1) + 1000);
    session_expect_closed("no beat", MST_ERR_HEARTBEAT, MST_STATE_OPEN);
}

/* After a permanent error the longest wait is neither too short nor endless. */
TEST_CASE(test_long_waits) {
    quiet_begin();
    session.config.backoff_slow_ms = LONGEST;
    session.service.token.raw = SERVICE_BAD_CLIENT;
    session_start_all();
    run_long(DAYS(17));
    session_expect_tokens("one attempt", 1);
    run_long(DAYS(7));
    session_expect_tokens("another one after 18 to 24 days", 2);
    run_long(DAYS(96));
    assert_in_range(session.service.tokens.count, 5, 7);
    session.service.token = (struct service_script){0};
    run_long(DAYS(24));
    assert_true(session_subscribed());
}

/* A book in doubt gets a new snapshot soon, however long ago its budget was
 * last used. This also holds if the snapshot came before the client expected
 * it. */
TEST_CASE(test_budget_long_after) {
    for (size_t i = 0; i < 4 * COUNT(pauses); i++) {
        struct service_rules *rules = &session.service.rules;
        bool early = i / 2 % 2, used_up = i / 4;

        quiet_begin();
        session_open();
        run_long(SESSION_HOUR);
        for (unsigned j = 0; j < (used_up ? MST_RESYNCS_MAX : 1u); j++) {
            session_bad_update("BTCUSD");
            session_run(501); /* the subscription has ended */
            rules->delay_ms = early ? 500 : 0;
            rules->no_snapshot = early;
            session_run(700); /* and is requested again */
            if (early) {
                service_book(&session.service, "BTCUSD", "SNAPSHOT",
                             mst_mock_wall(&session.mock), LEVEL("99", "1"),
                             LEVEL("101", "1"));
            }
            session_run(2000);
            rules->delay_ms = 0;
            rules->no_snapshot = false;
            assert_true(session_subscribed());
        }
        run_long(DAYS(pauses[i % 2]));
        assert_true(session_subscribed());
        expect_int("no more than needed", used_up ? MST_RESYNCS_MAX : 1,
                   session_stats()->resyncs);
        /* Again MST_RESYNCS_MAX resyncs in a row. */
        for (unsigned j = 1; j <= MST_RESYNCS_MAX; j++) {
            session_bad_update("BTCUSD");
            session_run(5001);
            expect_int("resynced", (used_up ? MST_RESYNCS_MAX : 1) + j,
                       session_stats()->resyncs);
            assert_true(session_subscribed());
        }
    }
}

/* A book cannot store a number: its market is resubscribed at once, also if
 * this happens again much later. */
TEST_CASE(test_drift_long_after) {
    static const char wide[] =
        BOOK_MESSAGE("UPDATE", LEVEL("1234567890123456789.5", "1"), "");

    for (size_t i = 0; i < COUNT(pauses); i++) {
        quiet_begin();
        session_open();
        run_long(SESSION_HOUR);
        for (uint32_t j = 1; j <= 2; j++) {
            service_text(&session.service, wide);
            session_run(5000);
            expect_int("at once", j, session_stats()->resyncs);
            assert_true(session_subscribed());
            run_long(DAYS(pauses[i]));
            expect_int("once", j, session_stats()->resyncs);
        }
    }
}

/* A TLS session that is too old is not offered, even if it was not checked in
 * between. */
TEST_CASE(test_tls_session_ages) {
    static const uint32_t ages[] = {SESSION_DAY, LONGEST};

    for (size_t i = 0; i < COUNT(ages) * COUNT(pauses); i++) {
        session_begin_tls("localhost");
        session.tls.offer = TLS_RESUMES;
        session.config.resume_ms = ages[i % 2];
        session.config.ping_ms = 20 * SESSION_DAY;
        session.config.silence_ms = session.config.audit_ms = LONGEST;
        session_open();
        expect_prompt("at first");
        expect_int("offered", 1, session.tls.offered);
        run_long(DAYS(pauses[i / 2]));
        expect_prompt("long after");
        expect_int("offered no more", 1, session.tls.offered);
        expect_int("full", 4, session.tls.full);
    }
}

/* Waits that the service once asked for are over, and a connection that has
 * been open for stable_ms counts as stable. */
TEST_CASE(test_holds_long_after) {
    for (size_t i = 0; i < COUNT(pauses); i++) {
        quiet_begin();
        session.config.stable_ms = LONGEST;
        session.service.token.status = session.service.upgrade.status = 429;
        session.service.token.retry_s = 86400;
        session.service.upgrade.retry_s = 86400;
        session_start_all();
        run_long(DAYS(1) - 1000);
        session_expect_tokens("not yet", 1);
        run_long(2000);
        session_expect_tokens("a day later", 2);
        session.service.token = (struct service_script){0};
        run_long(DAYS(1));
        session_expect_tokens("and another", 3);
        expect_int("upgrades", 1, session.service.upgrades.count);
        session.service.upgrade = (struct service_script){0};
        run_long(DAYS(1) + 5000);
        assert_true(session_subscribed());
        run_long(DAYS(pauses[i]));
        expect_prompt("stable");
    }
}

/* The caller polls once in 24 days. */
TEST_CASE(test_slow_caller) {
    session_begin_open();
    for (int i = 0; i < 5; i++) {
        mst_mock_advance(&session.mock, LONGEST);
        session_run(2000);
        expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    }
    assert_true(session_subscribed());
    expect_prompt("a slow caller");
}

RUN_SESSIONS(session_certificates, tls_remove_certificates)
