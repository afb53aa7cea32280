/*
 * What stands above and below the markets in the live view: the connections,
 * figures, trouble.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef STATUS_H
#define STATUS_H

#include "board.h"

/* What is shown beside the board. */
struct status {
    const struct clients *clients;
    const char *service; /* host[:port][/path] it comes from */
    struct mst_stats stats;
    uint64_t now_ms;         /* monotonic */
    double rate, bytes_rate; /* messages and bytes a second */
    bool closing;
    uint64_t paused_ms; /* since when the picture is held; 0: it is not */
};

/* Draw the rows above the markets and below them. Return how many. */
int status_header(const struct board *board, const struct status *status);
int status_footer(const struct board *board, const struct status *status,
                  const char *position);

#endif
