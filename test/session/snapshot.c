/*
 * Snapshots that are missing or late: no market waits forever, and none makes
 * the others lose their connection.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

#define SNAPSHOT_MS 30000u /* the default */

/* Updates arrive each second, but never a snapshot. Only this market is
 * resubscribed, as the budget allows. */
TEST_CASE(test_of_one_market) {
    struct service_rules *rules = &session.service.rules;

    session_begin();
    rules->no_snapshot_of = "BTCUSD";
    rules->feed_ms = 1000;
    session_start_and_run(SNAPSHOT_MS - 1000);
    session_expect_book("waits", MST_BOOK_BUILDING, &session.books[0]);
    expect_int("resyncs", 0, session_stats()->resyncs);
    session_run(2000);
    expect_int("resyncs", 1, session_stats()->resyncs);
    for (int hour = 0; hour < 24; hour++) {
        session_run(SESSION_HOUR);
        text_clear(&session.seen.record);
    }
    assert_in_range(session_stats()->resyncs, 24 * 6,
                    24 * 6 + MST_RESYNCS_MAX + 1);
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    session_expect_book("the other", MST_BOOK_LIVE, &session.books[1]);
    rules->no_snapshot_of = NULL;
    session_run(MST_RESYNC_EVERY_MS + 5000);
    session_expect_book("once it comes", MST_BOOK_LIVE, &session.books[0]);
    assert_true(session_subscribed());
}

/* No market gets a snapshot. The connection is replaced as often as the budget
 * allows, and the backoff keeps growing. */
TEST_CASE(test_of_no_market) {
    struct service_rules *rules = &session.service.rules;

    session_begin();
    session.config.backoff_max_ms = SESSION_HOUR;
    rules->no_snapshot = true;
    rules->feed_ms = 10000;
    session_start_and_run(SNAPSHOT_MS + 5000);
    expect_int("first it is asked for again", 2, session_stats()->resyncs);
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    session_run(SNAPSHOT_MS);
    session_expect_closed("then", MST_ERR_SNAPSHOT, MST_STATE_OPEN);
    for (int hour = 0; hour < 24; hour++) {
        session_run(SESSION_HOUR);
        text_clear(&session.seen.record);
    }
    assert_in_range(session.service.upgrades.count, 30, 80);
    rules->no_snapshot = false;
    session_run(SESSION_HOUR + MST_RESYNC_EVERY_MS + 70000);
    assert_true(session_subscribed());
}

/* The snapshot is awaited even if the caller keeps no book. */
TEST_CASE(test_without_a_book) {
    session_begin();
    session.service.rules.no_snapshot = true;
    session_start();
    assert_int_equal(
        mst_subscribe(&session.client, MST_MARKET_DATA, "BTCUSD", NULL), 0);
    session_run(SNAPSHOT_MS + 5000);
    expect_int("asked for again", 1, session_stats()->resyncs);
    session.service.rules.no_snapshot = false;
    session_run(SNAPSHOT_MS + 5000);
    session_expect_closed("and on another connection", MST_ERR_SNAPSHOT,
                          MST_STATE_OPEN);
    expect_int("it has come", 1, session.seen.events[MST_EVENT_PART]);
    session_run(SESSION_HOUR);
    expect_int("that is all", 1, session_stats()->resyncs);
    expect_int("that is all", 1, session.seen.events[MST_EVENT_CLOSED]);
}

/* A snapshot at the last moment, or before the confirmation. */
TEST_CASE(test_in_time) {
    static const char confirmation[] =
        "{\"type\":\"subscribe\",\"channels\":[{\"type\":\"market_data\","
        "\"params\":{\"market\":\"BTCUSD\"},\"success\":true}]}";
    struct service *service = &session.service;

    for (int before = 0; before < 2; before++) {
        session_begin();
        service->rules.no_snapshot = true;
        service->rules.unsaid = before;
        session_start();
        assert_int_equal(session_wish(MST_MARKET_DATA, "BTCUSD"), 0);
        session_run(before ? 1000 : SNAPSHOT_MS - 1000);
        service_book(service, "BTCUSD", "SNAPSHOT",
                     mst_mock_wall(&session.mock), LEVEL("1", "1"), "");
        session_run(1000);
        service->rules.unsaid = false;
        if (before) {
            service_text(service, confirmation);
        }
        session_run(SESSION_HOUR);
        session_expect_book("live", MST_BOOK_LIVE, &session.books[0]);
        expect_int("resyncs", 0, session_stats()->resyncs);
    }
}

