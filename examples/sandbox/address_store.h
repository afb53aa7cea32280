/*
 * Crypto destination addresses: the requests of clients, and the records in an
 * SQLite database.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_ADDRESS_STORE_H
#define SANDBOX_ADDRESS_STORE_H

#include "schema.h"

/* A request. Its texts belong to the JSON. Absent members are NULL. */
struct address_request {
    const char *id; /* a UUID; if NULL, network and address are set */
    const char *network;
    const char *address;
    const char *nickname;
    const json_t *bookmarked;
    const json_t *travelrule;
};

/* Reads the body of a request; the JSON must outlive the result. Returns false
 * and sets the error if the body breaks a rule. */
bool address_request_read(struct address_request *request, const json_t *json,
                          struct schema_error *error);

struct address_store;

/* Opens addresses.db in the directory, or creates it. New records get this
 * status, which must outlive the store. On failure, returns NULL and sets the
 * error. */
struct address_store *address_store_open(const char *directory,
                                         const char *status, GError **error);
void address_store_close(struct address_store *store);

/* Creates or updates a record of the client. Returns it, to be released, once
 * it is safe on disk; NULL if the client has no record with this id, or, with
 * the error set, if the database failed. */
json_t *address_store_put(struct address_store *store, const char *client,
                          const struct address_request *request,
                          GError **error);

/* Returns an array with the newest records of all clients, at most `limit`,
 * newest first; each has a member "client". NULL if the database failed. */
json_t *address_store_list(const struct address_store *store, int limit);

#endif
