/*
 * The scripted service of port/mock by itself: what a client sees of its steps.
 * The service of the other tests (service.h) is based on it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

#define MARKET "BTCUSD"
#define OTHER "ETHUSD"
#define AT(s) ((s)*1000)
#define CODE "UNKNOWN_CHANNEL"

static struct mst_mock_service *const service = &session.service.core;

/* Records the events that steps cause, and repeated ones only once. */
static bool on_event(void *context, const struct mst_event *event) {
    const struct mst_failure *failure = &event->as.failure;
    struct text line = {0};
    struct text *record = &session.seen.record;

    (void)context;
    if (event->type == MST_EVENT_OPEN) {
        text_add(&line, "open\n");
    } else if (event->type == MST_EVENT_CLOSED) {
        text_add(&line, "%s in %s, %d %s\n", error_name(failure->error),
                 mst_state_name(failure->stage),
                 failure->http_status + failure->ws_code, failure->text);
    } else if (event->type != MST_EVENT_RESPONSE &&
               (event->type != MST_EVENT_ENTRY || !event->as.entry.success)) {
        record_event(&line, event);
    }
    if (record->len < line.len ||
        strcmp(record->data + record->len - line.len, text_get(&line)) != 0) {
        text_add_bytes(record, line.data, line.len);
    }
    text_free(&line);
    return true;
}

/* Plays the steps for a client that subscribes to a channel. */
static void play(enum mst_channel channel, const struct mst_mock_step *steps,
                 size_t count, uint32_t ms, const char *expected) {
    session_begin();
    mst_mock_service_init(service, &session.mock);
    session_start();
    mst_mock_service_play(service, steps, count);
    session_wish(channel, channel == MST_HEARTBEAT ? NULL : MARKET);
    session_run_with(ms, on_event);
    expect_text(mst_channel_name(channel), expected,
                text_get(&session.seen.record));
}

#define PLAY(channel, seconds, expected, ...)                  \
    play(channel, (const struct mst_mock_step[]){__VA_ARGS__}, \
         sizeof(struct mst_mock_step[]){__VA_ARGS__} /         \
             sizeof(struct mst_mock_step),                     \
         AT(seconds), expected)

/* Times are from the wall clock, which starts at 1767323045 s. */
TEST_CASE(test_books) {
    PLAY(MST_MARKET_DATA, 9,
         "open\n"
         "part BTCUSD 1767323045000000000 snapshot first last: bid 1e1 1, bid "
         "9 2, ask 11 3\n"
         "part BTCUSD 1767323047000000000 update first last: bid 1e1 0, bid "
         "95e-1 4\n"
         "part BTCUSD 1767323048000000000 update first last: bid 95e-1 5, bid "
         "9 0, ask 11 3, ask 12 1\n",
         {0, MST_MOCK_BOOK, MARKET, .bids = "10 1, 9 2", .asks = "11 3"},
         {AT(2), MST_MOCK_UPDATE, MARKET, .bids = "10 0, 9.5 4"},
         {AT(2), MST_MOCK_UPDATE, OTHER, .bids = "1 1"},
         {AT(3), MST_MOCK_BOOK, MARKET, .bids = "9.5 5", .asks = "11 3, 12 1"},
         {AT(4), MST_MOCK_TOP, MARKET, .bids = "9.5 5", .asks = "11 3"});
}

/* The market is resubscribed; its snapshot has all that changed. */
TEST_CASE(test_update_is_lost) {
    PLAY(MST_MARKET_DATA, 9,
         "open\n"
         "part BTCUSD 1767323045000000000 snapshot first last: bid 1e1 1, bid "
         "9 2, bid 8 3\n"
         "part BTCUSD 1767323047000000000 update first last: bid 9 0, bid 8 4\n"
         "error DECIMAL \"x\" in BTCUSD\n"
         "part BTCUSD 1767323049000000000 snapshot first last: bid 1e1 1, bid "
         "8 4, bid 7 1\n",
         {0, MST_MOCK_BOOK, MARKET, .bids = "10 1, 9 2, 8 3"},
         {AT(2), MST_MOCK_UPDATE, MARKET, .bids = "9 0, 8 4"},
         {AT(3), MST_MOCK_UPDATE, MARKET, .bids = "7 1, x 1"});
}

