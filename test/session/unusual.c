/*
 * Unusual services and callers: a stream that is never quiet, responses in
 * forms that the specification does not show, markets in another case, garbage,
 * a clock that steps back.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

/* Polls for ms, once per ms, while the service always has a message ready.
 * Returns how many polls had an event. */
static unsigned busy(uint32_t ms) {
    unsigned events = 0;

    for (uint32_t i = 0; i < ms; i++) {
        struct mst_event event;

        service_text(&session.service, "{\"channel\":\"news\"}");
        events += mst_poll(&session.client, &event) == 1 ? 1 : 0;
        mst_mock_advance(&session.mock, 1);
    }
    return events;
}

TEST_CASE(test_a_busy_stream_does_not_hold_up_requests) {
    session_begin();
    session_connect();
    assert_in_range(busy(3000), 2900, 3000);
    expect_int("subscribe", 0, session_wish(MST_EXECUTION_DATA, "LTCUSD"));
    busy(3);
    expect_int("at once", 1, session.service.subscribes);
    expect_int("again", 0, session_wish(MST_EXECUTION_DATA, "XRPUSD"));
    busy(900);
    expect_int("the pace", 1, session.service.subscribes);
    busy(200);
    expect_int("in its time", 2, session.service.subscribes);
}

/* Response deadlines, audits and resyncs are served on time. */
TEST_CASE(test_a_busy_stream_does_not_hold_up_timers) {
    session_begin();
    session.config.audit_ms = 20000;
    session_open();
    busy(21000);
    expect_int("audit", 1, session.service.lists);
    session.service.rules.never = true;
    expect_int("subscribe", 0, session_wish(MST_EXECUTION_DATA, "LTCUSD"));
    busy(9500);
    expect_int("not yet", 0, session_stats()->unanswered);
    busy(2000);
    expect_int("deadline", 1, session_stats()->unanswered);
    session.service.rules.never = false;
    busy(2000);
    session.service.rules.no_snapshot_of = "BTCUSD";
    expect_int("resync", 0, session_resync(MST_MARKET_DATA, "BTCUSD"));
    busy(40000);
    assert_true(session_stats()->resyncs > 0);
}

/* So is the deadline of the closing handshake. */
TEST_CASE(test_a_busy_stream_does_not_hold_up_an_end) {
    session_begin_open();
    session.service.rules.no_echo = true;
    mst_close(&session.client);
    busy(4100);
    expect_int("off", MST_STATE_OFF, session_state());
}

/* Received bytes are read before a deadline counts. */
TEST_CASE(test_an_answer_that_waits_to_be_read_counts) {
    struct mst_event event;

    session_begin();
    session.service.rules.delay_ms = 9990;
    session_start_all();
    assert_true(session_until(MST_EVENT_OPEN, 1000));
    session_run(9980);
    for (int i = 0; i < 100; i++) {
        service_text(&session.service, "{\"channel\":\"news\"}");
    }
    mst_mock_advance(&session.mock, 15);
    do {
        mst_mock_advance(&session.mock, 1);
    } while (mst_poll(&session.client, &event) == 1);
    expect_int("unanswered", 0, session_stats()->unanswered);
}

/* ---- responses ---- */

static const char *entry_of_btc; /* replaces the usual one */

/* Answers a request for BTCUSD and LTCUSD; only LTCUSD is granted. */
static void answer(void *context, int link, const char *text) {
    const char *reply;

    (void)context, (void)link;
    if (strstr(text, "subscription_list") != NULL) {
        reply = "{\"type\":\"subscription_list\",\"channels\":[{\"type\":"
                "\"execution_data\",\"params\":{\"market\":\"LTCUSD\"}}]}";
    } else {
        bool both = strstr(text, "LTCUSD") != NULL;
        bool btc = strstr(text, "BTCUSD") != NULL;
        reply = printed(
            "{\"type\":\"subscribe\",\"channels\":[%s%s%s",
            btc ? entry_of_btc : "", btc && both ? "," : "",
            both ? "{\"type\":\"execution_data\",\"params\":{\"market\":"
                   "\"LTCUSD\"},\"success\":true}]}"
                 : "]}");
    }
    service_text(&session.service, reply);
}

#define BTC(rest) \
    "{\"type\":\"execution_data\",\"params\":{\"market\":\"BTCUSD\"}" rest "}"

