/*
 * Books in a session: merging snapshots, and resubscribing doubtful books one
 * market at a time within the budget.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

#define MS INT64_C(1000000)

static struct service *const service = &session.service;
static struct mst_book *const btc = &session.books[0];

/* Sides with more levels than the books hold, and one that crosses. */
#define AND(price) "," LEVEL(price, "1")
static const char bids[] = LEVEL("90", "1") AND("91") AND("92") AND("93")
    AND("94") AND("95") AND("96") AND("97") AND("98");
static const char asks[] = LEVEL("101", "1") AND("102") AND("103") AND("104")
    AND("105") AND("106") AND("107") AND("108") AND("109");
#define CROSSED_BIDS LEVEL("105", "1") "," LEVEL("99", "1")

static int64_t now_ns(void) {
    return mst_mock_wall(&session.mock);
}

static void update(const char *bid, const char *ask) {
    session_run(1); /* with a later time than the messages before */
    service_book(service, "BTCUSD", "UPDATE", now_ns(), bid, ask);
    session_run(0);
}

/* Begins with all subscribed, and some time after the last request. */
static void begin_subscribed(unsigned flags) {
    session_begin();
    session.config.flags = flags;
    session_open();
    session_run(5000);
}

/* Opens with a full book, which counts as thin below this number of levels. */
static void open_full(size_t thin) {
    service->rules.bids = bids;
    service->rules.asks = asks;
    mst_book_set_thin(btc, thin);
    session_open();
}

static uint32_t resyncs(void) {
    return session_stats()->resyncs;
}

/* ---- resync and merge ---- */

/* Unsubscribe, response, subscribe, with at most one request a second. The
 * other market is not affected. */
TEST_CASE(test_resync_of_one_market) {
    static const uint32_t delays_ms[] = {0, 300, 2500};

    for (size_t i = 0; i < COUNT(delays_ms); i++) {
        uint32_t delay = delays_ms[i];
        begin_subscribed(0);
        service->rules.delay_ms = delay;
        uint64_t begin = session_now();
        session_resync(MST_MARKET_DATA, "BTCUSD");
        uint32_t again = delay < 1000 ? 1000 : delay;
        for (uint32_t ms = 0; ms < again + delay + 50; ms += 50) {
            session_run(50);
            service_push(service, "market_data", "ETHUSD");
            session_expect_book("the other market", MST_BOOK_LIVE,
                                &session.books[1]);
            bool left = ms + 50 >= delay && ms + 50 < again + delay;
            session_expect_book("the market itself",
                                left ? MST_BOOK_STALE : MST_BOOK_LIVE, btc);
        }
        expect_int("requests", 2, (long long)service->requests.count - 1);
        expect_int("unsubscribed", begin,
                   (long long)service->requests
                       .ms[(service->requests.count - 2) % SERVICE_TIMES]);
        expect_int("subscribed", (long long)begin + again,
                   service->requests.last_ms);
        assert_non_null(strstr(service->request, "BTCUSD"));
        assert_null(strstr(service->request, "ETHUSD"));
        assert_null(strstr(service->request, "top_of_book"));
        session_run(100);
        assert_true(session_subscribed());
    }
}

/* Several resyncs at once share their requests. */
TEST_CASE(test_resyncs_share_requests) {
    begin_subscribed(0);
    session_resync(MST_MARKET_DATA, "BTCUSD");
    session_resync(MST_MARKET_DATA, "ETHUSD");
    session_run(3000);
    expect_int("requests", 1 + 2, service->requests.count);
    assert_true(session_subscribed());
    assert_true(service->requests.gap_min_ms >= 1000);
}

