/*
 * One market's panel in the live view: see view.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "view.h"

#include <stdio.h>
#include <string.h>

/* A market without messages for this long is quiet. */
#define QUIET_MS 10000

/* Panels of this width or more show the trades to the right of the book. */
#define WIDE 88
#define TAPE_WIDTH 40
#define BOOK_WIDTH 110 /* at most: wider bars show no more */

/* Rows of the smallest ladder: an ask, the spread, a bid. */
#define LADDER_MIN 3

/* Columns of a time of day with milliseconds. */
#define CLOCK_WIDTH 12

/* The condition of a market's data. */
struct verdict {
    char word[32];    /* for the title */
    char notice[128]; /* in the middle of the book, or "" */
    enum draw_style style;
    bool faint;
};

/* The state of the book, or, without books, of the connection. */
static enum mst_book_state panel_state(const struct board *board,
                                       const struct board_market *market) {
    const struct board_object *object = &board->objects[market->object];

    if (board_wants(board, MST_MARKET_DATA)) {
        return mst_book_state(market->book);
    }
    return object->open > 0   ? MST_BOOK_LIVE
           : object->was_open ? MST_BOOK_STALE
                              : MST_BOOK_EMPTY;
}

static struct verdict panel_verdict(struct panel *panel,
                                    const struct board *board,
                                    const struct board_market *market,
                                    uint64_t now_ms) {
    enum mst_book_state state = panel_state(board, market);
    const char *reason =
        board_wants(board, MST_MARKET_DATA)
            ? mst_book_reason_name(mst_book_reason(market->book))
            : mst_book_reason_name(MST_BOOK_RECONNECT);
    uint64_t silent_ms = board_silent_ms(board, market->object, now_ms);
    struct verdict verdict = {"live", "", DRAW_GOOD, false};
    char span[TEXT_SPAN_LEN];

    if (state != panel->state || panel->since_ms == 0) {
        panel->state = state;
        panel->since_ms = now_ms;
    }
    text_span(now_ms - panel->since_ms, span);
    if (market->refused[MST_MARKET_DATA][0] != '\0') {
        verdict = (struct verdict){"REFUSED", "", DRAW_ALERT, true};
    } else if (state == MST_BOOK_STALE) {
        verdict = (struct verdict){"", "", DRAW_ALERT, true};
        snprintf(verdict.word, sizeof verdict.word, "STALE %s", span);
        snprintf(verdict.notice, sizeof verdict.notice, "STALE for %s: %s",
                 span, reason);
    } else if (state != MST_BOOK_LIVE) {
        verdict = (struct verdict){"", "", DRAW_WARN, false};
        snprintf(verdict.word, sizeof verdict.word, "waiting %s", span);
    }
    /* Data that is known to be wrong is not called frozen as well. */
    if (silent_ms > 0 && !verdict.faint) {
        verdict = (struct verdict){"", "", DRAW_ALERT, true};
        text_span(silent_ms, span);
        snprintf(verdict.word, sizeof verdict.word, "FROZEN %s", span);
        snprintf(verdict.notice, sizeof verdict.notice,
                 "FROZEN: nothing received for %s", span);
    }
    return verdict;
}

