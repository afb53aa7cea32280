/* A unit test on the host, in virtual time. SPDX-License-Identifier: 0BSD */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mst_mock_service.h"

/* ---- The program under test, usually in a separate file ---- */
static struct mst_client client;
MST_MEMORY(memory, MST_LENGTHS_USUAL);
static struct mst_level levels[2 * 100];
static struct mst_book book;           /* the library follows BTCUSD in it */
static char bid[MST_DECIMAL_TEXT_LEN]; /* or "-" if it may be wrong */
static struct mst_decimal filled;

static bool on_event(void *context, const struct mst_event *event) {
    const struct mst_level *best = mst_book_level(&book, MST_BID, 0);

    (void)context;
    if (event->type == MST_EVENT_EXECUTION) {
        filled = mst_decimal_add(filled, event->as.execution.amount);
    }
    memcpy(bid, "-", 2); /* After any event the book may be stale. */
    if (best != NULL && mst_book_state(&book) == MST_BOOK_LIVE) {
        mst_decimal_format(mst_level_price(best), bid);
    }
    return true;
}

/* ---- Its test ---- */
#define MINUTE 60000u /* in ms of virtual time: the test does not wait */
static const struct mst_mock_step script[] = {
    {0, MST_MOCK_BOOK, "BTCUSD", .bids = "94 2, 93 1", .asks = "95.5 2"},
    {1 * MINUTE, MST_MOCK_UPDATE, "BTCUSD", .bids = "94 0, 93.25 4"},
    {2 * MINUTE, MST_MOCK_EXECUTION, "BTCUSD", .text = "95.5 0.1"},
    {2 * MINUTE, MST_MOCK_EXECUTION, "BTCUSD", .text = "95.5 0.25"},
    {4 * MINUTE, MST_MOCK_OUTAGE, .ms = 60 * MINUTE},
    {50 * MINUTE, MST_MOCK_BOOK, "BTCUSD", .bids = "91 3", .asks = "91.5 1"},
    {99 * MINUTE, MST_MOCK_UPDATE, "BTCUSD", .bids = "damaged 1"},
};
static struct mst_mock mock;
static struct mst_mock_service service;
static bool failed;

static void expect(uint32_t at_ms, const char *expected) {
    char seen[2 * MST_DECIMAL_TEXT_LEN], amount[MST_DECIMAL_TEXT_LEN];

    mst_mock_run_until(&mock, &client, at_ms, on_event, NULL);
    mst_decimal_format(filled, amount);
    snprintf(seen, sizeof seen, "%s %s", bid, amount);
    printf("minute %3u: %s; expected: %s\n", at_ms / MINUTE, seen, expected);
    failed |= strcmp(seen, expected) != 0;
}

int main(void) {
    const struct mst_config config = {"wss://a.test", "https://b.test",
                                      .client_id = "id", .client_secret = "s"};
    struct mst_port port;
    int rc;

    mst_mock_init(&mock, &port, 1);
    mst_mock_service_init(&service, &mock);
    mst_mock_service_play(&service, script, sizeof script / sizeof script[0]);
    mst_book_init(&book, levels, 100);
    rc = mst_client_init(&client, &config, &port, &memory);
    rc = rc ? rc : mst_subscribe(&client, MST_MARKET_DATA, "BTCUSD", &book);
    rc = rc ? rc : mst_subscribe(&client, MST_EXECUTION_DATA, "BTCUSD", NULL);
    if (rc < 0) {
        puts(mst_strerror(rc));
        return EXIT_FAILURE;
    }
    expect(MINUTE / 2, "94 0");
    expect(3 * MINUTE, "93.25 0.35");
    expect(5 * MINUTE, "- 0.35"); /* an outage: nobody knows the prices */
    expect(66 * MINUTE, "91 0.35");
    expect(99 * MINUTE, "- 0.35");   /* a lost update... */
    expect(100 * MINUTE, "91 0.35"); /* is followed by a new snapshot */
    return failed || service.wrong[0] != '\0' || mock.broken != NULL;
}
