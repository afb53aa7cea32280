/*
 * What the session monitors: heartbeats, the service's list of subscriptions,
 * the lag of messages; and a caller that does not poll.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

/* ---- heartbeats ---- */

/* Heartbeats arrive at this interval, then stop. The connection is closed after
 * 15 s, or three intervals. */
TEST_CASE(test_heartbeats_stay_away) {
    static const struct {
        uint32_t beat_ms, heartbeat_ms, limit_ms;
    } cases[] = {{1000, 0, 15000},     {4999, 0, 15000},   {20000, 0, 60000},
                 {1000, 5000, 5000},   {1000, 2000, 3000}, {300000, 0, 900000},
                 {1000, 60000, 60000}, {10, 0, 15000}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *name = printed("each %u ms", cases[i].beat_ms);
        session_begin();
        session.service.rules.beat_ms = cases[i].beat_ms;
        session.config.heartbeat_ms = cases[i].heartbeat_ms;
        session_open();
        session_run(100 * cases[i].beat_ms);
        expect_int(name, 0, session.seen.events[MST_EVENT_CLOSED]);
        session.service.rules.beat_ms = 0;
        session_until(MST_EVENT_HEARTBEAT, 2 * cases[i].beat_ms);
        uint64_t last = session_now();
        session_until_closed(name, 2 * cases[i].limit_ms, MST_ERR_HEARTBEAT,
                             MST_STATE_OPEN);
        expect_int(name, cases[i].limit_ms, session_now() - last);
        session.service.rules.beat_ms = cases[i].beat_ms;
        session_expect_subscribed(10000, "%s", name);
        session_run(3 * cases[i].beat_ms);
        expect_int(name, 1, session.seen.events[MST_EVENT_CLOSED]);
    }
}

/* Begins with heartbeats, and unsubscribes them after a minute. */
static void begin_leaving(void) {
    session_begin();
    session.service.rules.beat_ms = 1000;
    session_open();
    session_run(SESSION_MINUTE);
    assert_int_equal(session_leave(MST_HEARTBEAT, NULL), 0);
}

/* Without expected heartbeats their absence does not matter. */
TEST_CASE(test_no_heartbeats) {
    /* None or only one arrived: the interval is unknown. */
    session_begin_open();
    session_run(1000);
    service_push(&session.service, "heartbeat", "");
    session_run(SESSION_HOUR);
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);

    /* They arrived, and were unsubscribed; or were never subscribed. */
    begin_leaving();
    session_run(5000);
    service_push(&session.service, "heartbeat", "");
    session_run(1000);
    service_push(&session.service, "heartbeat", "");
    session_run(SESSION_HOUR);
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);

    /* They are subscribed again. */
    assert_int_equal(session_wish(MST_HEARTBEAT, NULL), 0);
    session_run(SESSION_MINUTE);
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    session.service.rules.beat_ms = 0;
    session_until_closed("again", 20000, MST_ERR_HEARTBEAT, MST_STATE_OPEN);
}

/* Heartbeats are subscribed again just before the earlier ones would be missed,
 * and granted before or after that. Two must arrive to count. */
TEST_CASE(test_heartbeats_wished_for_again) {
    for (uint32_t delay_ms = 0; delay_ms <= 8000; delay_ms += 8000) {
        begin_leaving();
        session_run(12000);
        session.service.rules.beat_ms = 0;
        session.service.rules.delay_ms = delay_ms;
        assert_int_equal(session_wish(MST_HEARTBEAT, NULL), 0);
        session_run(SESSION_MINUTE);
        expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    }
}

/* ---- audits ---- */

static bool has(const char *channel, const char *market) {
    return service_has(&session.service, channel, market);
}