static void panel_title(const struct board_market *market,
                        struct draw_area area, const struct verdict *verdict,
                        uint64_t now_ms) {
    uint64_t quiet_ms = market->heard_ms ? now_ms - market->heard_ms : 0;
    size_t bids = mst_book_depth(market->book, MST_BID);
    size_t asks = mst_book_depth(market->book, MST_ASK);
    int x = area.x + 1;
    int end = area.x + area.width;
    char span[TEXT_SPAN_LEN];
    char text[64] = "";

    draw_line(area.y, area.x, area.width);
    x += draw_format(area.y, x, end - x, DRAW_TITLE, " %s ", market->name);
    if (market->written[0] != '\0') {
        x += draw_format(area.y, x, end - x, DRAW_FAINT, "(%s) ",
                         text_clean(market->written, text, sizeof text));
        text[0] = '\0';
    }
    x += draw_format(area.y, x, end - x, verdict->style,
                     verdict->style == DRAW_ALERT ? " %s " : "%s ",
                     verdict->word);
    if (!verdict->faint && quiet_ms >= QUIET_MS) {
        snprintf(text, sizeof text, " quiet for %s ",
                 text_span(quiet_ms, span));
    } else if (bids + asks > 0) {
        snprintf(text, sizeof text, " %zu bids, %zu asks ", bids, asks);
    }
    if (draw_width(text) < end - x) {
        draw_right(area.y, x, end - x - 1,
                   quiet_ms >= QUIET_MS ? DRAW_WARN : DRAW_FAINT, text);
    }
}

/* Draws why subscriptions were refused, on a second row if the reason does not
 * fit on the first. Returns the number of rows. */
static int panel_refused(const struct board_market *market,
                         struct draw_area area) {
    int rows = 0;

    for (int c = MST_MARKET_DATA; c < MST_HEARTBEAT; ++c) {
        const char *name = mst_channel_name((enum mst_channel)c);
        const char *why = market->refused[c];
        int len = draw_width(name) + draw_width(": ") + draw_width(why);
        int x = area.x + 1;

        if (why[0] == '\0' || rows >= area.height) {
            continue;
        }
        x += draw_format(area.y + rows, x, area.width - 1, DRAW_BAD,
                         "%s: ", name);
        if (len >= area.width && rows + 1 < area.height) {
            x = area.x + 1;
            ++rows;
        }
        draw_text(area.y + rows, x, area.x + area.width - x, DRAW_BAD, why);
        ++rows;
    }
    return rows;
}

/* Writes a number, or "-" if there is no level. */
static void best_text(const struct mst_level *level, bool amount, int places,
                      char text[TEXT_DECIMAL_LEN]) {
    memcpy(text, "-", sizeof "-");
    if (level != NULL) {
        text_decimal(amount ? mst_level_amount(level) : mst_level_price(level),
                     places, text);
    }
}

/* Draws the best bid and ask in one row, with their amounts if these always
 * fit. If both prices do not fit, shortens them instead of cutting them off. */
static void panel_best(const struct panel *panel,
                       const struct board_market *market, struct draw_area area,
                       const struct mst_level *bid, const struct mst_level *ask,
                       const char *title, bool faint) {
    enum draw_style bid_style = faint ? DRAW_FAINT : DRAW_BID;
    enum draw_style ask_style = faint ? DRAW_FAINT : DRAW_ASK;
    char bid_text[TEXT_DECIMAL_LEN], ask_text[TEXT_DECIMAL_LEN];
    char amounts[2 * TEXT_DECIMAL_LEN + 8];
    int x = area.x + 1;
    int end = area.x + area.width;
    int width;

    best_text(bid, false, market->price_places, bid_text);
    best_text(ask, false, market->price_places, ask_text);
    width = draw_width(bid_text) + draw_width(" / ") + draw_width(ask_text);
    if (width > end - x && bid != NULL && ask != NULL) {
        width = (area.width - 1) / 2;
        draw_decimal(area.y, area.x, width, bid_style, mst_level_price(bid),
                     market->price_places);
        draw_decimal(area.y, end - width, width, ask_style,
                     mst_level_price(ask), market->price_places);
        return;
    }
    if (draw_width(title) + width <= end - x) {
        x += draw_text(area.y, x, end - x, DRAW_FAINT, title);
    }
    x += draw_text(area.y, x, end - x, bid_style, bid_text);
    x += draw_text(area.y, x, end - x, DRAW_FAINT, " / ");
    x += draw_text(area.y, x, end - x, ask_style, ask_text);
    best_text(bid, true, market->amount_places, bid_text);
    best_text(ask, true, market->amount_places, ask_text);
    snprintf(amounts, sizeof amounts, "  %s x %s", bid_text, ask_text);
    if (2 * (panel->columns.price + panel->columns.amount) + 14 < area.width &&
        draw_width(amounts) <= end - x) {
        draw_text(area.y, x, end - x, DRAW_FAINT, amounts);
    }
}