TEST_CASE(test_messages) {
    PLAY(MST_TOP_OF_BOOK, 9,
         "open\n"
         "top BTCUSD 1767323047000000000: bid 1e1 1, ask 11 3\n"
         "top BTCUSD 1767323048000000000: ask 12 1\n",
         {0, MST_MOCK_BOOK, MARKET, .bids = "10 1"},
         {AT(2), MST_MOCK_TOP, MARKET, .bids = "10 1", .asks = "11 3"},
         {AT(3), MST_MOCK_TOP, MARKET, .asks = "12 1"});
    PLAY(MST_EXECUTION_DATA, 9,
         "open\n"
         "execution BTCUSD 1767323046000000000: 950105e-1 25e-2\n"
         "service_error OTHER \"A\" \"\"\n",
         {AT(1), MST_MOCK_EXECUTION, MARKET, .text = "95010.50 0.25"},
         {AT(2), MST_MOCK_EXECUTION, OTHER, .text = "1 1"},
         {AT(3), .action = MST_MOCK_TEXT,
          .text = "{\"type\":\"error\",\"error\":\"A\"}"});
    PLAY(MST_HEARTBEAT, 9,
         "open\n"
         "heartbeat 1767323046000000000\nheartbeat 1767323047000000000\n"
         "heartbeat 1767323047900000000\nheartbeat 1767323048300000000\n",
         {2500, .action = MST_MOCK_HEARTBEAT, .ms = 400},
         {3400, .action = MST_MOCK_HEARTBEAT},
         {3500, .action = MST_MOCK_PING, .text = "hello"});
    expect_int("pongs", 1, service->pongs);
}

TEST_CASE(test_refused) {
    PLAY(MST_EXECUTION_DATA, 9,
         "open\n"
         "entry subscribe execution_data \"execution_data\" \"BTCUSD\" failed "
         "UNKNOWN_CHANNEL \"UNKNOWN_CHANNEL\"\n",
         {0, MST_MOCK_REFUSE, MARKET, .text = CODE},
         {AT(5), MST_MOCK_REFUSE, MARKET, .text = NULL});
    assert_false(mst_mock_service_has(service, -1, "execution_data", MARKET));
    PLAY(MST_HEARTBEAT, 9,
         "open\nentry subscribe heartbeat \"heartbeat\" \"\" failed "
         "UNKNOWN_CHANNEL \"UNKNOWN_CHANNEL\"\n",
         {0, .action = MST_MOCK_REFUSE, .text = CODE});
}

TEST_CASE(test_connection_lost) {
    PLAY(MST_EXECUTION_DATA, 60,
         "open\nWS_CLOSED in open, 1001 going\nopen\nRESET in open, 0 \nopen\n"
         "EOF in open, 0 \nopen\n",
         {AT(1), .action = MST_MOCK_CLOSE, .number = 1001, .text = "going"},
         {AT(20), .action = MST_MOCK_CUT},
         {AT(40), .action = MST_MOCK_CUT, .number = MST_ERR_EOF});
    PLAY(MST_EXECUTION_DATA, 99, "open\nSILENCE in open, 0 \nopen\n",
         {AT(1), .action = MST_MOCK_SILENCE});
    assert_true(mst_mock_service_has(service, -1, "execution_data", MARKET));
}