TEST_CASE(test_audit) {
    for (int by_call = 0; by_call < 2; by_call++) {
        session_begin_open();
        expect_int("no need", 0, session.service.lists);
        session_run(2000);
        service_forget(&session.service, "market_data", "BTCUSD");
        service_forget(&session.service, "heartbeat", "");
        service_add(&session.service, "execution_data", "LTCEUR");
        service_add(&session.service, "market_data", "LTCEUR");
        if (by_call) {
            assert_int_equal(session_list(), 0);
            session_run(3500);
        } else {
            session_run(10 * SESSION_MINUTE - 5000);
            expect_int("not yet", 0, session_stats()->drifts);
            session_run(10000);
        }
        expect_int("lists", 1, session.service.lists);
        expect_int("drifts", 4, session_stats()->drifts);
        expect_int("stray", false, has("market_data", "LTCEUR"));
        expect_int("stray", false, has("execution_data", "LTCEUR"));
        assert_true(session_subscribed());
        expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
        expect_int("duplicates", 0, session.service.core.duplicates);

        /* Nothing differs: nothing is done. */
        session_run(2 * SESSION_HOUR);
        expect_int("drifts", 4, session_stats()->drifts);
        assert_in_range(session.service.lists, 12, 14);
        expect_int("subscribes", 2, session.service.subscribes);
    }
}

/* The list has an invalid market, or one in another case. The service would
 * refuse to end it, and nothing is wrong. */
TEST_CASE(test_audit_of_odd_markets) {
    static const char *const odd[] = {"", "btcusd", "BtcUSD", "ethusd"};

    for (size_t i = 0; i < COUNT(odd); i++) {
        session_begin_open();
        session.service.rules.error = "UNKNOWN_CHANNEL_PARAMS_CONFIGURATION";
        session.service.rules.error_type = "unsubscribe";
        service_add(&session.service, "market_data", odd[i]);
        assert_int_equal(session_list(), 0);
        session_run(SESSION_HOUR);
        expect_int("unsubscribes", 0, session.service.unsubscribes);
        expect_int("subscribes", 1, session.service.subscribes);
        expect_int("drifts", 0, session_stats()->drifts);
        expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
        expect_int("lives", MST_BOOK_LIVE, mst_book_state(&session.books[0]));
    }
}

/* A market that is not wanted, and that the service does not end. This is
 * requested once per audit, and the connection stays open. */
TEST_CASE(test_audit_of_what_does_not_end) {
    session_begin_open();
    session.service.rules.error = "MALFORMED_REQUEST";
    session.service.rules.error_type = "unsubscribe";
    service_add(&session.service, "market_data", "LTCEUR");
    service_add(&session.service, "execution_data", "LTCEUR");
    session_run(SESSION_HOUR);
    assert_in_range(session.service.unsubscribes, 6, 18);
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    session.service.rules.error = NULL;
    session_run(11 * SESSION_MINUTE);
    expect_int("ended", 7, service_len(&session.service));
}

TEST_CASE(test_audit_often) {
    session_begin();
    session.config.audit_ms = 5000;
    session_open();
    session_run(SESSION_MINUTE);
    assert_in_range(session.service.lists, 11, 12);
    expect_int("drifts", 0, session_stats()->drifts);
}

/* A list arrives before the request for a market that it contains. The market's
 * book has no snapshot, and gets one. */
TEST_CASE(test_audit_before_subscribe) {
    session_begin_open();
    assert_int_equal(session_leave(MST_MARKET_DATA, "ETHUSD"), 0);
    session_run(3000);
    expect_int("unsubscribed", false, has("market_data", "ETHUSD"));
    service_add(&session.service, "market_data", "ETHUSD");
    assert_int_equal(session_wish(MST_MARKET_DATA, "ETHUSD"), 0);
    assert_int_equal(session_list(), 0);
    session_expect_subscribed(
        10000, "the book is %s",
        mst_book_state_name(mst_book_state(&session.books[1])));
}

/* Subscriptions change while the list is under way. */
TEST_CASE(test_audit_and_wishes) {
    for (uint32_t at = 0; at <= 400; at += 20) {
        session_begin();
        session.mock.plan.data_ms = 100;
        session_open();
        session_run(2000);
        assert_int_equal(session_list(), 0);
        session_run(at);
        assert_int_equal(session_leave(MST_MARKET_DATA, "BTCUSD"), 0);
        assert_int_equal(
            mst_subscribe(&session.client, MST_MARKET_DATA, "LTCEUR", NULL), 0);
        session_run(100);
        assert_int_equal(session_wish(MST_MARKET_DATA, "BTCUSD"), 0);
        session_run(6000);
        assert_true(has("market_data", "BTCUSD"));
        assert_true(has("market_data", "LTCEUR"));
        expect_int("live", MST_BOOK_LIVE, mst_book_state(&session.books[0]));
        expect_int("drifts", 0, session_stats()->drifts);
        expect_int("duplicates", 0, session.service.core.duplicates);
    }
}