TEST_CASE(test_updates_before_the_snapshot) {
    for (int resync = 0; resync < 2; resync++) {
        session_begin();
        service->rules.no_snapshot = resync == 0;
        session_start_and_run(5000);
        if (resync == 1) {
            service->rules.no_snapshot = true;
            session_resync(MST_MARKET_DATA, "BTCUSD");
            session_run(3000);
        }
        int64_t t = now_ns();
        service_book(service, "BTCUSD", "UPDATE", t - MS,
                     LEVEL("100", "9") "," LEVEL("96", "9"), "");
        service_book(service, "BTCUSD", "UPDATE", t, LEVEL("99", "9"), "");
        service_book(service, "BTCUSD", "UPDATE", t + MS,
                     LEVEL("98.00", "5") "," LEVEL("97", "4"),
                     LEVEL("101.0", "0.000"));
        session_run(1);
        session_expect_book("waits", MST_BOOK_BUILDING, btc);
        expect_int("depth", 0, mst_book_depth(btc, MST_BID));
        service_book(
            service, "BTCUSD", "SNAPSHOT", t,
            LEVEL("100", "1") "," LEVEL("99", "2") "," LEVEL("98", "3"),
            LEVEL("101", "1") "," LEVEL("102", "2"));
        session_run(0);
        expect_book_text("whole", "live: 100x1 99x2 98x5 97x4 | 102x2", btc);
        /* An update that arrives after the snapshot, but is older. */
        service_book(service, "BTCUSD", "UPDATE", t - MS, LEVEL("100", "7"),
                     "");
        service_book(service, "BTCUSD", "UPDATE", t + 2 * MS, LEVEL("99", "8"),
                     "");
        session_run(0);
        expect_book_text("later", "live: 100x1 99x8 98x5 97x4 | 102x2", btc);
        expect_int("resyncs", 0, resyncs());
    }
}

/* ---- doubt ---- */

/* The service's time goes back by an hour. Later updates are dropped, which the
 * book reports at once; it is resubscribed and then follows again. */
TEST_CASE(test_time_goes_back) {
    for (int newer = 0; newer < 2; newer++) {
        begin_subscribed(0);
        if (newer) {
            update(LEVEL("99.5", "7"), "");
        }
        service->rules.delay_ms = 100;
        mst_mock_set_wall(&session.mock, now_ns() - 3600 * 1000 * MS);
        session_run(2000);
        expect_int("not known yet", 0, mst_book_flags(btc));
        update(LEVEL("100", "9"), "");
        session_expect_book("shown", MST_BOOK_LIVE, btc);
        expect_int("flag", MST_BOOK_TIME_STEP, mst_book_flags(btc));
        expect_int("dropped", 1,
                   mst_book_level(btc, MST_BID, 0)->amount_coefficient);
        session_run(3000);
        expect_int("resyncs", 1, resyncs());
        expect_int("fresh", 0, mst_book_flags(btc));
        update(LEVEL("100", "9"), "");
        expect_book_text(
            "follows", "live: 100x9 99.5x2 99x3.125 | 101x1.5 101.5x2.5", btc);
        expect_int("fresh", 0, mst_book_flags(btc));
        session_expect_book("the other", MST_BOOK_LIVE, &session.books[1]);
        expect_int("resyncs", 1, resyncs());
    }
}

/* A service whose snapshots and updates differ in time: the book stays in
 * doubt, and is resubscribed as the budget allows. */
TEST_CASE(test_snapshots_of_another_time) {
    unsigned doubted = 0;

    begin_subscribed(0);
    service->rules.delay_ms = 100;
    for (int minute = 0; minute < 60; minute++) {
        int64_t real_ns = now_ns();
        service_book(service, "BTCUSD", "UPDATE", real_ns - 3600 * 1000 * MS,
                     LEVEL("100", "9"), "");
        session_run(0);
        doubted += mst_book_flags(btc) == MST_BOOK_TIME_STEP;
        session_run(SESSION_MINUTE);
    }
    expect_int("doubted", 60, doubted);
    assert_in_range(resyncs(), MST_RESYNCS_MAX + 4, MST_RESYNCS_MAX + 6);
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
}

/* Removes the best bids one by one until this number of levels is left. */
static void thin_out(size_t left) {
    char number[MST_DECIMAL_TEXT_LEN];

    while (mst_book_depth(btc, MST_BID) > left) {
        mst_decimal_format(mst_level_price(mst_book_level(btc, MST_BID, 0)),
                           number);
        update(printed(LEVEL("%s", "0"), number), "");
    }
}