TEST_CASE(test_outages) {
    static const struct mst_mock_step trade = {AT(89), MST_MOCK_EXECUTION,
                                               MARKET, .text = "5 6"};

    PLAY(MST_EXECUTION_DATA, 3600,
         "open\nRESET in open, 0 \n"
         "REFUSED in connect, 0 \n",
         {AT(1), .action = MST_MOCK_OUTAGE, .ms = AT(3600)});
    mst_mock_service_play(service, &trade, 1);
    session_run_with(AT(90), on_event);
    assert_non_null(strstr(text_get(&session.seen.record),
                           "open\nexecution BTCUSD 1767326734000000000: 5 6"));
    PLAY(MST_EXECUTION_DATA, 200,
         "open\nSILENCE in open, 0 \n"
         "TIMEOUT in connect, 0 \nopen\n",
         {AT(1), .action = MST_MOCK_OUTAGE, .number = MST_MOCK_NEVER,
          .ms = AT(100)});
    PLAY(MST_EXECUTION_DATA, 60,
         "open\nRESET in open, 0 \n"
         "RESOLVE in resolve, 0 \nopen\n",
         {AT(1), .action = MST_MOCK_OUTAGE, .number = MST_ERR_RESOLVE},
         {AT(20), .action = MST_MOCK_OUTAGE, .ms = 1});
}

TEST_CASE(test_tokens) {
    PLAY(MST_EXECUTION_DATA, 60,
         "open\nWS_CLOSED in open, 1008 token expired\n"
         "UNAUTHORIZED in upgrade, 401 \nopen\n",
         {AT(9), .action = MST_MOCK_EXPIRE});
    expect_int("tokens", 2, service->tokens);
    PLAY(MST_EXECUTION_DATA, 900,
         "open\nRESET in open, 0 \nopen\n"
         "RESET in open, 0 \nopen\n",
         {0, .action = MST_MOCK_TOKEN_LIFE, .ms = AT(600)},
         {AT(500), .action = MST_MOCK_CUT}, {AT(700), .action = MST_MOCK_CUT});
    expect_int("tokens", 2, service->tokens);
    PLAY(MST_EXECUTION_DATA, 70, "HTTP_STATUS in token, 503 \n",
         {0, .action = MST_MOCK_TOKEN, .number = 503, .ms = AT(77)});
    expect_int("attempts", 1, session.mock.connects);
    PLAY(MST_EXECUTION_DATA, 900,
         "TOKEN_REFUSED in "
         "token, 401 invalid_client\nTIMEOUT in token, 0 \nopen\n",
         {0, .action = MST_MOCK_TOKEN, .number = 401,
          .text = "{\"error\":\"invalid_client\"}"},
         {AT(100), .action = MST_MOCK_TOKEN, .number = MST_MOCK_NEVER},
         {AT(400), .action = MST_MOCK_TOKEN});
    PLAY(MST_EXECUTION_DATA, 900,
         "FORBIDDEN in upgrade, 403 \n"
         "TIMEOUT in upgrade, 0 \nopen\n",
         {0, .action = MST_MOCK_UPGRADE, .number = 403},
         {AT(100), .action = MST_MOCK_UPGRADE, .number = MST_MOCK_NEVER},
         {AT(400), .action = MST_MOCK_UPGRADE});
}

/* Invalid scripts. */
TEST_CASE(test_wrong) {
    static const struct mst_mock_step bad[] = {
        {0, MST_MOCK_BOOK, .bids = "1 1"},
        {0, .action = (enum mst_mock_action)99},
        {0, .action = MST_MOCK_PING,
         .text = "123456789 123456789 123456789 123456789 123456789 123456789 "
                 "123456789 123456789 123456789 123456789 123456789 123456789 "
                 "123456"}};

    for (size_t i = 0; i <= COUNT(bad); i++) {
        session_begin();
        mst_mock_service_init(service, &session.mock);
        for (int k = 0; i == COUNT(bad) && k <= MST_MOCK_MARKETS; k++) {
            const char name[] = {(char)('A' + k), '\0'};
            mst_mock_service_do(service,
                                &(struct mst_mock_step){.action = MST_MOCK_BOOK,
                                                        .market = name});
        }
        if (i < COUNT(bad)) {
            mst_mock_service_play(service, &bad[i], 1);
        }
        expect_int("wrong", 1, service->wrong[0] != '\0');
        service->wrong[0] = '\0';
    }
}

RUN_SESSIONS(NULL, NULL)