/* A response is lost, but the request was processed: the list shows it. */
TEST_CASE(test_answer_lost) {
    session_begin();
    session.service.rules.unsaid = true;
    session_start_and_run(5000);
    session.service.rules.unsaid = false;
    session_expect_subscribed(20000, "after the lost answer");
    session_run(10000);
    expect_int("unanswered", 1, session_stats()->unanswered);
    expect_int("lists", 1, session.service.lists);
    expect_int("subscribes", 1, session.service.subscribes);
    expect_int("duplicates", 0, session.service.core.duplicates);
    expect_int("resyncs", 0, session_stats()->resyncs);
    expect_int("reported", 1, session.seen.events[MST_EVENT_ERROR]);
    expect_int("error", MST_ERR_ANSWER, session.seen.error.error);
}

/* "Already subscribed" counts as success. A book without a snapshot gets
 * one. */
TEST_CASE(test_no_effect) {
    session_begin();
    session_start();
    session_until(MST_EVENT_OPEN, 1000);
    service_add(&session.service, "market_data", "BTCUSD");
    service_add(&session.service, "execution_data", "BTCUSD");
    session_subscribe();
    session_expect_subscribed(10000, "after a snapshot");
    expect_int("duplicates", 2, session.service.core.duplicates);
    expect_int("resyncs", 1, session_stats()->resyncs);
    expect_int("errors", 0, session.seen.events[MST_EVENT_ERROR]);
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
}

/* All slots are in use, and subscriptions drift. */
TEST_CASE(test_full_table) {
    session_begin();
    session_start();
    for (int i = 0; i < MST_SUBSCRIPTIONS_MAX; i++) {
        expect_int("room", 0, session_wish(MST_TOP_OF_BOOK, printed("M%d", i)));
    }
    expect_int("more", MST_ERR_FULL, session_wish(MST_TOP_OF_BOOK, "ONE"));
    session_run(5000);
    expect_int("subscribed", MST_SUBSCRIPTIONS_MAX,
               service_len(&session.service));
    expect_int("high", MST_SUBSCRIPTIONS_MAX,
               session_stats()->high.subscriptions);
    expect_int("one request", 1, session.service.subscribes);

    /* No slot for a stray one; what is missing is repaired. */
    service_add(&session.service, "market_data", "STRAY");
    service_forget(&session.service, "market_data.top_of_book", "M7");
    assert_int_equal(session_list(), 0);
    session_run(5000);
    assert_true(has("market_data.top_of_book", "M7"));
    assert_true(has("market_data", "STRAY"));

    /* A slot is free only after the service has confirmed. */
    assert_int_equal(session_leave(MST_TOP_OF_BOOK, "M3"), 0);
    expect_int("not yet", MST_ERR_FULL, session_wish(MST_TOP_OF_BOOK, "ONE"));
    session_run(2000);
    assert_int_equal(session_list(), 0);
    session_run(5000);
    expect_int("stray", false, has("market_data", "STRAY"));
    expect_int("by now", 0, session_wish(MST_TOP_OF_BOOK, "ONE"));
    session_run(5000);
    expect_int("subscribed", MST_SUBSCRIPTIONS_MAX,
               service_len(&session.service));
    assert_true(has("market_data.top_of_book", "ONE"));
}

/* ---- lag ---- */

/* Runs with updates every 100 ms that arrive late_ms late. */
static void run_late(uint32_t ms, uint32_t late_ms) {
    session.mock.plan.data_ms = late_ms;
    for (uint32_t i = 0; i < ms / 100; i++) {
        session_run(100);
        service_push(&session.service, "market_data", "BTCUSD");
    }
}

static void lag_begin(uint32_t lag_max_ms) {
    session_begin();
    session.mock.plan.data_ms = 10;
    session.config.lag_max_ms = lag_max_ms;
    session_open();
    run_late(2000, 10);
}

