/*
 * Shared by the files of the transport torture.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef TORTURE_PRIVATE_H
#define TORTURE_PRIVATE_H

#include "torture.h"

#define TORTURE_TRADES 256
#define TORTURE_PRICES 4 /* on each side of the true books */

/* What a run has seen, and its settings. */
struct torture_seen {
    bool open[MST_MOCK_LINKS];
    uint32_t generation[MST_MOCK_LINKS]; /* of the open connection */
    struct text record[MST_MOCK_LINKS];  /* events without their times */
    unsigned trades, delivered[TORTURE_TRADES];
    unsigned puts, addresses;
    uint64_t put_ms; /* the time of the last request */
    enum mst_state stages[MST_MOCK_LINKS];
    uint64_t stage_ms[MST_MOCK_LINKS]; /* when the link entered it */
    const struct torture_scenario *scenario;
    bool loud, recorded, failed;
    char what[200]; /* the line that plays it again */
};

extern struct torture_seen torture_seen;

/* Reports a violation. */
void torture_failed(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* ---- the books: torture_books.c ---- */

/* Checks that every live book is fed by an open connection. */
void torture_books_look(void);

/* Checks that every live book is the true one or, if a connection hangs, an
 * earlier one. Returns true if all books are live and true. */
bool torture_books_check(bool hangs);

/* Sends the next trade to its subscribers. */
void torture_books_trade(unsigned number);

/* ---- events: torture_events.c ---- */

/* Takes in an event, and reports events after the end of their connection,
 * repeated ones, and results that were not expected. */
bool torture_event(void *context, const struct mst_event *event);

/* Takes in that a link has entered another state. */
void torture_trace(void *context, const struct mst_trace *trace);

/* Checks that no link is in a state for longer than its deadline allows. */
void torture_stages_check(void);

#endif
