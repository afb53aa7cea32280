/*
 * The HTTP API.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_API_H
#define SANDBOX_API_H

#include "faults.h"
#include "feed.h"

#include <libsoup/soup.h>

/* Adds the API's paths to the server. Feed and faults must outlive it. */
void api_add(SoupServer *server, const struct feed *feed,
             struct faults *faults);

#endif
