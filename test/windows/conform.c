/*
 * The port conformance test on the Windows port: conform.exe HOST PEER_PORT
 * CLOSED_PORT, with peer.py on that host.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_conform.h"
#include "mst_windows.h"

#include <windows.h>

#include <stdio.h>
#include <stdlib.h>

#define LINKS 5

static int passed;

static void rest(void *context) {
    (void)context;
    Sleep(1);
}

static void report(void *context, const char *name, const char *why) {
    (void)context;
    passed += why == NULL;
    printf("%s %s%s%s\n", why == NULL ? "ok  " : "FAIL", name,
           why == NULL ? "" : ": ", why == NULL ? "" : why);
}

int main(int argc, char **argv) {
    static struct mst_windows_link links[LINKS];
    struct mst_windows windows;
    struct mst_conform conform = {
        .links = LINKS,
        .nowhere = "nobody.invalid",
        .much = 8000000,
        .wait = rest,
        .report = report,
    };
    int failed;

    if (argc != 4) {
        fprintf(stderr, "usage: conform HOST PEER_PORT CLOSED_PORT\n");
        return 2;
    }
    conform.host = argv[1];
    conform.peer_port = (uint16_t)strtoul(argv[2], NULL, 10);
    conform.closed_port = (uint16_t)strtoul(argv[3], NULL, 10);
    if (mst_windows_init(&windows, links, LINKS, &conform.port) != 0) {
        return EXIT_FAILURE;
    }
    failed = mst_conform_run(&conform);
    mst_windows_free(&windows);
    printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
