/*
 * One market's panel in the live view: book depth, top of book, last trades.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef PANEL_H
#define PANEL_H

#include "board.h"
#include "draw.h"

/* The narrowest panel that shows everything, and the lowest one that is worth
 * a row of its own. */
#define PANEL_WIDTH 38
#define PANEL_HEIGHT 14

/* Draws a market into an area of any size. */
void panel_draw(const struct board *board, const struct board_market *market,
                struct draw_area area);

#endif
