/*
 * What the session watches by itself: heartbeats, the service's list of
 * subscriptions, the lag of what comes; and a caller that does not poll.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "old_session.h"

#include <stdio.h>
#include <string.h>

static const struct mst_stats *stats(void)
{
    return mst_old_client_stats(&session.client);
}

/* ---- lag ---- */

/* Updates come each 100 ms, so much later than they were sent. */
static void run_late(uint32_t ms, uint32_t late_ms)
{
    session.mock.plan.data_ms = late_ms;
    for (uint32_t i = 0; i < ms / 100; i++) {
        session_run(100);
        service_push(&session.service, "market_data", "BTCUSD");
    }
}

/* So does one that takes over. */
static void test_lag_after_handover(void **state)
{
    (void)state;
    session_begin();
    session_two_links();
    session.mock.plan.data_ms = 10;
    session_open();
    run_late(2000, 10);
    run_late(2000, 1510);
    run_late(2000, 10);
    session_run(2000);
    expect_int("most", 1500000000, stats()->lag_max_ns);
    assert_int_equal(mst_old_rotate(&session.client), 0);
    run_late(8000, 10);
    expect_int("rotations", 1, stats()->rotations);
    expect_int("most", 0, stats()->lag_max_ns);
    expect_int("lag", 0, stats()->lag_ns);
    session_end();
}

/* ---- a caller that does not poll ---- */

/* However long it takes: nothing is taken for the service's silence. */
static void test_slow_caller(void **state)
{
    static const uint32_t pauses[] = {1000, 61000, 5 * SESSION_MINUTE,
                                      SESSION_HOUR, SESSION_DAY};

    (void)state;
    for (int two = 0; two < 2; two++) {
        session_begin();
        if (two) {
            session_two_links();
        }
        session.service.rules.beat_ms = 5000;
        session_open();
        session_run(SESSION_MINUTE);
        for (size_t i = 0; i < COUNT(pauses); i++) {
            /* The service goes on, as far as its buffers go. */
            session.service.rules.beat_ms = pauses[i] < SESSION_DAY ? 5000 : 0;
            mst_mock_advance(&session.mock, pauses[i]);
            session.service.rules.beat_ms = 5000;
            session_run(3 * SESSION_MINUTE);
            if (session.seen.events[MST_EVENT_CLOSED] > 0) {
                expect_failed("closed after %u ms: %s", pauses[i],
                              mst_strerror(session.seen.closed.error));
            }
        }
        assert_true(session_subscribed());
        session_end();
    }
}

/* A handover is not given up because the caller was away. */
static void test_slow_caller_in_handover(void **state)
{
    (void)state;
    session_begin();
    session_two_links();
    session.service.rules.feed_ms = 1000;
    session_open();
    session.service.rules.no_snapshot = true;
    assert_int_equal(mst_old_rotate(&session.client), 0);
    session_run(5000);
    session.service.rules.feed_ms = 0;
    mst_mock_advance(&session.mock, 5 * SESSION_MINUTE);
    session_run(100);
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    session.service.rules.no_snapshot = false;
    assert_int_equal(mst_old_resync(&session.client, MST_MARKET_DATA, "BTCUSD"),
                     0);
    assert_int_equal(mst_old_resync(&session.client, MST_MARKET_DATA, "ETHUSD"),
                     0);
    session_run(20000);
    expect_int("rotations", 1, stats()->rotations);
    assert_true(session_subscribed());
    session_end();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_lag_after_handover),
        TEST(test_slow_caller),
        TEST(test_slow_caller_in_handover),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
