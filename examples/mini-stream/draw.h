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
    DRAW_WARN,  /* to be looked at */
    DRAW_BAD,   /* wrong */
    DRAW_ALERT, /* and not to be overlooked */
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

/* The columns that a whole text takes. */
int draw_width(const char *text);

/* The same as draw_text(), ending at the right edge. */
void draw_right(int y, int x, int width, enum draw_style style,
                const char *text);

/* draw_text() as printf(). */
__attribute__((format(printf, 5, 6))) int draw_format(int y, int x, int width,
                                                      enum draw_style style,
                                                      const char *format, ...);

/* Draws a horizontal line. */
void draw_line(int y, int x, int width);

/* Fills a row with the style's background. */
void draw_fill(int y, int x, int width, enum draw_style style);

/* Draws a frame with nothing in it. */
void draw_box(struct draw_area area);

/* Where text can be of any character: that of the terminal, else of ASCII. */
const char *draw_sign(const char *sign, const char *ascii);

/* Draws a bar of a share (0 to 1) of the width. */
void draw_bar(int y, int x, int width, enum draw_style style, double share);

/* Writes a decimal with so many digits after the point at least, ending at the
 * right edge: fraction digits that do not fit give way to a '~', a number that
 * does not fit at all becomes '#'. */
void draw_decimal(int y, int x, int width, enum draw_style style,
                  struct mst_decimal value, int places);

/* The columns that it takes. */
int draw_decimal_width(struct mst_decimal value, int places);

#endif