/* Several messages read at once count like single ones. */
TEST_CASE(test_lag_then_none_at_once) {
    lag_begin(1000);
    session.mock.plan.data_ms = 3000;
    for (int i = 0; i < 8; i++) {
        service_push(&session.service, "market_data", "BTCUSD");
    }
    session_run(2990);
    expect_int("not yet", 0, session.seen.events[MST_EVENT_CLOSED]);
    session.mock.plan.data_ms = 10;
    service_push(&session.service, "market_data", "BTCUSD");
    session_run(100);
    session_expect_closed("lag", MST_ERR_LAG, MST_STATE_OPEN);
}

TEST_CASE(test_lag_is_measured) {
    session_begin();
    session.mock.plan.data_ms = 10;
    session_open();
    /* The first are late: the shortest delay is the base, at any time. */
    run_late(1000, 1010);
    run_late(3000, 10);
    expect_int("none", 0, session_stats()->lag_ns);
    expect_int("most", 0, session_stats()->lag_max_ns);
    run_late(5000, 2510);
    expect_int("lag", 2500000000, session_stats()->lag_ns);
    run_late(3000, 10);
    session_run(5000);
    expect_int("over", 0, session_stats()->lag_ns);
    expect_int("most", 2500000000, session_stats()->lag_max_ns);
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);

    /* A new connection has a new base. */
    service_end(&session.service, MST_ERR_EOF);
    assert_true(session_until_subscribed(10000));
    run_late(2000, 10);
    expect_int("most", 0, session_stats()->lag_max_ns);
}

TEST_CASE(test_too_late) {
    lag_begin(1000);
    run_late(20000, 1010);
    expect_int("lag", 1000000000, session_stats()->lag_ns);
    expect_int("just within", 0, session.seen.events[MST_EVENT_CLOSED]);
    run_late(10000, 1500);
    assert_true(session.seen.events[MST_EVENT_CLOSED] > 0);
    session_expect_closed("lag", MST_ERR_LAG, MST_STATE_OPEN);
    expect_int("permanent", false, session.seen.closed.permanent);
    /* A line that is slow, but no slower than before, has no lag. */
    run_late(5000, 1500);
    assert_in_range(session.seen.events[MST_EVENT_CLOSED], 1, 2);
    run_late(60000, 1500);
    assert_in_range(session.seen.events[MST_EVENT_CLOSED], 1, 2);
    assert_true(session_until_subscribed(10000));
}

/* A line that gets slower and slower: closed with backoff, not repeatedly. */
TEST_CASE(test_later_and_later) {
    lag_begin(1000);
    for (uint32_t late = 1500, i = 0; i < 120; i++, late += 150) {
        run_late(1000, late % 60000);
    }
    assert_in_range(session.seen.events[MST_EVENT_CLOSED], 2, 20);
    assert_true(session.service.upgrades.count < 22);
    run_late(SESSION_MINUTE, 10);
    run_late(SESSION_MINUTE, 10);
    assert_true(session_until_subscribed(SESSION_MINUTE));
}

/* Old messages with a reason, or a single late one, are not lag. */
TEST_CASE(test_not_late) {
    lag_begin(1000);
    int64_t old = mst_mock_wall(&session.mock) - INT64_C(3600000000000);
    for (int i = 0; i < 7; i++) {
        service_top(&session.service, "BTCUSD", old, LEVEL("100", "1"), "");
    }
    run_late(1000, 10);
    for (int i = 0; i < 30; i++) {
        int64_t wall_ns = mst_mock_wall(&session.mock);
        mst_mock_set_wall(&session.mock, old);
        service_push(&session.service, "execution_data", "BTCUSD");
        mst_mock_set_wall(&session.mock, wall_ns);
        session_run(1);
    }
    for (int i = 0; i < 30; i++) {
        service_book(&session.service, "ETHUSD", "SNAPSHOT", old,
                     LEVEL("100", "1"), "");
        session_run(1);
    }
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    assert_true(session_stats()->lag_max_ns > INT64_C(3000000000000));
    run_late(1000, 10);
    assert_true(session_stats()->lag_ns < INT64_C(100000000));
}

static int64_t wall_ahead_ns;

static int wall(void *context, int64_t *ns) {
    *ns = mst_mock_wall(context) + wall_ahead_ns;
    return 0;
}

