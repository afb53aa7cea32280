/*
 * What happens to the connections, in lines for people: in the text format,
 * and on standard error.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef NOTE_H
#define NOTE_H

#include <stdio.h>

#include "board.h"

#define NOTE_LEN (TEXT_FAILURE_LEN + 64)

/* Keeps lines about messages within bounds, for one output: a service may send
 * any number of messages that cannot be read. */
struct note {
    unsigned most;                      /* lines in a period */
    unsigned lines;                     /* written in this one */
    int64_t since_ns;                   /* Unix: its first line */
    char last[NOTE_LEN];                /* the last line, without its time */
    char refused[2 * MST_TEXT_MAX + 4]; /* the last market refused, and why */
    uint64_t repeats;                   /* how often it came again */
    uint64_t left_out;                  /* other lines that were too many */
};

/* subscriptions: each of them may have a line of its own. */
void note_init(struct note *note, size_t subscriptions);

/* Whether an event is about a message: errors, refusals, unknown kinds. */
bool note_is_of_message(const struct mst_event *event);

/* Whether this line about a message is to be written: it is counted in any case.
 * line: NULL if repeats are written as well. */
bool note_admits(struct note *note, const char *line, int64_t unix_ns);

/* Whether the period is over: what was not written is to be summed up. */
bool note_is_over(const struct note *note, int64_t unix_ns);
/* Begins the next period with its first line. */
void note_renew(struct note *note);

/* Writes "TIME KIND - what" for an event that is no data, and for a refused
 * entry; nothing for another one. A line about a message that repeats the last
 * one, or is one too many, is only counted. */
void note_event(FILE *file, struct note *note, int64_t unix_ns,
                const struct mst_event *event);
/* Writes how many lines were only counted: before anything else is written, when
 * the period is over, and at the end. */
void note_rest(FILE *file, struct note *note, int64_t unix_ns);

/* Writes that the service spells a market differently. */
void note_renamed(FILE *file, int64_t unix_ns, const char *market,
                  const char *written);

/* Writes a step of the trace, unless it is about bytes. */
void note_trace(FILE *file, struct note *note, int64_t unix_ns,
                const struct mst_trace *trace);

/* Begins such a line. */
void note_begin(FILE *file, int64_t unix_ns, const char *kind);

/* ---- the summary: messages per channel, errors, what did not come ---- */

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
