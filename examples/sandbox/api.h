/* The HTTP API. SPDX-License-Identifier: 0BSD */
#ifndef SANDBOX_API_H
#define SANDBOX_API_H

#include "around.h"

/* Adds the API's paths to the server. */
void api_add(SoupServer *server, const struct around *around);

/* Returns a market's book like message_truth, or NULL if the recording that is
 * played has not reached it yet. */
json_t *api_truth(const struct around *around, const struct market *market,
                  guint levels);

#endif
