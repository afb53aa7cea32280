/*
 * What `mini-stream doctor` has found, step by step: as lines, each as soon as
 * its step has ended, or as one JSON object at the end.
 *
 * Texts may be anybody's: they are made harmless here.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef DOCTOR_REPORT_H
#define DOCTOR_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Of the JSON object: another number once what is there has changed. */
#define REPORT_VERSION 1

/* For --help. */
#define REPORT_HELP                                                           \
    "With --json standard output has one object. version: 1. ok: whether "    \
    "nothing failed. exit_status. advice: what to do about the first step "   \
    "that failed, or null. steps: an array of objects, in their order; each " \
    "with step (configuration, clock, dns, tcp, proxy, tls, token, scope, "   \
    "handshake, message or close), endpoint (token or stream) where "         \
    "it is for one of the two (dns and tcp stand once where both have the "   \
    "same proxy, or are one), title, status (ok, warning, failed "            \
    "or not tried), ms, text, notes (an array of lines), and error_code "     \
    "where mini_stream has a number for it. A step may have more: "           \
    "addresses, http_status, tls_version, suite, certificates, anchor, "      \
    "other_tls (whether it works with the other library), scope, "            \
    "lifetime_s.\n"

struct report {
    bool json, colour;
    bool live;   /* the title of a step is shown while it lasts */
    int code;    /* the exit code of the first step that failed, or EXITS_OK */
    char *first; /* its title */
    const char *advice;
    bool warned;          /* a step has ended with a warning */
    const char *endpoint; /* that the steps are for: token, stream or NULL */
    json_t *steps;
    json_t *step; /* at hand */
    uint64_t begin_ms;
};

void report_init(struct report *report, bool json);

/* Begins a step: its name in JSON, and its title. */
__attribute__((format(printf, 3, 4))) void
report_begin(struct report *report, const char *name, const char *format, ...);

/* Adds a line below the step. */
__attribute__((format(printf, 2, 3))) void report_note(struct report *report,
                                                       const char *format, ...);

/* Adds a value, which is taken over, to the step's JSON. */
void report_set(struct report *report, const char *key, json_t *value);

/* A text as JSON, whatever is in it. */
json_t *report_text(const char *text);

/* End the step. */
__attribute__((format(printf, 2, 3))) void report_ok(struct report *report,
                                                     const char *format, ...);
__attribute__((format(printf, 2, 3))) void report_warn(struct report *report,
                                                       const char *format, ...);

/* The same where it has failed: with an mst_error, or 0 where it is the
 * configuration; what to do, NULL for what that error usually asks for. */
__attribute__((format(printf, 4, 5))) void report_fail(struct report *report,
                                                       int error,
                                                       const char *advice,
                                                       const char *format, ...);

/* A whole step that cannot be tried. */
__attribute__((format(printf, 3, 4))) void
report_skip(struct report *report, const char *name, const char *format, ...);

/* Says what to do, and frees what the report has. Returns the exit code. */
int report_end(struct report *report);

#endif
