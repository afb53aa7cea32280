/*
 * Figures of a run for Prometheus, served on 127.0.0.1 by a thread of its own,
 * so that nobody who asks for them delays the stream.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef METRICS_H
#define METRICS_H

#include "run.h"

struct metrics;

/* Begins to serve; with port 0 nothing is, and *metrics is NULL. Returns 0 or
 * an exit code, with a line on standard error. */
int metrics_begin(struct metrics **metrics, unsigned port);
/* Takes the figures of a run, once a second. */
void metrics_update(struct metrics *metrics, const struct run *run,
                    uint64_t now_ns);
void metrics_end(struct metrics *metrics);

#endif
