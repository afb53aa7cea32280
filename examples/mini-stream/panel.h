/*
 * One market's panel in the live view: book depth, top of book, last trades.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef PANEL_H
#define PANEL_H

#include "board.h"
#include "draw.h"
#include "ladder.h"

/* The narrowest panel that shows everything. */
#define PANEL_WIDTH 38

/* What a panel remembers from one picture to the next. */
struct panel {
    struct ladder_columns columns;
    int trade_price, trade_amount; /* columns, as wide as was ever needed */
    enum mst_book_state state;
    uint64_t since_ms; /* when the book's state became that */
};

/* The lowest panel that is worth a row of its own. */
int panel_height(const struct board *board);

/* Draws a market into an area of any size; group as in ladder_style. */
void panel_draw(struct panel *panel, const struct board *board,
                const struct board_market *market, struct draw_area area,
                unsigned group, uint64_t now_ms);

#endif
