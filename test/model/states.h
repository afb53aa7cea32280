/*
 * The state transitions of links that a test has seen, and the tables of
 * transitions in the comments of the source.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef STATES_H
#define STATES_H

#include "mini_stream.h"

/* Causes of transitions. */
enum states_input {
    STATES_STEP,     /* the event that the state waits for */
    STATES_ERROR,    /* an error */
    STATES_REPLACED, /* mst_access_set_credentials() or _anchors() */
    STATES_CLOSE     /* mst_close() */
};

/* Records an entry of the trace. */
void states_trace(const struct mst_trace *trace);

/* Records a transition that is not in the trace. */
void states_note(enum mst_state from, enum states_input input,
                 enum mst_state to);

/* Sets the cause of the following transitions, until STATES_STEP. */
void states_call(enum states_input input);

/* Compares the recorded transitions with the tables in the comments that begin
 * these sections (names, ending with NULL). Reports undocumented transitions
 * and, with all, those never seen. A row of a table has one or several states,
 * the input, and the next state. states.c has the words for inputs. */
void states_check(const char *source, const char *const *sections, bool all);

#endif
