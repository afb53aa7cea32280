/*
 * A thousand markets in one client, with the library built for that many. Each
 * message finds its subscription and book, after any reuse of slots, without a
 * search through the others.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <string.h>

static unsigned long compared; /* market names compared by the library */

static int compare(const char *a, const char *b) {
    compared++;
    return strcmp(a, b);
}

#define MST_SUBSCRIPTIONS_MAX 1024
#define strcmp compare
#include "mini_stream.c" /* NOLINT(bugprone-suspicious-include) */
#undef strcmp

#include "service.h"
#include "support.h"

#define MARKETS 1000
#define NAMES 2000 /* names of markets; MARKETS of them at a time */
#define FRAGMENT ((size_t)16384)
#define COMPARED_MAX 8 /* names per message; chains may be long */

static struct mst_mock mock;
static struct mst_port port;
static struct service service;
static struct mst_client client;
static struct mst_pair pair;
MST_MEMORY(memory, MST_LENGTHS_USUAL);
MST_MEMORY(other_memory, MST_LENGTHS_USUAL);
static struct mst_level levels[NAMES][2], other_levels[MARKETS][2];
static struct mst_book books[NAMES], other_books[MARKETS];
static bool wished[NAMES];
static unsigned entries;     /* confirmed by the service */
static unsigned came[NAMES]; /* messages that the caller received */
static unsigned wrong;       /* of them, with another market's book */

static struct {
    char text[MARKETS * 120];
    size_t len, at;
    size_t channels; /* in the last request */
} answer;

static const char *name_of(unsigned market) {
    static char name[16];

    snprintf(name, sizeof name, "M%uUSD", market);
    return name;
}

/* ---- The service ---- */

/* Continues an answer that is longer than the mock's queue. */
static void answer_more(void *context, int link) {
    (void)context;
    while (answer.at < answer.len &&
           mst_mock_room(&mock, link) > 2 * FRAGMENT) {
        size_t left = answer.len - answer.at;
        size_t len = left < FRAGMENT ? left : FRAGMENT;

        service_frame(&service, len == left ? 0x80 : 0, answer.at == 0 ? 1 : 0,
                      answer.text + answer.at, len);
        answer.at += len;
    }
}

/* Grants every channel of the request. */
static void on_request(void *context, int link, const char *text) {
    (void)context;
    answer.len = answer.at = answer.channels = 0;
    for (; *text != '\0'; text++) {
        assert_true(answer.len < sizeof answer.text - 32);
        answer.text[answer.len++] = *text;
        if (text[0] == '}' && text[1] == '}') {
            answer.len +=
                (size_t)sprintf(answer.text + answer.len, ",\"success\":true");
            answer.channels++;
        }
    }
    answer_more(NULL, link);
}

/* ---- The client ---- */

static bool on_event(void *context, const struct mst_event *event) {
    unsigned market;

    (void)context;
    if (event->type == MST_EVENT_ENTRY) {
        entries += event->as.entry.success;
    } else if (event->type == MST_EVENT_PART) {
        market = (unsigned)strtoul(event->market + 1, NULL, 10);
        assert_true(market < NAMES);
        assert_string_equal(event->market, name_of(market));
        came[market]++;
        wrong += event->book != (wished[market] ? &books[market] : NULL);
    } else if (event->type == MST_EVENT_ERROR) {
        expect_failed("%s", mst_strerror(event->as.failure.error));
    }
    return true;
}

static void run(uint32_t ms) {
    mst_mock_run(&mock, &client, ms, on_event, NULL);
}

static const struct mst_config config = {
    .ws_url = "wss://" SERVICE_WS_HOST "/",
    .auth_url = "https://" SERVICE_AUTH_HOST,
    .client_id = SERVICE_ID,
    .client_secret = SERVICE_SECRET,
};

static void begin_around(void) {
    mst_mock_init(&mock, &port, 1);
    service_init(&service, &mock);
    service.on_request = on_request;
    mock.peer.drained = answer_more;
    memset(wished, 0, sizeof wished);
    memset(came, 0, sizeof came);
    entries = 0;
    for (unsigned i = 0; i < NAMES; i++) {
        mst_book_init(&books[i], levels[i], 1);
    }
}

