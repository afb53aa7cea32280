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

#endif
