/*
 * Reads an INI file, with errors that name file and line.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef INIFILE_H
#define INIFILE_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of what is wrong with a value, with a NUL. */
#define INIFILE_WHAT_LEN 256

/* Takes a value. Returns false with what is wrong. */
typedef bool inifile_value(void *context, const char *section, const char *name,
                           const char *value, char what[INIFILE_WHAT_LEN]);

/* Reads a file, `kind` being what it is called in errors of reading it. Returns
 * false with a line in error, of the first thing that is wrong. */
bool inifile_read(const char *path, const char *kind, inifile_value *take,
                  void *context, char *error, size_t error_len);

/* The path that a relative one in the file at `path` means: it counts from the
 * file's folder. Allocated. */
char *inifile_path(const char *path, const char *value);

#endif
