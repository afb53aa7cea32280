/*
 * Drawing with ncurses: colours, cut text, bars, numbers in columns.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef DRAW_H
#define DRAW_H

#include <stddef.h>

#include "mini_stream.h"

enum draw_style {
    DRAW_NORMAL,
    DRAW_BID,
    DRAW_ASK,
    DRAW_GOOD,
    DRAW_BAD,
    DRAW_FAINT,
    DRAW_TITLE,
    DRAW_HEADER
};

/* A rectangle of the screen. */
struct draw_area {
    int y, x, height, width;
};

/* Prepares styles; the terminal is ncurses' already. */
void draw_init(void);

/* Writes text of at most so many columns, '?' for what cannot be shown.
 * Returns the columns used. */
int draw_text(int y, int x, int width, enum draw_style style, const char *text);

/* The same, ending at the right edge. */
void draw_right(int y, int x, int width, enum draw_style style,
                const char *text);

/* The same as draw_text(), as printf. */
__attribute__((format(printf, 5, 6))) int draw_format(int y, int x, int width,
                                                      enum draw_style style,
                                                      const char *format, ...);

/* Draws a horizontal line. */
void draw_line(int y, int x, int width);

/* Fills a row with the style's background. */
void draw_fill(int y, int x, int width, enum draw_style style);

/* Draws a bar of a share (0 to 1) of the width. */
void draw_bar(int y, int x, int width, enum draw_style style, double share);

/* Digits after the point that a decimal has. */
int draw_places(struct mst_decimal value);

/* Bytes that hold any draw_decimal() and a NUL. */
#define DRAW_DECIMAL_LEN 160

/* Writes a decimal with so many digits after the point, in at most width
 * columns: fraction digits that do not fit give way to a '~', a number that
 * does not fit at all becomes '#'. */
void draw_decimal(struct mst_decimal value, int places, int width,
                  char out[DRAW_DECIMAL_LEN]);

#endif