/* The wall clock may jump: lag is measured without it. */
TEST_CASE(test_lag_and_wall_clock) {
    wall_ahead_ns = 0;
    session_begin();
    session.port.unix_ns = wall;
    session.config.lag_max_ms = 1000;
    session_open();
    run_late(3000, 10);
    wall_ahead_ns = INT64_C(-7200000000000);
    run_late(3000, 10);
    wall_ahead_ns = INT64_C(86400000000000);
    run_late(3000, 10);
    expect_int("most", 0, session_stats()->lag_max_ns);
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
}

/* A pair's new leader has a new base. */
TEST_CASE(test_lag_after_rotation) {
    const struct mst_client *clients = session.pair.clients;

    session_begin();
    session.mock.plan.data_ms = 10;
    session_open_pair(0);
    run_late(2000, 10);
    run_late(2000, 1510);
    run_late(2000, 10);
    session_run(2000);
    expect_int("most", 1500000000, clients[0].link.stats.lag_max_ns);
    assert_int_equal(mst_pair_rotate(&session.pair), 0);
    run_late(8000, 10);
    expect_int("rotations", 1, session_rotations());
    expect_int("most", 0, clients[1].link.stats.lag_max_ns);
    expect_int("lag", 0, clients[1].link.stats.lag_ns);
}

/* ---- a caller that does not poll ---- */

/* No pause of the caller counts as silence of the service. */
static void slow_caller(enum session_kind kind) {
    static const uint32_t pauses[] = {1000, 61000, 5 * SESSION_MINUTE,
                                      SESSION_HOUR, SESSION_DAY};

    session_begin();
    session.service.rules.beat_ms = 5000;
    session_open_kind(kind);
    session_run(SESSION_MINUTE);
    for (size_t i = 0; i < COUNT(pauses); i++) {
        /* The service keeps sending, until its buffers are full. */
        session.service.rules.beat_ms = pauses[i] < SESSION_DAY ? 5000 : 0;
        mst_mock_advance(&session.mock, pauses[i]);
        session.service.rules.beat_ms = 5000;
        session_run(3 * SESSION_MINUTE);
        if (session.seen.events[MST_EVENT_CLOSED] > 0) {
            expect_failed("%s: closed after %u ms: %s", session_kind_name(kind),
                          pauses[i], mst_strerror(session.seen.closed.error));
        }
    }
    assert_true(session_subscribed());
}

TEST_CASE(test_slow_caller) {
    for (int kind = 0; kind < SESSION_KINDS; kind++) {
        slow_caller((enum session_kind)kind);
    }
}

/* A rotation survives a pause of the caller. */
TEST_CASE(test_slow_caller_in_a_rotation) {
    session_begin();
    session.service.rules.feed_ms = 1000;
    session_open_pair(0);
    session.service.rules.no_snapshot = true;
    assert_int_equal(mst_pair_rotate(&session.pair), 0);
    session_run(5000);
    session.service.rules.feed_ms = 0;
    mst_mock_advance(&session.mock, 5 * SESSION_MINUTE);
    session_run(100);
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    session.service.rules.no_snapshot = false;
    assert_int_equal(session_resync(MST_MARKET_DATA, "BTCUSD"), 0);
    assert_int_equal(session_resync(MST_MARKET_DATA, "ETHUSD"), 0);
    session_run(20000);
    expect_int("rotations", 1, session_rotations());
    assert_true(session_subscribed());
}

/* Also if the caller returns from an hour with an event, and there is no
 * input. */
TEST_CASE(test_slow_caller_on_a_silent_line) {
    for (int beats = 0; beats < 2; beats++) {
        session_begin_open();
        for (int i = 0; i < 3 * beats; i++) {
            service_push(&session.service, "heartbeat", "");
            session_run(1000);
        }
        session_run(10000);
        service_push(&session.service, "execution_data", "BTCUSD");
        assert_true(session_until(MST_EVENT_EXECUTION, 1000));
        mst_mock_advance(&session.mock, SESSION_HOUR);
        session_run(3000);
        expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
        expect_int("pings", 0, session.service.pings.count);
        session_run(30000);
        expect_int("closed", beats, session.seen.events[MST_EVENT_CLOSED]);
    }
}

RUN_SESSIONS(NULL, NULL)
