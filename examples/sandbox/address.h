/*
 * The operation that creates or updates a crypto destination address.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_ADDRESS_H
#define SANDBOX_ADDRESS_H

#include "address_store.h"
#include "journal.h"
#include "token.h"

/* What the operation needs; all must outlive the server. */
struct address_around {
    struct address_store *store;
    struct token_store *tokens;
    struct faults *faults;
    struct journal *journal; /* NULL: none */
};

/* Adds PUT /v2/transfer/crypto-destination-address to the server. */
void address_add(SoupServer *server, const struct address_around *around);

#endif
