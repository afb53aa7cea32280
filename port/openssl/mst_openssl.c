/*
 * See mst_openssl.h. OpenSSL reads and writes through a BIO over the port
 * below, which keeps that port's errors apart from those of TLS.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_openssl.h"

#include <errno.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINK_CLOSED,
    LINK_PLAIN,    /* without TLS: the port below does everything */
    LINK_CONNECTS, /* the port below resolves or connects */
    LINK_SHAKES,   /* it is connected: the handshake is under way */
    LINK_OPEN,
    LINK_FAILED,  /* the handshake failed */
    LINK_RESOLVES /* the port below resolves again, for another address */
};

static struct mst_openssl_link *link_of(const struct mst_openssl *openssl,
                                        int link) {
    return link >= 0 && (size_t)link < openssl->count ? &openssl->links[link]
                                                      : NULL;
}

static int link_number(const struct mst_openssl_link *link) {
    return (int)(link - link->openssl->links);
}

/* ------------------------------------------------------------------------
 * The BIO
 * ------------------------------------------------------------------------ */

/* If the port below gave less than was asked for and reports that this was all,
 * the next read would only waste a system call. */
static int bio_read(BIO *bio, char *data, size_t len, size_t *got) {
    struct mst_openssl_link *link = BIO_get_data(bio);
    const struct mst_port *below = link->openssl->below;
    int n = link->read_error;

    BIO_clear_retry_flags(bio);
    if (len > INT_MAX) {
        len = INT_MAX;
    }
    if (n == 0 && !link->drained) {
        n = below->recv(below->context, link_number(link), data, len);
    }
    link->drained =
        n > 0 && (size_t)n < len && (below->flags & MST_PORT_DRAINS) != 0;
    if (n == 0) {
        BIO_set_retry_read(bio);
    } else if (n < 0) {
        link->read_error = n;
    }
    *got = n > 0 ? (size_t)n : 0;
    return n > 0;
}

static int bio_write(BIO *bio, const char *data, size_t len, size_t *sent) {
    struct mst_openssl_link *link = BIO_get_data(bio);
    const struct mst_port *below = link->openssl->below;
    int n = link->write_error;

    BIO_clear_retry_flags(bio);
    if (n == 0 && len > 0) {
        n = below->send(below->context, link_number(link), data, len);
        link->drained = false;
    }
    if (n == 0) {
        BIO_set_retry_write(bio);
    } else if (n < 0) {
        link->write_error = n;
    }
    *sent = n > 0 ? (size_t)n : 0;
    return n > 0;
}

/* For OpenSSL, the end of the port below is an error like any other: if it were
 * an end of file, OpenSSL would drop the session. */
static long bio_control(BIO *bio, int command, long value, void *more) {
    (void)bio;
    (void)value;
    (void)more;
    return command == BIO_CTRL_FLUSH;
}

/* ------------------------------------------------------------------------
 * Sessions
 * ------------------------------------------------------------------------ */

/* The room for a session with the link's server, or NULL. A host's certificate
 * was checked for that host alone, so name and port must be the same. */
static struct mst_openssl_session *
session_find(const struct mst_openssl_link *link) {
    const struct mst_endpoint *endpoint = link->endpoint;

    for (size_t i = 0; i < MST_OPENSSL_SESSIONS; i++) {
        struct mst_openssl_session *s = &link->openssl->sessions[i];
        if (s->port == endpoint->port && strcmp(s->host, endpoint->host) == 0) {
            return s;
        }
    }
    return NULL;
}

/* Keeps a session, whose ownership it takes. */
static void session_keep(const struct mst_openssl_link *link,
                         SSL_SESSION *session) {
    struct mst_openssl *openssl = link->openssl;
    struct mst_openssl_session *s = session_find(link);

    if (s == NULL) {
        s = &openssl->sessions[openssl->next_session];
        openssl->next_session =
            (openssl->next_session + 1) % MST_OPENSSL_SESSIONS;
        memcpy(s->host, link->endpoint->host, sizeof s->host);
        s->port = link->endpoint->port;
    }
    SSL_SESSION_free(s->session);
    s->session = session;
    s->checked_s =
        SSL_session_reused(link->ssl) != 0 ? link->checked_s : link->unix_s;
}

