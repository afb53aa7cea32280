/*
 * Whatever the caller, the service and the line do, in the end the service has
 * exactly the subscriptions that the caller wants.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

static struct service *const service = &session.service;

/* ---- calls ---- */

TEST_CASE(test_calls) {
    static const struct {
        const char *name;
        enum mst_channel channel;
        const char *market;
        int rc;
    } cases[] = {
        {"heartbeat", MST_HEARTBEAT, NULL, 0},
        {"again", MST_HEARTBEAT, NULL, MST_ERR_EXISTS},
        {"no market", MST_MARKET_DATA, NULL, MST_ERR_ARGUMENT},
        {"empty market", MST_MARKET_DATA, "", MST_ERR_ARGUMENT},
        {"no channel", MST_CHANNEL_OTHER, "BTCUSD", MST_ERR_ARGUMENT},
        {"not UTF-8", MST_MARKET_DATA, "\xC0", MST_ERR_ARGUMENT},
        {"control character", MST_MARKET_DATA, "BTC\nUSD", MST_ERR_ARGUMENT},
    };

    session_begin();
    session_start();
    struct mst_client *client = &session.client;
    for (size_t i = 0; i < COUNT(cases); i++) {
        expect_int(
            cases[i].name, cases[i].rc,
            mst_subscribe(client, cases[i].channel, cases[i].market, NULL));
    }
    expect_int("a book without mst_book_init()", MST_ERR_ARGUMENT,
               mst_subscribe(client, MST_MARKET_DATA, "BTCUSD",
                             &(struct mst_book){0}));
    expect_int("too long", MST_ERR_ARGUMENT,
               mst_subscribe(client, MST_MARKET_DATA,
                             repeated("M", MST_MARKET_MAX + 1), NULL));
    expect_int("as long as may be", 0,
               mst_subscribe(client, MST_MARKET_DATA,
                             repeated("M", MST_MARKET_MAX), NULL));
    expect_int("missing", MST_ERR_MISSING,
               session_leave(MST_MARKET_DATA, "BTCUSD"));
    expect_int("missing", MST_ERR_MISSING,
               session_resync(MST_MARKET_DATA, "BTCUSD"));
    for (int i = 2; i < MST_SUBSCRIPTIONS_MAX; i++) {
        expect_int("room", 0,
                   session_wish(MST_EXECUTION_DATA, printed("M%d \"\\/", i)));
    }
    expect_int("full", MST_ERR_FULL,
               session_wish(MST_EXECUTION_DATA, "BTCUSD"));
    session_run(5000);
    expect_int("subscribed", MST_SUBSCRIPTIONS_MAX, service_len(service));
    assert_true(service_has(service, "execution_data", "M2 \"\\/"));
    expect_int("in one request", 1, service->requests.count);
    unsigned entries = session.seen.events[MST_EVENT_ENTRY];
    expect_int("list", 0, session_list());
    session_run(5000);
    expect_int("entries", MST_SUBSCRIPTIONS_MAX,
               session.seen.events[MST_EVENT_ENTRY] - entries);
    expect_int("still", MST_SUBSCRIPTIONS_MAX, service_len(service));
    expect_int("requests", 2, service->requests.count);
    service_end(service, MST_ERR_EOF);
    session_run(5000);
    expect_int("once more", MST_SUBSCRIPTIONS_MAX, service_len(service));
}

/* Before, during and after a connect. */
TEST_CASE(test_wishes_at_any_time) {
    session_begin();
    session_start();
    session_wish(MST_TOP_OF_BOOK, "BTCUSD");
    session_wish(MST_TOP_OF_BOOK, "ETHUSD");
    session_leave(MST_TOP_OF_BOOK, "ETHUSD");
    assert_true(session_until(MST_EVENT_OPEN, 1000));
    session_wish(MST_TOP_OF_BOOK, "LTCUSD");
    session_run(3000);
    assert_true(service_has(service, "market_data.top_of_book", "BTCUSD"));
    assert_true(service_has(service, "market_data.top_of_book", "LTCUSD"));
    expect_int("subscribed", 2, service_len(service));

    session_leave(MST_TOP_OF_BOOK, "BTCUSD");
    session_run(2000);
    expect_int("unsubscribed", 1, service_len(service));
    /* Unsubscribed before it was requested: no request. */
    uint64_t requests = service->requests.count;
    session_wish(MST_TOP_OF_BOOK, "SOLUSD");
    session_leave(MST_TOP_OF_BOOK, "SOLUSD");
    session_run(3000);
    expect_int("requests", requests, service->requests.count);
    expect_int("subscribed", 1, service_len(service));
}

