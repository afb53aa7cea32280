/*
 * The HTTP API.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_API_H
#define SANDBOX_API_H

#include "feed.h"

#include <libsoup/soup.h>

/* Adds the API's paths to the server. The feed must outlive it. */
void api_add(SoupServer *server, const struct feed *feed);

#endif
