/*
 * The TLS of a server, by OpenSSL: with the versions, suites and trust anchors
 * of the stream, whichever library that uses. A certificate that is not good
 * does not end the handshake, so that all of it can be shown; nothing is sent
 * behind it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "doctor.h"

#include <openssl/err.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "doctor_certificate.h"
#include "mst_openssl.h"

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

/* The error of a handshake that has failed. */
static void handshake_explain(struct handshake *handshake, int result) {
    unsigned long code = ERR_peek_last_error();

    if (result == SSL_ERROR_SSL && ERR_GET_LIB(code) == ERR_LIB_SSL &&
        ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
        handshake->error = MST_ERR_EOF;
    } else if (result == SSL_ERROR_SSL) {
        handshake->error = mst_openssl_reason_error(ERR_GET_REASON(code));
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
    struct mst_openssl_anchors anchors;
    SSL_CTX *context;

    memset(handshake, 0, sizeof *handshake);
    handshake->error =
        mst_openssl_context(&context, anchors_path(settings), &anchors);
    handshake->fd = route_open(route);
    if (handshake->fd < 0) {
        handshake->error = handshake->fd;
    }
    if (handshake->error == 0) {
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, certificate_look);
        handshake->ssl = SSL_new(context);
        if (handshake->ssl != NULL &&
            SSL_set_max_proto_version(handshake->ssl, newest) == 1 &&
            mst_openssl_name(handshake->ssl, route->server.host) &&
            SSL_set_fd(handshake->ssl, handshake->fd) == 1) {
            SSL_set_app_data(handshake->ssl, &handshake->faults);
            handshake_run(handshake, clock_ms() + route->timeout_ms);
        } else {
            handshake->error = MST_ERR_MEMORY;
        }
    }
    SSL_CTX_free(context);
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