/* Unsubscribed while the request is under way, and wanted again. */
TEST_CASE(test_change_of_mind) {
    session_begin();
    service->rules.delay_ms = 3000;
    session_start();
    struct mst_client *client = &session.client;
    mst_subscribe(client, MST_MARKET_DATA, "BTCUSD", &session.books[0]);
    session_run(1500);
    expect_int("asked", 1, service->requests.count);
    session_leave(MST_MARKET_DATA, "BTCUSD");
    session_run(20000);
    expect_int("subscribed", 0, service_len(service));
    expect_int("requests", 2, service->requests.count);

    mst_subscribe(client, MST_MARKET_DATA, "BTCUSD", NULL);
    session_run(20000);
    session_leave(MST_MARKET_DATA, "BTCUSD");
    session_run(1500);
    mst_subscribe(client, MST_MARKET_DATA, "BTCUSD", &session.books[1]);
    session_run(20000);
    expect_int("subscribed", 1, service_len(service));
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    expect_int("book", MST_BOOK_LIVE, mst_book_state(&session.books[1]));
}

/* Random calls at random times on a bad line end with what is wanted. */
static void wishes_random(uint64_t seed) {
    static const char *const markets[] = {"BTCUSD", "ETHUSD", "SOLUSD"};
    bool wanted[3][3] = {{false}};
    size_t count = 0;

    session_begin();
    session.mock.plan.data_ms = (uint32_t)(seed % 4 * 250);
    service->rules.delay_ms = (uint32_t)(seed % 3 * 900);
    session_start();
    for (int step = 0; step < 150; step++) {
        unsigned channel = (unsigned)(random_next(&seed) % 3);
        unsigned at = (unsigned)(random_next(&seed) % 3);
        bool *wish = &wanted[channel][at];
        switch (random_next(&seed) % 8) {
        case 0:
            if (service->core.stream >= 0) {
                service_end(service, MST_ERR_RESET);
            }
            break;
        case 1:
            expect_int("resync", *wish ? 0 : MST_ERR_MISSING,
                       session_resync(channel, markets[at]));
            break;
        case 2: session_list(); break;
        default:
            expect_int("wish", 0,
                       *wish ? session_leave(channel, markets[at])
                             : mst_subscribe(&session.client, channel,
                                             markets[at], NULL));
            *wish = !*wish;
            break;
        }
        session_run((uint32_t)(random_next(&seed) % 3000));
    }
    session_run(3 * SESSION_MINUTE);
    for (unsigned i = 0; i < 9; i++) {
        bool has =
            service_has(service, mst_channel_name(i / 3), markets[i % 3]);
        count += wanted[i / 3][i % 3];
        if (has != wanted[i / 3][i % 3]) {
            expect_failed("%s %s: wanted %d, is %d", mst_channel_name(i / 3),
                          markets[i % 3], wanted[i / 3][i % 3], has);
        }
    }
    expect_int("subscriptions", count, service_len(service));
    assert_true(service->requests.gap_min_ms >= 1000 ||
                session.mock.plan.data_ms > 0);
}

TEST_CASE(test_random_wishes) {
    for (uint64_t seed = 1; seed <= 60; seed++) {
        wishes_random(seed);
    }
}

/* ---- resync, list ---- */

/* A market is unsubscribed and wanted again while its first request is under
 * way. The book has lost an update that arrived before, so it must not use the
 * first request's snapshot, which lacks it too. */
TEST_CASE(test_wish_again_before_the_snapshot) {
    const struct mst_book *book = &session.books[0];

    session_begin();
    service->rules.delay_ms = 1000;
    service->rules.no_snapshot = true;
    session_start();
    session_wish(MST_MARKET_DATA, "BTCUSD");
    session_run(500);
    int64_t time_ns = mst_mock_wall(&session.mock);
    service_book(service, "BTCUSD", "UPDATE", time_ns + 1000000,
                 LEVEL("100", "2"), "");
    session_run(0);
    session_leave(MST_MARKET_DATA, "BTCUSD");
    session_wish(MST_MARKET_DATA, "BTCUSD");
    service_book(service, "BTCUSD", "SNAPSHOT", time_ns, LEVEL("100", "1"),
                 LEVEL("101", "1"));
    session_run(0);
    assert_true(mst_book_state(book) != MST_BOOK_LIVE);
    service->rules.no_snapshot = false;
    session_run(5000);
    expect_int("asked for anew", MST_BOOK_LIVE, mst_book_state(book));
}

