/*
 * Drawing with ncurses: see view.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "view.h"

#include <langinfo.h>
#include <ncurses.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "text.h"

/* Columns of a text, at most. */
#define DRAW_WIDTH_MAX 512

static const struct {
    attr_t attributes;
    short color;
} styles[] = {
    [DRAW_NORMAL] = {A_NORMAL, -1},
    [DRAW_BID] = {A_NORMAL, COLOR_GREEN},
    [DRAW_ASK] = {A_NORMAL, COLOR_RED},
    [DRAW_GOOD] = {A_BOLD, COLOR_GREEN},
    [DRAW_WARN] = {A_BOLD, COLOR_YELLOW},
    [DRAW_BAD] = {A_BOLD, COLOR_RED},
    [DRAW_ALERT] = {A_BOLD | A_REVERSE, COLOR_RED},
    [DRAW_FAINT] = {A_DIM, -1},
    [DRAW_TITLE] = {A_BOLD, COLOR_CYAN},
    [DRAW_HEADER] = {A_REVERSE, -1},
};

static bool colors, utf8;

void draw_init(void) {
    utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0 &&
           strncmp(termname(), "vt", 2) != 0;
    colors = !text_no_color() && has_colors() && start_color() == OK &&
             use_default_colors() == OK;
    for (short i = 0; colors && i < (short)(sizeof styles / sizeof *styles);
         ++i) {
        if (styles[i].color >= 0) {
            init_pair((short)(i + 1), styles[i].color, -1);
        }
    }
}

static void draw_style(enum draw_style style) {
    bool paint = colors && styles[style].color >= 0;

    attr_set(styles[style].attributes, (short)(paint ? style + 1 : 0), NULL);
}

/* Decodes text into at most width columns. Returns the columns used. */
static int draw_decode(const char *text, int width, wchar_t *out) {
    mbstate_t state;
    size_t left = strlen(text);
    int columns = 0;
    size_t at = 0;

    memset(&state, 0, sizeof state);
    while (left > 0 && at < DRAW_WIDTH_MAX) {
        wchar_t c;
        size_t used = mbrtowc(&c, text, left, &state);
        int wide;

        if (used == 0 || used > left) {
            memset(&state, 0, sizeof state);
            used = 1;
            c = L'?';
        }
        wide = wcwidth(c);
        if (wide < 0 || (!utf8 && c > 0x7E)) {
            c = L'?';
            wide = 1;
        }
        if (columns + wide > width) {
            break;
        }
        out[at++] = c;
        columns += wide;
        text += used;
        left -= used;
    }
    out[at] = L'\0';
    return columns;
}

int draw_width(const char *text) {
    wchar_t wide[DRAW_WIDTH_MAX + 1];

    return draw_decode(text, DRAW_WIDTH_MAX, wide);
}

int draw_text(int y, int x, int width, enum draw_style style,
              const char *text) {
    wchar_t wide[DRAW_WIDTH_MAX + 1];
    int columns = draw_decode(text, width, wide);

    if (columns > 0) {
        draw_style(style);
        mvaddwstr(y, x, wide);
        draw_style(DRAW_NORMAL);
    }
    return columns;
}

void draw_right(int y, int x, int width, enum draw_style style,
                const char *text) {
    wchar_t wide[DRAW_WIDTH_MAX + 1];
    int columns = draw_decode(text, width, wide);

    draw_text(y, x + width - columns, columns, style, text);
}

int draw_format(int y, int x, int width, enum draw_style style,
                const char *format, ...) {
    char text[DRAW_WIDTH_MAX];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return draw_text(y, x, width, style, text);
}

void draw_line(int y, int x, int width) {
    if (width > 0) {
        draw_style(DRAW_FAINT);
        mvhline(y, x, 0, width);
        draw_style(DRAW_NORMAL);
    }
}

void draw_fill(int y, int x, int width, enum draw_style style) {
    if (width > 0) {
        draw_style(style);
        mvhline(y, x, ' ' | styles[style].attributes, width);
        draw_style(DRAW_NORMAL);
    }
}

void draw_box(struct draw_area area) {
    for (int row = 0; row < area.height; ++row) {
        draw_fill(area.y + row, area.x, area.width, DRAW_NORMAL);
    }
    draw_line(area.y, area.x, area.width);
    draw_line(area.y + area.height - 1, area.x, area.width);
    draw_style(DRAW_FAINT);
    mvvline(area.y, area.x, 0, area.height);
    mvvline(area.y, area.x + area.width - 1, 0, area.height);
    mvaddch(area.y, area.x, ACS_ULCORNER);
    mvaddch(area.y, area.x + area.width - 1, ACS_URCORNER);
    mvaddch(area.y + area.height - 1, area.x, ACS_LLCORNER);
    mvaddch(area.y + area.height - 1, area.x + area.width - 1, ACS_LRCORNER);
    draw_style(DRAW_NORMAL);
}

const char *draw_sign(const char *sign, const char *ascii) {
    return utf8 ? sign : ascii;
}

void draw_bar(int y, int x, int width, enum draw_style style, double share) {
    int eighths = (int)(share * width * 8 + 0.5);
    int full = eighths / 8;

    if (width <= 0 || eighths <= 0) {
        return;
    }
    draw_style(style);
    if (!utf8) {
        mvhline(y, x, '#', full > 0 ? full : 1);
    } else {
        for (int i = 0; i < full && i < width; ++i) {
            mvaddwstr(y, x + i, L"\u2588");
        }
        if (full < width && eighths % 8 > 0) {
            /* U+2589 to U+258F are blocks of 7/8 to 1/8 */
            wchar_t part[2] = {(wchar_t)(0x2590 - eighths % 8), L'\0'};

            mvaddwstr(y, x + full, part);
        }
    }
    draw_style(DRAW_NORMAL);
}

void draw_widen(int *column, int width) {
    *column = width > *column ? width : *column;
}

int draw_decimal_width(struct mst_decimal value, int places) {
    char text[TEXT_DECIMAL_LEN];

    text_decimal(value, places, text);
    return (int)strlen(text);
}

void draw_decimal(int y, int x, int width, enum draw_style style,
                  struct mst_decimal value, int places) {
    char text[TEXT_DECIMAL_LEN];
    const char *point;

    text_decimal(value, places, text);
    point = strchr(text, '.');
    if (width > 0 && (int)strlen(text) > width) {
        if (point && point - text < width) {
            text[width - 1] = '~';
        } else {
            memset(text, '#', (size_t)width);
        }
        text[width] = '\0';
    }
    draw_right(y, x, width, style, text);
}
