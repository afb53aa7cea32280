/*
 * Streams a market into a book and shows its best prices, and whether it is
 * in doubt, after each message.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "board.h"

#define LEVELS 100

static struct mst_client client;
MST_MEMORY(memory, MST_LENGTHS_USUAL);
static struct mst_level levels[2 * LEVELS];
static struct mst_book book;

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

static void show_best(enum mst_side side) {
    if (mst_book_depth(&book, side) > 0) {
        const struct mst_level *best = mst_book_level(&book, side, 0);

        board_show_price(side, mst_level_price(best), mst_level_amount(best));
    }
}

static void show(const struct mst_event *event) {
    switch (event->type) {
    case MST_EVENT_PART:
        show_best(MST_BID);
        show_best(MST_ASK);
        board_show_doubt(mst_book_state(&book), mst_book_flags(&book));
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

    rc = rc ? rc : mst_book_init(&book, levels, LEVELS);
    rc = rc ? rc : mst_subscribe(&client, MST_MARKET_DATA, board_market, &book);
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
