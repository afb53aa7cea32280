/*
 * Figures of a run for Prometheus, served on 127.0.0.1 by a separate thread, so
 * that requests do not delay the stream.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef METRICS_H
#define METRICS_H

#include <stdio.h>

#include "run.h"

struct metrics;

/* Starts to serve. With port 0, it does nothing and *metrics is NULL. Returns 0
 * or an exit code, with a line on standard error. */
int metrics_begin(struct metrics **metrics, unsigned port);
/* Makes a function append figures with metrics_figure() to those of the run.
 * metrics may be NULL. */
void metrics_add(struct metrics *metrics,
                 void (*more)(void *context, FILE *file), void *context);
/* Writes one figure. name follows "mini_stream_"; type is "counter" or
 * "gauge". */
void metrics_figure(FILE *file, const char *name, const char *type,
                    const char *help, double value);
/* Updates the served figures, once a second. metrics may be NULL. */
void metrics_update(struct metrics *metrics, const struct run *run,
                    uint64_t now_ns);
void metrics_end(struct metrics *metrics);

#endif
