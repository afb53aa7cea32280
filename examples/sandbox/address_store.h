/*
 * The records of crypto destination addresses, in an SQLite database.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_ADDRESS_STORE_H
#define SANDBOX_ADDRESS_STORE_H

#include "address_request.h"

struct address_store;

/* Opens addresses.db in the directory, or makes it. status: of a record that
 * is created; it must outlive the store. NULL, with the error set, when it
 * cannot. */
struct address_store *address_store_open(const char *directory,
                                         const char *status, GError **error);
void address_store_close(struct address_store *store);

/* Creates or updates a record of the client, and returns it, to be released,
 * once it is safe on disk. NULL: the client has no record of this id; or, with
 * the error set, the database failed. */
json_t *address_store_put(struct address_store *store, const char *client,
                          const struct address_request *request,
                          GError **error);

/* The records of all clients, newest first, at most so many of them; each has
 * its "client". To be released; NULL: the database failed. */
json_t *address_store_list(const struct address_store *store, int limit);

#endif
