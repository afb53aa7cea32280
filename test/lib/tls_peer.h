/*
 * TLS for a peer of the mock port: BearSSL's server engine in memory, between
 * the mock and a peer that speaks plain bytes; and certificates for it, made
 * with the openssl command.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef TLS_PEER_H
#define TLS_PEER_H

#include <bearssl.h>

#include "mst_mock.h"

#define TLS_PEER_CERTIFICATE 2048
#define TLS_PEER_PENDING 65536
#define TLS_PEER_SESSIONS 16

/* A chain of certificates and the key of its first. */
struct tls_identity {
    br_x509_certificate chain[2];
    size_t chain_len;
    unsigned char der[2][TLS_PEER_CERTIFICATE];
    unsigned char key_der[TLS_PEER_CERTIFICATE];
    br_skey_decoder_context key;
};

/* A trust anchor and what it points to. */
struct tls_anchor {
    br_x509_trust_anchor anchor;
    unsigned char name[512], point[133];
};

/* Makes CAs and certificates in a new directory, whose name is put in dir
 * (below temporary()): ca.pem, and NAME.pem with NAME.key for the names
 * localhost, wrong (for another host), expired, early (not yet valid), unknown
 * (of another CA), nameless (no alternative name), unsigning (the key must not
 * sign) and client (for clients alone). Valid from 2020 to 2040, expired until 2021, early
 * from 2039. The certificates are for the host names given. Returns false where
 * openssl fails. */
bool tls_make_certificates(char dir[64], const char *names);

/* Removes the directory. */
void tls_remove_certificates(const char *dir);

/* Reads DIR/NAME.pem and DIR/NAME.key; false where they cannot be read. */
bool tls_identity_load(struct tls_identity *identity, const char *dir,
                       const char *name);

/* Reads DIR/NAME.pem; false where it cannot be read, or its key is another
 * one than of a curve. */
bool tls_anchor_load(struct tls_anchor *anchor, const char *dir,
                     const char *name);

/* What becomes of a handshake that offers a session. */
enum tls_offer {
    TLS_FORGETS, /* it is a full one */
    TLS_RESUMES,
    TLS_RESETS, /* it is reset */
    TLS_STALLS, /* it gets no answer */
    TLS_SPOILS  /* it is short, with other keys than the client's */
};

/* A session that can be resumed, and the host that it is of. */
struct tls_session {
    char host[MST_HOST_MAX + 1];
    br_ssl_session_parameters parameters;
};

struct tls_peer_link {
    br_ssl_server_context server;
    char host[MST_HOST_MAX + 1]; /* that the client connected to */
    bool stalled, reset;
    unsigned char buffer[BR_SSL_BUFSIZE_BIDI];
    unsigned char pending[TLS_PEER_PENDING]; /* plaintext not yet taken */
    size_t pending_len;
    bool open, ending;
    int end;
};

struct tls_peer {
    /* For the test to set. */
    const struct tls_identity *identity;
    struct mst_mock_peer inner;        /* gets and gives plaintext */
    bool silent;                       /* answers nothing in the handshake */
    bool truncate;                     /* ends without close_notify */
    unsigned version_min, version_max; /* 0: TLS 1.2 */
    uint16_t suite;                    /* the only one, or 0 */
    enum tls_offer offer;

    /* For the test to read. */
    int error;           /* the engine's last error */
    uint64_t handshakes; /* that were begun */
    uint64_t full;       /* in which the client checked the certificate */
    uint64_t offered;    /* sessions by the client */
    uint64_t foreign;    /* of these, sessions of another host */
    struct tls_session sessions[TLS_PEER_SESSIONS]; /* the last ones */

    /* Private. */
    const br_ssl_session_cache_class *cache;
    struct mst_mock *mock;
    struct tls_peer_link links[MST_MOCK_LINKS];
};

/* Puts the peer between the mock and the peer it has now. */
void tls_peer_init(struct tls_peer *peer, struct mst_mock *mock,
                   const struct tls_identity *identity);

/* For the inner peer, instead of mst_mock_write() and mst_mock_end(); context
 * is the tls_peer. */
size_t tls_peer_write(void *context, int link, const void *data, size_t len);
void tls_peer_end(void *context, int link, int error);

#endif
