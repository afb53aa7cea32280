/*
 * Text that people set: one line, as an option, in the environment or in a file,
 * whatever editor or shell has put around it. The same rules for all.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef LINE_H
#define LINE_H

#include <stdbool.h>
#include <stdio.h>

/* What was removed from around a line. */
enum { LINE_MARK = 1, LINE_ENDS = 2 };

/* Removes a byte order mark at the beginning, and line ends (LF, CR, CR LF) at
 * both ends. text has a NUL, as has the result. Returns what was removed. */
unsigned line_strip(char *text);

/* True if text is one line: without control characters. */
bool line_is_one(const char *text);

/* What is removed from now on is reported on standard error. */
void line_be_verbose(void);

/* Reports what was removed from a setting, if anything. where may be NULL. */
void line_report(const char *name, const char *where, unsigned removed);

/* Opens a file and passes over a byte order mark, which is reported. Returns
 * NULL with errno if that fails. */
FILE *line_open(const char *path);

#endif