/* Draws the best bid and ask of the top channel. */
static void panel_top(const struct panel *panel,
                      const struct board_market *market, struct draw_area area,
                      bool faint) {
    const struct mst_top *top = &market->top;

    if (market->has_top) {
        panel_best(panel, market, area, top->has_bid ? &top->bid : NULL,
                   top->has_ask ? &top->ask : NULL, "top ", faint);
    } else {
        draw_text(area.y, area.x + 1, area.width - 1, DRAW_FAINT, "top -");
    }
}

/* Draws the book's best bid and ask, if any. Returns the number of rows. */
static int panel_little(const struct panel *panel,
                        const struct board_market *market,
                        struct draw_area area, bool faint) {
    const struct mst_level *bid = mst_book_level(market->book, MST_BID, 0);
    const struct mst_level *ask = mst_book_level(market->book, MST_ASK, 0);

    if (!bid && !ask) {
        return 0;
    }
    panel_best(panel, market, area, bid, ask, "", faint);
    return 1;
}

/* Draws a trade: time, price, amount, and if the price rose or fell. */
static void panel_trade(const struct panel *panel,
                        const struct board_market *market, uint64_t age,
                        struct draw_area row, bool faint) {
    const struct board_trade *trade = board_trade(market, age);
    const struct board_trade *before = board_trade(market, age + 1);
    int way = before ? mst_decimal_cmp(trade->price, before->price) : 0;
    enum draw_style style = faint || way == 0 ? DRAW_NORMAL
                            : way < 0         ? DRAW_ASK
                                              : DRAW_BID;
    char time[TEXT_TIME_LEN];
    int left = row.width - 1 - CLOCK_WIDTH;
    int x = row.x + 1 + CLOCK_WIDTH;

    /* the time of day, between the 'T' and the 'Z' */
    text_time(trade->time_ns, time);
    time[TEXT_TIME_LEN - 2] = '\0';
    draw_text(row.y, row.x + 1, row.width - 1, DRAW_FAINT,
              time + sizeof "2026-01-02T" - 1);
    style = faint ? DRAW_FAINT : style;
    if (left <= panel->trade_price) {
        return;
    }
    draw_decimal(row.y, x, panel->trade_price + 1, style, trade->price,
                 market->price_places);
    x += panel->trade_price + 1;
    left -= panel->trade_price + 1;
    if (left < 4) {
        return;
    }
    draw_text(row.y, x + 1, 1, style,
              way > 0   ? draw_sign("\u25b2", "+")
              : way < 0 ? draw_sign("\u25bc", "-")
                        : " ");
    left =
        left - 2 < panel->trade_amount + 1 ? left - 2 : panel->trade_amount + 1;
    draw_decimal(row.y, x + 2, left, faint ? DRAW_FAINT : DRAW_NORMAL,
                 trade->amount, market->amount_places);
}

static void panel_trades(struct panel *panel, const struct board_market *market,
                         struct draw_area area, bool faint) {
    const struct board_trade *trade;
    int i;

    draw_line(area.y, area.x, area.width);
    draw_text(area.y, area.x + 1, area.width - 1, DRAW_FAINT, " executions ");
    for (i = 0;
         i + 1 < area.height && (trade = board_trade(market, (uint64_t)i));
         ++i) {
        int price = draw_decimal_width(trade->price, market->price_places);
        int amount = draw_decimal_width(trade->amount, market->amount_places);

        draw_widen(&panel->trade_price, price);
        draw_widen(&panel->trade_amount, amount);
    }
    while (i-- > 0) {
        struct draw_area row = {area.y + 1 + i, area.x, 1, area.width};

        panel_trade(panel, market, (uint64_t)i, row, faint);
    }
    if (market->trade_count == 0 && area.height > 1) {
        draw_text(area.y + 1, area.x + 1, area.width - 1, DRAW_FAINT,
                  "none yet");
    }
}

