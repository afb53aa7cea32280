/*
 * The state folder: for one sandbox at a time, and closed to other users.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_STATE_H
#define SANDBOX_STATE_H

#include <glib.h>

/* Creates the folder if it is missing, and locks it until the process ends.
 * Returns false and sets the error if another sandbox uses it, or if other
 * users could have changed it. */
gboolean state_lock(const char *path, GError **error);

#endif
