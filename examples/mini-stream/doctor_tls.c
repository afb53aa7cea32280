/*
 * The TLS of a server. A handshake by mini_stream with the stream's own TLS
 * library decides. A second one uses the other library. A third one, by OpenSSL
 * alone, describes the certificates and ignores their faults. No data is sent
 * after a handshake.
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

#define MESSAGE_LEN 1024
#define WHY_LEN SETTINGS_ERROR_LEN

/* The link of a trial. Link 0 is the session's. */
#define LINK 1

/* A handshake by OpenSSL alone. */
struct handshake {
    SSL *ssl;
    int fd;
    int error; /* mst_error, or 0 */
    struct certificate_faults faults;
};

/* The result of a handshake by mini_stream. */
struct trial {
    int error;         /* mst_error, or 0 */
    char why[WHY_LEN]; /* the error as text */
};

static struct mst_client client;
MST_MEMORY(memory, MST_RECORD_IN_ANY, MST_RECORD_OUT_FULL, MESSAGE_LEN, 0);
static bool opened; /* the trial's handshake is complete */
static int (*below_send)(void *context, int link, const void *data, size_t len);

/* The library that the stream does not use. */
static struct {
    bool begun, usable;
    struct settings settings;
    struct network network;
    char error[SETTINGS_ERROR_LEN];
} other;

/* True if the library supports only TLS 1.2. */
static bool is_old_only(const struct settings *settings) {
    return settings->tls != SETTINGS_OPENSSL;
}

static const char *option_of(const struct settings *settings) {
    return is_old_only(settings) ? "--tls fast" : "--tls openssl";
}

static void trial_trace(void *context, const struct mst_trace *trace) {
    (void)context;
    opened |= trace->kind == MST_TRACE_OPENED;
}

/* The port's send(), until the handshake is complete. */
static int trial_send(void *context, int link, const void *data, size_t len) {
    return opened ? MST_ERR_RESET : below_send(context, link, data, len);
}

/* Connects by mini_stream, until the handshake is complete or has failed. */
static void trial_run(struct trial *trial, const struct route *route,
                      struct network *network, const struct settings *settings,
                      const struct mst_config *session) {
    struct mst_port port = network->port;
    struct mst_config config = *session;
    struct mst_event event;
    char url[ROUTE_NAME_LEN + 8];
    int rc, detail = 0;

    snprintf(url, sizeof url, "https://%s", route->name);
    config.auth_url = url;
    config.client_id = config.client_secret = "none"; /* never sent */
    config.anchors = settings->anchors.anchors;
    config.anchors_len = settings->anchors.len;
    config.trace = trial_trace;
    config.link = LINK;
    below_send = port.send;
    port.send = trial_send;
    opened = false;
    rc = mst_client_init(&client, &config, &port, &memory);
    trial->error = rc;
    while (rc >= 0 && !opened) {
        rc = mst_poll(&client, &event);
        if (rc > 0 && event.type == MST_EVENT_CLOSED) {
            trial->error = event.as.failure.error;
            detail = event.as.failure.detail;
            break;
        }
        if (rc == 0) {
            network_wait(network, &client.link);
        }
    }
    trial->error = opened ? 0 : trial->error;
    detail_of_openssl(!is_old_only(settings));
    snprintf(trial->why, sizeof trial->why, "%s%s%s",
             mst_strerror(trial->error),
             *detail_text(trial->error, detail) ? ": " : "",
             detail_text(trial->error, detail));
    mst_client_wipe(&client);
}

/* trial_run() with the other library, which may lack trust anchors. */
static void trial_other(struct trial *trial, const struct route *route,
                        const struct settings *settings,
                        const struct mst_config *session) {
    if (!other.begun) {
        const char *ca = settings->options.value[SETTING_CA];
        int rc = 0;

        other.begun = true;
        other.settings = *settings;
        other.settings.tls =
            is_old_only(settings) ? SETTINGS_OPENSSL : SETTINGS_FAST;
        if (!is_old_only(settings)) {
            rc = mst_posix_anchors_load(&other.settings.anchors, ca);
            snprintf(other.error, sizeof other.error, "trust anchors: %s",
                     mst_posix_strerror(rc));
        }
        other.network.quiet = true;
        other.usable = rc == 0 && network_begin(&other.network, &other.settings,
                                                LINK + 1, other.error);
    }
    if (other.usable) {
        trial_run(trial, route, &other.network, &other.settings, session);
    } else {
        trial->error = MST_ERR_ANCHORS;
        snprintf(trial->why, sizeof trial->why, "%s", other.error);
    }
    detail_of_openssl(!is_old_only(settings));
}

/* The file of trust anchors, or NULL for the system's. */
static const char *anchors_path(const struct settings *settings) {
    const char *path = settings->anchors.path != NULL
                           ? settings->anchors.path
                           : settings->options.value[SETTING_CA];

    path = path != NULL ? path : getenv("SSL_CERT_FILE");
    return path != NULL && *path != '\0' ? path : NULL;
}

