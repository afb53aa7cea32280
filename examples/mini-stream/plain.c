/*
 * The stream as lines.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "plain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Begins a line: time, kind, market. A market without a space in it, so that
 * columns can be cut. */
static void plain_begin(FILE *file, int64_t ns, const char *kind,
                        const char *market) {
    char time[TEXT_TIME_LEN];
    char clean[MST_MARKET_MAX + 1];

    text_time(ns, time);
    text_clean(market, clean, sizeof clean);
    for (char *space = clean; (space = strchr(space, ' ')) != NULL;) {
        *space = '?';
    }
    fprintf(file, "%s %s %s", time, kind, clean[0] != '\0' ? clean : "-");
}

/* Prints a decimal with a label, or "-" in its place. */
static void plain_decimal(const char *label, bool has,
                          struct mst_decimal value) {
    char text[MST_DECIMAL_TEXT_LEN] = "-";

    if (has) {
        mst_decimal_format(value, text);
    }
    printf("%s%s", label, text);
}

static void plain_best(const char *label, const struct mst_book *book,
                       enum mst_side side) {
    const struct mst_level *level = mst_book_level(book, side, 0);

    plain_decimal(label, level != NULL,
                  level ? mst_level_price(level) : (struct mst_decimal){0});
}

/* The book's state, and what there is to doubt. */
static void plain_doubts(const struct mst_book *book) {
    enum mst_book_reason reason = mst_book_reason(book);
    unsigned flags = mst_book_flags(book);

    printf(" %s", mst_book_state_name(mst_book_state(book)));
    if (reason != MST_BOOK_OK) {
        printf(" (%s)", mst_book_reason_name(reason));
    }
    printf("%s%s%s%s%s", flags & MST_BOOK_CROSSED ? " crossed" : "",
           flags & MST_BOOK_THIN ? " thin" : "",
           flags & MST_BOOK_DISAGREES ? " disagrees" : "",
           flags & MST_BOOK_BACKWARD ? " backward" : "",
           flags & MST_BOOK_TIME_STEP ? " time step" : "");
}

/* The best levels of a side as price x amount, best first, or "-" where there
 * are none. */
static void plain_levels(const char *label, const struct mst_book *book,
                         enum mst_side side, size_t depth) {
    const struct mst_level *level;

    printf("%s%s", label, mst_book_level(book, side, 0) ? "" : "-");
    for (size_t i = 0;
         i < depth && (level = mst_book_level(book, side, i)) != NULL; ++i) {
        plain_decimal(i > 0 ? "," : "", true, mst_level_price(level));
        plain_decimal("x", true, mst_level_amount(level));
    }
}

/* The book's time is not the line's where an update came late. */
static void plain_depth(const struct mst_book *book, size_t depth) {
    char time[MST_TIME_TEXT_LEN];

    if (depth > 0 && mst_book_state(book) == MST_BOOK_LIVE) {
        mst_time_format(mst_book_time(book), time);
        printf(" depth_time=%s", time);
        plain_levels(" depth_bids=", book, MST_BID, depth);
        plain_levels(" depth_asks=", book, MST_ASK, depth);
    }
}

static void plain_part(const struct board *board, const struct mst_part *part,
                       size_t depth) {
    const struct board_market *market = board_find(board, part->market);

    if (!part->last && !part->aborted) {
        return;
    }
    plain_begin(stdout, part->time_ns, mst_channel_name(MST_MARKET_DATA),
                part->market);
    printf(" %s bids=%zu asks=%zu",
           part->aborted    ? "aborted"
           : part->snapshot ? "snapshot"
                            : "update",
           board->bids, board->asks);
    if (market) {
        plain_best(" best=", &market->book, MST_BID);
        plain_best("/", &market->book, MST_ASK);
        plain_doubts(&market->book);
        plain_depth(&market->book, depth);
    }
    putchar('\n');
}

