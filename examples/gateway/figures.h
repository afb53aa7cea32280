/*
 * Figures of a gateway for Prometheus, beside those of its run.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef FIGURES_H
#define FIGURES_H

#include <stdio.h>

/* Writes them for metrics_add(), whose context is a struct publish. */
void figures_write(void *context, FILE *file);

#endif