TEST_CASE(test_an_entry_in_any_form_costs_no_more_than_itself) {
    static const struct {
        const char *entry, *text; /* the refusal's text; NULL: no result */
    } cases[] = {
        {BTC(",\"success\":false,\"error\":{\"code\":\"UNKNOWN_CHANNEL\"}"),
         "UNKNOWN_CHANNEL"},
        {BTC(",\"success\":false,\"error\":{\"code\":7,\"message\":[]}"), "7"},
        {BTC(",\"success\":false,\"error\":{\"message\":\"no\"}"), "no"},
        {BTC(",\"success\":false,\"error\":404"), "404"},
        {BTC(",\"success\":false,\"error\":true"), "true"},
        {BTC(",\"success\":false,\"error\":[\"X\"]"), ""},
        {BTC(",\"success\":false,\"error\":null,\"code\":\"X\""), "X"},
        {BTC(",\"success\":false,\"message\":\"not today\""), "not today"},
        {BTC(",\"success\":\"no\""), ""},
        {BTC(",\"error\":{}"), ""},
        {BTC(",\"success\":false,\"success\":true"), NULL},
        {"{\"params\":{\"market\":\"BTCUSD\"},\"success\":false}", NULL},
        {"{\"type\":7,\"params\":{\"market\":\"BTCUSD\"}}", NULL},
        {"\"BTCUSD\"", NULL},
        {"null,[],7", NULL},
        {"{}", NULL},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        session_begin();
        entry_of_btc = cases[i].entry;
        session.service.on_request = answer;
        session_start();
        session_wish(MST_EXECUTION_DATA, "BTCUSD");
        session_wish(MST_EXECUTION_DATA, "LTCUSD");
        session_run(20000);
        expect_int(cases[i].entry, 1, session_stats()->opens);
        expect_int(cases[i].entry, 0, session_stats()->failures);
        expect_int(cases[i].entry, cases[i].text == NULL ? 1 : 0,
                   session.service.lists);
        if (cases[i].text == NULL) {
            expect_int(cases[i].entry, MST_ERR_NO_RESULT,
                       session.seen.error.error);
            expect_text(cases[i].entry, "BTCUSD", session.seen.error.market);
        } else {
            assert_non_null(
                strstr(text_get(&session.seen.record), cases[i].text));
        }
        /* The other one is subscribed, and this one is requested again. */
        session_run(5 * SESSION_MINUTE);
        for (int k = 0;
             k < 60 && strstr(session.service.request, "BTCUSD") == NULL; k++) {
            session_run(1000);
        }
        assert_non_null(strstr(session.service.request, "BTCUSD"));
        assert_null(strstr(session.service.request, "LTCUSD"));
    }
}

static void answer_no_list(void *context, int link, const char *text) {
    (void)context, (void)link, (void)text;
    service_text(&session.service,
                 "{\"type\":\"subscription_list\",\"channels\":7}");
}

/* A service that refuses to list subscriptions, or sends an invalid list, keeps
 * its stream. */
TEST_CASE(test_a_refused_list_costs_only_the_audit) {
    for (int refused = 0; refused < 2; refused++) {
        session_begin();
        session.config.audit_ms = 30000;
        session.service.rules.error = refused ? "UNKNOWN_ACTION" : NULL;
        session.service.rules.error_type = "subscription_list";
        session_open();
        session.service.on_request = refused ? NULL : answer_no_list;
        session_run(SESSION_HOUR / 2);
        expect_int("opens", 1, session_stats()->opens);
        assert_in_range(session.service.lists, 50, 65);
    }
}

/* ---- names ---- */

static void answer_upper(void *context, int link, const char *text) {
    (void)context, (void)link, (void)text;
    service_text(
        &session.service,
        "{\"type\":\"subscribe\",\"channels\":[{\"type\":\"market_data\","
        "\"params\":{\"market\":\"BTCUSD\"},\"success\":true}]}");
    service_text(&session.service,
                 BOOK_MESSAGE("SNAPSHOT", LEVEL("1", "2"), ""));
}

/* An error in a market's message gives the name that was subscribed. */
static void bad_update_names(const char *market) {
    struct mst_event event;
    int polls = 10;

    session_bad_update("BTCUSD");
    while (mst_poll(&session.client, &event) == 0 && polls-- > 0) {}
    expect_int("error", MST_EVENT_ERROR, event.type);
    assert_string_equal(event.market, market);
}

TEST_CASE(test_a_market_in_another_case_is_the_wish) {
    for (int wishes = 1; wishes <= 2; wishes++) {
        session_begin();
        session.service.on_request = answer_upper;
        session_start();
        mst_subscribe(&session.client, MST_MARKET_DATA, "btcusd",
                      &session.books[0]);
        if (wishes == 2) { /* ambiguous */
            mst_subscribe(&session.client, MST_MARKET_DATA, "Btcusd",
                          &session.books[1]);
        }
        session_run(5000);
        expect_int("failures", 0, session_stats()->failures);
        expect_int("book", wishes == 1 ? MST_BOOK_LIVE : MST_BOOK_EMPTY,
                   mst_book_state(&session.books[0]));
        expect_int("error", wishes == 1 ? 0 : MST_ERR_NO_RESULT,
                   session.seen.error.error);
        bad_update_names(wishes == 1 ? "btcusd" : "BTCUSD");
    }
}

