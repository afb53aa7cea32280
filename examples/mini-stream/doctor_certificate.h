/*
 * The certificates of a server: what is in them, and what is wrong with them.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef DOCTOR_CERTIFICATE_H
#define DOCTOR_CERTIFICATE_H

#include <openssl/ssl.h>

#include "doctor_report.h"

/* A certificate that ends before that many days have passed ends soon. */
#define CERTIFICATE_SOON_DAYS 14

#define CERTIFICATE_TEXT_LEN 512
#define CERTIFICATE_FAULTS 8

/* What OpenSSL minds, in the order in which it looks, each once. Zero at
 * first. */
struct certificate_faults {
    size_t count;
    int codes[CERTIFICATE_FAULTS]; /* X509_V_ERR_... */
    int depths[CERTIFICATE_FAULTS];
};

/* For SSL_CTX_set_verify(): notes what is wrong in the faults that are the
 * connection's application data, and lets the handshake go on. */
int certificate_look(int good, X509_STORE_CTX *store);

/* Tells each certificate and the trust anchor, which is of this file, or of
 * the system (NULL). Returns the days that are left of the one that ends
 * first. */
int64_t certificate_tell(const SSL *ssl,
                         const struct certificate_faults *faults,
                         const char *anchors, struct report *report);

/* Whether the server sends its certificates in the order of the chain that
 * leads to the trust anchor, as BearSSL needs them. */
bool certificate_in_order(const SSL *ssl);

/* Describes the fault that is this mst_error, or else the first one, with
 * advice, or NULL for the usual; the others as notes. Returns its mst_error, or
 * 0. */
int certificate_verdict(const SSL *ssl, const struct certificate_faults *faults,
                        int error, const char *host, struct report *report,
                        char text[CERTIFICATE_TEXT_LEN], const char **advice);

#endif
