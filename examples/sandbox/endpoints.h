/*
 * The files in the state folder with the sandbox's URLs, and with its ports for
 * the next start.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_ENDPOINTS_H
#define SANDBOX_ENDPOINTS_H

#include <glib.h>
#include <stdbool.h>

#define ENDPOINTS_NO_PAGE G_MAXUINT

struct ports {
    guint ws;
    guint auth;
    guint api;
    guint page; /* or ENDPOINTS_NO_PAGE */
};

struct endpoints;

/* Removes an endpoints.json that a killed sandbox left. */
struct endpoints *endpoints_new(const char *state);
void endpoints_free(struct endpoints *endpoints);

/* Sets each port that is 0 to the one of the last run, if there was one. */
bool endpoints_recall(const struct endpoints *endpoints, struct ports *ports,
                      GError **error);

/* Writes both files, each atomically. */
bool endpoints_tell(struct endpoints *endpoints, const struct ports *ports,
                    GError **error);

/* Removes endpoints.json, so that nobody connects any more, unless another
 * sandbox wrote it. */
void endpoints_end(const struct endpoints *endpoints);

#endif
