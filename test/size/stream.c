/*
 * Streams a market without a book: shows each level, the best prices and the
 * trades as they come.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "board.h"

static struct mst_client client;
MST_MEMORY(memory, MST_LENGTHS_USUAL);

static const struct mst_config config = {
    .ws_url = "wss://exchange.example/ws",
    .auth_url = "https://exchange.example",
    .client_id = board_id,
    .client_secret = board_secret,
#ifndef MST_NO_TLS
    .anchors = board_anchors,
    .anchors_len = BOARD_ANCHORS,
#endif
};

static void show_level(const struct mst_level *level) {
    board_show_price((enum mst_side)level->side, mst_level_price(level),
                     mst_level_amount(level));
}

static void show(const struct mst_event *event) {
    switch (event->type) {
    case MST_EVENT_PART:
        for (size_t i = 0; i < event->as.part.count; i++) {
            show_level(&event->as.part.levels[i]);
        }
        break;
    case MST_EVENT_TOP:
        if (event->as.top.has_bid && event->as.top.has_ask) {
            show_level(&event->as.top.bid);
            show_level(&event->as.top.ask);
        }
        break;
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

int main(void) {
    struct mst_event event;
    int rc = mst_client_init(&client, &config, &board_port, &memory);

    rc = rc ? rc : mst_subscribe(&client, MST_MARKET_DATA, board_market, NULL);
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
        }
    }
    return 1;
}