static void begin(void) {
    begin_around();
    expect_int("init", 0, mst_client_init(&client, &config, &port, &memory));
}

static int subscribe(unsigned market) {
    int rc = mst_subscribe(&client, MST_MARKET_DATA, name_of(market),
                           &books[market]);

    wished[market] |= rc == 0;
    return rc;
}

static int unsubscribe(unsigned market) {
    int rc = mst_unsubscribe(&client, MST_MARKET_DATA, name_of(market));

    wished[market] &= rc != 0;
    return rc;
}

static void expect_content(void) {
    expect_text("a client that does nothing wrong", "", service.core.wrong);
    expect_text("the port's contract", "",
                mock.broken != NULL ? mock.broken : "");
}

static void end(void) {
    mst_close(&client);
    run(10000);
    expect_int("over", MST_STATE_OFF, mst_link_state(&client.link));
    expect_content();
}

/* True if the book is live with the price sent for its market. */
static bool is_right(unsigned market) {
    const struct mst_book *book = &books[market];
    int64_t price = 0;

    return mst_book_state(book) == MST_BOOK_LIVE &&
           mst_book_depth(book, MST_BID) == 1 &&
           mst_decimal_to_scaled(
               mst_level_price(mst_book_level(book, MST_BID, 0)), 0, &price) ==
               0 &&
           price == market + 1;
}

static void send_snapshot(unsigned market) {
    service_book(&service, name_of(market), "SNAPSHOT", mst_mock_wall(&mock),
                 printed(LEVEL("%u", "1"), market + 1), "");
}

/* Sends a snapshot for every name. Only subscribed markets must receive it,
 * each in its own book. */
static void deliver(const char *what) {
    unsigned right = 0, expected = 0;

    memset(came, 0, sizeof came);
    wrong = 0;
    compared = 0;
    for (unsigned i = 0; i < NAMES; i++) {
        send_snapshot(i);
        run(1);
    }
    if (compared > (unsigned long)COMPARED_MAX * NAMES) {
        expect_failed("%s: %lu names compared", what, compared);
    }
    for (unsigned i = 0; i < NAMES; i++) {
        if (came[i] != 1) {
            expect_failed("%s: market %u came %u times", what, i, came[i]);
        }
        expected += wished[i];
        right += wished[i] && is_right(i);
    }
    expect_int(what, expected, right);
    expect_int("with another book", 0, wrong);
}

/* ---- Tests ---- */

/* Subscribes with one request, delivers, and replaces all markets. */
TEST_CASE(test_a_thousand) {
    begin();
    for (unsigned i = 0; i < MARKETS; i++) {
        expect_int("subscribe", 0, subscribe(i));
    }
    run(5000);
    expect_int("requests", 1, service.requests.count);
    expect_int("channels", MARKETS, answer.channels);
    expect_int("entries", MARKETS, entries);
    deliver("of 1,000");

    for (unsigned i = 0; i < MARKETS; i++) {
        expect_int("unsubscribe", 0, unsubscribe(i));
    }
    /* Until the service confirms, only the last slots are free. */
    for (unsigned i = MARKETS; i < MST_SUBSCRIPTIONS_MAX; i++) {
        expect_int("room", 0, subscribe(i));
    }
    expect_int("full", MST_ERR_FULL, subscribe(NAMES - 1));
    run(5000);
    expect_int("requests", 3, service.requests.count);
    for (unsigned i = MST_SUBSCRIPTIONS_MAX; i < NAMES; i++) {
        expect_int("slot of another", 0, subscribe(i));
    }
    run(5000);
    expect_int("requests", 4, service.requests.count);
    expect_int("entries", 3 * MARKETS, entries);
    deliver("of 1,000 others");
    expect_int("slots", MST_SUBSCRIPTIONS_MAX,
               mst_link_stats(&client.link)->high.subscriptions);
    end();
}