TEST_CASE(test_thin_book) {
    session_begin();
    open_full(4);
    session_run(5000);
    for (unsigned i = 1; i <= MST_RESYNCS_MAX; i++) {
        expect_int("full", SESSION_LEVELS, mst_book_depth(btc, MST_BID));
        thin_out(4);
        session_run(3000);
        expect_int("thick enough", i - 1, resyncs());
        expect_int("no flag", 0, mst_book_flags(btc));
        thin_out(3);
        /* The first at once, the next after 10 minutes, then 20, ... */
        session_run(i > 1 ? (uint32_t)MST_RESYNC_EVERY_MS << (i - 2) : 3000);
        expect_int("asked for", i, resyncs());
        session_run(3000);
        session_expect_book("fresh", MST_BOOK_LIVE, btc);
        expect_int("no flag", 0, mst_book_flags(btc));
    }
    /* Until then the book is flagged; the levels that it has are exact. */
    thin_out(3);
    session_run(3000);
    expect_int("not yet", MST_RESYNCS_MAX, resyncs());
    expect_int("flagged", MST_BOOK_THIN, mst_book_flags(btc));
    expect_book_text("exact",
                     "live: 93x1 92x1 91x1 | 101x1 102x1 103x1 104x1 105x1 "
                     "106x1 107x1 108x1",
                     btc);
    /* The book fills up again from updates: no resync. */
    update(LEVEL("93.5", "1") "," LEVEL("93.6", "1"), "");
    expect_int("no flag", 0, mst_book_flags(btc));
    session_run(2 * MST_RESYNC_EVERY_MS);
    expect_int("not needed", MST_RESYNCS_MAX, resyncs());
}

/* A market that drifts all day is resynchronised as the budget allows. */
TEST_CASE(test_drift_all_day) {
    session_begin();
    open_full(SESSION_LEVELS);
    for (int minute = 0; minute < 24 * 60; minute++) {
        session_run(SESSION_MINUTE);
        if (mst_book_state(btc) == MST_BOOK_LIVE) {
            thin_out(SESSION_LEVELS - 1);
        }
        text_clear(&session.seen.record);
    }
    /* After 10 minutes, 20, 40, ... */
    assert_in_range(resyncs(), 6, 9);
    expect_int("says so", MST_BOOK_THIN, mst_book_flags(btc));
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    assert_true(service_has(service, "market_data", "BTCUSD"));
}

TEST_CASE(test_crossed_book) {
    for (int wanted = 0; wanted < 2; wanted++) {
        begin_subscribed(wanted ? MST_RESYNC_CROSSED : MST_STRICT_AMOUNTS);
        service->rules.delay_ms = 100;
        update(CROSSED_BIDS, "");
        expect_int("flagged", MST_BOOK_CROSSED, mst_book_flags(btc));
        expect_int("resyncs", wanted, resyncs());
        session_run(10000);
        session_expect_book("shown", MST_BOOK_LIVE, btc);
        expect_int("flag", wanted ? 0 : MST_BOOK_CROSSED, mst_book_flags(btc));
        expect_int("unsubscribes", wanted, service->unsubscribes);
        expect_int("the others untouched", !wanted,
                   strstr(service->request, "ETHUSD") != NULL);
        expect_int("the others untouched", !wanted,
                   strstr(service->request, "top_of_book") != NULL);
        if (!wanted) {
            update(LEVEL("105", "0"), "");
            expect_int("no longer", 0, mst_book_flags(btc));
        }
    }
}

/* A resync of a crossed book says nothing about drift. */
TEST_CASE(test_drift_after_another_doubt) {
    session_begin();
    session.config.flags = MST_RESYNC_CROSSED;
    open_full(4);
    session_run(5000);
    update(CROSSED_BIDS, "");
    session_run(3000);
    expect_int("crossed", 1, resyncs());
    thin_out(3);
    session_run(3000);
    expect_int("thin", 2, resyncs());
}

#define BEST_BID LEVEL("100", "1")
#define BEST_ASK LEVEL("101", "1.5")
#define OTHER_ASK LEVEL("101", "2")

