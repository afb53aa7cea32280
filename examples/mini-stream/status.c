/*
 * The rows above and below the markets: see view.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "view.h"

#include <inttypes.h>
#include <ncurses.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A heartbeat older than this is highlighted. */
#define BEAT_MS 3000

#define TEXT_LEN 160

static void link_words(const struct board *board, const struct status *status,
                       int link, char out[TEXT_LEN]) {
    static const char *const words[] = {
        [MST_STATE_OFF] = "off",
        [MST_STATE_WAIT] = "waiting",
        [MST_STATE_RESOLVE] = "resolving %s",
        [MST_STATE_CONNECT] = "connecting to %s",
        [MST_STATE_TLS] = "TLS handshake with %s",
        [MST_STATE_TOKEN] = "asking %s for a token",
        [MST_STATE_UPGRADE] = "opening the stream at %s",
        [MST_STATE_PUT] = "",
        [MST_STATE_IDLE] = "",
        [MST_STATE_OPEN] = "open",
        [MST_STATE_CLOSING] = "closing"};
    enum mst_state state = mst_link_state(status->clients->links[link]);
    uint64_t retry_ms = board->links[link].retry_ms;
    char span[TEXT_SPAN_LEN];
    const char *target = strstr(words[state], "%s");

    if (state == MST_STATE_WAIT && retry_ms > status->now_ms) {
        snprintf(out, TEXT_LEN, "next attempt in %s",
                 text_span(retry_ms - status->now_ms + 999, span));
    } else if (target) {
        snprintf(out, TEXT_LEN, "%.*s%s%s", (int)(target - words[state]),
                 words[state], text_target(link), target + 2);
    } else {
        snprintf(out, TEXT_LEN, "%s", words[state]);
    }
}

/* Returns how many objects have an open link, and the longest silence. */
static size_t status_open(const struct board *board, uint64_t now_ms,
                          uint64_t *silent_ms) {
    size_t open = 0;

    *silent_ms = 0;
    for (size_t i = 0; i < board->object_count; ++i) {
        uint64_t ms = board_silent_ms(board, i, now_ms);

        open += board->objects[i].open > 0;
        *silent_ms = ms > *silent_ms ? ms : *silent_ms;
    }
    return open;
}

/* Writes the overall state. Returns its style. */
static enum draw_style status_state(const struct board *board,
                                    const struct status *status,
                                    char out[TEXT_LEN]) {
    uint64_t silent_ms;
    size_t open = status_open(board, status->now_ms, &silent_ms);
    char span[TEXT_SPAN_LEN];

    if (status->closing || status->ended) {
        snprintf(out, TEXT_LEN, status->closing ? "closing" : "end");
        return DRAW_TITLE;
    }
    if (open == 0) {
        link_words(board, status, (int)clients_furthest(status->clients), out);
        return board->error ? DRAW_BAD : DRAW_WARN;
    }
    if (open < board->object_count) {
        snprintf(out, TEXT_LEN, "open: %zu of %zu", open, board->object_count);
        return DRAW_BAD;
    }
    if (silent_ms > 0) {
        snprintf(out, TEXT_LEN, "open, SILENT for %s",
                 text_span(silent_ms, span));
        return DRAW_BAD;
    }
    snprintf(out, TEXT_LEN, "open");
    return DRAW_GOOD;
}

static void status_bar(const struct board *board, const struct status *status) {
    char state[TEXT_LEN];
    char text[TEXT_LEN] = "";
    char span[TEXT_SPAN_LEN];
    enum draw_style style = status_state(board, status, state);
    int host = (int)strcspn(status->service, "/");
    int used, right = 0;

    draw_fill(0, 0, COLS, DRAW_HEADER);
    used = draw_format(0, 0, COLS, style, " %s ", state);
    if (status->paused_ms > 0) {
        used +=
            draw_format(0, used, COLS - used, DRAW_BAD, "  PAUSED for %s ",
                        text_span(status->now_ms - status->paused_ms, span));
    }
    if (board->opened_ms) {
        uint64_t s = (status->now_ms - board->opened_ms) / 1000;

        right = snprintf(text, sizeof text,
                         " connection %" PRIu32 ", up %02" PRIu64 ":%02" PRIu64
                         ":%02" PRIu64 " ",
                         status->stats.opens, s / 3600, s / 60 % 60, s % 60);
    }
    if (COLS - used > right) {
        draw_right(0, COLS - right, right, DRAW_HEADER, text);
    } else {
        right = 0;
    }
    if (COLS - used - right > host) {
        draw_format(0, used, host + 1, DRAW_HEADER, " %.*s", host,
                    status->service);
    }
}

/* The row of figures. Those that do not fit are left out. */
struct figures {
    int row, x;
    bool full;
};

