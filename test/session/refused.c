/*
 * Requests that the service refuses, and errors on a connection that stays
 * open: no subscription or book is lost for the rest of the connection.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

#define BAD_UPDATE BOOK_MESSAGE("UPDATE", LEVEL("x", "1"), "")

static struct service *const service = &session.service;
static struct service_rules *const rules = &session.service.rules;
static const struct mst_book *const book = &session.books[0];

/* Runs for ms, and expects BTCUSD's book to have this state then. */
static void run_to_book(uint32_t ms, const char *name,
                        enum mst_book_state expected) {
    session_run(ms);
    session_expect_book(name, expected, book);
}

/* Begins with a live book of BTCUSD. */
static void begin_with_a_book(void) {
    session_begin();
    session_start();
    assert_int_equal(session_wish(MST_MARKET_DATA, "BTCUSD"), 0);
    run_to_book(3000, "begins", MST_BOOK_LIVE);
}

/* Refuses a market (NULL: all), in requests of this type (NULL: all). */
static void refuse(const char *market, const char *type, const char *code) {
    rules->fail_market = market;
    rules->fail_type = type;
    rules->fail_code = code;
}

/* Returns the number of requests other than audits. */
static long long asked(void) {
    return (long long)(service->requests.count - service->lists);
}

/* ---- unsubscribing ---- */

/* The program wants a market again, with another book, while its unsubscribe is
 * under way and fails. */
TEST_CASE(test_wish_repeated_while_leaving) {
    for (int way = 0; way < 4; way++) {
        begin_with_a_book();
        rules->delay_ms = 500;
        rules->error_type = "unsubscribe";
        rules->error_times = 1;
        rules->error = way == 0 ? "INTERNAL_SERVER_ERROR" : NULL;
        rules->only_never = way == 1 ? "unsubscribe" : NULL;
        refuse("BTCUSD", NULL, way == 2 ? "INTERNAL_SERVER_ERROR" : NULL);
        session_leave(MST_MARKET_DATA, "BTCUSD");
        session_run(100);
        mst_subscribe(&session.client, MST_MARKET_DATA, "BTCUSD",
                      &session.books[1]);
        if (way == 3) {
            session_list();
        }
        session_run(2000);
        rules->only_never = NULL;
        rules->fail_code = NULL;
        session_run(SESSION_MINUTE);
        session_expect_book("wanted again", MST_BOOK_LIVE, &session.books[1]);
        expect_int("depth", 3, mst_book_depth(&session.books[1], MST_BID));
        assert_true(service_has(service, "market_data", "BTCUSD"));
        expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    }
}

/* The unsubscribe of a resync is refused, for a while or forever. The book does
 * not stay stale. */
TEST_CASE(test_refused_unsubscribe_of_a_resync) {
    static const char *const codes[] = {"INTERNAL_SERVER_ERROR",
                                        "UNKNOWN_CHANNEL", "SOMETHING_NEW"};

    for (size_t i = 0; i < COUNT(codes) * 2; i++) {
        bool once = i % 2 == 0;
        begin_with_a_book();
        service_push(service, "market_data", "BTCUSD");
        refuse("BTCUSD", "unsubscribe", codes[i / 2]);
        session_resync(MST_MARKET_DATA, "BTCUSD");
        session_run(once ? 300 : 20000);
        rules->fail_code = NULL;
        run_to_book(SESSION_MINUTE, codes[i / 2], MST_BOOK_LIVE);
        expect_int("a fresh snapshot", true,
                   service->subscribes > 1 && !session.client.stream.audit);
        assert_in_range(service->requests.count, 3, 40);
    }
}

/* A market is unsubscribed and wanted again, or resynced after a number that
 * cannot be stored, while unsubscribes are refused. Its book still gets the
 * data that it missed. */
