/*
 * The depth of a book: asks above, bids below, with cumulative amounts and
 * bars.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef LADDER_H
#define LADDER_H

#include "board.h"
#include "draw.h"

/* Columns of numbers, as wide as was ever needed: they shall not jump. */
struct ladder_columns {
    int price, amount, total;
};

struct ladder_style {
    struct ladder_columns *columns;
    unsigned group;     /* prices are put together in steps of 10^group of the
                         * market's last decimal; 0: as they are */
    bool faint;         /* not to be relied on */
    const char *notice; /* stands in the middle instead of the spread, or "" */
};

/* The most of so many rows that a ladder uses: as many asks as bids. */
int ladder_height(int height);

/* Draws the book into the area; it has levels. */
void ladder_draw(const struct board_market *market, struct draw_area area,
                 const struct ladder_style *style);

#endif