/* OpenSSL calls this after a full handshake of TLS 1.2, and for each ticket. */
static int session_new(SSL *ssl, SSL_SESSION *session) {
    session_keep(SSL_get_app_data(ssl), session);
    return 1;
}

/* Drops expired sessions of all servers: a session is a secret. */
static void sessions_expire(struct mst_openssl *openssl, int64_t unix_s) {
    for (size_t i = 0; i < MST_OPENSSL_SESSIONS; i++) {
        struct mst_openssl_session *s = &openssl->sessions[i];

        if (unix_s < s->checked_s ||
            unix_s - s->checked_s >= MST_OPENSSL_RESUME_S) {
            SSL_SESSION_free(s->session);
            s->session = NULL;
        }
    }
}

/* Offers the session that is kept with the server, once: a ticket of TLS 1.3
 * should serve one connection only (RFC 8446, appendix C.4), and it may be the
 * reason why a server fails. Resuming does not delay the next check of the
 * certificate. */
static void session_offer(struct mst_openssl_link *link) {
    struct mst_openssl_session *s;

    sessions_expire(link->openssl, link->unix_s);
    s = session_find(link);
    if (s != NULL && s->session != NULL) {
        (void)SSL_set_session(link->ssl, s->session);
        link->checked_s = s->checked_s;
        SSL_SESSION_free(s->session);
        s->session = NULL;
    }
}

/* ------------------------------------------------------------------------
 * Errors
 * ------------------------------------------------------------------------ */

struct known {
    int detail, error;
};

#define KNOWN(table, detail, other) \
    known_error(table, sizeof(table) / sizeof *(table), detail, other)

static int known_error(const struct known *known, size_t count, int detail,
                       int other) {
    for (size_t i = 0; i < count; i++) {
        if (known[i].detail == detail) {
            return known[i].error;
        }
    }
    return other;
}

int mst_openssl_certificate_error(int code) {
    static const struct known known[] = {
        {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, MST_ERR_TLS_ISSUER},
        {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, MST_ERR_TLS_ISSUER},
        {X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, MST_ERR_TLS_ISSUER},
        {X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, MST_ERR_TLS_ISSUER},
        {X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, MST_ERR_TLS_ISSUER},
        {X509_V_ERR_HOSTNAME_MISMATCH, MST_ERR_TLS_NAME},
        {X509_V_ERR_IP_ADDRESS_MISMATCH, MST_ERR_TLS_NAME},
        {X509_V_ERR_CERT_NOT_YET_VALID, MST_ERR_TLS_TIME},
        {X509_V_ERR_CERT_HAS_EXPIRED, MST_ERR_TLS_TIME},
        {X509_V_ERR_OUT_OF_MEM, MST_ERR_PORT},
    };

    return KNOWN(known, code, MST_ERR_TLS_CERTIFICATE);
}

int mst_openssl_reason_error(int reason) {
    static const struct known known[] = {
        {SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, MST_ERR_TLS_VERSION},
        {SSL_R_UNSUPPORTED_PROTOCOL, MST_ERR_TLS_VERSION},
        {SSL_R_WRONG_SSL_VERSION, MST_ERR_TLS_VERSION},
        {SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE, MST_ERR_TLS_HANDSHAKE},
        {SSL_R_TLSV1_ALERT_INSUFFICIENT_SECURITY, MST_ERR_TLS_HANDSHAKE},
        {SSL_R_WRONG_CIPHER_RETURNED, MST_ERR_TLS_HANDSHAKE},
        {SSL_R_UNKNOWN_CIPHER_RETURNED, MST_ERR_TLS_HANDSHAKE},
        {SSL_R_BAD_ECC_CERT, MST_ERR_TLS_CERTIFICATE}, /* may not sign */
        {ERR_R_ASN1_LIB, MST_ERR_TLS_CERTIFICATE},
    };

    return KNOWN(known, reason,
                 reason >= SSL_AD_REASON_OFFSET &&
                         reason < SSL_AD_REASON_OFFSET + 256
                     ? MST_ERR_TLS_ALERT
                     : MST_ERR_TLS_PROTOCOL);
}

/* Converts an error of the port below to one for TLS. */
static int below_error(int error) {
    return error == MST_ERR_EOF ? MST_ERR_TLS_TRUNCATED : error;
}

