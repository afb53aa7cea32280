/*
 * Runs the port conformance test: run_conform PORT PEER_PORT CLOSED_PORT
 * PROXY_URL CA TLS. PORT is "cares" or "threads", for the POSIX port with this
 * resolver, or "sockets". A PROXY_URL that is not empty adds a proxy over the
 * port; a CA that is not empty adds TLS over these, by the library TLS:
 * "openssl" or "mbedtls".
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_cares.h"
#include "mst_conform_print.h"
#include "mst_mbedtls.h"
#include "mst_openssl.h"
#include "mst_posix.h"
#include "mst_proxy.h"
#include "mst_sockets.h"

#include <string.h>
#include <unistd.h>

#define LINKS 5

static void rest(void *context) {
    (void)context;
    (void)usleep(1000);
}

static struct mst_openssl openssl;
static struct mst_mbedtls mbedtls;
static mbedtls_x509_crt anchors;

/* Adds TLS over a port, as the next element of the array. */
static bool secure(const char *library, const char *ca, struct mst_port *port) {
    static struct mst_openssl_link of_openssl[LINKS];
    static struct mst_mbedtls_link of_mbedtls[LINKS];

    if (strcmp(library, "openssl") == 0) {
        return mst_openssl_init(&openssl, ca, port, of_openssl, LINKS,
                                port + 1) == 0;
    }
    mbedtls_x509_crt_init(&anchors);
    return mbedtls_x509_crt_parse_file(&anchors, ca) == 0 &&
           mst_mbedtls_init(&mbedtls, &anchors, port, of_mbedtls, LINKS,
                            port + 1) == 0;
}

int main(int argc, char **argv) {
    static struct mst_posix_link links[LINKS];
    static struct mst_proxy_link proxied[LINKS];
    static struct mst_sockets_link socket_links[LINKS];
    static struct mst_sockets sockets;
    struct mst_port ports[3], *port = ports;
    struct mst_posix posix;
    struct mst_proxy proxy;
    struct mst_conform conform = {
        .links = LINKS,
        .nowhere = "nobody.invalid",
        .wait = rest,
    };
    int status;

    if (argc != 7) {
        fprintf(stderr, "usage: run_conform PORT PEER_PORT CLOSED_PORT "
                        "PROXY_URL CA TLS\n");
        return 2;
    }
    conform.proxied = argv[4][0] != '\0';
    /* A proxy keeps reading: its receive buffer may grow to 32 MB on Linux. */
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
    if (conform.tls && !secure(argv[6], argv[5], port++)) {
        return EXIT_FAILURE;
    }
    conform.port = *port;
    status = mst_conform_main(&conform, "localhost", argv[2], argv[3]);
    mst_mbedtls_free(&mbedtls);
    mbedtls_x509_crt_free(&anchors);
    mst_openssl_free(&openssl);
    mst_sockets_free(&sockets);
    mst_posix_free(&posix);
    return status;
}