TEST_CASE(test_resync) {
    session_begin_open();
    session_run(2000);
    service_push(service, "market_data", "BTCUSD");
    session_run(10);
    uint64_t requests = service->requests.count;
    unsigned parts = session.seen.events[MST_EVENT_PART];
    session_resync(MST_MARKET_DATA, "BTCUSD");
    session_run(5000);
    expect_int("unsubscribe, subscribe", 2, service->requests.count - requests);
    expect_int("unsubscribes", 1, service->unsubscribes);
    expect_int("a snapshot", 1, session.seen.events[MST_EVENT_PART] - parts);
    assert_non_null(strstr(service->request, "BTCUSD"));
    assert_null(strstr(service->request, "ETHUSD"));
    assert_true(session_subscribed());
    assert_true(service->requests.gap_min_ms >= 1000);
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
}

/* A list shows missing subscriptions, and the session repairs them. */
TEST_CASE(test_list_puts_right) {
    session_begin_open();
    session_run(2000);
    /* The service loses one. */
    assert_true(service_has(service, "heartbeat", ""));
    service_forget(service, "heartbeat", "");
    unsigned entries = session.seen.events[MST_EVENT_ENTRY];
    session_list();
    session_run(900);
    expect_int("entries", 6, session.seen.events[MST_EVENT_ENTRY] - entries);
    session_run(10000);
    assert_true(session_subscribed());
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
}

/* ---- responses ---- */

TEST_CASE(test_entry_fails) {
    session_begin();
    service->rules.fail_code = "UNKNOWN_CHANNEL_PARAMS_CONFIGURATION";
    service->rules.fail_market = "ETHUSD";
    session_start_and_run(2 * SESSION_MINUTE);
    expect_int("the others", 4, service_len(service));
    assert_non_null(
        strstr(text_get(&session.seen.record),
               "entry subscribe market_data \"market_data\" \"ETHUSD\" failed "
               "UNKNOWN_CHANNEL_PARAMS_CONFIGURATION"));
    assert_non_null(strstr(text_get(&session.seen.record),
                           "response subscribe: 7 entries, 3 failed"));
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    /* A subscription that was never granted is not unsubscribed. */
    expect_int("unsubscribe", 0, session_leave(MST_TOP_OF_BOOK, "ETHUSD"));
    session_run(5000);
    expect_int("unsubscribes", 0, service->unsubscribes);
    expect_int("subscribe", 0, session_wish(MST_TOP_OF_BOOK, "ETHUSD"));
    session_run(5000);
    /* A refused subscription is not requested over and over. */
    assert_in_range(service->requests.count, 1, 4);

    /* Requested again by the caller, and now granted. */
    service->rules.fail_code = NULL;
    expect_int("unsubscribe", 0, session_leave(MST_MARKET_DATA, "ETHUSD"));
    session_run(3000);
    expect_int("subscribe", 0, session_wish(MST_MARKET_DATA, "ETHUSD"));
    session_run(3000);
    assert_true(service_has(service, "market_data", "ETHUSD"));
    /* After a reconnect all is requested again. */
    service_end(service, MST_ERR_EOF);
    session_run(10000);
    assert_true(session_subscribed());
}

/* Error messages in place of a response, in each form. If the code says that
 * part of the request is invalid, its channels are requested one by one.
 * Otherwise the session asks for the list, and then requests again. */
