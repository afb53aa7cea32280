/*
 * Figures of a run for Prometheus, served on 127.0.0.1 by a thread of its own,
 * so that nobody who asks for them delays the stream.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef METRICS_H
#define METRICS_H

#include <stdio.h>

#include "run.h"

struct metrics;

/* Begins to serve; with port 0 nothing is, and *metrics is NULL. Returns 0 or
 * an exit code, with a line on standard error. */
int metrics_begin(struct metrics **metrics, unsigned port);
/* From now on, what a function writes by metrics_figure() follows the figures
 * of the run. metrics: or NULL. */
void metrics_add(struct metrics *metrics,
                 void (*more)(void *context, FILE *file), void *context);
/* Writes one figure, whose name begins with mini_stream_ and goes on like this;
 * its type is "counter" or "gauge". */
void metrics_figure(FILE *file, const char *name, const char *type,
                    const char *help, double value);
/* Takes the figures of a run, once a second. */
void metrics_update(struct metrics *metrics, const struct run *run,
                    uint64_t now_ns);
void metrics_end(struct metrics *metrics);

#endif
