/*
 * What the files of the transport torture share.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef TORTURE_PRIVATE_H
#define TORTURE_PRIVATE_H

#include "torture.h"

#define TORTURE_TRADES 256
#define TORTURE_PRICES 4 /* of each side of the true books */

/* What a run has seen, and what it is told of. */
struct torture_seen {
    bool open[MST_MOCK_LINKS];
    uint32_t generation[MST_MOCK_LINKS]; /* of the connection that is open */
    struct text record[MST_MOCK_LINKS];  /* events without their times */
    unsigned trades, delivered[TORTURE_TRADES];
    unsigned puts, addresses;
    uint64_t put_ms; /* when the last one was asked for */
    enum mst_state stages[MST_MOCK_LINKS];
    uint64_t stage_ms[MST_MOCK_LINKS]; /* when the link entered it */
    const struct torture_scenario *scenario;
    bool loud, recorded, failed;
    char what[200]; /* the line that plays it again */
};

extern struct torture_seen torture_seen;

/* Something does not hold. */
void torture_failed(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* ---- the books: torture_books.c ---- */

/* A live book is fed by a connection that is open. */
void torture_books_look(void);

/* A live book is the true one; where a connection hangs, as it is or was.
 * Returns whether all books are live, and true. */
bool torture_books_check(bool hangs);

/* Sends the next trade where it is subscribed. */
void torture_books_trade(unsigned number);

/* ---- events: torture_events.c ---- */

/* Takes in an event, and looks at it: what comes after the end of its
 * connection, comes twice, or is not what was asked for. */
bool torture_event(void *context, const struct mst_event *event);

/* Takes in that a link has got to another state. */
void torture_trace(void *context, const struct mst_trace *trace);

/* No link is in a state for longer than its deadline allows. */
void torture_stages_check(void);

#endif
