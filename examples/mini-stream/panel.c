/*
 * One market's panel in the live view.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "panel.h"

#include <stdio.h>
#include <string.h>

/* Columns of a price and of an amount; what is left is the bar. */
#define PRICE_WIDTH 13
#define AMOUNT_WIDTH 12

/* Levels of a side at most: what a tall terminal shows. */
#define LADDER_MAX 200

/* The book as it is shown: so many levels of each side, and what they need to
 * stand in columns. */
struct ladder {
    const struct mst_book *book;
    int rows; /* a side */
    int price_places, amount_places;
    double amount_max;
};

static int at_most(int value, int limit) {
    return value < limit ? value : limit;
}

static void ladder_measure(struct ladder *ladder) {
    for (int side = MST_BID; side <= MST_ASK; ++side) {
        for (int rank = 0; rank < ladder->rows; ++rank) {
            const struct mst_level *level =
                mst_book_level(ladder->book, (enum mst_side)side, (size_t)rank);
            int price, amount;

            if (!level) {
                break;
            }
            price = draw_places(mst_level_price(level));
            amount = draw_places(mst_level_amount(level));
            if (price > ladder->price_places) {
                ladder->price_places = price;
            }
            if (amount > ladder->amount_places) {
                ladder->amount_places = amount;
            }
            if (mst_decimal_to_double(mst_level_amount(level)) >
                ladder->amount_max) {
                ladder->amount_max =
                    mst_decimal_to_double(mst_level_amount(level));
            }
        }
    }
}

/* Writes a number that ends at the right edge of a column. */
static void panel_number(int y, int x, int width, enum draw_style style,
                         struct mst_decimal value, int places) {
    char text[DRAW_DECIMAL_LEN];

    draw_decimal(value, places, width, text);
    draw_right(y, x, width, style, text);
}

static void ladder_level(const struct ladder *ladder, struct draw_area area,
                         int y, enum mst_side side, int rank) {
    const struct mst_level *level =
        mst_book_level(ladder->book, side, (size_t)rank);
    enum draw_style style = side == MST_BID ? DRAW_BID : DRAW_ASK;
    int x = area.x;
    int left = area.width;

    if (!level) {
        return;
    }
    panel_number(y, x, at_most(PRICE_WIDTH, left), style,
                 mst_level_price(level), ladder->price_places);
    x += PRICE_WIDTH;
    left -= PRICE_WIDTH;
    if (left > AMOUNT_WIDTH / 2) {
        panel_number(y, x, at_most(AMOUNT_WIDTH, left), DRAW_NORMAL,
                     mst_level_amount(level), ladder->amount_places);
    }
    x += AMOUNT_WIDTH + 1;
    left -= AMOUNT_WIDTH + 1;
    if (left > 0 && ladder->amount_max > 0) {
        draw_bar(y, x, left, style,
                 mst_decimal_to_double(mst_level_amount(level)) /
                     ladder->amount_max);
    }
}

/* The line between asks and bids: the spread, and what is to be doubted. */
static void ladder_spread(const struct ladder *ladder, struct draw_area area,
                          int y) {
    struct mst_decimal spread, mid;
    char text[DRAW_DECIMAL_LEN];
    int x = area.x + 1;
    int left = area.width - 2;
    unsigned flags;
    int used;

    draw_line(y, area.x, area.width);
    if (mst_book_spread(ladder->book, &spread) != MST_OK ||
        mst_book_mid(ladder->book, &mid) != MST_OK) {
        return;
    }
    draw_decimal(spread, ladder->price_places, PRICE_WIDTH, text);
    used = draw_format(y, x, left, DRAW_FAINT, " spread %s ", text);
    if (mid.coefficient > 0) {
        used += draw_format(y, x + used, left - used, DRAW_FAINT, "%.2f bp ",
                            mst_decimal_to_double(spread) /
                                mst_decimal_to_double(mid) * 10000);
    }
    flags = mst_book_flags(ladder->book);
    draw_format(y, x + used, left - used, DRAW_BAD, "%s%s%s%s%s",
                flags & MST_BOOK_CROSSED ? "crossed " : "",
                flags & MST_BOOK_THIN ? "thin " : "",
                flags & MST_BOOK_DISAGREES ? "disagrees " : "",
                flags & MST_BOOK_BACKWARD ? "backward " : "",
                flags & MST_BOOK_TIME_STEP ? "time step " : "");
}

