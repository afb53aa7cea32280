/*
 * The files in the state folder that tell where the sandbox listens, now and
 * the last time.
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
    guint page; /* ENDPOINTS_NO_PAGE: there is none */
};

struct endpoints;

/* Removes the endpoints.json of a sandbox that was killed. */
struct endpoints *endpoints_new(const char *state);
void endpoints_free(struct endpoints *endpoints);

/* Sets the ports that are 0 to those of the last time, if there was one. */
bool endpoints_recall(const struct endpoints *endpoints, struct ports *ports,
                      GError **error);

/* Writes both files, each of which is whole once it is there. */
bool endpoints_tell(struct endpoints *endpoints, const struct ports *ports,
                    GError **error);

/* Removes endpoints.json, for nobody is to connect any more; one that another
 * sandbox has put there stays. */
void endpoints_end(const struct endpoints *endpoints);

#endif
