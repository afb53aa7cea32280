/*
 * Lines for people about connections and messages, in the text format and on
 * standard error.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef NOTE_H
#define NOTE_H

#include <stdio.h>

#include "board.h"

#define NOTE_LEN (TEXT_FAILURE_LEN + 64)

/* Limits the lines about messages of one output, because a service may send any
 * number of messages that cannot be read. */
struct note {
    unsigned most;                      /* lines per period */
    unsigned lines;                     /* lines written in this one */
    int64_t since_ns;                   /* Unix time of its first line */
    char last[NOTE_LEN];                /* the last line, without its time */
    char refused[2 * MST_TEXT_MAX + 4]; /* the last market refused, and why */
    uint64_t repeats;                   /* repetitions of the last line */
    uint64_t left_out;                  /* other lines beyond the limit */
};

/* Each of the subscriptions may have a line in addition to the limit. */
void note_init(struct note *note, size_t subscriptions);

/* True if an event is about a message: errors, refusals, unknown kinds. */
bool note_is_of_message(const struct mst_event *event);

/* Counts a line about a message. Returns true if it is to be written. line:
 * NULL if repetitions are written as well. */
bool note_admits(struct note *note, const char *line, int64_t unix_ns);

/* True if the period is over: note_rest() and note_renew() are due. */
bool note_is_over(const struct note *note, int64_t unix_ns);
/* Starts a new period at its first line. */
void note_renew(struct note *note);

/* Writes "TIME KIND - TEXT" for an event that is no data, and for a refused
 * entry. Only counts a line about a message that repeats the last one or
 * exceeds the limit. */
void note_event(FILE *file, struct note *note, int64_t unix_ns,
                const struct mst_event *event);
/* Writes how many lines were only counted. Call it before other lines, when the
 * period is over, and at the end. */
void note_rest(FILE *file, struct note *note, int64_t unix_ns);

/* Writes that the service spells a market differently. */
void note_renamed(FILE *file, int64_t unix_ns, const char *market,
                  const char *written);

/* Writes a trace event, unless it is about bytes. */
void note_trace(FILE *file, struct note *note, int64_t unix_ns,
                const struct mst_trace *trace);

/* Writes "TIME KIND - ". */
void note_begin(FILE *file, int64_t unix_ns, const char *kind);

/* ---- the summary ---- */

/* Prints a table of messages per channel and market, and the errors below
 * it. */
void tally_print(FILE *file, const struct board *board,
                 const struct mst_stats *stats);

/* Prints the figures in one line; rate is in messages per second. */
void tally_line(FILE *file, const struct board *board,
                const struct mst_stats *stats, int64_t unix_ns, double rate);

/* Prints a line for each subscription that delivered nothing, and one if
 * messages were not decoded. Returns true if there are none. */
bool tally_met(FILE *file, const struct board *board,
               const struct mst_stats *stats);

#endif
