/*
 * The port conformance test in a program that has standard output.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef MST_CONFORM_PRINT_H
#define MST_CONFORM_PRINT_H

#include "mst_conform.h"

#include <stdio.h>
#include <stdlib.h>

static int mst_conform_passed;

/* A report: prints a line. */
static inline void mst_conform_print(void *context, const char *name,
                                     const char *why) {
    (void)context;
    mst_conform_passed += why == NULL;
    printf("%s %s%s%s\n", why == NULL ? "ok  " : "FAIL", name,
           why == NULL ? "" : ": ", why == NULL ? "" : why);
}

/* Runs all cases against the peer on this host, whose two ports are given as
 * peer.py prints them; sets host, ports and report. Ends with a line "N passed,
 * N failed". Returns an exit status: 0 if all passed. */
static inline int mst_conform_main(struct mst_conform *conform,
                                   const char *host, const char *peer_port,
                                   const char *closed_port) {
    int failed;

    conform->host = host;
    conform->peer_port = (uint16_t)strtoul(peer_port, NULL, 10);
    conform->closed_port = (uint16_t)strtoul(closed_port, NULL, 10);
    conform->report = mst_conform_print;
    failed = mst_conform_run(conform);
    printf("%d passed, %d failed\n", mst_conform_passed, failed);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