TEST_CASE(test_error_answers) {
    static const struct {
        const char *code;
        unsigned requests;
    } cases[] = {
        {"UNKNOWN_ACTION", 1 + 7},
        {"INTERNAL_SERVER_ERROR", 3},
        {"MALFORMED_REQUEST", 1 + 7},
        {"NO_EFFECT_ACTION", 3},
        {"UNKNOWN_CHANNEL", 1 + 7},
        {"UNKNOWN_CHANNEL_PARAMS_CONFIGURATION", 1 + 7},
        {"SOMETHING_NEW", 3},
    };

    for (size_t i = 0; i < COUNT(cases) * 3; i++) {
        const char *code = cases[i / 3].code;
        session_begin();
        service->rules.error = code;
        service->rules.error_times = 1;
        service->rules.shape = (enum service_shape)(i % 3);
        session_start_all();
        assert_true(session_until(MST_EVENT_SERVICE_ERROR, 5000));
        if (strstr(text_get(&session.seen.record), code) == NULL) {
            expect_failed("%s is not told", code);
        }
        session_run(SESSION_MINUTE);
        expect_int(code, true, session_subscribed());
        expect_int(code, 0, session.seen.events[MST_EVENT_CLOSED]);
        expect_int(code, cases[i / 3].requests, service->requests.count);
        service_end(service, MST_ERR_EOF);
        session_run(10);
        session_expect_subscribed(
            SESSION_MINUTE, "%s, shape %zu, after a reconnect", code, i % 3);
        assert_true(service->requests.gap_min_ms >= 1000);
    }
}

/* A request that always fails is not repeated without a pause. */
TEST_CASE(test_error_always) {
    session_begin();
    service->rules.error = "INTERNAL_SERVER_ERROR";
    session_start_and_run(SESSION_HOUR);
    assert_in_range(service->requests.count, 2, 1200);
    service->rules.error = NULL;
    assert_true(session_until_subscribed(10 * SESSION_MINUTE));
}

/* If only subscribing fails, the connection is closed after a while. */
TEST_CASE(test_subscribe_always_fails) {
    session_begin();
    service->rules.error = "INTERNAL_SERVER_ERROR";
    service->rules.error_type = "subscribe";
    session_start_all();
    session_until_closed("given up", 6 * SESSION_MINUTE, MST_ERR_SERVICE,
                         MST_STATE_OPEN);
    expect_text("code", "INTERNAL_SERVER_ERROR", session.seen.closed.text);
    assert_true(service->lists >= 1);
    service->rules.error = NULL;
    assert_true(session_until_subscribed(SESSION_MINUTE));
}

/* An entry's code is cut to the length of its buffer. */
TEST_CASE(test_long_code) {
    session_begin_open();
    service->rules.fail_code = repeated("X", MST_TEXT_MAX + 19);
    service->rules.fail_market = "LTCUSD";
    session_wish(MST_TOP_OF_BOOK, "LTCUSD");
    session_run(5000);
    expect_int("kept", MST_TEXT_MAX, strlen(session.client.link.text));
}

TEST_CASE(test_no_answer) {
    session_begin();
    service->rules.only_never = "subscribe";
    session_start_all();
    assert_true(session_until(MST_EVENT_OPEN, 1000));
    session_run(100);
    uint64_t asked = service->requests.last_ms;
    assert_true(session_until(MST_EVENT_ERROR, SESSION_MINUTE));
    expect_int("error", MST_ERR_ANSWER, session.seen.error.error);
    expect_int("after", (long long)asked + 10000, session_now());
    expect_int("unanswered", 1, session_stats()->unanswered);
    session_run(2000);
    expect_int("audit", 1, service->lists);
    /* The list shows no subscriptions: they are requested again. */
    service->rules.only_never = NULL;
    assert_true(session_until_subscribed(2 * SESSION_MINUTE));

    session_begin();
    service->rules.never = true;
    session_start_all();
    session_until_closed("no answer at all", SESSION_MINUTE, MST_ERR_ANSWER,
                         MST_STATE_OPEN);
    expect_int("told before", 1, session.seen.events[MST_EVENT_ERROR]);
    expect_int("requests", 2, service->requests.count);
    service->rules.never = false;
    assert_true(session_until_subscribed(SESSION_MINUTE));
}

/* Subscribed, but the response was lost: the list shows it. */
TEST_CASE(test_answer_lost) {
    session_begin();
    session.config.answer_ms = 1500;
    service->rules.delay_ms = 2500;
    service->rules.overlap = true;
    session_start_and_run(SESSION_MINUTE);
    service->rules.delay_ms = 0;
    assert_true(session_until_subscribed(2 * SESSION_MINUTE));
}

/* The caller spends time on an event while a response is under way. That time
 * does not count towards the response's deadline. */
