/*
 * The page: shows in a browser what the sandbox does, and controls its faults.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_PAGE_H
#define SANDBOX_PAGE_H

#include "stream.h"

struct page;

/* Serves the page on 127.0.0.1; see listener_new for the port. On failure,
 * returns NULL and sets the error. */
struct page *page_new(const struct around *around, guint *port, GError **error);
void page_free(struct page *page);

guint page_port(const struct page *page);

/* Closes all connections and accepts no more. */
void page_close(struct page *page);

/* Return the page's data as JSON of limited size, to be released. page_about()
 * has what stays the same while the sandbox runs. run: a unique name of this
 * run. */
json_t *page_about(const struct around *around, const char *run);

/* page_state() has what changes. symbol: the market whose book is shown; the
 * first if it is NULL or unknown. number: of the last journal entry known. */
json_t *page_state(const struct around *around, const char *run,
                   const char *symbol, gint64 number);

#endif
