/*
 * The signals that end a program.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SIGNALS_H
#define SIGNALS_H

/* Catches SIGINT, SIGTERM and SIGHUP unless they were ignored at start, and
 * ignores SIGPIPE. A caught signal ends a blocking write to a pipe. */
void signals_catch(void);

/* The number of caught signals. */
unsigned signals_count(void);

#endif
