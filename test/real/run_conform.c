/*
 * The port conformance test on a port, on one that goes through a proxy over it
 * if there is a URL, and on one with TLS of OpenSSL over these if there is a CA:
 * run_conform PORT PEER_PORT CLOSED_PORT PROXY_URL CA. PORT is "cares" or
 * "threads", for the POSIX port with this resolver, or "sockets"; each of the
 * last two may be empty.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_cares.h"
#include "mst_conform.h"
#include "mst_openssl.h"
#include "mst_posix.h"
#include "mst_proxy.h"
#include "mst_sockets.h"

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

static int (*openssl_connect)(void *context, int link, int address);

/* A port may tell the TLS handshake apart, which that of OpenSSL does not. */
static int connect_in_tls(void *context, int link, int address) {
    int rc = openssl_connect(context, link, address);

    return rc == 0 ? MST_PORT_IN_TLS : rc;
}

int main(int argc, char **argv) {
    static struct mst_openssl_link secured[LINKS];
    static struct mst_posix_link links[LINKS];
    static struct mst_proxy_link proxied[LINKS];
    static struct mst_sockets_link socket_links[LINKS];
    static struct mst_sockets sockets;
    struct mst_port ports[3], *port = ports;
    struct mst_openssl openssl;
    struct mst_posix posix;
    struct mst_proxy proxy;
    struct mst_conform conform = {
        .links = LINKS,
        .host = "localhost",
        .nowhere = "nobody.invalid",
        .wait = rest,
        .report = report,
    };
    int failed;

    if (argc != 6) {
        fprintf(stderr, "usage: run_conform PORT PEER_PORT CLOSED_PORT "
                        "PROXY_URL CA\n");
        return 2;
    }
    conform.peer_port = (uint16_t)strtoul(argv[2], NULL, 10);
    conform.closed_port = (uint16_t)strtoul(argv[3], NULL, 10);
    conform.proxied = argv[4][0] != '\0';
    /* A proxy reads on: Linux may let its receive buffer grow to 32 MB. */
    conform.much = conform.proxied ? 50000000 : 8000000;
    conform.tls = argv[5][0] != '\0';
    if (mst_posix_init(&posix, links, LINKS, port) != 0) {
        return EXIT_FAILURE;
    }
    if (strcmp(argv[1], "cares") == 0) {
        mst_cares_init(&posix);
    }
    if (strcmp(argv[1], "sockets") == 0 &&
        mst_sockets_init(&sockets, socket_links, LINKS, port) != 0) {
        return EXIT_FAILURE;
    }
    if (conform.proxied) {
        port++;
        if (mst_proxy_init(&proxy, argv[4], port - 1, proxied, LINKS, port) !=
            0) {
            return EXIT_FAILURE;
        }
    }
    memset(&openssl, 0, sizeof openssl);
    if (conform.tls) {
        port++;
        if (mst_openssl_init(&openssl, argv[5], port - 1, secured, LINKS,
                             port) != 0) {
            return EXIT_FAILURE;
        }
    }
    conform.port = *port;
    if (conform.tls && !conform.proxied) {
        openssl_connect = port->connect;
        conform.port.connect = connect_in_tls;
    }
    failed = mst_conform_run(&conform);
    mst_openssl_free(&openssl);
    mst_sockets_free(&sockets);
    mst_posix_free(&posix);
    printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
