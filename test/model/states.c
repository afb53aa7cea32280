/*
 * The state tables of a link: see states.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "states.h"

#include "mst_mock.h"
#include "support.h"

#include <ctype.h>

#define STATES (MST_STATE_CLOSING + 1)
#define INPUTS (STATES_CLOSE + 1)

typedef bool transitions[STATES][INPUTS][STATES];

static transitions seen;
static enum states_input call;
/* The link has failed, and the event is still to come. */
static bool failed[MST_MOCK_LINKS];

/* The words for inputs in the tables; any other word is a step. */
static const char *const words[INPUTS] = {
    [STATES_ERROR] = "error",
    [STATES_REPLACED] = "replaced",
    [STATES_CLOSE] = "caller closes",
};

void states_note(enum mst_state from, enum states_input input,
                 enum mst_state to) {
    seen[from][input][to] = true;
}

void states_call(enum states_input input) {
    call = input;
}

void states_trace(const struct mst_trace *trace) {
    enum states_input input = call;

    if (trace->kind == MST_TRACE_ERROR) {
        failed[trace->link] = trace->state != MST_STATE_WAIT;
        if (trace->state == MST_STATE_WAIT) { /* remains there */
            states_note(MST_STATE_WAIT, STATES_ERROR, MST_STATE_WAIT);
        }
    } else if (trace->kind == MST_TRACE_STATE) {
        if (failed[trace->link]) {
            input = STATES_ERROR;
        } else if (trace->from == MST_STATE_WAIT && input == STATES_REPLACED) {
            input = STATES_STEP; /* its time has passed */
        }
        failed[trace->link] = false;
        states_note(trace->from, input, trace->state);
    }
}

/* True if the text is the name in capitals. */
static bool upper_is(const char *text, const char *name, size_t len) {
    for (size_t i = 0; i < len; i++) {
        if (text[i] != toupper((unsigned char)name[i])) {
            return false;
        }
    }
    return true;
}

static int state_find(const char *name, size_t len) {
    for (int i = 0; i < STATES; i++) {
        const char *other = mst_state_name((enum mst_state)i);
        if (strlen(other) == len && upper_is(name, other, len)) {
            return i;
        }
    }
    return -1;
}

static enum states_input input_find(const char *text) {
    for (int i = STATES_ERROR; i < INPUTS; i++) {
        if (strstr(text, words[i]) != NULL) {
            return (enum states_input)i;
        }
    }
    return STATES_STEP;
}

/* Reads a line of the comment; true if it is a row. */
static bool row_read(transitions table, char *line) {
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

/* True if the line has the number and the name of this section. */
static bool is_section(const char *line, const char *section) {
    const char *name = line + strspn(line, " *0123456789");
    size_t len = strlen(section);

    return strncmp(line, " * ", 3) == 0 && isdigit((unsigned char)line[3]) &&
           strncmp(name, section, len) == 0 && name[len] == '\n';
}

/* Reads the table of a section; returns the number of its rows. */
static unsigned table_read(transitions table, const char *source,
                           const char *section) {
    FILE *file = fopen(source, "r");
    char line[256];
    bool begun = false, within = false;
    unsigned rows = 0;

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        begun |= is_section(line, section);
        if (begun && strstr(line, "*/") != NULL) {
            break;
        }
        if (within) {
            rows += row_read(table, line);
        }
        within |= begun && strstr(line, " in state ") != NULL &&
                  strstr(line, " next\n") != NULL;
    }
    if (file != NULL) {
        fclose(file);
    }
    return rows;
}

void states_check(const char *source, const char *const *sections, bool all) {
    static transitions table;

    memset(table, 0, sizeof table);
    for (; *sections != NULL; sections++) {
        unsigned rows = table_read(table, source, *sections);
        if (rows < 3) {
            expect_failed("%s: %u rows of the table of \"%s\" found", source,
                          rows, *sections);
            return;
        }
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