static void panel_book(struct panel *panel, const struct board_market *market,
                       struct draw_area area, const struct verdict *verdict,
                       unsigned group) {
    struct ladder_style style = {&panel->columns, group, verdict->faint,
                                 verdict->notice};

    if (mst_book_depth(market->book, MST_BID) > 0 ||
        mst_book_depth(market->book, MST_ASK) > 0) {
        ladder_draw(market, area, &style);
        return;
    }
    draw_text(area.y + area.height / 2, area.x + 1, area.width - 1,
              verdict->notice[0] != '\0' ? DRAW_ALERT : DRAW_FAINT,
              verdict->notice[0] != '\0' ? verdict->notice
              : mst_book_state(market->book) == MST_BOOK_LIVE
                  ? "the book has no levels"
                  : "waiting for a snapshot");
}

static struct draw_area area_below(struct draw_area area, int rows) {
    area.y += rows;
    area.height -= rows;
    return area;
}

/* Draws book and trades, next to each other or one below the other. */
static void panel_body(struct panel *panel, const struct board *board,
                       const struct board_market *market, struct draw_area area,
                       const struct verdict *verdict, unsigned group) {
    bool has_book = board_wants(board, MST_MARKET_DATA) &&
                    market->refused[MST_MARKET_DATA][0] == '\0';
    bool has_trades = board_wants(board, MST_EXECUTION_DATA) &&
                      market->refused[MST_EXECUTION_DATA][0] == '\0';
    struct draw_area book = area;
    struct draw_area trades = area;

    if (has_book && has_trades && area.width >= WIDE) {
        trades.width = TAPE_WIDTH;
        book.width = area.width - trades.width - 1;
        book.width = book.width > BOOK_WIDTH ? BOOK_WIDTH : book.width;
        trades.x = book.x + book.width + 1;
    } else if (has_book && has_trades && area.height >= 8) {
        /* a quarter for the trades, and what the book does not use */
        book.height = ladder_height(area.height - area.height / 4 - 1);
        trades = area_below(area, book.height);
    } else {
        has_trades = has_trades && !has_book;
    }
    if (has_book && book.height > 0) {
        panel_book(panel, market, book, verdict, group);
    }
    if (has_trades && trades.height >= 2) {
        panel_trades(panel, market, trades, verdict->faint);
    }
}

int panel_height(const struct board *board) {
    if (board_wants(board, MST_MARKET_DATA)) {
        return 14;
    }
    return 2 + (board_wants(board, MST_TOP_OF_BOOK) ? 1 : 0) +
           (board_wants(board, MST_EXECUTION_DATA) ? 6 : 0);
}

void panel_draw(struct panel *panel, const struct board *board,
                const struct board_market *market, struct draw_area area,
                unsigned group, uint64_t now_ms) {
    struct verdict verdict = panel_verdict(panel, board, market, now_ms);
    bool has_book = board_wants(board, MST_MARKET_DATA);

    if (area.height < 1) {
        return;
    }
    if (area.height > 1 || verdict.style == DRAW_ALERT) {
        panel_title(market, area, &verdict, now_ms);
        area = area_below(area, 1);
        area = area_below(area, panel_refused(market, area));
    }
    if (board_wants(board, MST_TOP_OF_BOOK) &&
        area.height >= (has_book ? 5 : 1) &&
        market->refused[MST_TOP_OF_BOOK][0] == '\0') {
        panel_top(panel, market, area, verdict.faint);
        area = area_below(area, 1);
    } else if (has_book && area.height > 0 && area.height < LADDER_MIN) {
        area =
            area_below(area, panel_little(panel, market, area, verdict.faint));
    }
    panel_body(panel, board, market, area, &verdict, group);
}
