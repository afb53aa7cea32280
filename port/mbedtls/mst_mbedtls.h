/*
 * Port that does TLS with mbedTLS instead of BearSSL, over any port that is not
 * secure itself: TLS 1.2 with mbedTLS 2.28, also 1.3 with mbedTLS 3.6.
 *
 *     mbedtls_x509_crt_init(&anchors);
 *     mbedtls_x509_crt_parse(&anchors, pem, sizeof pem);
 *     mst_mbedtls_init(&mbedtls, &anchors, &below, secured, 1, &port);
 *     mst_client_init(&client, &config, &port, &memory);
 *
 * Wait with the port below: mst_posix_wait() serves these objects like any. The
 * handshake has its own time, mst_config.tls_ms, and its errors have the stage
 * tls. The library needs no trust anchors and may be built with MST_NO_TLS.
 * Hosts may be IP addresses. mst_config.resume_ms has no effect:
 * MST_MBEDTLS_RESUME_S applies. mst_access_set_anchors() does not change what
 * is trusted, although it returns 0.
 *
 * The port allocates nothing, but mbedTLS does: with its own calloc(), or from
 * a buffer given to mbedtls_memory_buffer_alloc_init(). Each connection needs
 * MBEDTLS_SSL_IN_CONTENT_LEN + MBEDTLS_SSL_OUT_CONTENT_LEN and about 1 KB until
 * it is closed, and a handshake some KB more; see port/README.md.
 *
 * Not in mbedTLS 3.6: new keys during a connection with TLS 1.3 (KeyUpdate).
 * A server that sends one ends the connection with MST_ERR_TLS_PROTOCOL.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef MST_MBEDTLS_H
#define MST_MBEDTLS_H

#include <mbedtls/ctr_drbg.h>
#include <mbedtls/ssl.h>
#include <mbedtls/version.h>
#include <mbedtls/x509_crt.h>

#include "mini_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Number of servers whose last session is kept for a short handshake. mbedTLS
 * allocates each; with MBEDTLS_SSL_KEEP_PEER_CERTIFICATE a session includes the
 * server's certificate. */
#ifndef MST_MBEDTLS_SESSIONS
#define MST_MBEDTLS_SESSIONS 4
#endif

/* Seconds after the last check of the certificate for which a session is used.
 * */
#ifndef MST_MBEDTLS_RESUME_S
#define MST_MBEDTLS_RESUME_S 86400
#endif

/* A connection of an object. Members are private. */
struct mst_mbedtls_link {
    struct mst_mbedtls *mbedtls;
    const struct mst_endpoint *endpoint; /* of the server, borrowed */
    mbedtls_ssl_context ssl;
    int64_t unix_s;    /* at the start of the attempt */
    int64_t checked_s; /* when the certificate was checked */
    size_t made;       /* the caller's bytes in a record that is not yet sent */
    int read_error, write_error; /* of the port below */
    int error;                   /* ended the input */
    int detail;                  /* see mst_mbedtls_init() */
    bool verified;               /* the certificate, in this handshake */
    bool offered;                /* a session */
    bool dry;                    /* the port below has no more input now */
    bool unsent; /* mbedTLS holds output that the port below did not take */
    uint32_t issuers;                 /* flags of their certificates */
    uint8_t address_len, address[16]; /* of a host that is an IP address */
    uint8_t state;
};

/* A session with a server. Members are private. */
struct mst_mbedtls_session {
    char host[MST_HOST_MAX + 1];
    uint16_t port;
    bool kept; /* there is one */
    int64_t checked_s;
    mbedtls_ssl_session session;
};

/* The port's context. It outlives the objects, and must not be moved. */
struct mst_mbedtls {
    /* For the program to read: completed handshakes, and how many of these
     * were short. */
    uint64_t handshakes, resumed;
    /* For the program to change by mbedtls_ssl_conf_...() after
     * mst_mbedtls_init() and before the first connection, for example by
     * mbedtls_ssl_conf_max_frag_len(). Certificates are always checked. */
    mbedtls_ssl_config config;
    /* Private. */
    const struct mst_port *below;
    const mbedtls_x509_crt *anchors;
    struct mst_mbedtls_link *links;
    size_t count, next_session;
    mbedtls_ctr_drbg_context random;
    bool seeded;
    struct mst_mbedtls_session sessions[MST_MBEDTLS_SESSIONS];
};

/*
 * Prepares a port for objects with the link numbers 0 to count - 1. anchors is
 * the list of trusted certificates that mbedtls_x509_crt_parse() or one of its
 * relatives made. A certificate that is not an issuer's (X.509 version 1
 * included) is trusted only as the server's own. *mbedtls, anchors, *below and
 * links are borrowed until mst_mbedtls_free().
 *
 * Returns 0, MST_ERR_ARGUMENT, MST_ERR_ANCHORS if the list is empty, or
 * MST_ERR_MEMORY if mbedTLS cannot start. After success mst_mbedtls_free() must
 * follow; after an error it may.
 *
 * Random numbers come from the entropy of the port below, before each handshake
 * (MST_ERR_ENTROPY). With TLS 1.3, mbedTLS also uses PSA, which this function
 * starts with psa_crypto_init(): that takes entropy from where mbedTLS is
 * configured to. Certificates are checked with the clock of the port below;
 * while it is not set, a connection with TLS fails with MST_ERR_CLOCK.
 *
 * The detail of an MST_ERR_TLS_... is mbedTLS's: the MBEDTLS_X509_BADCERT_...
 * flags of a certificate, 1000 and the alert's number for an alert, otherwise
 * an MBEDTLS_ERR_... (negative).
 */
int mst_mbedtls_init(struct mst_mbedtls *mbedtls, mbedtls_x509_crt *anchors,
                     const struct mst_port *below,
                     struct mst_mbedtls_link *links, size_t count,
                     struct mst_port *port);

/* Frees what mbedTLS allocated, and wipes sessions and keys. Does nothing if
 * *mbedtls is all zero. Call it after the objects are closed or wiped, and
 * before the port below is freed. PSA stays started: the program may end it. */
void mst_mbedtls_free(struct mst_mbedtls *mbedtls);

#ifdef __cplusplus
}
#endif

#endif
