/*
 * System calls that fail on demand. A test includes the system's headers, then
 * this one, defines each call that may fail with FAULT(), and then includes the
 * file under test:
 *
 *     #define open(...) FAULT("open", -1, open(__VA_ARGS__))
 *     #include "port/posix/mst_posix.c"
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef FAULTS_H
#define FAULTS_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static struct fault {
    const char *call; /* the one that fails, or NULL */
    unsigned skip;    /* calls before the first that fails */
    unsigned times;   /* calls that fail */
    int error;        /* errno */
} faults[2];

/* Makes this call fail once, after skip calls, and no other call. */
static inline void fault_set(const char *call, unsigned skip, int error) {
    faults[0] = (struct fault){call, skip, 1, error};
    faults[1].call = NULL;
}

/* Adds a call that fails. */
static inline void fault_also(const char *call, unsigned skip, int error) {
    faults[1] = (struct fault){call, skip, 1, error};
}

static inline void fault_none(void) {
    faults[0].call = faults[1].call = NULL;
}

/* True if the current call must fail. */
static inline bool fault_is_due(const char *call) {
    for (struct fault *f = faults; f < faults + 2; f++) {
        if (f->call == NULL || strcmp(f->call, call) != 0) {
            continue;
        }
        if (f->skip > 0) {
            f->skip--;
            continue;
        }
        if (--f->times == 0) {
            f->call = NULL;
        }
        errno = f->error;
        return true;
    }
    return false;
}

/* The call, or its result if it must fail. */
#define FAULT(name, result, call) (fault_is_due(name) ? (result) : (call))

#endif