TEST_CASE(test_away_during_an_answer) {
    session_begin_open();
    session_run(2000);
    service->rules.delay_ms = 64000;
    assert_int_equal(session_list(), 0);
    session_run(1000);
    expect_int("lists", 1, service->lists);
    service_text(service, "{\"channel\":\"news\"}");
    assert_true(session_until(MST_EVENT_UNKNOWN, 1000));
    mst_mock_advance(&session.mock, 61000); /* the caller is busy with it */
    service->rules.delay_ms = 0;
    session_run(5000);
    expect_int("once", 1, service->lists);
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
}

/* A request planned on a lost connection is not made on the next one, and
 * nothing is overdue there. */
TEST_CASE(test_request_lost_with_the_connection) {
    session_begin_open();
    session_run(2000);
    service->rules.delay_ms = SESSION_HOUR;
    assert_int_equal(session_list(), 0);
    session_run(500);
    expect_int("lists", 1, service->lists);
    service_end(service, MST_ERR_EOF);
    service->rules.delay_ms = 0;
    session_run(2 * SESSION_MINUTE);
    assert_true(session_subscribed());
    expect_int("not again", 1, service->lists);
    expect_int("requests", 3, service->requests.count);
}

/* A response missing on one connection is not awaited on the next. */
TEST_CASE(test_list_lost_with_the_connection) {
    session_begin();
    session_connect();
    service->rules.delay_ms = SESSION_HOUR;
    assert_int_equal(session_list(), 0);
    session_run(1000);
    expect_int("lists", 1, service->lists);
    service_end(service, MST_ERR_RESET);
    assert_true(session_until(MST_EVENT_OPEN, 5000));
    session_run(SESSION_MINUTE);
    expect_int("unanswered", 0, session_stats()->unanswered);
    expect_int("errors", 0, session.seen.events[MST_EVENT_ERROR]);
}

/* The service refuses to unsubscribe for a resync, and a list still shows the
 * subscription. The resync is done all the same. */
TEST_CASE(test_resync_that_is_refused) {
    session_begin_open();
    session_run(2000);
    service->rules.error = "INTERNAL_SERVER_ERROR";
    service->rules.error_type = "unsubscribe";
    assert_int_equal(session_resync(MST_MARKET_DATA, "BTCUSD"), 0);
    session_run(200);
    service->rules.error = NULL;
    session_run(4000);
    expect_int("live", MST_BOOK_LIVE, mst_book_state(&session.books[0]));
}

/* A response to something else does not complete a request. */
TEST_CASE(test_answer_to_another_request) {
    static const char *const others[] = {"unsubscribe", "subscription_list"};

    for (size_t i = 0; i < COUNT(others); i++) {
        session_begin();
        service->rules.delay_ms = 5000;
        session_start_and_run(2000);
        service_text(service,
                     printed("{\"type\":\"%s\",\"channels\":[]}", others[i]));
        session_run(2500);
        expect_int(others[i], 1, service->requests.count);
        assert_true(session_until_subscribed(5000));
    }
}

/* Unsolicited and wrong responses, and entries of another kind. */
TEST_CASE(test_wrong_answers) {
    static const char *const answers[] = {
        "{\"type\":\"subscribe\",\"channels\":[{\"type\":\"news\","
        "\"success\":true}]}",
        "{\"type\":\"subscribe\",\"channels\":[]}",
        "{\"type\":\"unsubscribe\",\"channels\":[{\"type\":\"market_data\","
        "\"params\":{\"market\":\"BTCUSD\"},\"success\":false,"
        "\"error\":\"NO_EFFECT_ACTION\"}]}",
        "{\"type\":\"error\",\"error\":\"UNKNOWN_ACTION\"}",
        "{\"type\":\"subscribe\",\"channels\":[{\"success\":true}]}",
        "{\"type\":\"subscribe\",\"channels\":7}",
        "{\"type\":\"subscribe\"}",
        "{\"type\":\"subscription_list\",\"channels\":[{\"type\":"
        "\"market_data\",\"params\":{\"market\":\"LTCEUR\"}}]}",
    };

    session_begin_open();
    session_run(2000);
    for (size_t i = 0; i < COUNT(answers); i++) {
        service_text(service, answers[i]);
        session_run(5000);
        if (session.seen.events[MST_EVENT_CLOSED] != 0) {
            expect_failed("costs the connection: %s", answers[i]);
        }
    }
    assert_true(session_until_subscribed(SESSION_MINUTE));
    assert_true(session_stats()->unknown >= 1);
    expect_int("nothing is repaired", 0, session_stats()->drifts);
}

RUN_SESSIONS(NULL, NULL)