__attribute__((format(printf, 3, 4))) static void
figures_add(struct figures *figures, enum draw_style style, const char *format,
            ...) {
    char text[TEXT_LEN];
    va_list arguments;
    int len;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    len = draw_width(text);
    figures->full |= figures->x + len > COLS;
    if (!figures->full) {
        draw_text(figures->row, figures->x, len, style, text);
        figures->x += len + 2;
    }
}

static void figures_heartbeat(struct figures *figures,
                              const struct board *board,
                              const struct status *status) {
    uint64_t ms = status->now_ms - board->heartbeat_ms;

    if (board->heartbeat_refused[0] != '\0') {
        figures_add(figures, DRAW_BAD, "heartbeat refused");
    } else if (board->heartbeat_ms == 0) {
        figures_add(figures, DRAW_FAINT, "no heartbeat");
    } else {
        figures_add(figures, ms >= BEAT_MS ? DRAW_BAD : DRAW_NORMAL,
                    "heartbeat %4.1f s", (double)ms / 1000);
    }
}

/* The number of books that are live and not frozen. */
static size_t status_live(const struct board *board, uint64_t now_ms) {
    size_t live = 0;

    for (size_t i = 0; i < board->market_count; ++i) {
        const struct board_market *market = &board->markets[i];

        live += mst_book_state(market->book) == MST_BOOK_LIVE &&
                board_silent_ms(board, market->object, now_ms) == 0;
    }
    return live;
}

/* Writes bytes with a unit, in 8 columns. */
static const char *bytes_text(double bytes, char out[TEXT_LEN]) {
    static const char *const units[] = {" B", "kB", "MB", "GB", "TB", "PB"};
    size_t unit = 0;

    for (; bytes >= 999.95 && unit + 1 < sizeof units / sizeof *units; ++unit) {
        bytes /= 1000;
    }
    snprintf(out, TEXT_LEN, "%5.1f %s", bytes, units[unit]);
    return out;
}

static void status_figures(const struct board *board,
                           const struct status *status, int row) {
    const struct mst_stats *stats = &status->stats;
    struct figures figures = {row, 1, false};
    size_t live = status_live(board, status->now_ms);
    char text[TEXT_LEN];

    figures_add(&figures, DRAW_NORMAL, "%6.0f messages/s", status->rate);
    figures_add(&figures, board->open > 0 ? DRAW_NORMAL : DRAW_FAINT,
                "lag %6.1f ms", (double)stats->lag_ns / 1e6);
    if (board_wants(board, MST_HEARTBEAT)) {
        figures_heartbeat(&figures, board, status);
    }
    if (board_wants(board, MST_MARKET_DATA)) {
        figures_add(&figures,
                    live < board->market_count ? DRAW_BAD : DRAW_NORMAL,
                    "live %zu/%zu", live, board->market_count);
    }
    figures_add(&figures, DRAW_NORMAL, "%s/s",
                bytes_text(status->bytes_rate, text));
    figures_add(&figures, stats->resyncs > 0 ? DRAW_WARN : DRAW_FAINT,
                "resyncs %" PRIu32, stats->resyncs);
    if (stats->bad_messages > 0) {
        figures_add(&figures, DRAW_BAD, "not decoded %" PRIu32,
                    stats->bad_messages);
    }
    figures_add(&figures, DRAW_FAINT, "max lag %8.1f ms",
                (double)stats->lag_max_ns / 1e6);
    figures_add(&figures, DRAW_FAINT, "total %s",
                bytes_text((double)stats->bytes_in, text));
    figures_add(&figures, DRAW_FAINT, "%" PRIu64 " messages", stats->messages);
}

/* Draws which connection of a pair leads, and what the other one does. */
static void status_pair(const struct board *board, const struct status *status,
                        int row) {
    int x = 1;

    if (board->object_count > 1) {
        draw_format(row, x, COLS - x, DRAW_NORMAL,
                    "%zu pairs: %u of %zu connections open",
                    board->object_count, board->open,
                    status->clients->link_count);
        return;
    }
    for (int link = 0; link < 2; ++link) {
        bool leads = board->objects[0].leads == link;
        char text[TEXT_LEN];

        link_words(board, status, link, text);
        x += draw_format(row, x, COLS - x, leads ? DRAW_NORMAL : DRAW_FAINT,
                         "%s%c: %s", leads ? "leads " : "", "AB"[link], text);
        x += 3;
    }
}

/* The kinds of rows, the most important first. */
enum {
    ROW_STATE = 1,
    ROW_KEYS = 2,
    ROW_ERROR = 4,
    ROW_REFUSED = 8,
    ROW_FIGURES = 16,
    ROW_PAIR = 32,
    ROW_CALM = 64
};

