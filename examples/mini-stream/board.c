/*
 * What is known of the stream: connection, books, last trades, counts.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "board.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int board_init(struct board *board, const char *const *names, size_t count,
               unsigned channels, size_t levels) {
    memset(board, 0, sizeof *board);
    board->channels = channels;
    board->markets = calloc(count ? count : 1, sizeof *board->markets);
    if (!board->markets) {
        return MST_ERR_MEMORY;
    }
    board->market_count = count;
    for (size_t i = 0; i < count; ++i) {
        struct board_market *market = &board->markets[i];

        market->name = names[i];
        market->levels = calloc(2 * levels, sizeof *market->levels);
        if (!market->levels) {
            board_free(board);
            return MST_ERR_MEMORY;
        }
        mst_book_init(&market->book, market->levels, levels);
        /* Deep enough to look at, far enough from full to be seldom. */
        mst_book_set_thin(&market->book, levels / 4);
    }
    return 0;
}

void board_free(struct board *board) {
    for (size_t i = 0; i < board->market_count; ++i) {
        free(board->markets[i].levels);
    }
    free(board->markets);
    board->markets = NULL;
    board->market_count = 0;
}

bool board_wants(const struct board *board, enum mst_channel channel) {
    return board->channels >> channel & 1u;
}

int board_subscribe(struct board *board, struct mst_client *client) {
    int rc = 0;

    if (board_wants(board, MST_HEARTBEAT)) {
        rc = mst_subscribe(client, MST_HEARTBEAT, NULL, NULL);
    }
    for (size_t i = 0; rc == 0 && i < board->market_count; ++i) {
        struct board_market *market = &board->markets[i];

        for (int c = MST_MARKET_DATA; rc == 0 && c < MST_HEARTBEAT; ++c) {
            enum mst_channel channel = (enum mst_channel)c;

            if (board_wants(board, channel)) {
                rc = mst_subscribe(client, channel, market->name,
                                   channel == MST_MARKET_DATA ? &market->book
                                                              : NULL);
            }
        }
    }
    return rc;
}

struct board_market *board_find(const struct board *board, const char *name) {
    for (size_t i = 0; i < board->market_count; ++i) {
        if (strcmp(board->markets[i].name, name) == 0) {
            return &board->markets[i];
        }
    }
    return NULL;
}

static void board_count(struct board *board, enum mst_channel channel,
                        struct board_market *market) {
    ++board->messages[channel];
    if (market) {
        ++market->messages[channel];
    }
}

static void board_part(struct board *board, const struct mst_part *part) {
    if (part->first) {
        board->bids = 0;
        board->asks = 0;
    }
    for (size_t i = 0; i < part->count; ++i) {
        ++*(part->levels[i].side == MST_BID ? &board->bids : &board->asks);
    }
    if (part->last && !part->aborted) {
        board_count(board, MST_MARKET_DATA, board_find(board, part->market));
    }
}

static void board_top(struct board *board, const struct mst_top *top) {
    struct board_market *market = board_find(board, top->market);

    board_count(board, MST_TOP_OF_BOOK, market);
    if (market) {
        market->top = *top;
        market->top.market = market->name;
        market->has_top = true;
    }
}

static void board_execution(struct board *board,
                            const struct mst_execution *execution) {
    struct board_market *market = board_find(board, execution->market);

    board_count(board, MST_EXECUTION_DATA, market);
    if (market) {
        market->trades[market->trade_count++ % BOARD_TRADES] =
            (struct board_trade){execution->time_ns, execution->price,
                                 execution->amount};
    }
}

static void board_failure(struct board *board,
                          const struct mst_failure *failure, uint64_t now_ms) {
    board->error = failure->error;
    board->error_permanent = failure->permanent;
    board->error_ms = now_ms;
    text_failure(failure, board->error_text);
}

/* Keeps why a subscription was refused, until it succeeds. */
static void board_entry(struct board *board, const struct mst_entry *entry) {
    struct board_market *market = board_find(board, entry->market);
    char *refused = NULL;

    if (entry->action != MST_SUBSCRIBE) {
        return;
    }
    if (entry->channel == MST_HEARTBEAT) {
        refused = board->heartbeat_refused;
    } else if (market && entry->channel < MST_HEARTBEAT) {
        refused = market->refused[entry->channel];
    }
    /* No effect: it was subscribed before. */
    if (refused &&
        (entry->success || entry->code == MST_CODE_NO_EFFECT_ACTION)) {
        refused[0] = '\0';
    } else if (refused) {
        text_clean(entry->text[0] != '\0' ? entry->text : "refused", refused,
                   MST_TEXT_MAX + 1);
    }
}

void board_take(struct board *board, const struct mst_event *event,
                uint64_t now_ms) {
    switch (event->type) {
    case MST_EVENT_OPEN:
        board->generation = event->generation;
        board->opened_ms = now_ms;
        board->was_open = true;
        break;
    case MST_EVENT_CLOSED:
        board->opened_ms = 0;
        if (event->as.failure.error != MST_OK) {
            board_failure(board, &event->as.failure, now_ms);
        }
        break;
    case MST_EVENT_ERROR:
        board_failure(board, &event->as.failure, now_ms);
        break;
    case MST_EVENT_PART: board_part(board, &event->as.part); break;
    case MST_EVENT_TOP: board_top(board, &event->as.top); break;
    case MST_EVENT_EXECUTION:
        board_execution(board, &event->as.execution);
        break;
    case MST_EVENT_HEARTBEAT:
        ++board->messages[MST_HEARTBEAT];
        board->heartbeat_ms = now_ms;
        break;
    case MST_EVENT_ENTRY: board_entry(board, &event->as.entry); break;
    default: break;
    }
}

const struct board_trade *board_trade(const struct board_market *market,
                                      uint64_t age) {
    if (age >= market->trade_count || age >= BOARD_TRADES) {
        return NULL;
    }
    return &market->trades[(market->trade_count - 1 - age) % BOARD_TRADES];
}

size_t board_wanted(const struct board *board) {
    size_t wanted = board_wants(board, MST_HEARTBEAT);

    for (int c = MST_MARKET_DATA; c < MST_HEARTBEAT; ++c) {
        wanted += board_wants(board, (enum mst_channel)c) * board->market_count;
    }
    return wanted;
}

size_t board_refused(const struct board *board) {
    size_t refused = board->heartbeat_refused[0] != '\0';

    for (size_t i = 0; i < board->market_count; ++i) {
        for (int c = MST_MARKET_DATA; c < MST_HEARTBEAT; ++c) {
            refused += board->markets[i].refused[c][0] != '\0';
        }
    }
    return refused;
}
