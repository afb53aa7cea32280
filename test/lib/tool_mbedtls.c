/*
 * Linked into the tool with --wrap, replaces OpenSSL's TLS by mbedTLS
 * ($(BUILD)/mbedtls/mini-stream).
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_mbedtls.h"
#include "mst_openssl.h"

#include <stdlib.h>

static struct mst_mbedtls mbedtls;
static struct mst_mbedtls_link *links;
static mbedtls_x509_crt anchors;

int __wrap_mst_openssl_init(struct mst_openssl *openssl, const char *ca,
                            const struct mst_port *below,
                            const struct mst_openssl_link *unused, size_t count,
                            struct mst_port *port) {
    (void)unused;
    links = calloc(count, sizeof *links);
    mbedtls_x509_crt_init(&anchors);
    openssl->anchors.path = ca;
    openssl->anchors.len = mbedtls_x509_crt_parse_file(&anchors, ca) == 0;
    return mst_mbedtls_init(&mbedtls, &anchors, below, links, count, port);
}

void __wrap_mst_openssl_free(const struct mst_openssl *openssl) {
    (void)openssl;
    mst_mbedtls_free(&mbedtls);
    mbedtls_x509_crt_free(&anchors);
    free(links);
}