static void handshake_run(struct handshake *handshake, uint64_t end_ms) {
    int rc;

    while ((rc = SSL_connect(handshake->ssl)) != 1) {
        int result = SSL_get_error(handshake->ssl, rc);

        if (result != SSL_ERROR_WANT_READ && result != SSL_ERROR_WANT_WRITE) {
            unsigned long code = ERR_peek_last_error();

            handshake->error =
                result == SSL_ERROR_SSL
                    ? mst_openssl_reason_error(ERR_GET_REASON(code))
                    : MST_ERR_RESET;
            return;
        }
        if (!route_wait(handshake->fd,
                        result == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT,
                        end_ms)) {
            handshake->error = MST_ERR_TIMEOUT;
            return;
        }
    }
}

/* Connects, and makes a handshake with TLS versions up to this one. */
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

/* What OpenSSL found. */
struct verdict {
    int error; /* mst_error, or 0 */
    char text[CERTIFICATE_TEXT_LEN];
    const char *advice;        /* or NULL */
    const char *version;       /* of TLS, or NULL if there was no handshake */
    bool ends_soon, unordered; /* about the certificates */
};

/* Describes a server's certificates, and their fault for this error. */
static void look_tell(const struct handshake *look, const struct route *route,
                      const struct settings *settings, int error,
                      struct report *report, struct verdict *verdict) {
    SSL *ssl = look->ssl;

    memset(verdict, 0, sizeof *verdict);
    if (look->error != 0) {
        return;
    }
    verdict->version = SSL_get_version(ssl);
    report_set(report, "tls_version", json_string(verdict->version));
    report_set(report, "suite", json_string(SSL_get_cipher_name(ssl)));
    verdict->ends_soon =
        certificate_tell(ssl, &look->faults, anchors_path(settings), report) <
        CERTIFICATE_SOON_DAYS;
    verdict->unordered = !certificate_in_order(ssl);
    verdict->error =
        certificate_verdict(ssl, &look->faults, error, route->server.host,
                            report, verdict->text, &verdict->advice);
}

static void tell_failure(const struct trial *used,
                         const struct verdict *verdict, bool other_works,
                         struct report *report) {
    const char *advice = NULL, *text = used->why;

    if (used->error == MST_ERR_TIMEOUT) {
        text = "no answer";
        advice = "the server accepts connections but says nothing: check the "
                 "port; a firewall or a load balancer may have accepted for a "
                 "server that is down";
    } else if (verdict->error == used->error) {
        text = verdict->text;
        advice = verdict->advice;
    } else if (other_works && used->error == MST_ERR_TLS_VERSION) {
        text = "the server speaks TLS 1.3 only";
        advice = "use --tls openssl: BearSSL has TLS 1.2 only";
    } else if (other_works && verdict->unordered) {
        text = "the certificates are not sent in the order of the chain";
        advice = "ask the service to send each certificate before its "
                 "issuer's, and no others; --tls openssl accepts any order";
    } else if (other_works) {
        advice = "use --tls openssl, which works with this server";
    } else if (verdict->error != 0) { /* perhaps the cause */
        report_note(report, "OpenSSL: %s", verdict->text);
        advice = doctor_advice(verdict->error);
    }
    report_fail(report, used->error, advice, "%s", text);
}

bool tls_check(const struct route *route, struct network *network,
               const struct settings *settings, const struct mst_config *config,
               struct report *report) {
    struct trial used, second;
    struct handshake look;
    struct verdict verdict = {0};
    const char *version = "TLSv1.2";
    bool old = is_old_only(settings);

    report_begin(report, "tls", "TLS of %s", route->name);
    trial_run(&used, route, network, settings, config);
    if (used.error == MST_ERR_TIMEOUT) { /* the others would, too */
        tell_failure(&used, &verdict, false, report);
        return false;
    }
    trial_other(&second, route, settings, config);
    handshake_begin(&look, route, settings,
                    old ? TLS1_2_VERSION : TLS1_3_VERSION);
    if (old && look.error == MST_ERR_TLS_VERSION) {
        handshake_end(&look);
        handshake_begin(&look, route, settings, TLS1_3_VERSION);
    }
    look_tell(&look, route, settings, used.error, report, &verdict);
    if (!old) {
        version = verdict.version != NULL ? verdict.version : "TLS";
    }
    report_set(report, "other_tls",
               json_pack("{s:s,s:b}", "library", old ? "openssl" : "fast",
                         "works", second.error == 0));
    if (second.error == 0) {
        report_note(report, "works with %s%s", option_of(&other.settings),
                    used.error == 0 ? " as well" : "");
    } else {
        report_note(report, "%s fails%s: %s", option_of(&other.settings),
                    used.error == 0 ? "" : " as well", second.why);
    }
    if (used.error != 0) {
        tell_failure(&used, &verdict, old && second.error == 0, report);
    } else if (verdict.ends_soon) {
        report_warn(report, "%s, but a certificate ends soon", version);
    } else {
        report_ok(report, "%s", version);
    }
    handshake_end(&look);
    ERR_clear_error();
    return used.error == 0;
}

void tls_end(void) {
    if (other.begun) {
        network_end(&other.network);
    }
    if (other.settings.tls != SETTINGS_OPENSSL) {
        mst_posix_anchors_free(&other.settings.anchors);
    }
}
