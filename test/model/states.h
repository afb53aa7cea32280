/*
 * The transitions of a link that a test has seen, and the tables of them as
 * the comments of the source's sections have them.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef STATES_H
#define STATES_H

#include "mini_stream.h"

/* What makes a link go from one state to another. */
enum states_input {
    STATES_STEP,     /* what the state waited for */
    STATES_ERROR,    /* an error */
    STATES_REPLACED, /* mst_access_set_credentials(), mst_access_set_anchors() */
    STATES_CLOSE     /* mst_close() */
};

/* Takes in what the trace is told. */
void states_trace(const struct mst_trace *trace);

/* Takes in a transition of which the trace is not told. */
void states_note(enum mst_state from, enum states_input input,
                 enum mst_state to);

/* The input of the transitions that follow, until STATES_STEP. */
void states_call(enum states_input input);

/* Compares what was seen so far with the tables in the comments that begin
 * these sections (a list of names that ends with NULL): says what is
 * undocumented and, if it should be all, what was never seen. A row of a table
 * has one state or several, what comes in them, and the next state. What comes
 * is told apart by the words of states.c. */
void states_check(const char *source, const char *const *sections, bool all);

#endif
