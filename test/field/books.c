/*
 * Reports about order books (README.md, 1 to 10): the service's messages and
 * the resulting books.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

#define MS INT64_C(1000000)
#define AND(price, amount) "," LEVEL(price, amount)

static void add_sides(struct text *text, const struct mst_book *book) {
    char number[MST_DECIMAL_TEXT_LEN];

    for (int side = MST_BID; side <= MST_ASK; side++) {
        text_add(text, "%s", side == MST_ASK ? " |" : "");
        for (size_t i = 0; i < mst_book_depth(book, (enum mst_side)side); i++) {
            const struct mst_level *level =
                mst_book_level(book, (enum mst_side)side, i);
            mst_decimal_format(mst_level_price(level), number);
            text_add(text, " %s", number);
            mst_decimal_format(mst_level_amount(level), number);
            text_add(text, "x%s", number);
        }
    }
}

/* A book's state and sides, bids first. */
static void expect_book(const char *name, const char *expected, size_t market) {
    const struct mst_book *book = session_book(market);
    struct text *text = text_new();

    text_add(text, "%s:", mst_book_state_name(mst_book_state(book)));
    add_sides(text, book);
    expect_text(name, expected, text_get(text));
}

/* Sends a message of the first market, with a time after the wall clock's. */
static void send_book(const char *type, int64_t after_ms, const char *bids,
                      const char *asks) {
    service_book(&session.service, "BTCUSD", type,
                 mst_mock_wall(&session.mock) + after_ms * MS, bids, asks);
    session_run(1);
}

static void begin_empty(void) {
    session_begin();
    session.service.rules.no_snapshot = true;
    session_start_all();
    session_run(2000);
}

#define YEAR (INT64_C(365) * SESSION_DAY)

TEST_CASE(test_messages) {
    static const struct {
        const char *name, *expected;
        struct {
            const char *type;
            int64_t after_ms;
            const char *bids, *asks;
        } messages[4];
    } cases[] = {
        {"2: a snapshot has a level without an amount",
         "live: 99x1 | 101x1",
         {{"SNAPSHOT", 0, LEVEL("192000", "0") AND("99", "1"),
           LEVEL("101", "1") AND("1", "0.000")}}},
        {"3: one side's removal, where the other has that price",
         "live: 100x1 99x1 | 102x4",
         {{"SNAPSHOT", 0, LEVEL("99", "1"), LEVEL("102", "4")},
          {"UPDATE", 1, LEVEL("100", "1"), LEVEL("100", "0")},
          {"UPDATE", 2, "", LEVEL("100", "0") AND("99", "0")}}},
        {"5: an update has a price twice",
         "live: 99x3 | 101x1",
         {{"SNAPSHOT", 0, LEVEL("99", "1"), LEVEL("101", "1")},
          {"UPDATE", 1, LEVEL("99", "2") AND("99.0", "3"),
           LEVEL("101", "0") AND("101", "1")}}},
        {"5: the other way round",
         "live: 99x1 |",
         {{"SNAPSHOT", 0, LEVEL("99", "1"), LEVEL("101", "1")},
          {"UPDATE", 1, LEVEL("99", "0") AND("99", "1"),
           LEVEL("101", "7") AND("1.01E+2", "0")}}},
        {"8: the snapshot's number is of another kind",
         "live: 99x2 | 101x1",
         {{"SNAPSHOT", -YEAR, LEVEL("99", "1"), LEVEL("101", "1")},
          {"UPDATE", 0, LEVEL("99", "2"), ""}}},
        {"10: updates before and after what the snapshot has",
         "live: 98x4 97x1 | 101x5",
         {{"UPDATE", 0, LEVEL("99", "9"), LEVEL("101", "9")},
          {"UPDATE", 5, LEVEL("98", "4"), LEVEL("101", "5")},
          {"SNAPSHOT", 3, LEVEL("97", "1"), LEVEL("101", "1")},
          {"UPDATE", 1, LEVEL("97", "9"), ""}}},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        begin_empty();
        for (size_t n = 0; n < 4 && cases[i].messages[n].type; n++) {
            send_book(cases[i].messages[n].type, cases[i].messages[n].after_ms,
                      cases[i].messages[n].bids, cases[i].messages[n].asks);
        }
        expect_book(cases[i].name, cases[i].expected, 0);
        session_run(20000);
        expect_int(cases[i].name, 0, session_stats()->resyncs);
        expect_int(cases[i].name, 0, session.seen.events[MST_EVENT_CLOSED]);
    }
}

