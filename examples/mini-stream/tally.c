/*
 * The summary: see note.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "note.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Widths in columns: the channel's name, all its messages, one market. */
#define NAME_WIDTH 24
#define TOTAL_WIDTH 10
#define MARKET_WIDTH 10
#define TABLE_WIDTH 79

/* With more markets, the table has only the sums. */
#define MARKETS_MAX 24

/* Lines about silent subscriptions; further ones are counted. */
#define SILENT_MAX 10

static int tally_width(const struct board_market *market) {
    int len = (int)strlen(market->name);

    return (len < MARKET_WIDTH ? MARKET_WIDTH : len) + 1;
}

/* Prints the row of a channel, with the markets from first to end. */
static void tally_row(FILE *file, const struct board *board,
                      enum mst_channel channel, size_t first, size_t end) {
    fprintf(file, "%-*s%*" PRIu64, NAME_WIDTH, mst_channel_name(channel),
            TOTAL_WIDTH, board->messages[channel]);
    for (size_t i = first; i < end; ++i) {
        const struct board_market *market = &board->markets[i];

        if (channel == MST_HEARTBEAT) {
            fprintf(file, "%*s", tally_width(market), "-");
        } else {
            fprintf(file, "%*" PRIu64, tally_width(market),
                    market->messages[channel]);
        }
    }
    fputc('\n', file);
}

/* Prints as many markets in a row as fit, then the next ones below. */
static void tally_table(FILE *file, const struct board *board) {
    size_t count = board->market_count > MARKETS_MAX ? 0 : board->market_count;
    size_t first = 0;

    do {
        int width = NAME_WIDTH + TOTAL_WIDTH;
        size_t end = first;

        fprintf(file, "%-*s%*s", NAME_WIDTH, "channel", TOTAL_WIDTH,
                "messages");
        while (end < count &&
               (end == first ||
                width + tally_width(&board->markets[end]) <= TABLE_WIDTH)) {
            width += tally_width(&board->markets[end]);
            fprintf(file, "%*s", tally_width(&board->markets[end]),
                    board->markets[end].name);
            ++end;
        }
        fputc('\n', file);
        for (int c = MST_MARKET_DATA; c < BOARD_CHANNELS; ++c) {
            if (board_wants(board, (enum mst_channel)c)) {
                tally_row(file, board, (enum mst_channel)c, first, end);
            }
        }
        first = end;
    } while (first < count);
}

void tally_print(FILE *file, const struct board *board,
                 const struct mst_stats *stats) {
    fputc('\n', file);
    tally_table(file, board);
    fprintf(file,
            "errors: %" PRIu32 " messages not decoded, %" PRIu32
            " requests unanswered, %zu subscriptions refused\n",
            stats->bad_messages, stats->unanswered, board_refused(board));
    fprintf(file,
            "connections: %" PRIu32 " opened, %" PRIu32 " failed; %" PRIu32
            " items of unknown kinds\n",
            stats->opens, stats->failures, stats->unknown);
    if (board->error) {
        fprintf(file, "last error: %s\n", board->error_text);
    }
}

void tally_line(FILE *file, const struct board *board,
                const struct mst_stats *stats, int64_t unix_ns, double rate) {
    size_t live = 0;

    for (size_t i = 0; i < board->market_count; ++i) {
        live += mst_book_state(board->markets[i].book) == MST_BOOK_LIVE;
    }
    note_begin(file, unix_ns, "stats");
    fprintf(
        file,
        "%" PRIu64 " messages (%.1f/s), %" PRIu64 " bytes, %u open, %" PRIu32
        " failed, %zu of %zu books live, %" PRIu32 " resyncs, lag %.1f ms",
        stats->messages, rate, stats->bytes_in, board->open, stats->failures,
        live, board_wants(board, MST_MARKET_DATA) ? board->market_count : 0,
        stats->resyncs, (double)stats->lag_ns / 1e6);
    if (board->pairs) {
        fprintf(file, ", %" PRIu32 " rotations, %" PRIu64 " repeats",
                stats->rotations, board->repeats);
    }
    putc('\n', file);
}

/* Reports a silent subscription. Returns how many there are now. */
static size_t tally_silent(FILE *file, enum mst_channel channel,
                           const char *market, size_t silent) {
    if (silent < SILENT_MAX) {
        fprintf(file, "mini-stream: %s%s%s delivered nothing\n",
                mst_channel_name(channel), market ? " " : "",
                market ? market : "");
    }
    return silent + 1;
}

bool tally_met(FILE *file, const struct board *board,
               const struct mst_stats *stats) {
    size_t silent = 0;

    for (int c = MST_MARKET_DATA; c < BOARD_CHANNELS; ++c) {
        enum mst_channel channel = (enum mst_channel)c;
        size_t count = c == MST_HEARTBEAT ? 1 : board->market_count;

        for (size_t i = 0; board_wants(board, channel) && i < count; ++i) {
            const struct board_market *market =
                c == MST_HEARTBEAT ? NULL : &board->markets[i];

            if ((market ? market->messages : board->messages)[c] == 0) {
                silent = tally_silent(file, channel,
                                      market ? market->name : NULL, silent);
            }
        }
    }
    if (silent > SILENT_MAX) {
        fprintf(file, "mini-stream: and %zu more\n", silent - SILENT_MAX);
    }
    if (stats->bad_messages > 0) {
        fprintf(file, "mini-stream: %" PRIu32 " messages were not decoded\n",
                stats->bad_messages);
    }
    return silent == 0 && stats->bad_messages == 0;
}