unsigned status_rows(const struct board *board, int room) {
    const bool error = board->error != MST_OK;
    const bool refused = board_refused(board) > 0;
    const unsigned wanted =
        ROW_STATE | ROW_KEYS | ROW_FIGURES | (error ? ROW_ERROR : 0u) |
        (refused ? ROW_REFUSED : 0u) | (board->pairs ? ROW_PAIR : 0u) |
        (error || refused ? 0u : ROW_CALM);
    unsigned rows = 0;

    for (unsigned row = ROW_STATE; row <= ROW_CALM && room > 0; row <<= 1) {
        room -= (wanted & row) != 0;
        rows |= wanted & row;
    }
    return rows;
}

int status_header(const struct board *board, const struct status *status,
                  unsigned rows) {
    int row = 0;

    if (rows & ROW_STATE) {
        status_bar(board, status);
        row++;
    }
    if (rows & ROW_FIGURES) {
        status_figures(board, status, row++);
    }
    if (rows & ROW_PAIR) {
        status_pair(board, status, row++);
    }
    return row;
}

static void footer_refused(const struct board *board, int row) {
    size_t refused = board_refused(board);
    int x = 1 + draw_format(row, 1, COLS - 1, DRAW_ALERT,
                            " %zu subscription%s refused ", refused,
                            refused > 1 ? "s" : "");

    if (board->heartbeat_refused[0] != '\0') {
        x += draw_format(row, x, COLS - x, DRAW_BAD, " heartbeat: %s ",
                         board->heartbeat_refused);
    }
    for (size_t i = 0; i < board->market_count && x < COLS; ++i) {
        const struct board_market *market = &board->markets[i];
        const char *why = "";

        for (int c = MST_MARKET_DATA; c < MST_HEARTBEAT; ++c) {
            why = market->refused[c][0] != '\0' ? market->refused[c] : why;
        }
        if (why[0] != '\0') {
            x += draw_format(row, x, COLS - x, DRAW_BAD, " %s: %s ",
                             market->name, why);
        }
    }
}

static void footer_error(const struct board *board, const struct status *status,
                         int row) {
    char span[TEXT_SPAN_LEN];
    uint64_t silent_ms;
    bool over =
        status_open(board, status->now_ms, &silent_ms) == board->object_count;
    int x = 1;

    x += draw_format(row, x, COLS - x, over ? DRAW_FAINT : DRAW_ALERT,
                     over ? "%s ago: " : " %s ago ",
                     text_span(status->now_ms - board->error_ms, span));
    x += !over;
    draw_text(row, x, COLS - x, over ? DRAW_NORMAL : DRAW_BAD,
              board->error_text);
}

/* Draws the market's position, and as many keys as fit. */
static void footer_keys(const struct status *status, const char *position,
                        int row) {
    static const char *const texts[] = {
        "q quit  ? keys  p pause  \u2190 \u2192 markets  enter one  + - group",
        "q quit  ? keys  p pause  arrows markets  enter one  + - group",
        "q quit  ? keys  p pause", "? keys", ""};
    const int width = draw_width(position);
    size_t i = draw_sign("", NULL) == NULL;

    if (status->paused_ms > 0) {
        draw_text(row, 1, COLS - 1, DRAW_ALERT,
                  " PAUSED: the stream continues, this picture does not; "
                  "p continues ");
        return;
    }
    if (status->stopped) {
        draw_text(row, 1, COLS - 1, DRAW_ALERT,
                  " PAUSED: p continues, < and > change the speed ");
        return;
    }
    while (texts[i][0] != '\0' && draw_width(texts[i]) + width + 3 > COLS) {
        ++i;
    }
    draw_text(row, 1, COLS - 1, DRAW_FAINT, texts[i]);
    draw_right(row, COLS - width - 1 > 0 ? COLS - width - 1 : 0, width,
               DRAW_FAINT, position);
}

int status_footer(const struct board *board, const struct status *status,
                  unsigned rows, const char *position) {
    uint64_t silent_ms;
    int row = LINES - 1;

    if (rows & ROW_KEYS) {
        footer_keys(status, position, row--);
    }
    if (rows & ROW_ERROR) {
        footer_error(board, status, row--);
    }
    if (rows & ROW_REFUSED) {
        footer_refused(board, row--);
    }
    if (rows & ROW_CALM) {
        (void)status_open(board, status->now_ms, &silent_ms);
        draw_text(row--, 1, COLS - 1, silent_ms > 0 ? DRAW_BAD : DRAW_FAINT,
                  silent_ms > 0 ? "nothing is received" : "no errors");
    }
    return LINES - 1 - row;
}
