/*
 * The live view on a terminal: see view.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "view.h"

#include <ncurses.h>
#include <stdio.h>
#include <stdlib.h>

#include "screen.h"

/* Prices are grouped in steps of up to 10^GROUP_MAX of the last decimal. */
#define GROUP_MAX 6

#define HELP_WIDTH 58

/* Rows that every market has: its name, the best bid and ask. */
#define MARKET_ROWS 2

static struct {
    const struct board *board;
    struct panel *panels;
    size_t first;         /* first market that is shown */
    size_t shown, across; /* number of markets, and per row */
    unsigned group;
    bool one, help, replays;
    uint64_t paused_ms; /* 0: not paused */
    WINDOW *held;       /* the picture while it is paused */
} view;

bool view_open(const struct board *board, bool replays) {
    size_t count = board->market_count ? board->market_count : 1;

    view.board = board;
    view.replays = replays;
    view.panels = calloc(count, sizeof *view.panels);
    draw_init();
    return view.panels != NULL;
}

void view_close(void) {
    if (view.held) {
        delwin(view.held);
    }
    free(view.panels);
}

/* The arrangement of panels: as many as fit, of equal size. */
struct grid {
    int across, down, width, height;
};

static struct grid view_grid(int height) {
    int count = view.one ? 1 : (int)view.board->market_count;
    struct grid grid = {COLS / PANEL_WIDTH, height / panel_height(view.board),
                        0, 0};

    grid.across = grid.across > count ? count : grid.across;
    grid.across = grid.across < 1 ? 1 : grid.across;
    grid.down = grid.down < 1 ? 1 : grid.down;
    if (grid.down > (count + grid.across - 1) / grid.across) {
        grid.down = (count + grid.across - 1) / grid.across;
    }
    grid.across = grid.across * grid.down > count
                      ? (count + grid.down - 1) / grid.down
                      : grid.across;
    grid.width = COLS / grid.across;
    grid.height = height / grid.down;
    return grid;
}

static void view_panels(int top, int height, uint64_t now_ms) {
    const struct board *board = view.board;
    struct grid grid;

    view.shown = 0;
    view.across = 1;
    if (height < 1 || board->market_count == 0) {
        return;
    }
    grid = view_grid(height);
    view.across = (size_t)grid.across;
    view.shown = view.across * (size_t)grid.down;
    /* scroll back rather than leave places empty */
    if (view.first + view.shown > board->market_count) {
        view.first = board->market_count > view.shown
                         ? board->market_count - view.shown
                         : 0;
    }
    for (int i = 0; i < grid.across * grid.down; ++i) {
        size_t market = view.first + (size_t)i;
        struct draw_area area = {top + i / grid.across * grid.height,
                                 i % grid.across * grid.width, grid.height,
                                 grid.width - (grid.across > 1)};

        if (market < board->market_count) {
            panel_draw(&view.panels[market], board, &board->markets[market],
                       area, view.group, now_ms);
        }
    }
}

static void view_position(char *text, size_t len) {
    size_t count = view.board->market_count;
    size_t last = view.first + view.shown;

    if (view.shown == 0 || view.shown >= count) {
        snprintf(text, len, "%zu market%s", count, count == 1 ? "" : "s");
    } else if (view.shown == 1) {
        snprintf(text, len, "market %zu of %zu", view.first + 1, count);
    } else {
        snprintf(text, len, "markets %zu-%zu of %zu", view.first + 1,
                 last > count ? count : last, count);
    }
}

static void view_held(int top, int height) {
    int rows =
        getmaxy(view.held) < top + height ? getmaxy(view.held) : top + height;
    int columns = getmaxx(view.held) < COLS ? getmaxx(view.held) : COLS;

    if (rows > top) {
        copywin(view.held, stdscr, top, 0, top, 0, rows - 1, columns - 1,
                FALSE);
    }
}

static void view_help(void) {
    static const char *const lines[] = {
        "q, Ctrl-C     end; twice: at once",
        "?             this list; any key closes it",
        "p, space      hold the picture; the stream continues",
        "< and >       half, double the speed of a recording",
        "arrows, tab   other markets",
        "page up/down  other markets, by the screen",
        "home, end     the first, the last market",
        "enter, 1 to 9 one market alone; again, 0, Esc: all",
        "+ and -       coarser and finer steps of price",
        "r, Ctrl-L     redraw",
        "Ctrl-Z        suspend; the stream is suspended, too",
        "",
        "lag: delay of the last message, compared with the",
        "  fastest one of its connection; a difference",
        "  between the clocks does not count",
        "total: amounts from the best price to this one",
        "STALE: the last known state, and why it is old",
        "FROZEN: the stream is open, but nothing comes",
    };
    int count = (int)(sizeof lines / sizeof *lines);
    struct draw_area box = {0, 0, count + 2, HELP_WIDTH};

    box.height = box.height > LINES ? LINES : box.height;
    box.width = box.width > COLS ? COLS : box.width;
    box.y = (LINES - box.height) / 2;
    box.x = (COLS - box.width) / 2;
    draw_box(box);
    draw_text(box.y, box.x + 2, box.width - 2, DRAW_TITLE, " keys ");
    for (int i = 0; i < box.height - 2; ++i) {
        draw_text(box.y + 1 + i, box.x + 2, box.width - 2, DRAW_NORMAL,
                  lines[i]);
    }
}

