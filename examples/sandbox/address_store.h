/*
 * Crypto destination addresses: what a client asks for, and the records, in an
 * SQLite database.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_ADDRESS_STORE_H
#define SANDBOX_ADDRESS_STORE_H

#include "schema.h"

/* Texts are those of the JSON; NULL: absent. */
struct address_request {
    const char *id; /* a UUID; NULL: network and address are there */
    const char *network;
    const char *address;
    const char *nickname;
    const json_t *bookmarked;
    const json_t *travelrule;
};

/* Reads the body of a request; it must outlive what is read. False, with the
 * error set, where a rule is broken. */
bool address_request_read(struct address_request *request, const json_t *json,
                          struct schema_error *error);

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
