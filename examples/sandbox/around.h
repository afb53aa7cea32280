/* What the parts of the sandbox share. SPDX-License-Identifier: 0BSD */
#ifndef SANDBOX_AROUND_H
#define SANDBOX_AROUND_H

#include "address_store.h"
#include "executions.h"
#include "journal.h"
#include "options.h"
#include "played.h"
#include "relay.h"

/* All of it outlives the servers. */
struct around {
    const struct options *options;
    struct address_store *addresses;
    struct faults *faults;
    struct script *script; /* that is told what happens */
    struct token_store *tokens;
    struct played *played; /* a recording that is served; or NULL */
    struct feed *feed;
    struct executions *executions;
    SoupServer *ws_server;
    struct relay *ws_relay; /* in front of it */
    struct stream *stream;
    struct journal *journal; /* NULL: there is no page */
    /* There is a first subscription; what it begins with was sent. NULL: nobody
     * waits for it. */
    void (*began)(const struct around *around);
};

#endif