/* A large snapshot on a slow line is not late while its frame, or an earlier
 * one, is arriving. */
TEST_CASE(test_on_a_slow_line) {
    struct text *bids = text_new();

    for (int i = 0; i < 1000; i++) {
        text_add(bids, "%s" LEVEL("%d", "1"), i > 0 ? "," : "", 100000 - i);
    }
    session_begin();
    session.service.rules.bids = text_get(bids);
    session_start_all();
    session.mock.plan.drip = 1100;
    session_run(SNAPSHOT_MS + 10000);
    expect_int("resyncs", 0, session_stats()->resyncs);
    session_run(SNAPSHOT_MS);
    session_expect_book("one", MST_BOOK_LIVE, &session.books[0]);
    session_expect_book("the other", MST_BOOK_LIVE, &session.books[1]);
    expect_int("resyncs", 0, session_stats()->resyncs);
    session.mock.plan.drip = 0;
}

/* The caller did not poll while the snapshot arrived. */
TEST_CASE(test_slow_caller) {
    session_begin();
    session.mock.plan.data_ms = 1000;
    session_start_all();
    assert_true(session_until(MST_EVENT_RESPONSE, 20000));
    mst_mock_advance(&session.mock, 4 * SNAPSHOT_MS);
    session_run(2000);
    assert_true(session_subscribed());
    expect_int("resyncs", 0, session_stats()->resyncs);
}

/* The snapshot could not be sent while the caller did not poll. */
TEST_CASE(test_after_a_slow_caller) {
    session_begin();
    session.service.rules.no_snapshot = true;
    session_start();
    assert_int_equal(session_wish(MST_MARKET_DATA, "BTCUSD"), 0);
    session_run(3000);
    mst_mock_advance(&session.mock, 4 * SNAPSHOT_MS);
    session_run(5000);
    service_book(&session.service, "BTCUSD", "SNAPSHOT",
                 mst_mock_wall(&session.mock), LEVEL("1", "1"), "");
    session_run(SESSION_HOUR);
    session_expect_book("live", MST_BOOK_LIVE, &session.books[0]);
    expect_int("resyncs", 0, session_stats()->resyncs);
}

/* The snapshot arrives after the budget is used up: no resubscribe. */
TEST_CASE(test_late_past_the_budget) {
    for (int book = 0; book < 2; book++) {
        session_begin();
        session.service.rules.no_snapshot_of = "BTCUSD";
        session_start();
        assert_int_equal(mst_subscribe(&session.client, MST_MARKET_DATA,
                                       "BTCUSD",
                                       book ? &session.books[0] : NULL),
                         0);
        assert_int_equal(session_wish(MST_MARKET_DATA, "ETHUSD"), 0);
        session_run((MST_RESYNCS_MAX + 2) * SNAPSHOT_MS);
        expect_int("resyncs", MST_RESYNCS_MAX, session_stats()->resyncs);
        service_book(&session.service, "BTCUSD", "SNAPSHOT",
                     mst_mock_wall(&session.mock), LEVEL("1", "1"), "");
        session_run(SESSION_HOUR);
        expect_int("resyncs", MST_RESYNCS_MAX, session_stats()->resyncs);
    }
}

/* Before the first snapshot, that is the reason, not the connection. */
TEST_CASE(test_reason_before_the_first) {
    session_begin();
    session.mock.plan.connect_error[0] = MST_ERR_REFUSED;
    session_start_and_run(SESSION_MINUTE);
    expect_int("not connected", MST_BOOK_NO_SNAPSHOT,
               mst_book_reason(&session.books[0]));
    session.mock.plan.connect_error[0] = 0;
    session.service.rules.no_snapshot = true;
    assert_true(session_until(MST_EVENT_RESPONSE, SESSION_MINUTE));
    expect_int("connected", MST_BOOK_NO_SNAPSHOT,
               mst_book_reason(&session.books[0]));
    service_push(&session.service, "market_data", "BTCUSD");
    session_run(0);
    service_end(&session.service, MST_ERR_RESET);
    session_run(0);
    expect_int("lost", MST_BOOK_NO_SNAPSHOT,
               mst_book_reason(&session.books[0]));
    session.service.rules.no_snapshot = false;
    assert_true(session_until_subscribed(SESSION_MINUTE));
    service_end(&session.service, MST_ERR_RESET);
    session_run(0);
    expect_int("lost, once there was one", MST_BOOK_RECONNECT,
               mst_book_reason(&session.books[0]));
}

RUN_SESSIONS(NULL, NULL)