/* Sends this number of top of book messages that disagree, apart_ms apart. */
static void disagree(int messages, int64_t apart_ms) {
    int64_t t = now_ns();

    for (int i = 0; i < messages; i++) {
        service_top(service, "BTCUSD", t + i * apart_ms * MS, BEST_BID,
                    OTHER_ASK);
    }
    session_run(0);
}

static void agree(void) {
    service_top(service, "BTCUSD", now_ns(), BEST_BID, BEST_ASK);
    session_run(0);
}

TEST_CASE(test_disagreement_with_top_of_book) {
    const int64_t long_ms = MST_DISAGREEMENT_MS;

    begin_subscribed(0);
    /* The disagreement is too short, too few messages long, or interrupted. */
    disagree(20, (long_ms - 1) / 19);
    expect_int("too short", 0, mst_book_flags(btc));
    agree();
    disagree(MST_DISAGREEMENTS - 1, 10 * long_ms);
    expect_int("too few", 0, mst_book_flags(btc));
    agree();
    disagree(1, 0);
    session_run(60 * MST_DISAGREEMENT_MS);
    expect_int("one message, for long", 0, mst_book_flags(btc));
    agree();
    for (int i = 0; i < 10; i++) {
        disagree(MST_DISAGREEMENTS - 1, 0);
        session_run(MST_DISAGREEMENT_MS);
        agree();
    }
    expect_int("in and out", 0, mst_book_flags(btc));
    expect_int("no resync", 0, resyncs());
    expect_int("no request", 1, service->requests.count);
    /* The disagreement lasts. */
    service->rules.delay_ms = 100;
    disagree(MST_DISAGREEMENTS, long_ms / (MST_DISAGREEMENTS - 1));
    expect_int("lasts", MST_BOOK_DISAGREES, mst_book_flags(btc));
    expect_int("resync", 1, resyncs());
    session_run(5000);
    session_expect_book("fresh", MST_BOOK_LIVE, btc);
    expect_int("fresh", 0, mst_book_flags(btc));
    session_expect_book("the other", MST_BOOK_LIVE, &session.books[1]);
    /* Resyncs within the budget; then the flag stays while it lasts. */
    for (unsigned i = 2; i <= MST_RESYNCS_MAX + 2; i++) {
        disagree(MST_DISAGREEMENTS, long_ms);
        session_run(5000);
        expect_int("flag", i <= MST_RESYNCS_MAX ? 0 : MST_BOOK_DISAGREES,
                   mst_book_flags(btc));
    }
    expect_int("budget", MST_RESYNCS_MAX, resyncs());
    agree();
    expect_int("agrees", 0, mst_book_flags(btc));
}

/* A market is wanted again before its unsubscribe is confirmed. An old snapshot
 * then lacks updates that the first subscription received. */
TEST_CASE(test_late_snapshot_after_a_renewed_wish) {
    struct service_rules *rules = &service->rules;

    session_begin();
    rules->no_snapshot = true;
    session_start();
    session_wish(MST_MARKET_DATA, "BTCUSD");
    session_run(1000);
    int64_t asked_ns = now_ns();
    session_run(5000);
    update(LEVEL("99", "1"), "");
    session_leave(MST_MARKET_DATA, "BTCUSD");
    session_wish(MST_MARKET_DATA, "BTCUSD");
    session_run(3000);
    expect_int("asked for anew", 3, service->requests.count);
    rules->delay_ms = 100;
    service_book(service, "BTCUSD", "SNAPSHOT", asked_ns, LEVEL("98", "1"),
                 LEVEL("101", "1"));
    session_run(0);
    expect_int("a doubt", MST_BOOK_TIME_STEP, mst_book_flags(btc));
    rules->no_snapshot = false;
    session_run(5000);
    expect_int("a resync", 1, resyncs());
    session_expect_book("fresh", MST_BOOK_LIVE, btc);
    expect_int("no doubt", 0, mst_book_flags(btc));
}

RUN_SESSIONS(NULL, NULL)