MST_MEMORY(memory, MST_LENGTHS_SMALL); /* of another client */

TEST_CASE(test_a_book_belongs_to_one_subscription) {
    static struct mst_client other;
    struct mst_book *book = &session.books[0];

    session_begin();
    session_start();
    expect_int("first", 0,
               mst_subscribe(&session.client, MST_MARKET_DATA, "X", book));
    expect_int("second", MST_ERR_BOOK,
               mst_subscribe(&session.client, MST_MARKET_DATA, "Y", book));
    struct mst_config config = session.config;
    config.link = 1;
    assert_int_equal(mst_client_init(&other, &config, &session.port, &memory),
                     0);
    expect_int("another client", MST_ERR_BOOK,
               mst_subscribe(&other, MST_MARKET_DATA, "X", book));
    session_leave(MST_MARKET_DATA, "X");
    expect_int("free", 0, mst_subscribe(&other, MST_MARKET_DATA, "X", book));
    mst_client_wipe(&other);
    expect_int("free again", 0,
               mst_subscribe(&session.client, MST_MARKET_DATA, "Y", book));
}

/* In whichever place of the subscriptions it was. */
TEST_CASE(test_a_book_is_free_once_its_client_is_initialised_anew) {
    session_begin();
    for (int place = MST_SUBSCRIPTIONS_MAX; place-- > 0;) {
        session_start();
        for (int i = 0; i < place; i++) {
            expect_int("another", 0,
                       mst_subscribe(&session.client, MST_TOP_OF_BOOK,
                                     printed("M%d", i), NULL));
        }
        expect_int("book", 0,
                   mst_subscribe(&session.client, MST_MARKET_DATA, "X",
                                 &session.books[0]));
    }
}

/* ---- garbage, and clocks ---- */

TEST_CASE(test_garbage_without_end_ends_the_connection) {
    for (int good = 0; good < 2; good++) {
        session_begin_open();
        session_run(SESSION_MINUTE); /* the stable time does not count */
        for (int i = 0; i < 150; i++) {
            service_text(&session.service, i % 2 == 0 ? "garbage" : "{\"a\":");
            if (good && i % 90 == 89) {
                service_text(&session.service, "{\"channel\":\"news\"}");
            }
        }
        session_run(100);
        expect_int("closed", good ? 0 : 1,
                   session.seen.events[MST_EVENT_CLOSED]);
        if (!good) {
            session_expect_closed("garbage", MST_ERR_GARBAGE, MST_STATE_OPEN);
            expect_int("bad", 100, session_stats()->bad_messages);
        }
    }
}

/* Not even on connections that were stable. */
TEST_CASE(test_garbage_makes_waits_longer) {
    session_begin();
    session_start_all();
    do {
        assert_true(session_until(MST_EVENT_OPEN, 2 * SESSION_MINUTE));
        session_run(SESSION_MINUTE);
        for (int i = 0; i < 100; i++) {
            service_text(&session.service, "garbage");
        }
        assert_true(session_until(MST_EVENT_CLOSED, 1000));
        session_expect_closed("garbage", MST_ERR_GARBAGE, MST_STATE_OPEN);
        assert_true(session_now() < SESSION_HOUR);
    } while (session.seen.closed.retry_ms < 20000);
}

/* No timer ends later than it was set for. */
TEST_CASE(test_no_wait_grows_when_the_clock_steps) {
    static const uint32_t steps[] = {0u - 3600000u, 0u - 1u, 40u * SESSION_DAY,
                                     30u * SESSION_DAY};

    for (size_t i = 0; i < COUNT(steps); i++) {
        struct mst_event event;

        session_begin_open();
        session_run(5000);
        mst_mock_set_now(&session.mock,
                         session.port.now_ms(&session.mock) + steps[i]);
        assert_in_range(mst_next_deadline_ms(&session.client.link), 0, 20000);
        for (int polls = 0; polls < 10; polls++) {
            mst_poll(&session.client, &event);
        }
        assert_in_range(mst_next_deadline_ms(&session.client.link), 0, 20000);
        expect_int("open", MST_STATE_OPEN, session_state());
        session_run(20000);
        assert_true(session.service.pings.count > 0 ||
                    session.service.requests.count > 1);
    }
}

RUN_SESSIONS(NULL, NULL)
