/*
 * What is known of the stream: connection, books, last trades, counts. Filled
 * from the client's events, read by whatever shows it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef BOARD_H
#define BOARD_H

#include "mini_stream.h"
#include "text.h"

/* Channels that can be subscribed. */
#define BOARD_CHANNELS ((int)MST_CHANNEL_OTHER)

/* Trades kept of each market. */
#define BOARD_TRADES 32

struct board_trade {
    int64_t time_ns;
    struct mst_decimal price, amount;
};

struct board_market {
    const char *name; /* borrowed */
    struct mst_book book;
    struct mst_level *levels; /* the book's */
    struct mst_top top;
    bool has_top;
    struct board_trade trades[BOARD_TRADES];           /* a ring */
    uint64_t trade_count;                              /* ever */
    uint64_t messages[MST_CHANNEL_OTHER];              /* by channel */
    char refused[MST_CHANNEL_OTHER][MST_TEXT_MAX + 1]; /* why, or "" */
};

struct board {
    struct board_market *markets;
    size_t market_count;
    unsigned channels; /* wanted: bit n is channel n */

    uint64_t messages[MST_CHANNEL_OTHER]; /* by channel, of any market */
    char heartbeat_refused[MST_TEXT_MAX + 1];
    uint64_t heartbeat_ms; /* monotonic, of the last one; 0: none yet */
    size_t bids, asks;     /* in the market_data message at hand */

    uint32_t generation; /* of the connection */
    uint64_t opened_ms;  /* monotonic, when it opened; 0: it is not open */
    bool was_open;       /* ever */
    int error;           /* the last mst_error, or MST_OK */
    bool error_permanent;
    uint64_t error_ms; /* monotonic */
    char error_text[TEXT_FAILURE_LEN];
};

/* Prepares a board for these markets, whose names are borrowed, with books of
 * so many levels a side. Returns 0, or MST_ERR_MEMORY. */
int board_init(struct board *board, const char *const *names, size_t count,
               unsigned channels, size_t levels);

void board_free(struct board *board);

/* Whether a channel is wanted. */
bool board_wants(const struct board *board, enum mst_channel channel);

/* Subscribes everything wanted. Returns 0 or the first error. */
int board_subscribe(struct board *board, struct mst_client *client);

/* Takes an event in; now_ms is the monotonic time. */
void board_take(struct board *board, const struct mst_event *event,
                uint64_t now_ms);

/* The market of this name, or NULL. */
struct board_market *board_find(const struct board *board, const char *name);

/* The trade of this age, 0 being the last, or NULL. */
const struct board_trade *board_trade(const struct board_market *market,
                                      uint64_t age);

/* How many subscriptions are wanted, and how many stand refused. */
size_t board_wanted(const struct board *board);
size_t board_refused(const struct board *board);

#endif
