/*
 * The state folder: of one sandbox at a time, and of its user alone.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_STATE_H
#define SANDBOX_STATE_H

#include <glib.h>

/* Makes the folder if it is missing, and locks it for this process, as long as
 * the process runs. Returns false if another sandbox uses it, or others could
 * have put something into it. */
gboolean state_lock(const char *path, GError **error);

#endif
