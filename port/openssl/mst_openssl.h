/*
 * Port that does TLS 1.2 and 1.3 with OpenSSL 3 instead of BearSSL, over any
 * port that is not secure itself:
 *
 *     mst_posix_init(&posix, links, 1, &below);
 *     mst_openssl_init(&openssl, NULL, &below, secured, 1, &port);
 *     mst_client_init(&client, &config, &port, &memory);
 *
 * or over mst_proxy over that. Wait with the port below: mst_posix_wait()
 * serves these objects like any. mst_config.connect_ms includes the handshake,
 * and its errors have the stage connect. The library needs no trust anchors.
 * Hosts may be IP addresses. mst_config.resume_ms has no effect:
 * MST_OPENSSL_RESUME_S applies. mst_access_set_anchors() does not change what
 * is trusted, although it returns 0: free the port and initialise it again.
 *
 * The caller owns the structs. OpenSSL itself allocates, and takes random
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

/* Number of servers whose last session is kept for a short handshake. */
#ifndef MST_OPENSSL_SESSIONS
#define MST_OPENSSL_SESSIONS 4
#endif

/* Seconds after the last check of the certificate for which they are used. */
#ifndef MST_OPENSSL_RESUME_S
#define MST_OPENSSL_RESUME_S 86400
#endif

/* A connection of an object. Members are private. */
struct mst_openssl_link {
    struct mst_openssl *openssl;
    const struct mst_endpoint *endpoint; /* of the server, borrowed */
    SSL *ssl;
    int64_t unix_s;            /* at the start of the attempt */
    int64_t checked_s;         /* when the certificate was checked */
    int read_error;            /* of the port below */
    int write_error;           /* of the port below */
    int error;                 /* ended the input */
    int detail;                /* OpenSSL's number of the error */
    int address;               /* of the handshake */
    bool drained, wants_write; /* see mst_openssl.c */
    uint8_t state;
};

/* A session with a server. Members are private. */
struct mst_openssl_session {
    char host[MST_HOST_MAX + 1];
    uint16_t port;
    int64_t checked_s;
    SSL_SESSION *session; /* or NULL */
};

/* About the file of trust anchors; all 0 for a directory of the system. */
struct mst_openssl_anchors {
    size_t len;           /* certificates that are trusted */
    size_t leaves;        /* of these, those that are not issuers (X.509 v1) */
    size_t skipped;       /* damaged certificates, ignored */
    const char *path;     /* of the file that was read, borrowed; or NULL */
    unsigned long detail; /* OpenSSL's code for MST_ERR_ANCHORS */
};

/* The port's context. It must outlive the objects. */
struct mst_openssl {
    /* Refuses versions before TLS 1.3. Set it after mst_openssl_init(). */
    bool tls13_only;
    /* For the program to read: completed handshakes, and how many of these were
     * short. */
    uint64_t handshakes, resumed;
    struct mst_openssl_anchors anchors;
    /* Private. */
    const struct mst_port *below;
    struct mst_openssl_link *links;
    size_t count, next_session;
    SSL_CTX *context;
    BIO_METHOD *method;
    struct mst_openssl_session sessions[MST_OPENSSL_SESSIONS];
};

/*
 * Initialises a port for objects with the link numbers 0 to count - 1. ca is a
 * PEM file of trusted certificates. NULL means the file that $SSL_CERT_FILE
 * names or, if that is not set, the system's store as OpenSSL knows it. *below
 * and links are borrowed. Damaged certificates in the file are ignored. One
 * that is not an issuer's is trusted only as the server's own. A FIFO is read
 * when it has a writer; a file of more than 16 MB is refused.
 * Returns 0, MST_ERR_ARGUMENT, MST_ERR_ANCHORS if the file cannot be read or
 * has no usable certificate, or MST_ERR_MEMORY. After success
 * mst_openssl_free() must follow; after an error it may.
 *
 * While the clock of the port below is not set, a connection with TLS fails
 * with MST_ERR_CLOCK. The detail of an MST_ERR_TLS_... is OpenSSL's: for a
 * certificate, the code that X509_verify_cert_error_string() explains; for an
 * alert, 1000 plus its number; otherwise OpenSSL's reason.
 */
int mst_openssl_init(struct mst_openssl *openssl, const char *ca,
                     const struct mst_port *below,
                     struct mst_openssl_link *links, size_t count,
                     struct mst_port *port);

/* Frees what OpenSSL allocated, and wipes sessions. Not all keys are wiped:
 * OpenSSL 3.0 leaves traffic secrets and IVs of TLS 1.3 in the memory that it
 * frees. Does nothing if *openssl is all zero. Call it after the objects are
 * closed or wiped, and before the port below is freed. Sessions are kept until
 * then, or until a connection starts after they have expired. */
void mst_openssl_free(struct mst_openssl *openssl);

/* For a program that examines servers itself: makes a context with this port's
 * versions, suites, checks and trust anchors. The caller frees it. Returns the
 * same as mst_openssl_init(). */
int mst_openssl_context(SSL_CTX **made, const char *ca,
                        struct mst_openssl_anchors *anchors);

/* Sets the host name that the server's certificate must have. */
bool mst_openssl_name(SSL *ssl, const char *host);

/* Translate an X509_V_ERR_... and the reason of an OpenSSL error to
 * mst_error. */
int mst_openssl_certificate_error(int code);
int mst_openssl_reason_error(int reason);

/* A further check after OpenSSL's, for SSL_CTX_set_verify(). */
int mst_openssl_verify(int good, X509_STORE_CTX *store);

#ifdef __cplusplus
}
#endif

#endif
