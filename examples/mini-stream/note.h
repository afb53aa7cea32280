/*
 * What happens to the connections, in lines for people: in the text format,
 * and on standard error.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef NOTE_H
#define NOTE_H

#include <stdio.h>

#include "mini_stream.h"

/* Writes "TIME KIND - what" for an event that is no data, and for a refused
 * entry; nothing for another one. */
void note_event(FILE *file, int64_t unix_ns, const struct mst_event *event);

/* The same of a step that the trace tells. */
void note_trace(FILE *file, int64_t unix_ns, const struct mst_trace *trace);

/* Begins such a line. */
void note_begin(FILE *file, int64_t unix_ns, const char *kind);

#endif
