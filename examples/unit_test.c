/* A program's unit test: on the host, in virtual time, an hour takes no time.
 * SPDX-License-Identifier: 0BSD */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mst_mock_service.h"

/* ---- The program under test, usually in a file of its own ---- */
static struct trader {
    struct mst_client client;
    struct mst_book book;
    struct mst_level levels[2 * 100];
    char bid[MST_DECIMAL_TEXT_LEN], ask[MST_DECIMAL_TEXT_LEN]; /* "": unknown */
    struct mst_decimal filled;
} trader;
MST_MEMORY(memory, MST_LENGTHS_USUAL);

static void trader_quote(enum mst_side side, char *price) {
    const struct mst_level *best = mst_book_level(&trader.book, side, 0);

    price[0] = '\0';
    if (best != NULL && mst_book_state(&trader.book) == MST_BOOK_LIVE) {
        mst_decimal_format(mst_level_price(best), price);
    }
}

static bool trader_event(void *context, const struct mst_event *event) {
    (void)context;
    if (event->type == MST_EVENT_EXECUTION) {
        trader.filled =
            mst_decimal_add(trader.filled, event->as.execution.amount);
    }
    trader_quote(MST_BID, trader.bid); /* after every event: it may have made */
    trader_quote(MST_ASK, trader.ask); /* the book stale */
    return true;
}

/* ---- Its test ---- */
#define S 1000u /* virtual ms */
#define HOUR (3600 * S)
static const struct mst_mock_step script[] = {
    {0, MST_MOCK_BOOK, "BTCUSD", .bids = "94 2, 93 1", .asks = "95.5 2"},
    {10 * S, MST_MOCK_UPDATE, "BTCUSD", .bids = "94 0, 93.25 4"},
    {20 * S, MST_MOCK_EXECUTION, "BTCUSD", .text = "95.5 0.1"},
    {30 * S, MST_MOCK_EXECUTION, "BTCUSD", .text = "95.5 0.25"},
    {60 * S, MST_MOCK_OUTAGE, .ms = HOUR},
    {HOUR, MST_MOCK_BOOK, "BTCUSD", .bids = "91 3", .asks = "91.5 1"},
    {2 * HOUR, MST_MOCK_UPDATE, "BTCUSD", .bids = "damaged 1"},
};
static struct mst_mock mock;

static void expect(uint32_t at_ms, const char *bid, const char *ask) {
    mst_mock_run(&mock, &trader.client,
                 at_ms - (uint32_t)mst_mock_elapsed(&mock), trader_event, NULL);
    printf("%4u s: bid %s, ask %s\n", at_ms / S, trader.bid, trader.ask);
    if (strcmp(trader.bid, bid) != 0 || strcmp(trader.ask, ask) != 0) {
        printf("expected bid %s, ask %s\n", bid, ask);
        exit(EXIT_FAILURE);
    }
}

int main(void) {
    static struct mst_mock_service service;
    const struct mst_config config = {.ws_url = "wss://ws.example",
                                      .auth_url = "https://auth.example",
                                      .client_id = "any",
                                      .client_secret = "any"};
    struct mst_port port;
    char filled[MST_DECIMAL_TEXT_LEN];

    mst_mock_init(&mock, &port, 1);
    mst_mock_service_init(&service, &mock);
    mst_mock_service_play(&service, script, sizeof script / sizeof script[0]);
    mst_book_init(&trader.book, trader.levels, 100);
    mst_client_init(&trader.client, &config, &port, &memory);
    mst_subscribe(&trader.client, MST_MARKET_DATA, "BTCUSD", &trader.book);
    mst_subscribe(&trader.client, MST_EXECUTION_DATA, "BTCUSD", NULL);
    expect(5 * S, "94", "95.5");
    expect(15 * S, "93.25", "95.5");
    expect(90 * S, "", ""); /* nobody knows the prices in an outage */
    expect(HOUR, "", "");
    expect(HOUR + 180 * S, "91", "91.5");
    expect(2 * HOUR, "", ""); /* an update is lost, */
    expect(2 * HOUR + 10 * S, "91",
           "91.5"); /* and the market subscribed anew */
    mst_decimal_format(trader.filled, filled);
    return strcmp(filled, "0.35") != 0 || service.wrong[0] != '\0' ||
           mock.broken;
}
