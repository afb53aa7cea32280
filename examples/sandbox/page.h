/*
 * The page: what the sandbox does, and its faults, for a browser on this
 * machine.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_PAGE_H
#define SANDBOX_PAGE_H

#include "page_state.h"

struct page;

/* Serves it on 127.0.0.1, see listener_new for the port. NULL, with the error
 * set, when it cannot. */
struct page *page_new(const struct around *around, guint *port, GError **error);
void page_free(struct page *page);

guint page_port(const struct page *page);

/* Ends its connections, and accepts no others. */
void page_close(struct page *page);

#endif
