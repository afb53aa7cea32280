/*
 * The summary at the end: messages per channel, errors, and whether all that
 * was expected came.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef TALLY_H
#define TALLY_H

#include <stdio.h>

#include "board.h"

/* Prints the table of messages per channel, with the counts of each market,
 * and below it what went wrong. */
void tally_print(FILE *file, const struct board *board,
                 const struct mst_stats *stats);

/* Prints what there is to say in one line, at a time, with so many messages a
 * second. */
void tally_line(FILE *file, const struct board *board,
                const struct mst_stats *stats, int64_t unix_ns, double rate);

/* Whether each subscription delivered something and every message could be
 * decoded; prints a line for each that did not. */
bool tally_met(FILE *file, const struct board *board,
               const struct mst_stats *stats);

#endif