/* True if any of OpenSSL's errors is a lack of memory, even if others followed;
 * clears all of them. */
static bool is_out_of_memory(void) {
    unsigned long error;
    bool found = false;

    while ((error = ERR_get_error()) != 0) {
        found |= ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE;
    }
    return found;
}

/* Result of a call of OpenSSL that returned n and did nothing: 0 for not now,
 * or an error. below is the result of the port below in that direction. */
static int link_result(struct mst_openssl_link *link, int n, int below) {
    const int reason = ERR_GET_REASON(ERR_peek_last_error());
    const int result = SSL_get_error(link->ssl, n);

    link->wants_write = result == SSL_ERROR_WANT_WRITE;
    if (link->wants_write || result == SSL_ERROR_WANT_READ) {
        return 0;
    }
    if (below != 0) {
        return below_error(below);
    }
    if (result == SSL_ERROR_ZERO_RETURN) {
        return MST_ERR_EOF;
    }
    if (result != SSL_ERROR_SSL) { /* in the other direction */
        n = link->read_error != 0 ? link->read_error : link->write_error;
        return n != 0 ? below_error(n) : MST_ERR_PORT;
    }
    link->detail = reason;
    if (is_out_of_memory()) {
        return MST_ERR_PORT;
    }
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
        link->detail = (int)SSL_get_verify_result(link->ssl);
        return mst_openssl_certificate_error(link->detail);
    }
    return mst_openssl_reason_error(reason);
}

/* ------------------------------------------------------------------------
 * Handshake
 * ------------------------------------------------------------------------ */

/* Frees OpenSSL's side of the link. The session remains valid, also without a
 * close_notify, unless OpenSSL has dropped it. */
