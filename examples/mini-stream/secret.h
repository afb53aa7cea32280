/*
 * The client secret: from the environment or from a file that only its owner
 * can read; wiped when no longer needed.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SECRET_H
#define SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of a secret. */
#define SECRET_MAX 1023

struct secret {
    char text[SECRET_MAX + 1];
};

/* Takes the secret from the environment variable and wipes it there. Returns
 * 1; 0 where the variable is not set or empty; -1 where it is too long or not
 * one line, with a line in error. */
int secret_from_env(struct secret *secret, const char *name, char *error,
                    size_t error_len);

/* Reads the secret from a file: its only line. Refuses a file of another
 * owner, unless root has given it to this user alone, or that others may
 * access. secret: NULL only looks at a file that others read. Returns false
 * with a line in error. */
bool secret_from_file(struct secret *secret, const char *path, char *error,
                      size_t error_len);

void secret_wipe(struct secret *secret);

#endif