TEST_CASE(test_missed_while_unsubscribing_is_refused) {
    for (int number = 0; number < 2; number++) {
        begin_with_a_book();
        rules->feed_ms = 1000;
        if (number) {
            rules->bids = LEVEL("1.23456789012345678901", "1");
            service_text(service, BAD_UPDATE);
            session_run(5000);
            rules->bids = NULL;
        } else {
            session_leave(MST_MARKET_DATA, "BTCUSD");
            session_wish(MST_MARKET_DATA, "BTCUSD");
        }
        rules->error = "MALFORMED_REQUEST";
        rules->error_type = "unsubscribe";
        if (number) {
            session_resync(MST_MARKET_DATA, "BTCUSD");
        }
        session_run(20000);
        rules->error = NULL;
        run_to_book(2 * MST_RESYNC_EVERY_MS, number ? "number" : "wish",
                    MST_BOOK_LIVE);
        expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    }
}

/* A snapshot arrives after the unsubscribe's response, so no updates will
 * follow it. The book is not live until the next snapshot. */
TEST_CASE(test_snapshot_behind_an_unsubscribe) {
    begin_with_a_book();
    session_resync(MST_MARKET_DATA, "BTCUSD");
    assert_true(session_until(MST_EVENT_RESPONSE, 2000));
    expect_int("ended", false, service_has(service, "market_data", "BTCUSD"));
    service_text(service, BOOK_MESSAGE("SNAPSHOT", LEVEL("7", "1"), ""));
    run_to_book(10, "too late", MST_BOOK_STALE);
    run_to_book(5000, "again", MST_BOOK_LIVE);
    expect_int("depth", 3, mst_book_depth(book, MST_BID));
    expect_int("subscribes", 2, service->subscribes);
}

/* ---- subscribing ---- */

/* A subscription that is unsubscribed before it is refused frees its slot. */
TEST_CASE(test_refused_when_no_longer_wished_for) {
    begin_with_a_book();
    rules->delay_ms = 500;
    refuse("ETHUSD", NULL, "UNKNOWN_CHANNEL");
    mst_subscribe(&session.client, MST_MARKET_DATA, "ETHUSD", NULL);
    session_run(100);
    session_leave(MST_MARKET_DATA, "ETHUSD");
    session_run(2000);
    for (int i = 1; i < MST_SUBSCRIPTIONS_MAX; i++) {
        const char *market = printed("MARKET%d", i);
        expect_int(market, 0, session_wish(MST_TOP_OF_BOOK, market));
    }
}

/* What still comes for the market does not reach its book, which another market
 * has by now. */
TEST_CASE(test_book_of_another_market) {
    begin_with_a_book();
    rules->delay_ms = 1000;
    session_leave(MST_MARKET_DATA, "BTCUSD");
    assert_int_equal(mst_subscribe(&session.client, MST_MARKET_DATA, "ETHUSD",
                                   &session.books[0]),
                     0);
    service_push(service, "market_data", "BTCUSD");
    run_to_book(100, "of another market", MST_BOOK_STALE);
    run_to_book(10000, "its own", MST_BOOK_LIVE);
}

/* If the service refuses to unsubscribe for now, the market counts as
 * subscribed until a later attempt succeeds. */
TEST_CASE(test_unsubscribe_refused_for_a_while) {
    begin_with_a_book();
    refuse("BTCUSD", "unsubscribe", "INTERNAL_SERVER_ERROR");
    session_leave(MST_MARKET_DATA, "BTCUSD");
    session_run(1000);
    expect_int("still there", true,
               service_has(service, "market_data", "BTCUSD"));
    rules->fail_code = NULL;
    session_run(2 * SESSION_MINUTE);
    expect_int("ended", false, service_has(service, "market_data", "BTCUSD"));
}

/* If the service refuses for good to unsubscribe, this is not requested again
 * until a list shows the subscription. */
TEST_CASE(test_unsubscribe_refused_for_good) {
    begin_with_a_book();
    refuse("BTCUSD", "unsubscribe", "UNKNOWN_CHANNEL");
    session_leave(MST_MARKET_DATA, "BTCUSD");
    session_run(SESSION_MINUTE);
    expect_int("requests", 2, asked());
}

/* After a temporary refusal the subscription is requested again after a minute,
 * and then once a minute. */
