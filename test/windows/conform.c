/*
 * The port conformance test on the Windows port: conform.exe HOST PEER_PORT
 * CLOSED_PORT, with peer.py on that host.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_conform_print.h"
#include "mst_windows.h"

#include <windows.h>

#define LINKS 5

static void rest(void *context) {
    (void)context;
    Sleep(1);
}

int main(int argc, char **argv) {
    static struct mst_windows_link links[LINKS];
    struct mst_windows windows;
    struct mst_conform conform = {
        .links = LINKS,
        .nowhere = "nobody.invalid",
        .much = 8000000,
        .wait = rest,
    };
    int status;

    if (argc != 4) {
        fprintf(stderr, "usage: conform HOST PEER_PORT CLOSED_PORT\n");
        return 2;
    }
    if (mst_windows_init(&windows, links, LINKS, &conform.port) != 0) {
        return EXIT_FAILURE;
    }
    status = mst_conform_main(&conform, argv[1], argv[2], argv[3]);
    mst_windows_free(&windows);
    return status;
}