void view_draw(struct status *status) {
    char position[64];
    int top, height;
    unsigned rows = status_rows(view.board, LINES - MARKET_ROWS);

    status->paused_ms = view.paused_ms;
    erase();
    top = status_header(view.board, status, rows);
    view_position(position, sizeof position);
    height = LINES - top - status_footer(view.board, status, rows, position);
    if (view.held) {
        view_held(top, height);
    } else {
        view_panels(top, height, status->now_ms);
    }
    if (view.help) {
        view_help();
    }
    refresh();
}

static void view_pause(uint64_t now_ms) {
    if (view.held) {
        delwin(view.held);
        view.held = NULL;
        view.paused_ms = 0;
    } else {
        view.held = dupwin(stdscr);
        view.paused_ms = view.held ? now_ms : 0;
    }
}

/* Scrolls by this many markets, up to the ends. */
static void view_scroll(long by) {
    long count = (long)view.board->market_count;
    long last = count - (long)view.shown;
    long first = (long)view.first + by;

    first = first > last ? last : first;
    view.first = (size_t)(first < 0 ? 0 : first);
}

static void view_one(bool one, size_t market) {
    view.one = one;
    if (one && market < view.board->market_count) {
        view.first = market;
    }
}

/* Changes the grouping of prices, and resets the columns' widths. */
static void view_group(int by) {
    unsigned group = view.group + (unsigned)by;

    if (group <= GROUP_MAX) {
        view.group = group;
        for (size_t i = 0; i < view.board->market_count; ++i) {
            view.panels[i].columns = (struct ladder_columns){0};
        }
    }
}

/* Handles the keys that change what is shown. Returns true if key is one. */
static bool view_move(int key) {
    long count = (long)view.board->market_count;

    switch (key) {
    case KEY_RIGHT:
    case '\t': view_scroll(1); return true;
    case KEY_LEFT:
    case KEY_BTAB: view_scroll(-1); return true;
    case KEY_DOWN: view_scroll((long)view.across); return true;
    case KEY_UP: view_scroll(-(long)view.across); return true;
    case KEY_NPAGE: view_scroll((long)view.shown); return true;
    case KEY_PPAGE: view_scroll(-(long)view.shown); return true;
    case KEY_HOME: view_scroll(-count); return true;
    case KEY_END: view_scroll(count); return true;
    case '\r':
    case '\n':
    case KEY_ENTER: view_one(!view.one, view.first); return true;
    case '0':
    case 27: view_one(false, 0); return true;
    case '+':
    case '=': view_group(1); return true;
    case '-': view_group(-1); return true;
    default: break;
    }
    if (key >= '1' && key <= '9' && key - '1' < count) {
        view_one(true, (size_t)(key - '1'));
        return true;
    }
    return false;
}

static enum view_key view_key(int key, uint64_t now_ms) {
    if (key == 'q' || key == 'Q') {
        return VIEW_QUIT;
    }
    if (key == 'r' || key == 'L' - '@') {
        screen_renew();
    } else if (view.help) {
        view.help = false;
    } else if (key == '?' || key == 'h') {
        view.help = true;
    } else if (view.replays && (key == 'p' || key == ' ')) {
        return VIEW_PAUSE;
    } else if (view.replays && (key == '<' || key == '>')) {
        return key == '<' ? VIEW_SLOWER : VIEW_FASTER;
    } else if (key == 'p' || key == ' ') {
        view_pause(now_ms);
    } else if (view.held || !view_move(key)) {
        return VIEW_NOTHING;
    }
    return VIEW_CHANGED;
}

enum view_key view_keys(uint64_t now_ms) {
    enum view_key result = VIEW_NOTHING;
    int key;

    while (result <= VIEW_CHANGED && (key = getch()) != ERR) {
        enum view_key did = view_key(key, now_ms);

        result = did != VIEW_NOTHING ? did : result;
    }
    return result;
}