/* Draws the depth into the area: asks above, bids below, the best ones next
 * to the spread. */
static void panel_ladder(const struct board_market *market,
                         struct draw_area area) {
    struct ladder ladder = {
        .book = market->book,
        .rows = at_most((area.height - 1) / 2, LADDER_MAX),
    };
    int middle = area.y + ladder.rows;

    if (mst_book_depth(market->book, MST_BID) == 0 &&
        mst_book_depth(market->book, MST_ASK) == 0) {
        draw_format(middle, area.x + 1, area.width - 1, DRAW_FAINT, "%s",
                    mst_book_state(market->book) == MST_BOOK_LIVE
                        ? "the book has no levels"
                        : "waiting for a snapshot");
        return;
    }
    ladder_measure(&ladder);
    ladder_spread(&ladder, area, middle);
    for (int rank = 0; rank < ladder.rows; ++rank) {
        ladder_level(&ladder, area, middle - 1 - rank, MST_ASK, rank);
        ladder_level(&ladder, area, middle + 1 + rank, MST_BID, rank);
    }
}

static void panel_title(const struct board *board,
                        const struct board_market *market,
                        struct draw_area area) {
    enum mst_book_state state = mst_book_state(market->book);
    int used;

    draw_line(area.y, area.x, area.width);
    used = draw_format(area.y, area.x + 1, area.width - 1, DRAW_TITLE, " %s ",
                       market->name);
    if (!board_wants(board, MST_MARKET_DATA)) {
        return;
    }
    used += draw_format(area.y, area.x + 1 + used, area.width - 1 - used,
                        state == MST_BOOK_LIVE ? DRAW_GOOD : DRAW_BAD, "%s ",
                        mst_book_state_name(state));
    draw_format(area.y, area.x + 1 + used, area.width - 1 - used, DRAW_FAINT,
                "%zu+%zu levels ", mst_book_depth(market->book, MST_BID),
                mst_book_depth(market->book, MST_ASK));
}

/* Writes a price of the top of book, or "-" where there is none. */
static void top_price(bool has, const struct mst_level *level, int places,
                      char text[DRAW_DECIMAL_LEN]) {
    memcpy(text, "-", sizeof "-");
    if (has) {
        draw_decimal(mst_level_price(level), places, PRICE_WIDTH, text);
    }
}

/* The service's own best bid and ask, in one row; the amounts where both
 * fit. */
static void panel_top(const struct board_market *market,
                      struct draw_area area) {
    const struct mst_top *top = &market->top;
    int bid_places = draw_places(mst_level_price(&top->bid));
    int ask_places = draw_places(mst_level_price(&top->ask));
    int places = bid_places > ask_places ? bid_places : ask_places;
    char bid[DRAW_DECIMAL_LEN];
    char ask[DRAW_DECIMAL_LEN];
    char amounts[2 * MST_DECIMAL_TEXT_LEN + 8];
    int x = area.x + draw_text(area.y, area.x, area.width, DRAW_FAINT, "top ");
    int end = area.x + area.width;

    if (!market->has_top) {
        draw_text(area.y, x, end - x, DRAW_FAINT, "-");
        return;
    }
    top_price(top->has_bid, &top->bid, places, bid);
    top_price(top->has_ask, &top->ask, places, ask);
    x += draw_text(area.y, x, end - x, DRAW_BID, bid);
    x += draw_text(area.y, x, end - x, DRAW_FAINT, " / ");
    x += draw_text(area.y, x, end - x, DRAW_ASK, ask);
    if (top->has_bid && top->has_ask) {
        mst_decimal_format(mst_level_amount(&top->bid), bid);
        mst_decimal_format(mst_level_amount(&top->ask), ask);
        if (snprintf(amounts, sizeof amounts, "  %s x %s", bid, ask) <=
            end - x) {
            draw_text(area.y, x, end - x, DRAW_FAINT, amounts);
        }
    }
}

