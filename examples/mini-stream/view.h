/*
 * The live view on a terminal, with ncurses.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef VIEW_H
#define VIEW_H

#include "board.h"

/* What a view shows beside the board. */
struct view_status {
    enum mst_state state;
    const char *service; /* host[:port][/path] it comes from */
    uint64_t now_ms;     /* monotonic */
    uint64_t messages;   /* received, of all kinds */
    double rate;         /* messages a second */
    bool closing;
};

enum view_key { VIEW_NOTHING, VIEW_CHANGED, VIEW_QUIT };

/* Takes the terminal over. Returns false where it cannot be. */
bool view_open(void);

/* Draws everything anew; ncurses sends what has changed. */
void view_draw(const struct board *board, const struct view_status *status);

/* Obeys the keys that were pressed, without waiting. VIEW_CHANGED asks for
 * view_draw(). */
enum view_key view_keys(const struct board *board);

/* Gives the terminal back; legal at any time. */
void view_close(void);

#endif