TEST_CASE(test_passing_refusal_is_asked_again) {
    session_begin();
    refuse("BTCUSD", NULL, "INTERNAL_SERVER_ERROR");
    session_start_and_run(2000);
    uint64_t first_ms = service->requests.last_ms;
    expect_int("requests", 1, asked());
    expect_int("the others", 4, service_len(service));
    for (int minute = 1; minute <= 5; minute++) {
        session_run(SESSION_MINUTE);
        expect_int("once a minute", 1 + minute, asked());
    }
    expect_int("when", (long long)first_ms + 5 * SESSION_MINUTE,
               service->requests.last_ms);
    service->rules.fail_code = NULL;
    session_run(SESSION_MINUTE);
    assert_true(session_subscribed());
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    long long requests = asked();
    session_run(5 * SESSION_MINUTE);
    expect_int("and no more", requests, asked());
}

/* After a permanent refusal it is requested again every backoff_slow_ms, or
 * when the caller subscribes again. */
TEST_CASE(test_lasting_refusal_is_asked_again_slowly) {
    session_begin();
    refuse("BTCUSD", NULL, "UNKNOWN_CHANNEL_PARAMS_CONFIGURATION");
    session_start_and_run(SESSION_HOUR - SESSION_MINUTE);
    expect_int("requests", 1 + 60 / 5 - 1, asked());
    rules->fail_code = NULL;
    expect_int("resync", 0, session_resync(MST_MARKET_DATA, "BTCUSD"));
    run_to_book(3000, "asked by the caller", MST_BOOK_LIVE);
}

/* The service refuses every request that contains one of the markets. The other
 * markets are subscribed within a second each. */
TEST_CASE(test_one_unknown_market_of_many) {
    static const char *const codes[] = {"UNKNOWN_CHANNEL", "MALFORMED_REQUEST",
                                        "UNKNOWN_CHANNEL_PARAMS_CONFIGURATION"};
    const char *market;

    for (int at = 0; at < MST_SUBSCRIPTIONS_MAX; at += 10) {
        session_begin();
        service->rules.error = codes[at / 10 % 3];
        service->rules.error_market = "UNKNOWN";
        session_start();
        for (int i = 0; i < MST_SUBSCRIPTIONS_MAX; i++) {
            market = printed("M%d", i);
            session_wish(MST_TOP_OF_BOOK, i == at ? "UNKNOWN" : market);
        }
        session_run((MST_SUBSCRIPTIONS_MAX + 2) * 1000);
        expect_int("the others", MST_SUBSCRIPTIONS_MAX - 1,
                   service_len(service));
        assert_true(service->requests.gap_min_ms >= 1000);
        session_run(SESSION_HOUR);
        expect_int("one by one, and again each five minutes",
                   1 + MST_SUBSCRIPTIONS_MAX + 60 / 5, asked());
        expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    }
}

/* The service refuses everything for a while, with any code. All is subscribed
 * once it accepts again. */
TEST_CASE(test_confused_for_a_while) {
    static const char *const codes[] = {
        "UNKNOWN_ACTION",    "INTERNAL_SERVER_ERROR",
        "MALFORMED_REQUEST", "NO_EFFECT_ACTION",
        "UNKNOWN_CHANNEL",   "UNKNOWN_CHANNEL_PARAMS_CONFIGURATION",
        "SOMETHING_NEW"};

    for (size_t i = 0; i < COUNT(codes) * 3; i++) {
        session_begin();
        rules->error = codes[i / 3];
        rules->shape = (enum service_shape)(i % 3);
        session_start_and_run(20000);
        expect_int(codes[i / 3], false, session_subscribed());
        rules->error = NULL;
        session_expect_subscribed(5 * SESSION_MINUTE + 10000, "%s",
                                  codes[i / 3]);
    }
}

/* Two errors in a row are no refusal: the third attempt comes at once. */
TEST_CASE(test_third_attempt_comes_at_once) {
    session_begin();
    rules->error = "INTERNAL_SERVER_ERROR";
    rules->error_type = "subscribe";
    rules->error_times = 2;
    session_start();
    assert_int_equal(session_wish(MST_MARKET_DATA, "BTCUSD"), 0);
    run_to_book(15000, "subscribed", MST_BOOK_LIVE);
    expect_int("requests", 3, asked());
}

