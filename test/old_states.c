/*
 * The session's state table: see old_states.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "old_states.h"

#include "support.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define STATES (MST_STATE_CLOSING + 1)
#define INPUTS (STATES_CLOSE + 1)

typedef bool transitions[STATES][INPUTS][STATES];

static transitions seen;
static enum states_input call;
/* The links that failed, or are taken over from, and have yet to say so. */
static bool failed[MST_LINKS_MAX], over[MST_LINKS_MAX];

/* The word by which an input is known in the table; all else is a step. */
static const char *const words[INPUTS] = {
    [STATES_ERROR] = "error",           [STATES_OVER] = "taken over",
    [STATES_REPLACED] = "replaced",     [STATES_PUT] = "mst_old_address_put()",
    [STATES_CLOSE] = "mst_old_close()",
};

void old_states_note(enum mst_state from, enum states_input input,
                     enum mst_state to)
{
    seen[from][input][to] = true;
}

void old_states_call(enum states_input input)
{
    call = input;
}

void old_states_log(const struct mst_log *log)
{
    enum states_input input = call;

    if (log->kind == MST_LOG_ERROR) {
        failed[log->link] = log->state != MST_STATE_WAIT;
        if (log->state == MST_STATE_WAIT) { /* and stays there */
            old_states_note(MST_STATE_WAIT, STATES_ERROR, MST_STATE_WAIT);
        }
    } else if (log->kind == MST_LOG_HANDOVER) {
        over[1 - log->link] = true;
    } else if (log->kind == MST_LOG_STATE) {
        if (failed[log->link]) {
            input = STATES_ERROR;
        } else if (over[log->link] && log->from == MST_STATE_OPEN) {
            input = STATES_OVER;
        }
        failed[log->link] = over[log->link] = false;
        old_states_note(log->from, input, log->state);
    }
}

/* Is it the name in capitals? */
static bool upper_is(const char *text, const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] != toupper((unsigned char)name[i])) {
            return false;
        }
    }
    return true;
}

static int state_find(const char *name, size_t len)
{
    for (int i = 0; i < STATES; i++) {
        const char *other = mst_state_name((enum mst_state)i);
        if (strlen(other) == len && upper_is(name, other, len)) {
            return i;
        }
    }
    return -1;
}

static enum states_input input_find(const char *text)
{
    for (int i = STATES_ERROR; i < INPUTS; i++) {
        if (strstr(text, words[i]) != NULL) {
            return (enum states_input)i;
        }
    }
    return STATES_STEP;
}

/* Takes in a line of the comment, if it is a row. */
static bool row_read(transitions table, char *line)
{
    char *at = line + strspn(line, " *"), *to;
    bool from[STATES] = {false}, any = false;
    int state, next;

    line[strcspn(line, "\n")] = '\0';
    to = strrchr(line, ' ');
    next = to != NULL ? state_find(to + 1, strlen(to + 1)) : -1;
    while ((state = state_find(at, strcspn(at, " "))) >= 0 && at < to) {
        from[state] = any = true;
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    if (!any || next < 0) {
        return false;
    }
    for (int i = 0; i < STATES; i++) {
        table[i][input_find(at)][next] |= from[i];
    }
    return true;
}

/* Reads the table; returns the number of its rows. */
static unsigned table_read(transitions table, const char *source)
{
    FILE *file = fopen(source, "r");
    char line[256];
    bool old = false, within = false;
    unsigned rows = 0;

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        old |= strstr(line, " old session: links") != NULL;
        if (old && strstr(line, " in state ") != NULL &&
            strstr(line, " next\n") != NULL) {
            within = true;
        } else if (within && strstr(line, "*/") != NULL) {
            break;
        } else if (within) {
            rows += row_read(table, line);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return rows;
}

void old_states_check(const char *source, bool all)
{
    static transitions table;
    unsigned rows = table_read(table, source);

    if (rows < STATES) {
        expect_failed("%s: %u rows of the state table found", source, rows);
        return;
    }
    for (int i = 0; i < STATES * INPUTS * STATES; i++) {
        int from = i / (INPUTS * STATES), input = i / STATES % INPUTS;
        int to = i % STATES;
        bool is_seen = seen[from][input][to];
        if (is_seen != table[from][input][to] && (is_seen || all)) {
            expect_failed("from %s to %s by %s: %s",
                          mst_state_name((enum mst_state)from),
                          mst_state_name((enum mst_state)to),
                          words[input] != NULL ? words[input] : "a step",
                          is_seen ? "undocumented" : "never seen");
        }
    }
}
