/*
 * TLS 1.2 and 1.3 for a peer of the mock port: OpenSSL's server in memory,
 * between the mock and a peer without TLS.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef OPENSSL_PEER_H
#define OPENSSL_PEER_H

#include <openssl/ssl.h>

#include "mst_mock.h"

#define OPENSSL_PEER_PENDING 262144

struct openssl_peer_link {
    SSL *ssl;
    BIO *in, *out;                               /* of ssl */
    unsigned char pending[OPENSSL_PEER_PENDING]; /* plaintext not yet taken */
    size_t pending_len;
    bool open, pumping, ending;
    int end;
};

struct openssl_peer {
    /* For the test to set. */
    struct mst_mock_peer inner; /* receives and sends plaintext */
    bool silent;                /* answers nothing */
    bool truncate;              /* ends without close_notify */

    /* For the test to read. */
    unsigned full, resumed;   /* completed handshakes */
    unsigned goodbyes;        /* connections that ended with close_notify */
    char name[256], last[32]; /* SNI and version of the last handshake */

    /* Private. */
    SSL_CTX *context;
    struct mst_mock *mock;
    struct openssl_peer_link links[MST_MOCK_LINKS];
};

/* Inserts the TLS server between the mock and its peer, with NAME.pem and
 * NAME.key of tls_peer.h. version 0: any version. */
void openssl_peer_init(struct openssl_peer *peer, struct mst_mock *mock,
                       const char *name, int version);
void openssl_peer_free(struct openssl_peer *peer);

/* Changes the certificate. */
void openssl_peer_certificate(struct openssl_peer *peer, const char *name);

/* Drops all sessions, and changes certificate and version. */
void openssl_peer_anew(struct openssl_peer *peer, const char *name,
                       int version);

/* For the inner peer, instead of mst_mock_write() and mst_mock_end(); context
 * is the openssl_peer. */
size_t openssl_peer_write(void *context, int link, const void *data,
                          size_t len);
void openssl_peer_end(void *context, int link, int error);

#endif