/* Subscribes and unsubscribes at random, until all slots are used. */
TEST_CASE(test_wishes_in_no_order) {
    unsigned count = 0;

    begin();
    for (unsigned n = 0; n < 50000 || count < MST_SUBSCRIPTIONS_MAX; n++) {
        uint16_t random;
        mst_mock_random(&mock, &random, sizeof random);
        unsigned market = random % NAMES;
        bool had = wished[market];

        if (random >= UINT16_MAX / 5 * 2) {
            expect_int("subscribe",
                       had                              ? MST_ERR_EXISTS
                       : count == MST_SUBSCRIPTIONS_MAX ? MST_ERR_FULL
                                                        : 0,
                       subscribe(market));
        } else {
            expect_int("unsubscribe", had ? 0 : MST_ERR_MISSING,
                       unsubscribe(market));
        }
        count = count + (wished[market] && !had) - (had && !wished[market]);
    }
    run(5000);
    expect_int("entries", count, entries);
    deliver("in no order");
    end();
}

static int poll_pair(void *object, struct mst_event *event) {
    return mst_pair_poll(object, event);
}

static unsigned leaders; /* changes of leader */

static bool on_pair_event(void *context, const struct mst_event *event) {
    (void)context;
    leaders += event->type == MST_EVENT_LEADER;
    return true;
}

static void run_pair(uint32_t ms) {
    static const struct mst_mock_object object = {
        poll_pair, &pair, {&pair.clients[0].link, &pair.clients[1].link}};

    mst_mock_run_objects(&mock, &object, 1, ms, on_pair_event, NULL);
}

/* While a pair rotates, its books are compared from time to time, not at each
 * message. */
TEST_CASE(test_a_pair) {
    begin_around();
    leaders = 0;
    expect_int("init", 0,
               mst_pair_init(&pair, &config, 0, &port, &memory, &other_memory));
    for (unsigned i = 0; i < MARKETS; i++) {
        mst_book_init(&other_books[i], other_levels[i], 1);
        expect_int("subscribe", 0,
                   mst_pair_subscribe(&pair, MST_MARKET_DATA, name_of(i),
                                      &books[i], &other_books[i]));
    }
    for (unsigned round = 0; round < 2; round++) {
        run_pair(5000);
        compared = 0;
        for (unsigned i = 0; i < MARKETS; i++) {
            send_snapshot(i); /* on the new connection */
            run_pair(5);
        }
        if (compared > 50UL * MARKETS) { /* each market twice a second */
            expect_failed("round %u: %lu names compared", round, compared);
        }
        run_pair(5000);
        expect_int("leaders", round, leaders);
        expect_int("rotate", 0, mst_pair_rotate(&pair));
    }
    mst_pair_close(&pair);
    run_pair(10000);
    expect_content();
}

/* A request for all markets with the longest names is one frame with a 64-bit
 * length (RFC 6455, section 5.2). */
TEST_CASE(test_a_request_of_more_than_64_kib) {
    static const char first[] = "{\"type\":\"subscribe\",\"channels\":[{";
    static uint8_t data[MST_SUBSCRIPTIONS_MAX * 100];
    struct out o = {data, sizeof data, 0, 0};
    uint64_t len = 0;

    begin();
    for (unsigned i = 0; i < MST_SUBSCRIPTIONS_MAX; i++) {
        struct mst_subscription *s = &client.subscriptions[i];
        s->channel = MST_TOP_OF_BOOK;
        s->state = SUB_ASKED;
        memset(s->market, 'M', MST_MARKET_MAX);
    }
    client.slots = MST_SUBSCRIPTIONS_MAX;
    client.stream.frame = MST_WS_TEXT;
    client.stream.request = MST_SUBSCRIBE;
    memcpy(client.mask, "mask", sizeof client.mask);
    client_write(&client.link, &o, false);
    assert_in_range(o.len, UINT16_MAX + 1 + MST_WS_HEADER_MAX, sizeof data);
    assert_memory_equal(data, "\x81\xFF", 2);
    for (unsigned i = 2; i < 10; i++) {
        len = len << 8 | data[i];
    }
    assert_int_equal(len, o.len - MST_WS_HEADER_MAX);
    mst_ws_mask(data + MST_WS_HEADER_MAX, (size_t)len, client.mask, 0);
    assert_memory_equal(data + MST_WS_HEADER_MAX, first, sizeof first - 1);
    assert_memory_equal(data + o.len - 5, "\"}}]}", 5);
    mst_client_wipe(&client);
}

RUN_CASES(NULL, NULL)
