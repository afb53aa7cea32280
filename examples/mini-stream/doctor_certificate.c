/*
 * The certificates of a server: their contents and their faults.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "doctor.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <limits.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock.h"

/* Bytes of a subject or an issuer, and of all names of a certificate. */
#define NAME_LEN 160
#define NAMES_LEN 256

/* Bytes of "2026-01-02T03:04:05Z" and a NUL. */
#define TIME_LEN 21

/* OpenSSL reports one missing issuer as two faults: one is kept. */
int certificate_look(int good, X509_STORE_CTX *store) {
    const SSL *ssl =
        X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct certificate_faults *faults = SSL_get_app_data(ssl);
    bool again = mst_openssl_verify(good, store) != 0 ||
                 faults->count == CERTIFICATE_FAULTS;
    int code = X509_STORE_CTX_get_error(store);

    for (size_t i = 0; i < faults->count; ++i) {
        int other = faults->codes[i];
        again |= other == code ||
                 (mst_openssl_certificate_error(other) == MST_ERR_TLS_ISSUER &&
                  mst_openssl_certificate_error(code) == MST_ERR_TLS_ISSUER);
    }
    if (!again) {
        faults->codes[faults->count] = code;
        faults->depths[faults->count++] = X509_STORE_CTX_get_error_depth(store);
    }
    return 1;
}

/* ---- Contents ---- */

static void name_write(const X509_NAME *name, char text[NAME_LEN]) {
    BIO *bio = BIO_new(BIO_s_mem());
    int len = 0;

    if (bio != NULL &&
        X509_NAME_print_ex(bio, name, 0,
                           XN_FLAG_RFC2253 & ~(unsigned)ASN1_STRFLGS_ESC_MSB) >
            0) {
        len = BIO_read(bio, text, NAME_LEN - 1);
    }
    text[len > 0 ? len : 0] = '\0';
    BIO_free(bio);
    if (text[0] == '\0') {
        snprintf(text, NAME_LEN, "(no name)");
    }
}

