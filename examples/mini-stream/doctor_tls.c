/*
 * The TLS of a server, by OpenSSL: with the versions, suites and trust anchors
 * of the stream, whichever library that uses. A certificate that is not good
 * does not end the handshake, so that all of it can be shown; nothing is sent
 * behind it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "doctor_tls.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "doctor_certificate.h"

/* What a handshake has come to. */
struct handshake {
    SSL *ssl;
    int fd;
    int error;        /* mst_error, or 0 */
    const char *text; /* why, as OpenSSL has it; or NULL */
    struct certificate_faults faults;
};

/* Whether the stream has no TLS but 1.2. */
static bool is_old_only(const struct settings *settings) {
    return settings->tls != SETTINGS_OPENSSL;
}

/* What the stream trusts: the file that was read for BearSSL, or OpenSSL's. */
static const char *anchors_path(const struct settings *settings) {
    const char *path = settings->anchors.path != NULL
                           ? settings->anchors.path
                           : settings->options.value[SETTING_CA];

    path = path != NULL ? path : getenv("SSL_CERT_FILE");
    return path != NULL && *path != '\0' ? path : NULL;
}

/* As in port/openssl, or NULL. */
static SSL_CTX *context_new(const struct settings *settings, int newest) {
    const char *anchors = anchors_path(settings);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());

    if (context == NULL) {
        return NULL;
    }
    SSL_CTX_set_security_level(context, 2);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, certificate_look);
    (void)X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context),
                                      X509_V_FLAG_PARTIAL_CHAIN);
    if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_max_proto_version(context, newest) != 1 ||
        SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1 ||
        (anchors != NULL ? SSL_CTX_load_verify_file(context, anchors)
                         : SSL_CTX_set_default_verify_paths(context)) != 1) {
        SSL_CTX_free(context);
        return NULL;
    }
    return context;
}