static void link_drop(struct mst_openssl_link *link) {
    if (link->ssl != NULL) {
        SSL_set_shutdown(link->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
        SSL_free(link->ssl);
        ERR_clear_error();
    }
    link->ssl = NULL;
    link->read_error = link->write_error = link->error = link->detail = 0;
    link->drained = link->wants_write = false;
}

/* A name is also sent as SNI, which has no addresses (RFC 6066, section 3). */
bool mst_openssl_name(SSL *ssl, const char *host) {
    X509_VERIFY_PARAM *parameters = SSL_get0_param(ssl);

    X509_VERIFY_PARAM_set_hostflags(parameters,
                                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                        X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    return X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1 ||
           (SSL_set1_host(ssl, host) == 1 &&
            SSL_set_tlsext_host_name(ssl, host) == 1);
}

static bool handshake_begin(struct mst_openssl_link *link) {
    const struct mst_openssl *openssl = link->openssl;
    BIO *bio = BIO_new(openssl->method);

    link->ssl = SSL_new(openssl->context);
    if (bio == NULL || link->ssl == NULL) {
        BIO_free(bio);
        return false;
    }
    BIO_set_data(bio, link);
    BIO_set_init(bio, 1);
    SSL_set_bio(link->ssl, bio, bio);
    SSL_set_app_data(link->ssl, link);
    SSL_set_connect_state(link->ssl);
    X509_VERIFY_PARAM_set_time(SSL_get0_param(link->ssl), (time_t)link->unix_s);
    if (!mst_openssl_name(link->ssl, link->endpoint->host) ||
        (openssl->tls13_only &&
         SSL_set_min_proto_version(link->ssl, TLS1_3_VERSION) != 1)) {
        return false;
    }
    session_offer(link);
    return true;
}

/* Continues the handshake; returns 1 once it is done. */
static int handshake_go_on(struct mst_openssl_link *link) {
    int n;

    ERR_clear_error();
    n = SSL_do_handshake(link->ssl);
    if (n != 1) {
        return link_result(link, n, link->read_error);
    }
    link->wants_write = false;
    link->state = LINK_OPEN;
    link->openssl->handshakes++;
    if (SSL_session_reused(link->ssl) != 0) {
        link->openssl->resumed++;
        if (SSL_version(link->ssl) < TLS1_3_VERSION) { /* reusable */
            session_keep(link, SSL_get1_session(link->ssl));
        }
    }
    return 1;
}

/* ------------------------------------------------------------------------
 * The port's functions
 * ------------------------------------------------------------------------ */

/* Reads the seconds of the port's clock: 0, or MST_ERR_CLOCK. */
static int clock_read(const struct mst_port *below, int64_t *unix_s) {
    int64_t ns = 0;

    if (below->unix_ns(below->context, &ns) < 0 ||
        ns / 1000000000 < MST_CLOCK_MIN) {
        return MST_ERR_CLOCK;
    }
    *unix_s = ns / 1000000000;
    return 0;
}

static int openssl_resolve(void *context, int number,
                           const struct mst_endpoint *endpoint) {
    const struct mst_openssl *openssl = context;
    struct mst_openssl_link *link = link_of(openssl, number);

    if (link == NULL) {
        return MST_ERR_ARGUMENT;
    }
    if (link->state == LINK_CLOSED) {
        if (endpoint->tls && clock_read(openssl->below, &link->unix_s) != 0) {
            return MST_ERR_CLOCK;
        }
        link->endpoint = endpoint;
        link->state = endpoint->tls ? LINK_CONNECTS : LINK_PLAIN;
    }
    return openssl->below->resolve(openssl->below->context, number, endpoint);
}

/* Connects the port below; returns 1 once connected. A port that has connected
 * is not asked to connect again: another address is resolved first. */
static int reach(struct mst_openssl_link *link, int address) {
    const struct mst_port *below = link->openssl->below;
    const int number = link_number(link);
    int rc;

    if (link->state == LINK_FAILED ||
        (link->state == LINK_SHAKES && link->address != address)) {
        link_drop(link);
        below->close(below->context, number);
        link->state = LINK_RESOLVES;
    }
    if (link->state == LINK_RESOLVES) {
        rc = below->resolve(below->context, number, link->endpoint);
        if (rc == 0) {
            return 0;
        }
        if (rc <= address) { /* fewer addresses than before, or none */
            link->state = LINK_FAILED;
            return rc < 0 ? rc : MST_ERR_UNREACHABLE;
        }
        link->state = LINK_CONNECTS;
    }
    if (link->state == LINK_CONNECTS) {
        rc = below->connect(below->context, number, address);
        if (rc <= 0) {
            return rc;
        }
        link->state = LINK_SHAKES;
        link->address = address;
        if (!handshake_begin(link)) {
            return MST_ERR_PORT;
        }
    }
    return 1;
}

static int openssl_connect(void *context, int number, int address) {
    const struct mst_openssl *openssl = context;
    struct mst_openssl_link *link = &openssl->links[number];
    int rc;

    if (link->state == LINK_PLAIN) {
        return openssl->below->connect(openssl->below->context, number,
                                       address);
    }
    if (link->state == LINK_OPEN) {
        return 1;
    }
    rc = reach(link, address);
    if (rc > 0) {
        rc = handshake_go_on(link);
    }
    if (rc < 0 && link->state == LINK_SHAKES) {
        link->state = LINK_FAILED;
    }
    return rc;
}

/* The next call sends what OpenSSL could not send; it must have the same bytes,
 * and may have more after them. */
static int openssl_send(void *context, int number, const void *data,
                        size_t len) {
    const struct mst_openssl *openssl = context;
    struct mst_openssl_link *link = &openssl->links[number];
    size_t sent = 0;
    int n;

    if (link->state == LINK_PLAIN) {
        return openssl->below->send(openssl->below->context, number, data, len);
    }
    ERR_clear_error();
    n = SSL_write_ex(link->ssl, data, len, &sent);
    return n == 1 ? (int)sent : link_result(link, n, link->write_error);
}

static int openssl_recv(void *context, int number, void *data, size_t len) {
    const struct mst_openssl *openssl = context;
    struct mst_openssl_link *link = &openssl->links[number];
    size_t got = 0;
    int n;

    if (link->state == LINK_PLAIN) {
        return openssl->below->recv(openssl->below->context, number, data, len);
    }
    if (link->error != 0) {
        return link->error;
    }
    ERR_clear_error();
    n = SSL_read_ex(link->ssl, data, len < INT_MAX ? len : INT_MAX, &got);
    if (n == 1) {
        link->wants_write = false;
        return (int)got;
    }
    link->error = link_result(link, n, link->read_error);
    return link->error;
}

/* Sends close_notify if that is possible at once. Systems reset a connection
 * that is closed with bytes unread, such as a ticket, and sent data may be
 * lost. */
static void link_finish(struct mst_openssl_link *link) {
    const struct mst_port *below = link->openssl->below;
    unsigned char waste[1024];
    int pieces = link->read_error == 0 ? 64 : 0;

    (void)SSL_shutdown(link->ssl);
    while (pieces-- > 0 && below->recv(below->context, link_number(link), waste,
                                       sizeof waste) > 0) {}
}

static void openssl_close(void *context, int number) {
    const struct mst_openssl *openssl = context;
    struct mst_openssl_link *link = link_of(openssl, number);

    if (link == NULL) {
        return;
    }
    if (link->state == LINK_OPEN &&
        (link->error == 0 || link->error == MST_ERR_EOF) &&
        link->write_error == 0) {
        link_finish(link);
    }
    link_drop(link);
    link->state = LINK_CLOSED;
    openssl->below->close(openssl->below->context, number);
}

static uint32_t openssl_now_ms(void *context) {
    const struct mst_openssl *openssl = context;

    return openssl->below->now_ms(openssl->below->context);
}

static int openssl_unix_ns(void *context, int64_t *ns) {
    const struct mst_openssl *openssl = context;

    return openssl->below->unix_ns(openssl->below->context, ns);
}

static int openssl_entropy(void *context, void *data, size_t len) {
    const struct mst_openssl *openssl = context;

    return openssl->below->entropy(openssl->below->context, data, len);
}

static uint64_t openssl_now_ns(void *context) {
    const struct mst_openssl *openssl = context;

    return openssl->below->now_ns(openssl->below->context);
}

static int openssl_token_load(void *context,
                              const uint8_t key[MST_TOKEN_KEY_LEN], char *token,
                              size_t cap, int64_t *until_s) {
    const struct mst_openssl *openssl = context;

    return openssl->below->token_load(openssl->below->context, key, token, cap,
                                      until_s);
}

static void openssl_token_save(void *context,
                               const uint8_t key[MST_TOKEN_KEY_LEN],
                               const char *token, size_t len, int64_t until_s) {
    const struct mst_openssl *openssl = context;

    openssl->below->token_save(openssl->below->context, key, token, len,
                               until_s);
}

/* OpenSSL's error number, or that of the port below. */
static int openssl_detail(void *context, int number) {
    const struct mst_openssl *openssl = context;
    const struct mst_openssl_link *link = link_of(openssl, number);
    const struct mst_port *below = openssl->below;

    if (link != NULL && link->detail != 0) {
        return link->detail;
    }
    return link != NULL && below->detail != NULL
               ? below->detail(below->context, number)
               : 0;
}

static unsigned openssl_wants(void *context, int number, unsigned wants) {
    const struct mst_openssl *openssl = context;
    struct mst_openssl_link *link = link_of(openssl, number);
    const struct mst_port *below = openssl->below;

    if (link == NULL) {
        return wants;
    }
    link->drained = false; /* time may pass */
    if (link->state == LINK_SHAKES) {
        wants = link->wants_write ? MST_WANT_WRITE : MST_WANT_READ;
    } else if (link->wants_write) {
        wants |= MST_WANT_WRITE;
    }
    return below->wants != NULL ? below->wants(below->context, number, wants)
                                : wants;
}

/* ------------------------------------------------------------------------
 * Begin and end
 * ------------------------------------------------------------------------ */

/* True if a certificate claims to be an issuer's; none of version 1 does. */
static bool is_issuer(X509 *certificate) {
    return X509_check_ca(certificate) == 1;
}

/* A server's key signs the handshake: its certificate must allow that (RFC
 * 8446, section 4.4.2.2), which OpenSSL checks only before TLS 1.3. */
int mst_openssl_verify(int good, X509_STORE_CTX *store) {
    X509 *certificate = X509_STORE_CTX_get_current_cert(store);
    int code = X509_V_OK;

    if (good != 1) {
        return good;
    }
    if (X509_STORE_CTX_get_error_depth(store) > 0) {
        code = is_issuer(certificate) ? X509_V_OK : X509_V_ERR_INVALID_CA;
    } else if ((X509_get_key_usage(certificate) & KU_DIGITAL_SIGNATURE) == 0) {
        code = X509_V_ERR_KEYUSAGE_NO_DIGITAL_SIGNATURE;
    }
    if (code != X509_V_OK) {
        X509_STORE_CTX_set_error(store, code);
    }
    return code == X509_V_OK;
}

/* Bytes of a file; a trust store has some 200,000. */
#define ANCHOR_FILE_MAX (16 * 1024 * 1024)

static bool text_begins(const char *text, size_t len, const char *with) {
    return len >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

/* Bytes from an object's begin to the next one's, which is at a line's begin,
 * or anywhere if this object was cut off. */
static size_t object_len(const char *text, size_t len) {
    bool inside = text_begins(text, len, "-----BEGIN ");
    bool anywhere = inside;
    size_t i;

    for (i = 1; i < len; i++) {
        if (text[i - 1] == '\n') {
            anywhere = inside;
        }
        inside = inside && !text_begins(text + i, len - i, "-----END ");
        if ((anywhere || text[i - 1] == '\n') &&
            text_begins(text + i, len - i, "-----BEGIN ")) {
            break;
        }
    }
    return i;
}

/* Adds an object's certificate, unless it is damaged. */
static void anchor_add(struct mst_openssl_anchors *anchors, X509_STORE *store,
                       const char *text, size_t len) {
    char none[] = ""; /* avoids a prompt for the password of an encrypted one */
    BIO *object = BIO_new_mem_buf(text, (int)len);
    X509 *certificate = PEM_read_bio_X509_AUX(object, NULL, NULL, none);
    int reason = ERR_GET_REASON(ERR_peek_last_error());

    if (certificate != NULL) {
        anchors->len += X509_STORE_add_cert(store, certificate) == 1;
        anchors->leaves += !is_issuer(certificate);
        X509_free(certificate);
    } else {
        anchors->skipped +=
            reason != PEM_R_NO_START_LINE && reason != ERR_R_MALLOC_FAILURE;
    }
    BIO_free(object);
    ERR_clear_error();
}

/* Adds the certificates of a file, except damaged ones: OpenSSL would take one
 * that is cut off and the next for one. Returns true if it reached the file's
 * end. */
static bool anchors_read(struct mst_openssl_anchors *anchors, X509_STORE *store,
                         BIO *file) {
    BIO *all = BIO_new(BIO_s_mem());
    char piece[4096], *text = NULL;
    size_t len = 0, next;
    int n = 1;

    while (all != NULL && n > 0 && len <= ANCHOR_FILE_MAX) {
        n = BIO_read(file, piece, sizeof piece);
        (void)BIO_write(all, piece, n);
        len = (size_t)BIO_get_mem_data(all, &text);
    }
    ERR_clear_error();
    for (; len > 0 && n <= 0; text += next, len -= next) {
        next = object_len(text, len);
        anchor_add(anchors, store, text, next);
    }
    BIO_free(all);
    return all == NULL || n <= 0;
}

/* Loads the trust anchors; returns false, with OpenSSL's error, if there are
 * none. How many the system's store has is unknown. */
static bool anchors_load(struct mst_openssl_anchors *anchors, SSL_CTX *context,
                         const char *ca) {
    bool system = false;
    BIO *file;

    if (ca == NULL) {
        ca = getenv("SSL_CERT_FILE");
        system = ca == NULL || *ca == '\0';
    }
    if (system) {
        ca = X509_get_default_cert_file();
        if (SSL_CTX_set_default_verify_dir(context) != 1) {
            return false;
        }
    }
    file = BIO_new_file(ca, "r");
    anchors->path = file != NULL || !system ? ca : NULL;
    if (file == NULL) {
        return system;
    }
    if (!anchors_read(anchors, SSL_CTX_get_cert_store(context), file)) {
        ERR_raise(ERR_LIB_SYS, EFBIG);
    } else if (anchors->len == 0 && !system) {
        ERR_raise(ERR_LIB_X509, X509_R_NO_CERTIFICATE_FOUND);
    }
    BIO_free(file);
    return anchors->len > 0 || system;
}

int mst_openssl_context(SSL_CTX **made, const char *ca,
                        struct mst_openssl_anchors *anchors) {
    SSL_CTX *context;
    int rc = 0;

    ERR_clear_error();
    memset(anchors, 0, sizeof *anchors);
    context = *made = SSL_CTX_new(TLS_client_method());
    if (context == NULL) {
        return MST_ERR_MEMORY;
    }
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION |
                                     SSL_OP_NO_COMPRESSION |
                                     SSL_OP_CLEANSE_PLAINTEXT);
    SSL_CTX_set_security_level(context, 2); /* RSA of 2,048 bits, SHA-256 */
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, mst_openssl_verify);
    /* The file's certificates are trusted, whoever issued them. */
    (void)X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context),
                                      X509_V_FLAG_PARTIAL_CHAIN);
    if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1) {
        rc = MST_ERR_MEMORY;
    } else if (!anchors_load(anchors, context, ca)) {
        anchors->detail = ERR_peek_error();
        rc = MST_ERR_ANCHORS;
    }
    if (rc != 0) {
        SSL_CTX_free(context);
        *made = NULL;
    }
    ERR_clear_error();
    return rc;
}