static void plain_top(const struct mst_top *top) {
    plain_begin(stdout, top->time_ns, mst_channel_name(MST_TOP_OF_BOOK),
                top->market);
    plain_decimal(" bid=", top->has_bid, mst_level_price(&top->bid));
    plain_decimal(" bid_amount=", top->has_bid, mst_level_amount(&top->bid));
    plain_decimal(" ask=", top->has_ask, mst_level_price(&top->ask));
    plain_decimal(" ask_amount=", top->has_ask, mst_level_amount(&top->ask));
    putchar('\n');
}

void plain_data(const struct board *board, const struct mst_event *event,
                size_t depth) {
    switch (event->type) {
    case MST_EVENT_PART: plain_part(board, &event->as.part, depth); break;
    case MST_EVENT_TOP: plain_top(&event->as.top); break;
    case MST_EVENT_EXECUTION:
        plain_begin(stdout, event->as.execution.time_ns,
                    mst_channel_name(MST_EXECUTION_DATA),
                    event->as.execution.market);
        plain_decimal(" price=", true, event->as.execution.price);
        plain_decimal(" amount=", true, event->as.execution.amount);
        putchar('\n');
        break;
    case MST_EVENT_HEARTBEAT:
        plain_begin(stdout, event->as.heartbeat.time_ns,
                    mst_channel_name(MST_HEARTBEAT), "");
        putchar('\n');
        break;
    default: break;
    }
}

/* Begins a line on standard error, after what standard output holds. */
static void plain_note(const char *kind) {
    char time[TEXT_TIME_LEN];

    fflush(stdout);
    text_now(time);
    fprintf(stderr, "%s %s - ", time, kind);
}

static const char *plain_action(enum mst_action action) {
    switch (action) {
    case MST_SUBSCRIBE: return "subscribe";
    case MST_UNSUBSCRIBE: return "unsubscribe";
    default: return "subscription_list";
    }
}

static void plain_entry(const struct mst_entry *entry) {
    char name[MST_TEXT_MAX + 1];
    char market[MST_TEXT_MAX + 1];
    char text[MST_TEXT_MAX + 1];

    if (entry->success) {
        return;
    }
    plain_note("refused");
    fprintf(stderr, "%s %s %s: %s\n", plain_action(entry->action),
            text_clean(entry->channel_name, name, sizeof name),
            text_clean(entry->market[0] != '\0' ? entry->market : "-", market,
                       sizeof market),
            text_clean(entry->text[0] != '\0' ? entry->text : "no reason given",
                       text, sizeof text));
}

static void plain_service_error(const char *code_text, const char *text) {
    char code[MST_TEXT_MAX + 1];
    char message[MST_TEXT_MAX + 1];

    plain_note("error");
    fprintf(stderr, "the service says: %s%s%s\n",
            text_clean(code_text, code, sizeof code),
            code_text[0] != '\0' && text[0] != '\0' ? ", " : "",
            text_clean(text, message, sizeof message));
}

void plain_log(const struct mst_event *event) {
    char text[TEXT_FAILURE_LEN];

    switch (event->type) {
    case MST_EVENT_OPEN:
        plain_note("open");
        fprintf(stderr, "generation %" PRIu32 "\n", event->generation);
        break;
    case MST_EVENT_CLOSED:
        plain_note("closed");
        text_failure(&event->as.failure, text);
        fprintf(stderr, "%s\n", text);
        break;
    case MST_EVENT_ERROR:
        plain_note("error");
        text_failure(&event->as.failure, text);
        fprintf(stderr, "%s\n", text);
        break;
    case MST_EVENT_ENTRY: plain_entry(&event->as.entry); break;
    case MST_EVENT_SERVICE_ERROR:
        plain_service_error(event->as.service_error.code_text,
                            event->as.service_error.message);
        break;
    case MST_EVENT_UNKNOWN:
        plain_note("unknown");
        fprintf(stderr, "message of an unknown kind, %zu bytes\n",
                event->as.unknown.len);
        break;
    default: break;
    }
}

void plain_state(enum mst_state state) {
    plain_note("state");
    fprintf(stderr, "%s\n", mst_state_name(state));
}