/* The last trades, newest first. */
static void panel_trades(const struct board_market *market,
                         struct draw_area area) {
    int price_places = 0;
    int amount_places = 0;
    const struct board_trade *trade;

    for (int i = 0;
         i < area.height && (trade = board_trade(market, (uint64_t)i)); ++i) {
        int price = draw_places(trade->price);
        int amount = draw_places(trade->amount);

        price_places = price > price_places ? price : price_places;
        amount_places = amount > amount_places ? amount : amount_places;
    }
    for (int i = 0;
         i < area.height && (trade = board_trade(market, (uint64_t)i)); ++i) {
        const struct board_trade *before = board_trade(market, (uint64_t)i + 1);
        bool down = before && mst_decimal_cmp(trade->price, before->price) < 0;
        char time[TEXT_TIME_LEN];
        int y = area.y + i;

        panel_number(y, area.x, at_most(PRICE_WIDTH, area.width),
                     down ? DRAW_ASK : DRAW_BID, trade->price, price_places);
        if (area.width > PRICE_WIDTH + AMOUNT_WIDTH / 2) {
            panel_number(y, area.x + PRICE_WIDTH,
                         at_most(AMOUNT_WIDTH, area.width - PRICE_WIDTH),
                         DRAW_NORMAL, trade->amount, amount_places);
        }
        /* The time of day: after the date and 'T', without 'Z'. */
        text_time(trade->time_ns, time);
        time[TEXT_TIME_LEN - 2] = '\0';
        draw_text(y, area.x + PRICE_WIDTH + AMOUNT_WIDTH + 1,
                  area.width - PRICE_WIDTH - AMOUNT_WIDTH - 1, DRAW_FAINT,
                  time + sizeof "2026-01-02T" - 1);
    }
}

/* Draws why subscriptions of the market were refused, a row each. Returns
 * how many rows. */
static int panel_refused(const struct board_market *market,
                         struct draw_area area) {
    int rows = 0;

    for (int c = MST_MARKET_DATA; c < MST_HEARTBEAT; ++c) {
        if (market->refused[c][0] != '\0' && rows < area.height) {
            draw_format(area.y + rows, area.x, area.width, DRAW_BAD, "%s: %s",
                        mst_channel_name((enum mst_channel)c),
                        market->refused[c]);
            ++rows;
        }
    }
    return rows;
}

static struct draw_area area_below(struct draw_area area, int rows) {
    area.y += rows;
    area.height -= rows;
    return area;
}

void panel_draw(const struct board *board, const struct board_market *market,
                struct draw_area area) {
    bool has_book = board_wants(board, MST_MARKET_DATA) &&
                    market->refused[MST_MARKET_DATA][0] == '\0';
    bool has_trades = board_wants(board, MST_EXECUTION_DATA);

    if (area.height < 1) {
        return;
    }
    panel_title(board, market, area);
    area = area_below(area, 1);
    area = area_below(area, panel_refused(market, area));
    if (board_wants(board, MST_TOP_OF_BOOK) && area.height >= 5) {
        panel_top(market, area);
        area = area_below(area, 1);
    }
    if (has_book && area.height > 0) {
        struct draw_area ladder = area;

        /* A quarter for the trades, where there is room for some. */
        if (has_trades && area.height >= 8) {
            ladder.height -= area.height / 4 + 1;
        }
        /* As many asks as bids. */
        ladder.height -= ladder.height % 2 == 0;
        panel_ladder(market, ladder);
        area = area_below(area, ladder.height);
    }
    if (has_trades && area.height >= 2) {
        draw_line(area.y, area.x, area.width);
        draw_text(area.y, area.x + 1, area.width - 1, DRAW_FAINT,
                  " executions ");
        panel_trades(market, area_below(area, 1));
    }
}