/* May leave OpenSSL's part incomplete: mst_openssl_free() follows. */
static int context_begin(struct mst_openssl *openssl, const char *ca) {
    int rc = mst_openssl_context(&openssl->context, ca, &openssl->anchors);
    BIO_METHOD *method = openssl->method =
        BIO_meth_new(BIO_TYPE_SOURCE_SINK, "mst_port");

    if (rc != 0 || method == NULL) {
        return rc != 0 ? rc : MST_ERR_MEMORY;
    }
    (void)BIO_meth_set_read_ex(method, bio_read);
    (void)BIO_meth_set_write_ex(method, bio_write);
    (void)BIO_meth_set_ctrl(method, bio_control);
    SSL_CTX_set_mode(openssl->context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                           SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(openssl->context, 1);
    (void)SSL_CTX_set_session_cache_mode(
        openssl->context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(openssl->context, session_new);
    return 0;
}

int mst_openssl_init(struct mst_openssl *openssl, const char *ca,
                     const struct mst_port *below,
                     struct mst_openssl_link *links, size_t count,
                     struct mst_port *port) {
    int rc;

    if (openssl != NULL) {
        memset(openssl, 0, sizeof *openssl);
    }
    if (openssl == NULL || below == NULL || links == NULL || count == 0 ||
        port == NULL || (below->flags & MST_PORT_SECURE) != 0) {
        return MST_ERR_ARGUMENT;
    }
    memset(links, 0, count * sizeof *links);
    for (size_t i = 0; i < count; i++) {
        links[i].openssl = openssl;
    }
    rc = context_begin(openssl, ca);
    if (rc != 0) {
        struct mst_openssl_anchors anchors = openssl->anchors;

        mst_openssl_free(openssl);
        openssl->anchors = anchors;
        return rc;
    }
    openssl->below = below;
    openssl->links = links;
    openssl->count = count;
    *port = *below;
    port->context = openssl;
    port->flags = MST_PORT_SECURE; /* OpenSSL may hold more than recv gave */
    port->resolve = openssl_resolve;
    port->connect = openssl_connect;
    port->send = openssl_send;
    port->recv = openssl_recv;
    port->close = openssl_close;
    port->now_ms = openssl_now_ms;
    port->unix_ns = openssl_unix_ns;
    port->entropy = openssl_entropy;
    port->now_ns = below->now_ns != NULL ? openssl_now_ns : NULL;
    port->token_load = below->token_load != NULL ? openssl_token_load : NULL;
    port->token_save = below->token_save != NULL ? openssl_token_save : NULL;
    port->detail = openssl_detail;
    port->wants = openssl_wants;
    return 0;
}

void mst_openssl_free(struct mst_openssl *openssl) {
    for (size_t i = 0; i < openssl->count; i++) {
        link_drop(&openssl->links[i]);
    }
    for (size_t i = 0; i < MST_OPENSSL_SESSIONS; i++) {
        SSL_SESSION_free(openssl->sessions[i].session);
    }
    SSL_CTX_free(openssl->context);
    BIO_meth_free(openssl->method);
    memset(openssl, 0, sizeof *openssl);
    ERR_clear_error();
}
