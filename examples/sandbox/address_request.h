/*
 * What a client asks for a crypto destination address, and the rules for it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_ADDRESS_REQUEST_H
#define SANDBOX_ADDRESS_REQUEST_H

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

#endif