/* A damaged error message may be the answer to the request; others are not. */
TEST_CASE(test_damaged_error_is_an_answer) {
    for (int other = 0; other < 2; other++) {
        session_begin();
        rules->never = true;
        session_start();
        assert_int_equal(session_wish(MST_MARKET_DATA, "BTCUSD"), 0);
        session_run(2000);
        rules->never = false;
        service_text(service, other ? "{\"type\":\"news\",\"text\":tru}"
                                    : "{\"type\":\"error\",\"text\":tru}");
        session_run(1000);
        expect_int("error", other ? MST_ERR_JSON_SYNTAX : MST_ERR_NO_RESULT,
                   session.seen.error.error);
        run_to_book(2 * SESSION_MINUTE, "asked again", MST_BOOK_LIVE);
    }
}

/* Everything is refused for an hour. The connection is replaced every
 * backoff_slow_ms, and no more often. */
TEST_CASE(test_all_refused_for_an_hour) {
    static const char *const codes[] = {"UNKNOWN_CHANNEL", "MALFORMED_REQUEST",
                                        "INTERNAL_SERVER_ERROR", "NEW"};

    for (size_t i = 0; i < COUNT(codes); i++) {
        session_begin();
        rules->error = codes[i];
        rules->error_type = "subscribe";
        session_start_and_run(SESSION_HOUR);
        assert_in_range(service->upgrades.count, 60 / 7, 60 / 5 + 1);
        assert_true(service->upgrades.gap_min_ms >= 5 * SESSION_MINUTE);
        session_expect_closed("of no use", MST_ERR_SERVICE, MST_STATE_OPEN);
        expect_text("text", codes[i], session.seen.closed.text);
        rules->error = NULL;
        assert_true(session_until_subscribed(7 * SESSION_MINUTE));
    }
}

/* Nothing is subscribed because of a temporary refusal: the connection is kept
 * for a few minutes. */
TEST_CASE(test_one_wish_refused_for_a_while) {
    session_begin();
    refuse("BTCUSD", NULL, "INTERNAL_SERVER_ERROR");
    session_start();
    assert_int_equal(session_wish(MST_EXECUTION_DATA, "BTCUSD"), 0);
    session_run(4 * SESSION_MINUTE + 30000);
    expect_int("requests", 5, asked());
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    session_run(SESSION_MINUTE);
    session_expect_closed("after all", MST_ERR_SERVICE, MST_STATE_OPEN);
    rules->fail_code = NULL;
}

/* Nothing is ever subscribed, and each connection is cut after a minute. After
 * refusals such a connection does not reset the backoff. */
TEST_CASE(test_backoff_where_nothing_is_subscribed) {
    for (int refused = 0; refused < 2; refused++) {
        session_begin();
        session.config.backoff_max_ms = 20 * SESSION_MINUTE;
        refuse("BTCUSD", NULL, refused ? "UNKNOWN_CHANNEL" : NULL);
        session_start();
        assert_int_equal(session_wish(MST_EXECUTION_DATA, "BTCUSD"), 0);
        for (int i = 0; i < 60 * 24; i++) {
            session_run(SESSION_MINUTE);
            if (session_state() == MST_STATE_OPEN) {
                service_end(service, MST_ERR_RESET);
            }
        }
        assert_in_range(service->upgrades.count, refused ? 24 : 1300,
                        refused ? 400 : 1441);
    }
}

/* A market in an audit's list is subscribed, even if refused before. */
TEST_CASE(test_refused_but_listed) {
    session_begin();
    refuse("BTCUSD", NULL, "UNKNOWN_CHANNEL");
    session_start_and_run(3000);
    service_add(service, "execution_data", "BTCUSD");
    rules->fail_code = NULL;
    assert_int_equal(session_list(), 0);
    session_run(10000);
    expect_int("requests", 1, service->lists);
    assert_true(session_until_subscribed(400000));
    expect_int("duplicates", 0, service->core.duplicates);
}

