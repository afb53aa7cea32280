/*
 * The signals that ask a program to end.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SIGNALS_H
#define SIGNALS_H

/* Catches SIGINT, SIGTERM and SIGHUP unless they were ignored at start, and
 * ignores SIGPIPE. A write to a pipe
 * that nobody reads ends with such a signal. */
void signals_catch(void);

/* How many were caught. */
unsigned signals_count(void);

#endif
