/*
 * The live view on a terminal: what is drawn with ncurses, from single texts up
 * to the panels of markets, and the keys.
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

/* Widens a column to at least this width. */
void draw_widen(int *column, int width);

/* The columns that it takes. */
int draw_decimal_width(struct mst_decimal value, int places);

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

/* What is shown beside the board. */
struct status {
    const struct clients *clients;
    const char *service; /* host[:port][/path] it comes from */
    struct mst_stats stats;
    uint64_t now_ms;         /* monotonic */
    double rate, bytes_rate; /* messages and bytes a second */
    bool closing;
    bool stopped, ended; /* a recording: by a key; its last picture */
    uint64_t paused_ms;  /* since when the picture is held; 0: it is not */
};

/* Which rows above and below the markets are shown, if there is room for so
 * many. */
unsigned status_rows(const struct board *board, int room);

/* Draw those above the markets, and those below. Return how many. */
int status_header(const struct board *board, const struct status *status,
                  unsigned rows);
int status_footer(const struct board *board, const struct status *status,
                  unsigned rows, const char *position);

struct view;

/* The last three are of a recording. */
enum view_key {
    VIEW_NOTHING,
    VIEW_CHANGED,
    VIEW_QUIT,
    VIEW_PAUSE,
    VIEW_SLOWER,
    VIEW_FASTER
};

/* Prepares a view of a board, of a stream or of a recording that is replayed;
 * the terminal is ncurses' already. Returns NULL without memory. */
struct view *view_new(const struct board *board, bool replays);
void view_free(struct view *view);

/* Draws everything anew; ncurses finds what has changed. */
void view_draw(struct view *view, struct status *status);

/* Obeys the keys that were pressed, without waiting. VIEW_CHANGED asks for
 * view_draw(). */
enum view_key view_keys(struct view *view, uint64_t now_ms);

#endif