/* A market that the current list lacks is not subscribed, whatever earlier
 * lists had: a refused market, and an unsubscribed one. */
TEST_CASE(test_lists_by_the_hundred) {
    session_begin();
    session.config.request_gap_ms = 10;
    session.config.audit_ms = SESSION_DAY;
    session_open();
    assert_int_equal(session_leave(MST_EXECUTION_DATA, "BTCUSD"), 0);
    refuse("LTCUSD", NULL, "UNKNOWN_CHANNEL");
    assert_int_equal(session_wish(MST_TOP_OF_BOOK, "LTCUSD"), 0);
    session_run(1000);
    for (int i = 0; i < 300; i++) {
        assert_int_equal(session_list(), 0);
        session_run(50);
    }
    expect_int("lists", 300, service->lists);
    expect_int("unsubscribed", 1, service->unsubscribes);
    expect_int("mended", 0, session_stats()->drifts);
}

/* One market makes requests fail for a temporary reason. After a few attempts
 * it is requested alone, once a minute; the other is not affected. */
TEST_CASE(test_one_market_fails_for_an_hour) {
    session_begin();
    rules->error = "INTERNAL_SERVER_ERROR";
    rules->error_market = "ETHUSD";
    session_start_and_run(SESSION_MINUTE);
    for (int minute = 1; minute < 60; minute++) {
        session_expect_book("the other", MST_BOOK_LIVE, book);
        session_run(SESSION_MINUTE);
    }
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    assert_in_range(asked(), 3 * 55, 3 * 65);
    rules->error = NULL;
    assert_true(session_until_subscribed(SESSION_MINUTE + 5000));
}

/* ---- bad messages ---- */

/* Each bad message causes a resync, within the budget: some in a row, then one
 * per interval. */
TEST_CASE(test_bad_message_again) {
    const struct mst_stats *stats = mst_link_stats(&session.client.link);

    begin_with_a_book();
    rules->delay_ms = 100;
    /* Far apart: each causes a resync. */
    for (unsigned i = 1; i <= 5; i++) {
        service_text(service, BAD_UPDATE);
        run_to_book(10, "bad message", MST_BOOK_STALE);
        expect_int("reason", MST_BOOK_NUMBER, mst_book_reason(book));
        run_to_book(5000, "fixed", MST_BOOK_LIVE);
        expect_int("resyncs", i, stats->resyncs);
        session_run(MST_RESYNC_EVERY_MS);
    }
    session_run(MST_RESYNCS_MAX * MST_RESYNC_EVERY_MS);
    /* One after the other: as many resyncs as the budget allows. */
    unsigned before = stats->resyncs;
    for (unsigned i = 1; i <= MST_RESYNCS_MAX + 2; i++) {
        service_text(service, BAD_UPDATE);
        run_to_book(5000, "within the budget, or past it",
                    i <= MST_RESYNCS_MAX ? MST_BOOK_LIVE : MST_BOOK_STALE);
    }
    expect_int("at once", MST_RESYNCS_MAX, stats->resyncs - before);
    expect_int("reason", MST_BOOK_NUMBER, mst_book_reason(book));
    run_to_book(MST_RESYNC_EVERY_MS, "once more", MST_BOOK_LIVE);
    expect_int("once more", MST_RESYNCS_MAX + 1, stats->resyncs - before);
    service_text(service, BAD_UPDATE);
    run_to_book(5000, "too early", MST_BOOK_STALE);
    run_to_book(MST_RESYNC_EVERY_MS, "fixed", MST_BOOK_LIVE);
    expect_int("in all", MST_RESYNCS_MAX + 2, stats->resyncs - before);
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
}

/* A message is lost, and then an old snapshot arrives. The book stays stale
 * until it is resubscribed, even if it is crossed and that is a doubt, or if
 * the lost message was the second with a number that cannot be stored. */
