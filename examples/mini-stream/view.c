/*
 * The live view on a terminal, with ncurses.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "view.h"

#include <inttypes.h>
#include <ncurses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "panel.h"

/* Rows above the panels and below them. */
#define HEADER_ROWS 2
#define FOOTER_ROWS 2

/* A panel wider than this says no more. */
#define PANEL_WIDTH_MAX 72

static SCREEN *screen;
static size_t first_market; /* that is shown */

bool view_open(void) {
    screen = newterm(NULL, stdout, stdin);
    if (!screen) {
        return false;
    }
    set_term(screen);
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(25);
    curs_set(0);
    draw_init();
    first_market = 0;
    return true;
}

void view_close(void) {
    if (screen) {
        endwin();
        delscreen(screen);
        screen = NULL;
    }
}

static enum draw_style view_state_style(const struct board *board,
                                        const struct view_status *status) {
    if (status->state == MST_STATE_OPEN) {
        return DRAW_GOOD;
    }
    return board->error ? DRAW_BAD : DRAW_TITLE;
}

static void view_header(const struct board *board,
                        const struct view_status *status) {
    const char *state =
        status->closing ? "closing" : mst_state_name(status->state);
    char text[64];
    int used;
    int right = 0;

    draw_fill(0, 0, COLS, DRAW_HEADER);
    used = draw_text(0, 0, COLS, DRAW_HEADER, " mini-stream ");
    used += draw_format(0, used, COLS - used, view_state_style(board, status),
                        " %s ", state);
    if (board->opened_ms) {
        uint64_t s = (status->now_ms - board->opened_ms) / 1000;

        right = snprintf(text, sizeof text,
                         " connection %" PRIu32 ", up %02" PRIu64 ":%02" PRIu64
                         ":%02" PRIu64 " ",
                         board->generation, s / 3600, s / 60 % 60, s % 60);
        if (COLS - used > right) {
            draw_right(0, COLS - right, right, DRAW_HEADER, text);
        } else {
            right = 0;
        }
    }
    draw_format(0, used, COLS - used - right, DRAW_HEADER, " %.*s",
                (int)strcspn(status->service, "/"), status->service);
}

static void view_counters(const struct board *board,
                          const struct view_status *status) {
    int used = draw_format(1, 1, COLS - 1, DRAW_NORMAL,
                           "%.0f messages/s, %" PRIu64 " in all", status->rate,
                           status->messages);
    char text[64];
    int len;

    if (!board_wants(board, MST_HEARTBEAT)) {
        return;
    }
    if (board->heartbeat_refused[0] != '\0') {
        len = snprintf(text, sizeof text, "heartbeat: %.40s ",
                       board->heartbeat_refused);
    } else if (board->heartbeat_ms == 0) {
        len = snprintf(text, sizeof text, "no heartbeat yet ");
    } else {
        len = snprintf(text, sizeof text, "heartbeat %.1f s ago ",
                       (double)(status->now_ms - board->heartbeat_ms) / 1000);
    }
    if (len < COLS - 1 - used) {
        draw_right(1, COLS - len, len, DRAW_FAINT, text);
    }
}

static void view_footer(const struct board *board,
                        const struct view_status *status, bool more) {
    int y = LINES - 1;

    draw_text(y, 1, COLS - 1, DRAW_FAINT,
              more ? "q: quit   left, right: other markets" : "q: quit");
    if (LINES < HEADER_ROWS + FOOTER_ROWS + 1) {
        return;
    }
    if (board->error) {
        uint64_t s = (status->now_ms - board->error_ms) / 1000;
        enum draw_style style = board->opened_ms ? DRAW_FAINT : DRAW_BAD;
        int used =
            draw_format(y - 1, 1, COLS - 1, style, "%" PRIu64 " s ago: ", s);

        draw_text(y - 1, 1 + used, COLS - 1 - used, DRAW_NORMAL,
                  board->error_text);
    } else {
        draw_text(y - 1, 1, COLS - 1, DRAW_FAINT, "no errors");
    }
}

/* Draws the panels of the markets from first_market on, beside each other and
 * in rows where there is room. Returns how many. */
static size_t view_panels(const struct board *board) {
    int height = LINES - HEADER_ROWS - FOOTER_ROWS;
    int count = (int)board->market_count;
    int across = COLS / PANEL_WIDTH;
    int down, width;
    size_t shown = 0;

    across = across < 1 ? 1 : across > count ? count : across;
    if (height < 1 || count == 0) {
        return 0;
    }
    down = (count + across - 1) / across;
    if (down > height / PANEL_HEIGHT) {
        down = height / PANEL_HEIGHT;
    }
    down = down < 1 ? 1 : down;
    if (down > 1) {
        across = (count + down - 1) / down;
    }
    width = COLS / across;
    width = width > PANEL_WIDTH_MAX ? PANEL_WIDTH_MAX : width;
    if (first_market >= board->market_count) {
        first_market = 0;
    }
    for (int i = 0; i < across * down; ++i) {
        size_t market = first_market + (size_t)i;
        struct draw_area area = {HEADER_ROWS + i / across * (height / down),
                                 i % across * width, height / down, width - 1};

        if (market < board->market_count) {
            panel_draw(board, &board->markets[market], area);
            ++shown;
        }
    }
    return shown;
}

void view_draw(const struct board *board, const struct view_status *status) {
    size_t shown;

    erase();
    shown = view_panels(board);
    view_footer(board, status, shown < board->market_count);
    view_counters(board, status);
    view_header(board, status);
    refresh();
}

enum view_key view_keys(const struct board *board) {
    enum view_key result = VIEW_NOTHING;
    int key;

    while ((key = getch()) != ERR) {
        switch (key) {
        case 'q':
        case 'Q': return VIEW_QUIT;
        case KEY_RIGHT:
        case '\t':
            if (board->market_count > 0) {
                first_market = (first_market + 1) % board->market_count;
            }
            result = VIEW_CHANGED;
            break;
        case KEY_LEFT:
        case KEY_BTAB:
            if (board->market_count > 0) {
                first_market = (first_market + board->market_count - 1) %
                               board->market_count;
            }
            result = VIEW_CHANGED;
            break;
        case KEY_RESIZE:
            clear();
            result = VIEW_CHANGED;
            break;
        default: break;
        }
    }
    return result;
}
