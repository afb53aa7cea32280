/*
 * Shared by the programs of `make size` that stream: all except how each shows
 * the market's levels.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef STREAM_H
#define STREAM_H

#include "board.h"

static struct mst_client client;
MST_MEMORY(memory, MST_LENGTHS_USUAL);

static const struct mst_config config = {
    .ws_url = "wss://exchange.example/ws",
    BOARD_SETTINGS,
};

static void stream_show(const struct mst_event *event) {
    switch (event->type) {
    case MST_EVENT_EXECUTION:
        board_show_trade(event->as.execution.price, event->as.execution.amount,
                         event->as.execution.time_ns);
        break;
    case MST_EVENT_HEARTBEAT:
        board_show_alive(event->as.heartbeat.time_ns);
        break;
    case MST_EVENT_ERROR:
    case MST_EVENT_CLOSED:
        board_show_error(event->as.failure.error, event->as.failure.detail,
                         event->as.failure.retry_ms);
        break;
    default: break;
    }
}

/* Streams, with a book or NULL; passes each event to show() first. Returns only
 * with an error. */
static int stream_run(struct mst_book *book,
                      void (*show)(const struct mst_event *event)) {
    struct mst_event event;
    int rc = mst_client_init(&client, &config, &board_port, &memory);

    rc = rc ? rc : mst_subscribe(&client, MST_MARKET_DATA, board_market, book);
    rc = rc ? rc : mst_subscribe(&client, MST_TOP_OF_BOOK, board_market, NULL);
    rc = rc ? rc
            : mst_subscribe(&client, MST_EXECUTION_DATA, board_market, NULL);
    rc = rc ? rc : mst_subscribe(&client, MST_HEARTBEAT, NULL, NULL);
    while (rc >= 0) {
        rc = mst_poll(&client, &event);
        if (rc == 0) {
            board_sleep(mst_next_deadline_ms(&client.link),
                        mst_wants(&client.link));
        } else if (rc > 0) {
            show(&event);
            stream_show(&event);
        }
    }
    return rc;
}

#endif
