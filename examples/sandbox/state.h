/*
 * The state folder: for one sandbox at a time, and closed to other users.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_STATE_H
#define SANDBOX_STATE_H

#include <glib.h>

/* The domain of errors if the state cannot be written, as on a full disk. */
GQuark state_unwritable_quark(void);

/* Creates the folder if it is missing, and locks it until the process ends.
 * Returns false and sets the error if another sandbox uses it, or if other
 * users could have changed it. Files that would be replaced must have been
 * written by a sandbox: the lock shows that. */
gboolean state_lock(const char *path, GError **error);

/* Replaces a file by this text, complete and on disk. The umask reduces mode. */
gboolean state_write(const char *path, const char *text, size_t len, int mode,
                     GError **error);

/* Sets the error that a file cannot be written. Returns false. */
gboolean state_failed(GError **error, const char *path, const char *why);

#endif
