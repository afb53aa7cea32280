/* Lines of what happens on a link. SPDX-License-Identifier: 0BSD */
#ifndef SHOW_H
#define SHOW_H

#include "mini_stream.h"

/* For mst_config.trace: states, tokens and repairs. */
void show_trace(void *context, const struct mst_trace *trace);
/* An error's text and number, as parts of a line. */
void show_error(int error);
/* A connection, an attempt or a message that failed. */
void show_failure(const char *what, const struct mst_failure *failure);
void show_entry(const struct mst_entry *entry);
void show_book(const char *market, const struct mst_book *book);
/* Every level that the book shows, best first, as price:amount. */
void show_levels(const char *market, const struct mst_book *book);
void show_address(const struct mst_address_result *result);

#endif
