/*
 * The page: what the sandbox does, and its faults, for a browser on this
 * machine.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_PAGE_H
#define SANDBOX_PAGE_H

#include "stream.h"

struct page;

/* Serves it on 127.0.0.1, see listener_new for the port. NULL, with the error
 * set, when it cannot. */
struct page *page_new(const struct around *around, guint *port, GError **error);
void page_free(struct page *page);

guint page_port(const struct page *page);

/* Ends its connections, and accepts no others. */
void page_close(struct page *page);

/* What it shows, in JSON of bounded size, to be released. First what stays the
 * same while the sandbox runs. run: what no other run is called. */
json_t *page_about(const struct around *around, const char *run);

/* What changes. symbol: the market whose book is shown; NULL
 * or unknown: the first. number: of the last entry of the journal that is
 * known. */
json_t *page_state(const struct around *around, const char *run,
                   const char *symbol, gint64 number);

#endif
