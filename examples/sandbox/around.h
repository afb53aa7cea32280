/* What the parts of the sandbox share. SPDX-License-Identifier: 0BSD */
#ifndef SANDBOX_AROUND_H
#define SANDBOX_AROUND_H

#include "address_store.h"
#include "executions.h"
#include "journal.h"
#include "options.h"
#include "played.h"
#include "relay.h"

/* All members outlive the servers. */
struct around {
    const struct options *options;
    struct address_store *addresses;
    struct faults *faults;
    struct script *script; /* reacts to events */
    struct token_store *tokens;
    struct played *played; /* the recording that is served, or NULL */
    struct feed *feed;
    struct executions *executions;
    SoupServer *ws_server;
    struct relay *ws_relay; /* between it and its clients */
    struct stream *stream;
    struct journal *journal; /* NULL without a page */
    /* Called after the initial data of the first subscription was sent; NULL if
     * nothing waits for it. */
    void (*began)(const struct around *around);
};

#endif
