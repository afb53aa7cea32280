/*
 * Reads an INI file, with errors that name file and line.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef INIFILE_H
#define INIFILE_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of an error about a value, with its NUL. */
#define INIFILE_WHAT_LEN 256

/* Returns true if word is one of known, which ends with NULL. Otherwise writes
 * an error that suggests the most similar one. */
bool inifile_known(const char *kind, const char *word, const char *const *known,
                   char what[INIFILE_WHAT_LEN]);

/* Handles a value. Returns false with an error in what. */
typedef bool inifile_value(void *context, const char *section, const char *name,
                           const char *value, char what[INIFILE_WHAT_LEN]);

/* Reads a file. kind names it in errors, such as "profile". sections are those
 * that it may have, up to a NULL; without this list, any. Returns false with
 * the first error in error. */
bool inifile_read(const char *path, const char *kind,
                  const char *const *sections, inifile_value *take,
                  void *context, char *error, size_t error_len);

/* Returns the path for a value in the file at path, allocated: a relative value
 * is relative to the file's folder. */
char *inifile_path(const char *path, const char *value);

#endif
