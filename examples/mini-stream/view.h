/*
 * The live view on a terminal: markets beside and below each other, keys.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef VIEW_H
#define VIEW_H

#include "status.h"

struct view;

enum view_key { VIEW_NOTHING, VIEW_CHANGED, VIEW_QUIT };

/* Prepares a view of a board; the terminal is ncurses' already. Returns NULL
 * without memory. */
struct view *view_new(const struct board *board);
void view_free(struct view *view);

/* Draws everything anew; ncurses finds what has changed. */
void view_draw(struct view *view, struct status *status);

/* Obeys the keys that were pressed, without waiting. VIEW_CHANGED asks for
 * view_draw(). */
enum view_key view_keys(struct view *view, uint64_t now_ms);

#endif
