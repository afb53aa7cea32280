/*
 * The HTTP API.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_API_H
#define SANDBOX_API_H

#include "executions.h"
#include "faults.h"
#include "feed.h"
#include "played.h"

#include <libsoup/soup.h>

/* What the API tells of, and sets. */
struct api_around {
    const struct feed *feed;
    const struct executions *executions;
    const struct played *played; /* a recording that is served; or NULL */
    struct faults *faults;
};

/* Adds the API's paths to the server. What is around must outlive it. */
void api_add(SoupServer *server, const struct api_around *around);

#endif
