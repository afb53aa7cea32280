/*
 * A snapshot of 10 MB with a message buffer of 2 KB. Books of any size have the
 * levels that were sent, and show none before the snapshot is complete.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

#define LEVELS 80000
#define SMALL 100
#define PIECE 50000

static struct mst_level small_levels[2 * SMALL];
static struct mst_level large_levels[2 * LEVELS];
static struct mst_book small, large;

/* ---- expected levels ---- */

/* The level of this rank (0 is the best): 15 digits each, none of them a
 * trailing zero. */
static int64_t truth_price(enum mst_side side, int rank) {
    int64_t step = (int64_t)rank * 100 + 1;

    return INT64_C(500000000000000) + (side == MST_BID ? -step : step);
}

static int64_t truth_amount(enum mst_side side, int rank) {
    return INT64_C(123456000000001) + side + 10 * (int64_t)rank;
}

/* The order in which a side's levels are sent. */
enum order { BEST_FIRST, WORST_FIRST, SHUFFLED, ORDERS };

static int order_rank(enum order order, int i) {
    /* 7919 is prime and does not divide the number of levels. */
    return order == BEST_FIRST    ? i
           : order == WORST_FIRST ? LEVELS - 1 - i
                                  : (int)((int64_t)i * 7919 % LEVELS);
}

static void snapshot_side(struct text *text, enum mst_side side,
                          enum order order) {
    for (int i = 0; i < LEVELS; i++) {
        long long price = truth_price(side, order_rank(order, i));
        long long amount = truth_amount(side, order_rank(order, i));
        text_add(text,
                 "%s{\"price\": \"%lld.%08lld\", \"amount\": \"%lld.%08lld\"}",
                 i > 0 ? ",\n  " : "", price / 100000000, price % 100000000,
                 amount / 100000000, amount % 100000000);
    }
}

static void snapshot_write(struct text *text, const char *market,
                           enum order order) {
    text_add(text,
             "{\"channel\":\"market_data\",\"payload\":{\"market\":\"%s\","
             "\"type\":\"SNAPSHOT\",\"time\":\"" TIME "\",\"bids\":[",
             market);
    snapshot_side(text, MST_BID, order);
    text_add(text, "],\"asks\":[");
    snapshot_side(text, MST_ASK, order);
    text_add(text, "]}}");
    assert_true(text->len > 10 * 1000 * 1000);
}

static void expect_truth(const char *name, const struct mst_book *book,
                         int levels) {
    struct mst_decimal horizon;

    expect_int(name, MST_BOOK_LIVE, mst_book_state(book));
    expect_int(name, 0, mst_book_flags(book));
    for (enum mst_side side = MST_BID; side <= MST_ASK; side++) {
        expect_int(name, levels, mst_book_depth(book, side));
        for (int rank = 0; rank < levels; rank++) {
            const struct mst_level *level =
                mst_book_level(book, side, (size_t)rank);
            struct mst_decimal price = {truth_price(side, rank), -8, false};
            if (level == NULL ||
                mst_decimal_cmp(mst_level_price(level), price) != 0 ||
                level->amount_coefficient != truth_amount(side, rank) ||
                level->amount_exponent != -8 ||
                mst_book_find(book, side, price) != level) {
                expect_failed("%s: side %d differs at %d", name, (int)side,
                              rank);
                break;
            }
        }
        if (mst_book_horizon(book, side, &horizon)) {
            struct mst_decimal first = {truth_price(side, levels), -8, false};
            expect_int("horizon", 0, mst_decimal_cmp(horizon, first));
        } else {
            expect_int("no horizon", LEVELS, levels);
        }
    }
}

/* ---- the stream ---- */

/* Sends a message in fragments of this size (0: in one frame), with a ping
 * after each, as fast as the client reads. Expects no depth meanwhile. */