static void time_write(const ASN1_TIME *time, char text[TIME_LEN]) {
    struct tm parts;

    if (ASN1_TIME_to_tm(time, &parts) != 1 ||
        strftime(text, TIME_LEN, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) {
        snprintf(text, TIME_LEN, "(no time)");
    }
}

/* Whole days from now; negative if the time has passed. */
static int64_t days_to(const ASN1_TIME *time) {
    int days = 0, seconds = 0;

    (void)ASN1_TIME_diff(&days, &seconds, NULL, time);
    return days - (seconds < 0);
}

static json_t *certificate_json(const X509 *certificate) {
    char subject[NAME_LEN], issuer[NAME_LEN];
    char begin[TIME_LEN], end[TIME_LEN];

    name_write(X509_get_subject_name(certificate), subject);
    name_write(X509_get_issuer_name(certificate), issuer);
    time_write(X509_get0_notBefore(certificate), begin);
    time_write(X509_get0_notAfter(certificate), end);
    return json_pack("{s:o,s:o,s:s,s:s,s:I}", "subject", report_text(subject),
                     "issuer", report_text(issuer), "begins", begin, "ends",
                     end, "days_left",
                     (json_int_t)days_to(X509_get0_notAfter(certificate)));
}

static const char *member(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

/* Adds a note about a certificate. Returns the days left. */
static int64_t certificate_note(const json_t *certificate, const char *what,
                                struct report *report) {
    const char *subject = member(certificate, "subject");
    const char *issuer = member(certificate, "issuer");
    const bool own = strcmp(subject, issuer) == 0;
    char end[32];
    int64_t days =
        json_integer_value(json_object_get(certificate, "days_left"));

    if (days < 0) {
        snprintf(end, sizeof end, "ended");
    } else {
        snprintf(end, sizeof end, "%" PRId64 " days left", days);
    }
    report_note(report, "%s: %s%s%s, until %.10s (%s)", what, subject,
                own ? "" : ", by ", own ? "" : issuer,
                member(certificate, "ends"), end);
    return days;
}

/* The trust anchor of the chain, or NULL. */
static const X509 *anchor_of(const SSL *ssl,
                             const struct certificate_faults *faults) {
    STACK_OF(X509) *chain = SSL_get0_verified_chain(ssl);

    for (size_t i = 0; i < faults->count; ++i) {
        if (mst_openssl_certificate_error(faults->codes[i]) ==
            MST_ERR_TLS_ISSUER) {
            return NULL;
        }
    }
    return chain != NULL && sk_X509_num(chain) > 0
               ? sk_X509_value(chain, sk_X509_num(chain) - 1)
               : NULL;
}

int64_t certificate_tell(const SSL *ssl,
                         const struct certificate_faults *faults,
                         const char *anchors, struct report *report) {
    STACK_OF(X509) *chain = SSL_get_peer_cert_chain(ssl);
    const X509 *anchor = anchor_of(ssl, faults);
    const char *store = anchors != NULL ? anchors : "the system's store";
    json_t *certificates = json_array();
    int64_t least = INT64_MAX;

    for (int i = 0; chain != NULL && i < sk_X509_num(chain); ++i) {
        json_t *one = certificate_json(sk_X509_value(chain, i));
        int64_t days =
            certificate_note(one, i == 0 ? "server" : "issuer", report);

        least = days < least ? days : least;
        json_array_append_new(certificates, one);
    }
    report_set(report, "certificates", certificates);
    if (anchor == NULL) {
        report_note(report, "no trust anchor for it in %s", store);
        report_set(report, "anchor", json_null());
    } else {
        json_t *one = certificate_json(anchor);

        char what[PATH_MAX + 32];

        snprintf(what, sizeof what, "trust anchor in %s", store);
        (void)certificate_note(one, what, report);
        report_set(report, "anchor", one);
    }
    return least;
}

/* ---- Faults ---- */

/* Writes the names that the certificate is for, separated by commas. */
static void names_write(const X509 *certificate, char text[NAMES_LEN]) {
    GENERAL_NAMES *names =
        X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    size_t at = 0;

    text[0] = '\0';
    for (int i = 0; i < sk_GENERAL_NAME_num(names) && at < NAMES_LEN; ++i) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        const ASN1_STRING *value = name->d.ia5;
        char address[INET6_ADDRSTRLEN] = "";

        if (name->type == GEN_IPADD) {
            int len = ASN1_STRING_length(value);
            if (len == 4 || len == 16) {
                inet_ntop(len == 4 ? AF_INET : AF_INET6,
                          ASN1_STRING_get0_data(value), address,
                          sizeof address);
            }
            at += (size_t)snprintf(text + at, NAMES_LEN - at, "%s%s",
                                   at > 0 ? ", " : "", address);
        } else if (name->type == GEN_DNS) {
            at +=
                (size_t)snprintf(text + at, NAMES_LEN - at, "%s%.*s",
                                 at > 0 ? ", " : "", ASN1_STRING_length(value),
                                 (const char *)ASN1_STRING_get0_data(value));
        }
    }
    GENERAL_NAMES_free(names);
    if (at == 0) {
        snprintf(text, NAMES_LEN, "no host");
    }
}

bool certificate_in_order(const SSL *ssl) {
    STACK_OF(X509) *sent = SSL_get_peer_cert_chain(ssl);
    STACK_OF(X509) *chain = SSL_get0_verified_chain(ssl);
    bool same = true;

    /* the last one is the anchor, which need not be sent */
    for (int i = 0; same && i < sk_X509_num(chain) - 1; ++i) {
        same = i < sk_X509_num(sent) &&
               X509_cmp(sk_X509_value(sent, i), sk_X509_value(chain, i)) == 0;
    }
    return same;
}

static void verdict_time(const X509 *certificate, int code,
                         char text[CERTIFICATE_TEXT_LEN]) {
    const bool early = code == X509_V_ERR_CERT_NOT_YET_VALID;
    const ASN1_TIME *at = early ? X509_get0_notBefore(certificate)
                                : X509_get0_notAfter(certificate);
    char name[NAME_LEN], time[TIME_LEN], now[TEXT_TIME_LEN];

    name_write(X509_get_subject_name(certificate), name);
    time_write(at, time);
    text_time(clock_unix_ns(), now);
    snprintf(text, CERTIFICATE_TEXT_LEN,
             "the certificate of %s %s %s; the clock here says %s", name,
             early ? "is not valid before" : "expired", time, now);
}

static void verdict_issuer(const X509 *certificate, int code,
                           char text[CERTIFICATE_TEXT_LEN],
                           const char **advice) {
    char issuer[NAME_LEN];

    name_write(X509_get_issuer_name(certificate), issuer);
    if (code == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT) {
        snprintf(text, CERTIFICATE_TEXT_LEN,
                 "the certificate is self-signed (%s)", issuer);
        *advice = "something answers in the server's place, or it is a test "
                  "server: for that, give its certificate with --ca";
    } else if (code == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN) {
        snprintf(text, CERTIFICATE_TEXT_LEN,
                 "the chain leads to %s, which is not trusted here", issuer);
        *advice = "if this is your company's proxy or virus scanner, it "
                  "intercepts TLS: ask for an exception; if it is the "
                  "service's own authority, give its certificate with --ca";
    } else {
        snprintf(text, CERTIFICATE_TEXT_LEN, "the issuer %s is unknown here",
                 issuer);
        *advice = "the server does not send all of its chain, or its "
                  "authority is not trusted here: ask the service for the "
                  "authority's certificate, and give it with --ca";
    }
}

int certificate_verdict(const SSL *ssl, const struct certificate_faults *faults,
                        int error, const char *host, struct report *report,
                        char text[CERTIFICATE_TEXT_LEN], const char **advice) {
    STACK_OF(X509) *chain = SSL_get0_verified_chain(ssl);
    size_t said = 0;
    int code, depth;
    const X509 *certificate;
    char names[NAMES_LEN];

    while (said < faults->count &&
           mst_openssl_certificate_error(faults->codes[said]) != error) {
        ++said;
    }
    said = said < faults->count ? said : 0;
    for (size_t i = 0; i < faults->count; ++i) {
        if (i != said) {
            report_note(report, "also: %s",
                        X509_verify_cert_error_string(faults->codes[i]));
        }
    }
    code = faults->codes[said]; /* X509_V_OK if there is none */
    depth = faults->depths[said];
    certificate = chain != NULL && depth < sk_X509_num(chain)
                      ? sk_X509_value(chain, depth)
                      : SSL_get0_peer_certificate(ssl);
    if (code == X509_V_OK) {
        return 0;
    }
    switch (mst_openssl_certificate_error(code)) {
    case MST_ERR_TLS_TIME: verdict_time(certificate, code, text); break;
    case MST_ERR_TLS_ISSUER:
        verdict_issuer(certificate, code, text, advice);
        break;
    case MST_ERR_TLS_NAME:
        names_write(certificate, names);
        snprintf(text, CERTIFICATE_TEXT_LEN,
                 "the certificate is for %s, not for %s", names, host);
        break;
    default:
        snprintf(text, CERTIFICATE_TEXT_LEN, "%s",
                 X509_verify_cert_error_string(code));
        break;
    }
    return mst_openssl_certificate_error(code);
}
