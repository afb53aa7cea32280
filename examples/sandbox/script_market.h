/*
 * A market as a script describes it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_SCRIPT_MARKET_H
#define SANDBOX_SCRIPT_MARKET_H

#include "feed.h"
#include "schema.h"

/* Reads a JSON object; market has the rate and the levels of one that does not
 * say. False, with the error, when anything is wrong. */
bool script_market_read(const json_t *json, const char *path,
                        struct feed_market *market, struct schema_error *error);

#endif
