/*
 * What the page shows, in JSON of bounded size.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_PAGE_STATE_H
#define SANDBOX_PAGE_STATE_H

#include "stream.h"

/* What stays the same while the sandbox runs, to be released. run: what no
 * other run is called. */
json_t *page_about(const struct around *around, const char *run);

/* What changes, to be released. symbol: the market whose book is shown; NULL
 * or unknown: the first. number: of the last entry of the journal that is
 * known. */
json_t *page_state(const struct around *around, const char *run,
                   const char *symbol, gint64 number);

#endif
