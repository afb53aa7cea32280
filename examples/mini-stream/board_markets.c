/*
 * The markets of a board: their room, and what is subscribed of them.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE /* hsearch_r() */

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"

/* Prepares the markets, a market's books over its levels. */
static int board_markets(struct board *board, const char *const *names,
                         size_t levels, const struct clients_plan *plan) {
    const size_t books = plan->pairs ? 2 : 1;
    const size_t share = (board->market_count + plan->count - 1) / plan->count;

    for (size_t i = 0; i < board->market_count; ++i) {
        struct board_market *market = &board->markets[i];
        ENTRY entry = {.key = (char *)names[i], .data = market}, *found;

        market->name = names[i];
        market->object = i / share;
        market->book = &market->books[0];
        if (!hsearch_r(entry, ENTER, &found, board->names)) {
            return MST_ERR_MEMORY;
        }
        if (!board_wants(board, MST_MARKET_DATA)) {
            continue;
        }
        market->levels = calloc(books * 2 * levels, sizeof *market->levels);
        if (!market->levels) {
            return MST_ERR_MEMORY;
        }
        for (size_t n = 0; n < books; ++n) {
            mst_book_init(&market->books[n], market->levels + n * 2 * levels,
                          levels);
            /* Deep enough to look at, far enough from full to be seldom. */
            mst_book_set_thin(&market->books[n], levels / 4);
        }
    }
    return 0;
}

int board_init(struct board *board, const char *const *names, size_t count,
               unsigned channels, size_t levels,
               const struct clients_plan *plan) {
    memset(board, 0, sizeof *board);
    board->channels = channels;
    board->pairs = plan->pairs;
    board->markets = calloc(count ? count : 1, sizeof *board->markets);
    board->objects = calloc(plan->count, sizeof *board->objects);
    board->names = calloc(1, sizeof *board->names);
    board->links = calloc(clients_links(plan), sizeof *board->links);
    if (!board->markets || !board->objects || !board->names || !board->links ||
        !hcreate_r(2 * count + 1, board->names)) {
        return MST_ERR_MEMORY;
    }
    board->market_count = count;
    board->object_count = plan->count;
    for (size_t i = 0; i < plan->count; ++i) {
        board->objects[i].leads = (int)(plan->pairs ? 2 * i : i);
    }
    return board_markets(board, names, levels, plan);
}

void board_free(struct board *board) {
    for (size_t i = 0; i < board->market_count; ++i) {
        free(board->markets[i].levels);
    }
    free(board->markets);
    free(board->objects);
    free(board->links);
    if (board->names) {
        hdestroy_r(board->names);
        free(board->names);
    }
    memset(board, 0, sizeof *board);
}

bool board_wants(const struct board *board, enum mst_channel channel) {
    return board->channels >> channel & 1u;
}

int board_subscribe(struct board *board, struct clients *clients) {
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < board->object_count &&
                       board_wants(board, MST_HEARTBEAT);
         ++i) {
        rc = clients_subscribe(clients, i, MST_HEARTBEAT, NULL, NULL, NULL);
    }
    for (size_t i = 0; rc == 0 && i < board->market_count; ++i) {
        struct board_market *market = &board->markets[i];

        for (int c = MST_MARKET_DATA; rc == 0 && c < MST_HEARTBEAT; ++c) {
            enum mst_channel channel = (enum mst_channel)c;
            bool book = channel == MST_MARKET_DATA;

            if (board_wants(board, channel)) {
                rc = clients_subscribe(clients, market->object, channel,
                                       market->name,
                                       book ? &market->books[0] : NULL,
                                       book ? &market->books[1] : NULL);
            }
        }
    }
    return rc;
}