TEST_CASE(test_old_snapshot_after_a_bad_message) {
    static const char *const bids[] = {LEVEL("99", "1"), LEVEL("200", "1")};

    for (size_t i = 0; i < 2 * COUNT(bids); i++) {
        session_begin();
        session.config.flags = MST_RESYNC_CROSSED;
        service->rules.no_snapshot = true;
        service->rules.delay_ms = 10;
        session_start();
        session_wish(MST_MARKET_DATA, "BTCUSD");
        session_run(500);
        if (i / COUNT(bids) == 1) {
            service_text(service, BAD_UPDATE);
            session_run(5000);
            expect_int("a resync", 1, session_stats()->resyncs);
        }
        int64_t time_ns = mst_mock_wall(&session.mock);
        service_text(service, BAD_UPDATE);
        session_run(0);
        service_book(service, "BTCUSD", "SNAPSHOT", time_ns,
                     bids[i % COUNT(bids)], LEVEL("101", "1"));
        run_to_book(0, "not asked for again", MST_BOOK_STALE);
        service->rules.no_snapshot = false;
        session_resync(MST_MARKET_DATA, "BTCUSD");
        run_to_book(5000, "asked for again", MST_BOOK_LIVE);
    }
}

/* Every snapshot has a number that cannot be stored. Resyncs become rare, and
 * the book reports the reason. */
TEST_CASE(test_number_in_every_snapshot) {
    const struct mst_stats *stats = mst_link_stats(&session.client.link);

    session_begin();
    rules->bids = LEVEL("1.23456789012345678901", "1");
    session_start();
    session_wish(MST_MARKET_DATA, "BTCUSD");
    session_run(SESSION_DAY);
    /* At once, after 10 minutes, then 20, ... */
    assert_in_range(stats->resyncs, 7, 8);
    expect_int("reason", MST_BOOK_NUMBER, mst_book_reason(book));
    assert_true(mst_book_state(book) != MST_BOOK_LIVE);
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    rules->bids = NULL;
    session_resync(MST_MARKET_DATA, "BTCUSD");
    run_to_book(5000, "once it can be kept", MST_BOOK_LIVE);
}

/* A book without a subscription is not live. */
TEST_CASE(test_book_that_is_given_back) {
    begin_with_a_book();
    session_expect_book("live", MST_BOOK_LIVE, book);
    session_leave(MST_MARKET_DATA, "BTCUSD");
    session_expect_book("unsubscribed", MST_BOOK_STALE, book);
    expect_int("reason", MST_BOOK_DETACHED, mst_book_reason(book));
    session_run(5000);
    /* Subscribed again it starts empty, whatever precedes the snapshot. */
    rules->no_snapshot = true;
    session_wish(MST_MARKET_DATA, "BTCUSD");
    session_run(5000);
    service_book(service, "BTCUSD", "UPDATE", mst_mock_wall(&session.mock),
                 LEVEL("1", "1"), "");
    run_to_book(100, "before the snapshot", MST_BOOK_BUILDING);
    expect_int("nothing of before", 0, mst_book_depth(book, MST_BID));

    begin_with_a_book();
    mst_client_wipe(&session.client);
    session_expect_book("wiped", MST_BOOK_STALE, book);
}

/* A connection that is closing delivers nothing, so no book is live. */
TEST_CASE(test_book_of_a_stream_that_closes) {
    for (int ours = 0; ours < 2; ours++) {
        begin_with_a_book();
        session_stall_after(0);
        if (ours) {
            mst_close(&session.client);
        } else {
            service_close(service, 1001, "");
        }
        run_to_book(50, ours ? "closed by us" : "closed by the service",
                    MST_BOOK_STALE);
        session_unstall();
    }
}

/* If the service closes the stream at once, a token without an expiry is
 * replaced. A token with a known expiry is kept. */
TEST_CASE(test_token_of_unknown_end) {
    for (int known = 0; known < 2; known++) {
        session_begin();
        if (!known) {
            service->token_body = SERVICE_ENDLESS;
        }
        session_connect();
        service_close(service, 1008, "token expired");
        assert_true(session_until(MST_EVENT_OPEN, 5000));
        expect_int("tokens", known ? 1 : 2, service->tokens.count);
    }
}

RUN_SESSIONS(NULL, NULL)
