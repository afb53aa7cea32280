/*
 * The depth of a book: see view.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "view.h"

#include <stdio.h>
#include <string.h>

/* Rows of a side, at most: enough for a tall terminal. */
#define ROWS_MAX 200

/* Ladders with fewer rows have no headings. */
#define HEADING_HEIGHT 9

/* Columns of the narrowest bar. */
#define BAR_WIDTH 4

static const char heading_price[] = "price", heading_amount[] = "amount",
                  heading_total[] = "total";

struct ladder_row {
    struct mst_decimal price, amount, total;
};

struct ladder_side {
    struct ladder_row rows[ROWS_MAX];
    int count;
};

struct ladder {
    const struct board_market *market;
    const struct ladder_style *style;
    struct draw_area area;
    int heading; /* rows of headings */
    int rows;    /* rows of a side */
    int price_places;
    double amount_max;
    struct ladder_side sides[2];
};

/* Rounds a price to a multiple of 10^exponent, away from the spread: bids down,
 * asks up. */
static struct mst_decimal group_price(struct mst_decimal price, int exponent,
                                      enum mst_side side) {
    int64_t rest = 0;

    if (price.coefficient == 0 || price.exponent >= exponent) {
        return price;
    }
    for (; price.exponent < exponent; ++price.exponent) {
        rest |= price.coefficient % 10;
        price.coefficient /= 10;
    }
    if (rest > 0 && side == MST_ASK) {
        ++price.coefficient;
    } else if (rest < 0 && side == MST_BID) {
        --price.coefficient;
    }
    return price;
}

/* Collects the rows of a side from the book. */
static void ladder_collect(struct ladder *ladder, enum mst_side side) {
    const struct board_market *market = ladder->market;
    struct ladder_side *to = &ladder->sides[side];
    struct mst_decimal total = {0};
    const struct mst_level *level;

    for (size_t rank = 0; (level = mst_book_level(market->book, side, rank));
         ++rank) {
        struct mst_decimal amount = mst_level_amount(level);
        struct mst_decimal price = mst_level_price(level);
        struct ladder_row *row = &to->rows[to->count > 0 ? to->count - 1 : 0];

        if (ladder->style->group > 0) {
            price = group_price(
                price, (int)ladder->style->group - market->price_places, side);
        }
        total = mst_decimal_add(total, amount);
        if (to->count > 0 && mst_decimal_cmp(row->price, price) == 0) {
            row->amount = mst_decimal_add(row->amount, amount);
            row->total = total;
        } else if (to->count == ladder->rows) {
            break;
        } else {
            to->rows[to->count++] = (struct ladder_row){price, amount, total};
        }
    }
}

static void ladder_measure(struct ladder *ladder) {
    struct ladder_columns *columns = ladder->style->columns;
    int places = ladder->market->amount_places;

    draw_widen(&columns->price, (int)strlen(heading_price));
    draw_widen(&columns->amount, (int)strlen(heading_amount));
    draw_widen(&columns->total, (int)strlen(heading_total));
    for (int side = MST_BID; side <= MST_ASK; ++side) {
        for (int i = 0; i < ladder->sides[side].count; ++i) {
            const struct ladder_row *row = &ladder->sides[side].rows[i];
            double amount = mst_decimal_to_double(row->amount);

            draw_widen(&columns->price,
                       draw_decimal_width(row->price, ladder->price_places));
            draw_widen(&columns->amount,
                       draw_decimal_width(row->amount, places));
            draw_widen(&columns->total, draw_decimal_width(row->total, places));
            if (amount > ladder->amount_max) {
                ladder->amount_max = amount;
            }
        }
    }
}

/* The positions of the columns. If the area is too narrow, the bar is left out
 * first, then the total. */
struct places {
    int price, amount, total, bar; /* ends of columns, start of bar; 0: none */
};

static struct places ladder_places(const struct ladder *ladder) {
    const struct ladder_columns *columns = ladder->style->columns;
    struct places places = {.price = columns->price + 1};
    int width = ladder->area.width;

    if (places.price > width) {
        places.price = width;
    }
    places.amount = places.price + 1 + columns->amount;
    if (places.amount + 1 + columns->total <= width) {
        places.total = places.amount + 1 + columns->total;
        places.bar = places.total + 1;
    } else {
        places.amount = places.amount > width ? width : places.amount;
        places.bar = places.amount + 1;
    }
    if (width - places.bar < BAR_WIDTH) {
        places.bar = 0;
    }
    return places;
}

