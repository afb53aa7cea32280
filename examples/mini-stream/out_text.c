/*
 * The output as lines for people: time, kind, market, and the data.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <inttypes.h>
#include <string.h>

#include "note.h"
#include "out.h"

/* Begins a line: time, kind, market. A market has no spaces, so that columns
 * can be cut. */
static void text_begin(FILE *file, int64_t ns, const char *kind,
                       const char *market) {
    char time[TEXT_TIME_LEN];

    text_time(ns, time);
    fprintf(file, "%s %s %s", time, kind, market[0] != '\0' ? market : "-");
}

/* Prints a label and a decimal or "-". */
static void text_number(FILE *file, const char *label, bool has,
                        struct mst_decimal value, int places) {
    char text[TEXT_DECIMAL_LEN] = "-";

    if (has) {
        text_decimal(value, places, text);
    }
    fprintf(file, "%s%s", label, text);
}

static void text_best(FILE *file, const char *label,
                      const struct board_market *market, enum mst_side side) {
    const struct mst_level *level = mst_book_level(market->book, side, 0);

    text_number(file, label, level != NULL,
                level ? mst_level_price(level) : (struct mst_decimal){0},
                market->price_places);
}

static void text_state(FILE *file, enum mst_book_state state,
                       enum mst_book_reason reason, unsigned flags) {
    fprintf(file, " %s", mst_book_state_name(state));
    if (reason != MST_BOOK_OK) {
        fprintf(file, " (%s)", mst_book_reason_name(reason));
    }
    for (unsigned flag = 1; flag <= MST_BOOK_TIME_STEP; flag <<= 1) {
        if ((flags & flag) != 0) {
            fprintf(file, " %s", text_doubt(flag));
        }
    }
}

/* Prints the best levels of a side as PRICExAMOUNT, best first, or "-". */
static void text_levels(const struct out *out, const char *label,
                        const struct board_market *market, enum mst_side side) {
    const struct mst_level *level;
    FILE *file = out->file;

    fprintf(file, "%s%s", label,
            mst_book_level(market->book, side, 0) ? "" : "-");
    for (size_t i = 0; i < out->depth &&
                       (level = mst_book_level(market->book, side, i)) != NULL;
         ++i) {
        text_number(file, i > 0 ? "," : "", true, mst_level_price(level),
                    market->price_places);
        text_number(file, "x", true, mst_level_amount(level),
                    market->amount_places);
    }
}

/* Prints a book's best prices, state and depth, and ends the line. The book's
 * time may be later than the line's, if an update came late. */
static void text_rest(const struct out *out,
                      const struct board_market *market) {
    char time[MST_TIME_TEXT_LEN];

    text_best(out->file, " best=", market, MST_BID);
    text_best(out->file, "/", market, MST_ASK);
    text_state(out->file, mst_book_state(market->book),
               mst_book_reason(market->book), mst_book_flags(market->book));
    if (out->depth > 0 && mst_book_state(market->book) == MST_BOOK_LIVE) {
        text_time_ns(mst_book_time(market->book), time);
        fprintf(out->file, " depth_time=%s", time);
        text_levels(out, " depth_bids=", market, MST_BID);
        text_levels(out, " depth_asks=", market, MST_ASK);
    }
    putc('\n', out->file);
}

static void text_part(struct out *out, const struct mst_part *part,
                      const struct board_market *market) {
    if (!part->last && !part->aborted) {
        return;
    }
    text_begin(out->file, part->time_ns, mst_channel_name(MST_MARKET_DATA),
               market->name);
    fprintf(out->file, " %s bids=%zu asks=%zu",
            part->aborted    ? "aborted"
            : part->snapshot ? "snapshot"
                             : "update",
            out->board->bids, out->board->asks);
    text_rest(out, market);
}

static void text_top(FILE *file, const struct mst_top *top,
                     const struct board_market *market) {
    text_begin(file, top->time_ns, mst_channel_name(MST_TOP_OF_BOOK),
               market->name);
    text_number(file, " bid=", top->has_bid, mst_level_price(&top->bid),
                market->price_places);
    text_number(file, " bid_amount=", top->has_bid, mst_level_amount(&top->bid),
                market->amount_places);
    text_number(file, " ask=", top->has_ask, mst_level_price(&top->ask),
                market->price_places);
    text_number(file, " ask_amount=", top->has_ask, mst_level_amount(&top->ask),
                market->amount_places);
    putc('\n', file);
}

static void text_execution(FILE *file, const struct mst_execution *execution,
                           const struct board_market *market) {
    text_begin(file, execution->time_ns, mst_channel_name(MST_EXECUTION_DATA),
               market->name);
    text_number(file, " price=", true, execution->price, market->price_places);
    text_number(file, " amount=", true, execution->amount,
                market->amount_places);
    fputs(execution->repeat ? " repeat\n" : "\n", file);
}

static void text_data(struct out *out, const struct mst_event *event,
                      const struct board_market *market) {
    switch (event->type) {
    case MST_EVENT_PART: text_part(out, &event->as.part, market); break;
    case MST_EVENT_TOP: text_top(out->file, &event->as.top, market); break;
    default: text_execution(out->file, &event->as.execution, market); break;
    }
}

static void text_note(struct out *out, const struct mst_event *event) {
    if (event->type == MST_EVENT_HEARTBEAT) {
        text_begin(out->file, event->as.heartbeat.time_ns,
                   mst_channel_name(MST_HEARTBEAT), "");
        putc('\n', out->file);
    } else {
        note_event(out->file, &out->note, out_wall(out, out->now_ns), event);
    }
}

static void text_rest_of_notes(struct out *out) {
    note_rest(out->file, &out->note, out_wall(out, out->now_ns));
}

static void text_renamed(struct out *out, const struct board_market *market) {
    note_renamed(out->file, out_wall(out, out->now_ns), market->name,
                 market->written);
}

static void text_book(struct out *out, const struct board_market *market) {
    note_begin(out->file, out_wall(out, out->now_ns), "book");
    fprintf(out->file, "%s", market->name);
    text_state(out->file, market->told_state, market->told_reason,
               market->told_flags);
    putc('\n', out->file);
}

static void text_gap(struct out *out, const struct board_market *market,
                     enum mst_channel channel, uint64_t ms) {
    note_begin(out->file, out_wall(out, out->now_ns), "gap");
    fprintf(out->file, "%s %s: %" PRIu64 " ms may be missing\n",
            mst_channel_name(channel), market->name, ms);
}

static void text_sample(struct out *out, const struct board_market *market) {
    text_begin(out->file, out_wall(out, out->now_ns), "sample", market->name);
    text_rest(out, market);
}

static void text_stop(struct out *out, int status,
                      const struct mst_stats *stats) {
    (void)status;
    tally_print(out->file, out->board, stats);
}

const struct out_format out_text = {
    .name = "text",
    .data = text_data,
    .note = text_note,
    .rest = text_rest_of_notes,
    .renamed = text_renamed,
    .book = text_book,
    .gap = text_gap,
    .sample = text_sample,
    .end = text_stop,
};
