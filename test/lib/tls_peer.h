/*
 * TLS for a peer of the mock port: BearSSL's server engine in memory, between
 * the mock and a peer without TLS. Its certificates are made with the openssl
 * command.
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

/* A certificate chain and the key of its first certificate. */
struct tls_identity {
    br_x509_certificate chain[2];
    size_t chain_len;
    unsigned char der[2][TLS_PEER_CERTIFICATE];
    unsigned char key_der[TLS_PEER_CERTIFICATE];
    br_skey_decoder_context key;
};

/* A trust anchor and the data that it points to. */
struct tls_anchor {
    br_x509_trust_anchor anchor;
    unsigned char name[512], point[133];
};

/* The program's certificates, below temporary(). */
extern char tls_folder[64];

/* Makes the folder with CAs and certificates: ca.pem, and NAME.pem with
 * NAME.key. The names are localhost, wrong (for another host), expired, early
 * (not yet valid), unknown (of another CA), nameless (no alternative name),
 * unsigning (the key must not sign) and client (only for clients). They are
 * valid from 2020 to 2040; expired until 2021, early from 2039. names are the
 * host names. Returns false if openssl fails. */
bool tls_make_certificates(const char *names);
int tls_remove_certificates(void **state); /* cmocka's group teardown */

/* Reads NAME.pem and NAME.key; false if they cannot be read. */
bool tls_identity_load(struct tls_identity *identity, const char *name);

/* Reads NAME.pem; false if it cannot be read or has no elliptic-curve key. */
bool tls_anchor_load(struct tls_anchor *anchor, const char *name);

/* The server's reaction to a handshake that offers a session. */
enum tls_offer {
    TLS_FORGETS, /* a full handshake */
    TLS_RESUMES,
    TLS_RESETS, /* resets the connection */
    TLS_STALLS, /* does not answer */
    TLS_SPOILS  /* a short handshake with keys unlike the client's */
};

/* A session that can be resumed, and its host. */
struct tls_session {
    char host[MST_HOST_MAX + 1];
    br_ssl_session_parameters parameters;
};

struct tls_peer_link {
    br_ssl_server_context server;
    char host[MST_HOST_MAX + 1]; /* of the client's connection */
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
    struct mst_mock_peer inner; /* receives and sends plaintext */
    bool silent;                /* does not answer in the handshake */
    bool truncate;              /* ends without close_notify */
    enum tls_offer offer;

    /* For the test to read. */
    uint64_t handshakes; /* started */
    uint64_t full;       /* those in which the client checked the certificate */
    uint64_t offered;    /* sessions that the client offered */
    uint64_t foreign;    /* those of another host */
    struct tls_session sessions[TLS_PEER_SESSIONS]; /* the last ones */

    /* Private. */
    const br_ssl_session_cache_class *cache;
    struct mst_mock *mock;
    struct tls_peer_link links[MST_MOCK_LINKS];
};

/* Inserts the TLS server between the mock and its peer. */
void tls_peer_init(struct tls_peer *peer, struct mst_mock *mock,
                   const struct tls_identity *identity);

/* For the inner peer, instead of mst_mock_write() and mst_mock_end(); context
 * is the tls_peer. */
size_t tls_peer_write(void *context, int link, const void *data, size_t len);
void tls_peer_end(void *context, int link, int error);

#endif