static void ladder_heading(const struct ladder *ladder, int y,
                           const struct places *at) {
    int x = ladder->area.x;

    draw_right(y, x, at->price, DRAW_FAINT, heading_price);
    if (at->amount - at->price > (int)strlen(heading_amount)) {
        draw_right(y, x + at->price, at->amount - at->price, DRAW_FAINT,
                   heading_amount);
    }
    if (at->total > 0) {
        draw_right(y, x + at->amount, at->total - at->amount, DRAW_FAINT,
                   heading_total);
    }
}

static void ladder_row(const struct ladder *ladder, int y,
                       const struct places *at, enum mst_side side, int i) {
    const struct ladder_row *row = &ladder->sides[side].rows[i];
    bool faint = ladder->style->faint;
    enum draw_style style = faint             ? DRAW_FAINT
                            : side == MST_BID ? DRAW_BID
                                              : DRAW_ASK;
    int places = ladder->market->amount_places;
    int x = ladder->area.x;

    if (i >= ladder->sides[side].count) {
        return;
    }
    draw_decimal(y, x, at->price, style, row->price, ladder->price_places);
    if (at->amount - at->price > 2) {
        draw_decimal(y, x + at->price + 1, at->amount - at->price - 1,
                     faint ? DRAW_FAINT : DRAW_NORMAL, row->amount, places);
    }
    if (at->total > 0) {
        draw_decimal(y, x + at->amount + 1, at->total - at->amount - 1,
                     DRAW_FAINT, row->total, places);
    }
    if (at->bar > 0 && !faint && ladder->amount_max > 0) {
        draw_bar(y, x + at->bar, ladder->area.width - at->bar, style,
                 mst_decimal_to_double(row->amount) / ladder->amount_max);
    }
}

/* The line between asks and bids: the spread and the doubts, or a notice. */
static void ladder_middle(const struct ladder *ladder, int y) {
    const struct draw_area *area = &ladder->area;
    const struct mst_book *book = ladder->market->book;
    unsigned flags = mst_book_flags(book);
    struct mst_decimal spread, mid;
    char text[TEXT_DECIMAL_LEN];
    int x = area->x + 1;
    int end = area->x + area->width - 1;

    draw_line(y, area->x, area->width);
    if (ladder->style->notice[0] != '\0') {
        draw_format(y, x, end - x, DRAW_ALERT, " %s ", ladder->style->notice);
        return;
    }
    if (mst_book_spread(book, &spread) != MST_OK ||
        mst_book_mid(book, &mid) != MST_OK) {
        return;
    }
    text_decimal(spread, ladder->market->price_places, text);
    x += draw_format(y, x, end - x, DRAW_FAINT, " spread %s ", text);
    if (mid.coefficient > 0) {
        x += draw_format(y, x, end - x, DRAW_FAINT, "%.3f bp ",
                         mst_decimal_to_double(spread) /
                             mst_decimal_to_double(mid) * 10000);
    }
    for (unsigned flag = 1; flag <= MST_BOOK_TIME_STEP; flag <<= 1) {
        if (flags & flag) {
            x += draw_format(y, x, end - x, DRAW_WARN, "%s ", text_doubt(flag));
        }
    }
}

static int heading_rows(int height) {
    return height >= HEADING_HEIGHT;
}

int ladder_height(int height) {
    int levels = height - heading_rows(height) - 1;

    return levels > 0 && levels % 2 != 0 ? height - 1 : height;
}

void ladder_draw(const struct board_market *market, struct draw_area area,
                 const struct ladder_style *style) {
    static struct ladder ladder; /* too large for a stack */
    struct places places;
    int middle;

    memset(&ladder, 0, sizeof ladder);
    ladder.market = market;
    ladder.style = style;
    ladder.area = area;
    ladder.price_places = (int)style->group < market->price_places
                              ? market->price_places - (int)style->group
                              : 0;
    ladder.heading = heading_rows(area.height);
    ladder.rows = (area.height - 1 - ladder.heading) / 2;
    ladder.rows = ladder.rows > ROWS_MAX ? ROWS_MAX : ladder.rows;
    middle = area.y + ladder.heading + ladder.rows;
    ladder_collect(&ladder, MST_BID);
    ladder_collect(&ladder, MST_ASK);
    ladder_measure(&ladder);
    places = ladder_places(&ladder);
    if (ladder.heading > 0) {
        ladder_heading(&ladder, area.y, &places);
    }
    ladder_middle(&ladder, middle);
    for (int i = 0; i < ladder.rows; ++i) {
        ladder_row(&ladder, middle - 1 - i, &places, MST_ASK, i);
        ladder_row(&ladder, middle + 1 + i, &places, MST_BID, i);
    }
}
