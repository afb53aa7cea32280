/*
 * The stream as lines: one an event on standard output, one an error or a
 * change of state on standard error. Each begins with a time, then the
 * channel (or kind), then the market or "-".
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef PLAIN_H
#define PLAIN_H

#include "board.h"

/* Prints what an event delivers, once its message is whole, with so many
 * levels of each side of a live book. The board has taken it in. */
void plain_data(const struct board *board, const struct mst_event *event,
                size_t depth);

/* Prints what an event says about errors, requests and the connection. */
void plain_log(const struct mst_event *event);

/* Prints the state that a connection has reached. */
void plain_state(enum mst_state state);

#endif
