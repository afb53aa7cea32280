/*
 * The transitions of the session's state table that a test has seen, and the
 * table itself as the source's comment has it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef OLD_STATES_H
#define OLD_STATES_H

#include "mini_stream.h"

/* What makes a link go from one state to another. */
enum states_input {
    STATES_STEP,     /* what the state waited for */
    STATES_ERROR,    /* an error */
    STATES_OVER,     /* another link has taken over */
    STATES_REPLACED, /* mst_old_set_credentials(), mst_old_set_anchors() */
    STATES_PUT,      /* mst_old_address_put() */
    STATES_CLOSE     /* mst_old_close() */
};

/* Takes in what the log hook is told. */
void old_states_log(const struct mst_log *log);

/* Takes in a transition of which the log is not told. */
void old_states_note(enum mst_state from, enum states_input input,
                     enum mst_state to);

/* The input of the transitions that follow, until STATES_STEP. */
void old_states_call(enum states_input input);

/* Compares what was seen so far with the table in a comment of the source:
 * says what is undocumented and, if it should be all, what was never seen. A row of the table has
 * one state or several, what comes in them, and the next state. What comes is
 * told apart by the words of old_states.c. */
void old_states_check(const char *source, bool all);

#endif
