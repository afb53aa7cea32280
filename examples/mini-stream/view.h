/*
 * The live view on a terminal: markets beside and below each other, keys.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef VIEW_H
#define VIEW_H

#include "status.h"

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