/* 1: levels that the book does not know become the best ones. */
TEST_CASE(test_levels_out_of_sight) {
    struct mst_decimal horizon;
    char price[MST_DECIMAL_TEXT_LEN];

    session_begin();
    session.service.rules.bids = LEVEL("99", "1") AND("98", "1") AND("97", "1")
        AND("96", "1") AND("95", "1") AND("94", "1") AND("93", "1")
            AND("92", "1") AND("91", "1") AND("90", "1");
    session_open();
    send_book("UPDATE", 1,
              LEVEL("99", "0") AND("98", "0") AND("97", "0") AND("96", "0")
                  AND("95", "0") AND("94", "0") AND("93", "0"),
              LEVEL("101", "0"));
    send_book("UPDATE", 2, LEVEL("90", "5") AND("89", "1"), "");
    assert_true(mst_book_horizon(session_book(0), MST_BID, &horizon));
    mst_decimal_format(horizon, price);
    expect_text("what is beyond it is not shown", "91", price);
    expect_int("levels", 1, mst_book_depth(session_book(0), MST_BID));
    assert_int_equal(
        mst_book_amount(session_book(0), MST_BID, horizon, &horizon),
        MST_ERR_HORIZON);
    session_resync(MST_MARKET_DATA, "BTCUSD");
    session_run(5000);
    expect_int("all again", 8, mst_book_depth(session_book(0), MST_BID));
}

/* 4: a second subscription does not change the first one's book; 9: alternating
 * messages of two markets are not gaps. */
TEST_CASE(test_two_markets) {
    session_begin();
    session_start();
    session_wish(MST_MARKET_DATA, "BTCUSD");
    session_run(5000);
    send_book("UPDATE", 1, LEVEL("99", "0") AND("1", "7"), "");
    struct text *before = text_new(), *after = text_new();
    add_sides(before, session_book(0));
    session_wish(MST_MARKET_DATA, "ETHUSD");
    session_run(5000);
    add_sides(after, session_book(0));
    expect_text("the first", text_get(before), text_get(after));
    session_expect_book("the second", MST_BOOK_LIVE, &session.books[1]);
    for (int i = 0; i < 1000; i++) {
        session_run(7);
        service_push(&session.service, "market_data",
                     i % 2 ? "BTCUSD" : "ETHUSD");
    }
    for (size_t i = 0; i < 2; i++) {
        session_expect_book("both", MST_BOOK_LIVE, session_book(i));
    }
    expect_int("resyncs", 0, session_stats()->resyncs);
}

/* 6: unsubscribed, and subscribed again at once or an hour later. */
TEST_CASE(test_left_and_wished_for) {
    static const uint32_t pauses_ms[] = {0, 1, 1500, SESSION_HOUR};

    for (size_t i = 0; i < COUNT(pauses_ms); i++) {
        session_begin_open();
        session_run(5000);
        assert_int_equal(session_leave(MST_MARKET_DATA, "BTCUSD"), 0);
        session_run(pauses_ms[i]);
        session_expect_book("left", MST_BOOK_STALE, session_book(0));
        assert_int_equal(session_wish(MST_MARKET_DATA, "BTCUSD"), 0);
        session.service.rules.bids = LEVEL("55", "5");
        session_run(5000);
        assert_true(session_subscribed());
        session_expect_book("again", MST_BOOK_LIVE, session_book(0));
        expect_int("the new one's", 1,
                   mst_book_depth(session_book(0), MST_BID));
    }
}

/* 7: a snapshot has an earlier time than the book. */
TEST_CASE(test_old_snapshot) {
    session_begin_open();
    send_book("UPDATE", 5000, LEVEL("99.25", "1"), "");
    send_book("SNAPSHOT", -8000, LEVEL("50", "1"), "");
    session_run(2);
    assert_true(mst_book_state(session_book(0)) != MST_BOOK_LIVE ||
                mst_book_flags(session_book(0)) != 0);
    session_run(SESSION_MINUTE);
    session_expect_book("once more", MST_BOOK_LIVE, session_book(0));
    assert_in_range(session_stats()->resyncs, 1, MST_RESYNCS_MAX);
}

RUN_SESSIONS(NULL, NULL)
