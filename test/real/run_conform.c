/*
 * The port conformance test on the POSIX port, or through a proxy over it:
 * run_conform RESOLVER PEER_PORT CLOSED_PORT [PROXY_URL], with the resolver
 * "cares" or "threads".
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_cares.h"
#include "mst_conform.h"
#include "mst_posix.h"
#include "mst_proxy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINKS 5

static int passed;

static void rest(void *context) {
    (void)context;
    (void)usleep(1000);
}

static void report(void *context, const char *name, const char *why) {
    (void)context;
    passed += why == NULL;
    printf("%s %s%s%s\n", why == NULL ? "ok  " : "FAIL", name,
           why == NULL ? "" : ": ", why == NULL ? "" : why);
}

int main(int argc, char **argv) {
    static struct mst_posix_link links[LINKS];
    static struct mst_proxy_link proxied[LINKS];
    struct mst_posix posix;
    struct mst_proxy proxy;
    struct mst_port below;
    struct mst_conform conform = {
        .links = LINKS,
        .host = "localhost",
        .nowhere = "nobody.invalid",
        .much = 8000000,
        .wait = rest,
        .report = report,
    };
    int failed;

    if (argc < 4 || argc > 5) {
        fprintf(stderr, "usage: run_conform RESOLVER PEER_PORT CLOSED_PORT "
                        "[PROXY_URL]\n");
        return 2;
    }
    conform.peer_port = (uint16_t)strtoul(argv[2], NULL, 10);
    conform.closed_port = (uint16_t)strtoul(argv[3], NULL, 10);
    if (mst_posix_init(&posix, links, LINKS, &conform.port) != 0) {
        return EXIT_FAILURE;
    }
    if (strcmp(argv[1], "cares") == 0) {
        mst_cares_init(&posix);
    }
    if (argc == 5) {
        conform.proxied = true;
        below = conform.port;
        if (mst_proxy_init(&proxy, argv[4], &below, proxied, LINKS,
                           &conform.port) != 0) {
            return EXIT_FAILURE;
        }
    }
    failed = mst_conform_run(&conform);
    mst_posix_free(&posix);
    printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