static void send_slowly(const struct text *text, size_t fragment,
                        const struct mst_book *book) {
    unsigned char head[10];
    size_t at = 0, frame_end = 0;

    while (at < text->len) {
        if (at == frame_end) {
            size_t len = fragment == 0 || text->len - at < fragment
                             ? text->len - at
                             : fragment;
            frame_end = at + len;
            unsigned first =
                (at == 0 ? 1u : 0u) | (frame_end == text->len ? 0x80u : 0u);
            service_bytes(&session.service, head,
                          mst_mock_service_head(head, first, len));
        }
        size_t n = frame_end - at < PIECE ? frame_end - at : PIECE;
        service_bytes(&session.service, text->data + at, n);
        at += n;
        if (at == frame_end && at < text->len) {
            service_frame(&session.service, 0x80, 9, "between", 7);
        }
        session_run(1);
        if (at < text->len && (mst_book_state(book) != MST_BOOK_BUILDING ||
                               mst_book_depth(book, MST_BID) != 0 ||
                               mst_book_depth(book, MST_ASK) != 0)) {
            expect_failed("half a snapshot is shown, at %zu", at);
            return;
        }
        text_clear(&session.seen.record);
    }
}

static void begin_without_snapshots(void) {
    session_begin();
    assert_int_equal(mst_book_init(&small, small_levels, SMALL), 0);
    assert_int_equal(mst_book_init(&large, large_levels, LEVELS), 0);
    session.service.rules.no_snapshot = true;
    session_start();
    mst_subscribe(&session.client, MST_MARKET_DATA, "BTCUSD", &small);
    mst_subscribe(&session.client, MST_MARKET_DATA, "ETHUSD", &large);
    session_run(2000);
}

TEST_CASE(test_ten_megabytes) {
    static const size_t fragments[ORDERS] = {0, 7919, 1000003};

    for (enum order order = BEST_FIRST; order < ORDERS; order++) {
        struct text *text = text_new();
        begin_without_snapshots();
        snapshot_write(text, "BTCUSD", order);
        send_slowly(text, fragments[order], &small);
        expect_truth("a small book", &small, SMALL);
        text_clear(text);
        snapshot_write(text, "ETHUSD", order);
        send_slowly(text, fragments[order], &large);
        expect_truth("a large book", &large, LEVELS);

        expect_int("parts", 2 * (2 * LEVELS / MST_PART_LEVELS),
                   session.seen.events[MST_EVENT_PART]);
        expect_int("errors", 0, session.seen.events[MST_EVENT_ERROR]);
        expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
        expect_int("resyncs", 0, session_stats()->resyncs);
    }
}

/* After a connection that breaks within a snapshot, or an invalid end of one,
 * none of it is shown; the next one is. */
TEST_CASE(test_cut_off) {
    struct text *text = text_new();

    begin_without_snapshots();
    snapshot_write(text, "ETHUSD", SHUFFLED);
    text->data[text->len - 1] = ']';
    /* Newer than the snapshot, but dropped with it. */
    service_book(&session.service, "ETHUSD", "UPDATE",
                 mst_mock_wall(&session.mock), LEVEL("4999999.999999999", "1"),
                 "");
    send_slowly(text, 0, &large);
    expect_int("bad at its end", MST_BOOK_STALE, mst_book_state(&large));
    expect_int("depth", 0, mst_book_depth(&large, MST_BID));
    expect_int("error", MST_ERR_JSON_SYNTAX, session.seen.error.error);
    session_run(3000); /* subscribes again */
    text->data[text->len - 1] = '}';
    send_slowly(text, 0, &large);
    expect_truth("then a good one", &large, LEVELS);

    session_run(1000);
    service_bytes(&session.service, "\x81\x7F\0\0\0\0\0\xFF\xFF\xFF", 10);
    service_bytes(&session.service, text->data, PIECE);
    session_run(1);
    expect_int("begun", MST_BOOK_BUILDING, mst_book_state(&large));
    service_end(&session.service, MST_ERR_RESET);
    session_run(3000);
    expect_int("cut off", MST_BOOK_STALE, mst_book_state(&large));
    expect_int("depth", 0, mst_book_depth(&large, MST_ASK));
    send_slowly(text, 0, &large);
    expect_truth("on the next connection", &large, LEVELS);
}

RUN_SESSIONS(NULL, NULL)
