/*
 * Port that does TLS 1.2 and 1.3 with OpenSSL 3 in place of BearSSL, over any
 * port that is not secure itself:
 *
 *     mst_posix_init(&posix, links, 1, &below);
 *     mst_openssl_init(&openssl, NULL, &below, secured, 1, &port);
 *     mst_client_init(&client, &config, &port, &memory);
 *
 * or over a proxy over that. Waiting is the other port's: mst_posix_wait()
 * serves these objects as any. mst_config.connect_ms covers the handshake, and
 * its errors are of stage connect; trust anchors are not needed. Hosts may be
 * IP addresses. mst_config.resume_ms has no effect: MST_OPENSSL_RESUME_S
 * counts. mst_access_set_anchors() does not change what is trusted, though it
 * returns 0: free the port and prepare it again.
 *
 * The structs are the caller's; OpenSSL itself allocates, and takes its random
 * numbers from the system.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef MST_OPENSSL_H
#define MST_OPENSSL_H

#include <openssl/ssl.h>

#include "mini_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Servers whose last session is kept, for a short handshake. */
#ifndef MST_OPENSSL_SESSIONS
#define MST_OPENSSL_SESSIONS 4
#endif

/* Seconds for which they serve, since the certificate was last checked. */
#ifndef MST_OPENSSL_RESUME_S
#define MST_OPENSSL_RESUME_S 86400
#endif

/* A connection of an object. Members are private. */
struct mst_openssl_link {
    struct mst_openssl *openssl;
    const struct mst_endpoint *endpoint; /* of the server, borrowed */
    SSL *ssl;
    int64_t unix_s;            /* at the begin of the attempt */
    int64_t checked_s;         /* when the certificate was checked */
    int read_error;            /* of the port below */
    int write_error;           /* likewise */
    int error;                 /* that has ended what comes */
    int detail;                /* OpenSSL's number for what went wrong */
    int address;               /* of the handshake */
    bool drained, wants_write; /* see mst_openssl.c */
    uint8_t state;
};

/* What a short handshake with a server needs. Members are private. */
struct mst_openssl_session {
    char host[MST_HOST_MAX + 1];
    uint16_t port;
    int64_t checked_s;
    SSL_SESSION *session; /* or NULL */
};

/* Of the file that was read; all 0 for the rest of the system's store. */
struct mst_openssl_anchors {
    size_t len;           /* certificates that are trusted */
    size_t leaves;        /* of these, those that are no issuer's (X.509 v1) */
    size_t skipped;       /* others, which were left out: damaged */
    const char *path;     /* what was read, borrowed; or NULL */
    unsigned long detail; /* OpenSSL's code for MST_ERR_ANCHORS */
};

/* The port's context; it outlives the objects. */
struct mst_openssl {
    /* Nothing older than TLS 1.3 will do. May be set after
     * mst_openssl_init(). */
    bool tls13_only;
    /* To be read: handshakes that came about, and how many were short. */
    uint64_t handshakes, resumed;
    struct mst_openssl_anchors anchors; /* also where there are none */
    /* Private. */
    const struct mst_port *below;
    struct mst_openssl_link *links;
    size_t count, next_session;
    SSL_CTX *context;
    BIO_METHOD *method;
    struct mst_openssl_session sessions[MST_OPENSSL_SESSIONS];
};

/*
 * Prepares a port for objects with the link numbers 0 to count - 1. ca is a PEM
 * file of what is trusted; NULL stands for the one that $SSL_CERT_FILE names
 * or, where that is not set, the system's store as OpenSSL knows it. *below and
 * links are borrowed. Of a file, certificates that are damaged are left out, and
 * what is no issuer's serves the server whose own certificate it is alone. The
 * writer of a FIFO is waited for; more than 16 MB are refused.
 * Returns 0, MST_ERR_ARGUMENT, MST_ERR_ANCHORS for a file that cannot be read or
 * has no certificate that can be used, or MST_ERR_MEMORY. On success
 * mst_openssl_free() must follow, otherwise it may.
 *
 * As long as the clock of the port below is not set a connection with TLS fails
 * with MST_ERR_CLOCK. The detail of an MST_ERR_TLS_... is OpenSSL's: of what
 * was found in a certificate the code that X509_verify_cert_error_string()
 * explains, otherwise the reason (1000 and the alert's number for an alert).
 */
int mst_openssl_init(struct mst_openssl *openssl, const char *ca,
                     const struct mst_port *below,
                     struct mst_openssl_link *links, size_t count,
                     struct mst_port *port);

/* Frees all that OpenSSL has, and wipes sessions. Not all keys are wiped:
 * OpenSSL 3.0 leaves traffic secrets and IVs of TLS 1.3 in the memory that it
 * frees. Harmless where *openssl is all zero. To be called after the objects
 * are closed or wiped, and before the port below goes. Sessions outlive the
 * objects until then, or until a connection begins once their time is over. */
void mst_openssl_free(struct mst_openssl *openssl);

/* For a program that has a look at servers by itself: this port's versions,
 * suites, checks and trust anchors, as a context to be freed. Returns as
 * mst_openssl_init() does. */
int mst_openssl_context(SSL_CTX **made, const char *ca,
                        struct mst_openssl_anchors *anchors);

/* Says whom the server's certificate must be for. */
bool mst_openssl_name(SSL *ssl, const char *host);

/* The errors that an X509_V_ERR_... and the reason of an OpenSSL error are. */
int mst_openssl_certificate_error(int code);
int mst_openssl_reason_error(int reason);

/* The check that OpenSSL's own is followed by, for SSL_CTX_set_verify(). */
int mst_openssl_verify(int good, X509_STORE_CTX *store);

#ifdef __cplusplus
}
#endif

#endif