static bool name_set(SSL *ssl, const char *host) {
    X509_VERIFY_PARAM *parameters = SSL_get0_param(ssl);

    X509_VERIFY_PARAM_set_hostflags(parameters,
                                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                        X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    return X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1 ||
           (SSL_set1_host(ssl, host) == 1 &&
            SSL_set_tlsext_host_name(ssl, host) == 1);
}

static int reason_error(int reason) {
    switch (reason) {
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
    case SSL_R_UNSUPPORTED_PROTOCOL: return MST_ERR_TLS_VERSION;
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
    case SSL_R_TLSV1_ALERT_INSUFFICIENT_SECURITY:
    case SSL_R_WRONG_CIPHER_RETURNED: return MST_ERR_TLS_HANDSHAKE;
    default:
        return reason >= SSL_AD_REASON_OFFSET &&
                       reason < SSL_AD_REASON_OFFSET + 256
                   ? MST_ERR_TLS_ALERT
                   : MST_ERR_TLS_PROTOCOL;
    }
}

/* The error of a handshake that has failed. */
static void handshake_explain(struct handshake *handshake, int result) {
    unsigned long code = ERR_peek_last_error();

    if (result == SSL_ERROR_SSL && ERR_GET_LIB(code) == ERR_LIB_SSL &&
        ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
        handshake->error = MST_ERR_EOF;
    } else if (result == SSL_ERROR_SSL) {
        handshake->error = reason_error(ERR_GET_REASON(code));
        handshake->text = ERR_reason_error_string(code);
    } else {
        handshake->error = MST_ERR_RESET;
    }
}

static void handshake_run(struct handshake *handshake, uint64_t end_ms) {
    int rc = SSL_connect(handshake->ssl);

    while (rc != 1) {
        int result = SSL_get_error(handshake->ssl, rc);

        if (result != SSL_ERROR_WANT_READ && result != SSL_ERROR_WANT_WRITE) {
            handshake_explain(handshake, result);
            return;
        }
        if (!route_wait(handshake->fd,
                        result == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT,
                        end_ms)) {
            handshake->error = MST_ERR_TIMEOUT;
            return;
        }
        rc = SSL_connect(handshake->ssl);
    }
}

/* Connects, and does the handshake with versions up to this one. */
static void handshake_begin(struct handshake *handshake,
                            const struct route *route,
                            const struct settings *settings, int newest) {
    SSL_CTX *context = context_new(settings, newest);

    memset(handshake, 0, sizeof *handshake);
    ERR_clear_error();
    handshake->fd = route_open(route);
    if (context != NULL && handshake->fd >= 0) {
        handshake->ssl = SSL_new(context);
    }
    SSL_CTX_free(context);
    if (handshake->fd < 0) {
        handshake->error = handshake->fd;
    } else if (handshake->ssl == NULL ||
               !name_set(handshake->ssl, route->server.host) ||
               SSL_set_fd(handshake->ssl, handshake->fd) != 1) {
        handshake->error = MST_ERR_MEMORY;
    } else {
        SSL_set_app_data(handshake->ssl, &handshake->faults);
        handshake_run(handshake, clock_ms() + route->timeout_ms);
    }
}

static void handshake_end(struct handshake *handshake) {
    if (handshake->ssl != NULL && handshake->error == 0) {
        (void)SSL_shutdown(handshake->ssl);
    }
    SSL_free(handshake->ssl);
    if (handshake->fd >= 0) {
        close(handshake->fd);
    }
}

/* Says why there is no connection with TLS. */
static void tell_failure(const struct handshake *handshake,
                         const struct route *route,
                         const struct settings *settings,
                         struct report *report) {
    struct handshake newer;

    if (handshake->error == MST_ERR_TLS_VERSION && is_old_only(settings)) {
        handshake_begin(&newer, route, settings, TLS1_3_VERSION);
        handshake_end(&newer);
        if (newer.error == 0) {
            report_fail(report, MST_ERR_TLS_VERSION,
                        "give --tls openssl: BearSSL has TLS 1.2 only",
                        "the server speaks TLS 1.3 only");
            return;
        }
    }
    if (handshake->error == MST_ERR_TIMEOUT) {
        report_fail(report, MST_ERR_TIMEOUT,
                    "it accepts connections and says nothing: check the port; "
                    "a firewall or a load balancer may accept for a server "
                    "that is not there",
                    "no answer");
        return;
    }
    report_fail(report, handshake->error, NULL, "%s%s%s",
                mst_strerror(handshake->error),
                handshake->text != NULL ? ": " : "",
                handshake->text != NULL ? handshake->text : "");
}

/* Says what was found behind a handshake. Returns whether it is good. */
static bool tell_certificates(const struct handshake *handshake,
                              const struct route *route,
                              const struct settings *settings,
                              struct report *report) {
    const char *version = SSL_get_version(handshake->ssl);
    const char *suite = SSL_get_cipher_name(handshake->ssl);
    int64_t days = certificate_tell(handshake->ssl, &handshake->faults,
                                    anchors_path(settings), report);
    char verdict[CERTIFICATE_TEXT_LEN];
    const char *advice = NULL;
    int error =
        certificate_verdict(handshake->ssl, &handshake->faults,
                            route->server.host, report, verdict, &advice);

    report_set(report, "tls_version", json_string(version));
    report_set(report, "suite", json_string(suite));
    if (error != 0) {
        report_fail(report, error, advice, "%s", verdict);
        return false;
    }
    if (is_old_only(settings) && !certificate_in_order(handshake->ssl)) {
        report_fail(report, MST_ERR_TLS_CERTIFICATE,
                    "ask the service to send each certificate before that of "
                    "its issuer, and no others; --tls openssl takes any order",
                    "the certificates are not sent in the order of the chain");
        return false;
    }
    if (days < CERTIFICATE_SOON_DAYS) {
        report_warn(report, "%s %s, but a certificate ends soon", version,
                    suite);
    } else {
        report_ok(report, "%s %s", version, suite);
    }
    return true;
}

bool tls_check(const struct route *route, const struct settings *settings,
               struct report *report) {
    struct handshake handshake;
    bool good = false;

    report_begin(report, "tls", "TLS of %s", route->name);
    handshake_begin(&handshake, route, settings,
                    is_old_only(settings) ? TLS1_2_VERSION : TLS1_3_VERSION);
    if (handshake.error != 0) {
        tell_failure(&handshake, route, settings, report);
    } else {
        good = tell_certificates(&handshake, route, settings, report);
    }
    handshake_end(&handshake);
    ERR_clear_error();
    return good;
}
