/*
 * What the page shows, in JSON of bounded size.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_PAGE_STATE_H
#define SANDBOX_PAGE_STATE_H

#include "address_store.h"
#include "faults.h"
#include "feed.h"
#include "journal.h"
#include "played.h"
#include "stream.h"

/* What there is to show; all must outlive the page. */
struct page_around {
    const struct feed *feed;
    const struct played *played; /* a recording that is served; or NULL */
    const struct stream *stream;
    const struct token_store *tokens;
    const struct address_store *addresses;
    const struct journal *journal;
    struct faults *faults;
    int64_t seed;
};

/* What stays the same while the sandbox runs, to be released. run: what no
 * other run is called. */
json_t *page_about(const struct page_around *around, const char *run);

/* What changes, to be released. symbol: the market whose book is shown; NULL
 * or unknown: the first. number: of the last entry of the journal that is
 * known. */
json_t *page_state(const struct page_around *around, const char *run,
                   const char *symbol, gint64 number);

#endif
