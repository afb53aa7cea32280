/*
 * Text that people set in options, the environment or files: one line, whatever
 * an editor or a shell has added around it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef LINE_H
#define LINE_H

#include <stdbool.h>
#include <stdio.h>

/* What line_strip() removed. */
enum { LINE_MARK = 1, LINE_ENDS = 2 };

/* Removes byte order marks at the beginning, and line ends (LF, CR, CR LF) at
 * both ends. Returns what was removed. */
unsigned line_strip(char *text);

/* True if text has no control characters. */
bool line_is_one(const char *text);

/* Turns line_report() on. */
void line_be_verbose(void);

/* Reports on standard error what was removed from a setting, if anything. where
 * may be NULL. */
void line_report(const char *name, const char *where, unsigned removed);

/* Opens a file and skips a byte order mark. Returns NULL with errno if that
 * fails. */
FILE *line_open(const char *path);

#endif
