/*
 * The live view on a terminal, with ncurses: drawing, order books, panels of
 * markets, status rows, keys.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef VIEW_H
#define VIEW_H

#include "board.h"

enum draw_style {
    DRAW_NORMAL,
    DRAW_BID,
    DRAW_ASK,
    DRAW_GOOD,
    DRAW_WARN,  /* needs attention */
    DRAW_BAD,   /* wrong */
    DRAW_ALERT, /* wrong and important */
    DRAW_FAINT,
    DRAW_TITLE,
    DRAW_HEADER
};

struct draw_area {
    int y, x, height, width;
};

/* Prepares the styles, after screen_open(). */
void draw_init(void);

/* Writes text of at most width columns, '?' for what cannot be shown. Returns
 * the columns used. */
int draw_text(int y, int x, int width, enum draw_style style, const char *text);
int draw_width(const char *text);

/* draw_text(), aligned to the right. */
void draw_right(int y, int x, int width, enum draw_style style,
                const char *text);

/* draw_text() with a format. */
__attribute__((format(printf, 5, 6))) int draw_format(int y, int x, int width,
                                                      enum draw_style style,
                                                      const char *format, ...);

void draw_line(int y, int x, int width);
void draw_fill(int y, int x, int width, enum draw_style style);
void draw_box(struct draw_area area);

/* Returns sign if the terminal has UTF-8, else ascii. */
const char *draw_sign(const char *sign, const char *ascii);

/* Draws a bar with a share (0 to 1) of the width. */
void draw_bar(int y, int x, int width, enum draw_style style, double share);

/* Writes a decimal, padded to at least places decimals and aligned to the
 * right. Decimals that do not fit become a '~'; a number that does not fit
 * becomes '#'. */
void draw_decimal(int y, int x, int width, enum draw_style style,
                  struct mst_decimal value, int places);
void draw_widen(int *column, int width);
int draw_decimal_width(struct mst_decimal value, int places);

/* Widths of columns. They shrink only with the group, so columns do not
 * jump. */
struct ladder_columns {
    int price, amount, total;
};

struct ladder_style {
    struct ladder_columns *columns;
    unsigned group;     /* in steps of 10^group of the last decimal */
    bool faint;         /* the data may be wrong */
    const char *notice; /* in place of the spread, or "" */
};

/* The rows that a ladder uses of height: as many for asks as for bids. */
int ladder_height(int height);

/* Draws the book, which has levels, into the area. */
void ladder_draw(const struct board_market *market, struct draw_area area,
                 const struct ladder_style *style);

/* The narrowest panel that shows everything. */
#define PANEL_WIDTH 38

/* State of a panel, kept between pictures. */
struct panel {
    struct ladder_columns columns;
    int trade_price, trade_amount; /* widths, which never shrink */
    enum mst_book_state state;
    uint64_t since_ms; /* when the book's state began */
};

/* The smallest useful height of a panel. */
int panel_height(const struct board *board);

/* Draws a market into an area of any size; group as in ladder_style. */
void panel_draw(struct panel *panel, const struct board *board,
                const struct board_market *market, struct draw_area area,
                unsigned group, uint64_t now_ms);

/* What the status rows show besides the board. */
struct status {
    const struct clients *clients;
    const char *service; /* host[:port][/path], or the recording */
    struct mst_stats stats;
    uint64_t now_ms;         /* monotonic */
    double rate, bytes_rate; /* messages and bytes per second */
    bool closing;
    bool stopped, ended; /* of a recording: by a key; at its end */
    uint64_t paused_ms;  /* when the picture was held; 0: not held */
};

/* Chooses the rows above and below the markets, if there is room. */
unsigned status_rows(const struct board *board, int room);

/* Draw the rows above and below the markets. Return how many. */
int status_header(const struct board *board, const struct status *status,
                  unsigned rows);
int status_footer(const struct board *board, const struct status *status,
                  unsigned rows, const char *position);

/* The last three are for recordings. */
enum view_key {
    VIEW_NOTHING,
    VIEW_CHANGED,
    VIEW_QUIT,
    VIEW_PAUSE,
    VIEW_SLOWER,
    VIEW_FASTER
};

/* Prepares the view of a board, of a stream or a recording, after
 * screen_open(). Returns false without memory. */
bool view_open(const struct board *board, bool replays);
void view_close(void);

/* Draws everything; ncurses finds what has changed. */
void view_draw(struct status *status);

/* Handles the keys that were pressed, without waiting. VIEW_CHANGED: call
 * view_draw(). */
enum view_key view_keys(uint64_t now_ms);

#endif
