/* Prints events of a link. SPDX-License-Identifier: 0BSD */
#ifndef SHOW_H
#define SHOW_H

#include "mini_stream.h"

/* For mst_config.trace: prints states, tokens and repairs. */
void show_trace(void *context, const struct mst_trace *trace);
/* Prints an error's text and number within a line. */
void show_error(int error);
/* Prints the failure of a connection, attempt or message. */
void show_failure(const char *what, const struct mst_failure *failure);
void show_entry(const struct mst_entry *entry);
void show_book(const char *market, const struct mst_book *book);
/* Prints all levels of the book, best first, as price:amount. */
void show_levels(const char *market, const struct mst_book *book);
void show_address(const struct mst_address_result *result);

#endif
