/*
 * See mst_mbedtls.h. mbedTLS reads and writes through functions over the port
 * below, which keep that port's errors apart from those of TLS.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_mbedtls.h"

#include <limits.h>
#include <mbedtls/asn1.h>
#include <mbedtls/ecp.h>
#include <mbedtls/error.h>
#include <mbedtls/pk.h>
#include <string.h>

#if MBEDTLS_VERSION_MAJOR == 2
#define MBEDTLS_PRIVATE(member) member
#define BAD_CERTIFICATE MBEDTLS_ERR_SSL_BAD_HS_CERTIFICATE
#define BAD_VERSION MBEDTLS_ERR_SSL_BAD_HS_PROTOCOL_VERSION
#if !defined(MBEDTLS_X509_CHECK_KEY_USAGE) || \
    !defined(MBEDTLS_X509_CHECK_EXTENDED_KEY_USAGE)
#error "Define MBEDTLS_X509_CHECK_KEY_USAGE and ..._EXTENDED_KEY_USAGE."
#endif
#elif MBEDTLS_VERSION_MAJOR == 3
#define BAD_CERTIFICATE MBEDTLS_ERR_SSL_BAD_CERTIFICATE
#define BAD_VERSION MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION
#else
#error "This port is for mbedTLS 2.28 and 3.6: 4.0 has another interface."
#endif

#if defined(MBEDTLS_SSL_PROTO_TLS1_3) || defined(MBEDTLS_USE_PSA_CRYPTO)
#include <psa/crypto.h>
#define STARTS_PSA
#endif

enum {
    LINK_CLOSED,
    LINK_PLAIN,    /* without TLS: the port below does everything */
    LINK_CONNECTS, /* the port below resolves or connects */
    LINK_BEGINS,   /* it is connected: the handshake is next */
    LINK_SHAKES,   /* the handshake is under way */
    LINK_OPEN,
    LINK_FAILED /* the handshake failed, with link->error */
};

static struct mst_mbedtls_link *link_of(const struct mst_mbedtls *mbedtls,
                                        int link) {
    return link >= 0 && (size_t)link < mbedtls->count ? &mbedtls->links[link]
                                                      : NULL;
}

static int link_number(const struct mst_mbedtls_link *link) {
    return (int)(link - link->mbedtls->links);
}

/* ------------------------------------------------------------------------
 * Input and output of mbedTLS
 * ------------------------------------------------------------------------ */

/* Stands for an error of the port below. mbedTLS only passes it on. */
#define BELOW_FAILED MBEDTLS_ERR_SSL_CONN_EOF

static int bio_recv(void *context, unsigned char *data, size_t len) {
    struct mst_mbedtls_link *link = context;
    const struct mst_port *below = link->mbedtls->below;
    int n = link->read_error;

    if (n == 0) {
        n = below->recv(below->context, link_number(link), data,
                        len < INT_MAX ? len : INT_MAX);
    }
    link->dry = n == 0;
    if (n < 0) {
        link->read_error = n;
        return BELOW_FAILED;
    }
    return n > 0 ? n : MBEDTLS_ERR_SSL_WANT_READ;
}

/* mbedTLS always passes all of its remaining output. */
static int bio_send(void *context, const unsigned char *data, size_t len) {
    struct mst_mbedtls_link *link = context;
    const struct mst_port *below = link->mbedtls->below;
    int n = link->write_error;

    if (n == 0) {
        n = below->send(below->context, link_number(link), data, len);
    }
    link->unsent = n >= 0 && (size_t)n < len;
    if (n < 0) {
        link->write_error = n;
        return BELOW_FAILED;
    }
    return n > 0 ? n : MBEDTLS_ERR_SSL_WANT_WRITE;
}

static int random_entropy(void *context, unsigned char *data, size_t len) {
    const struct mst_port *below = ((struct mst_mbedtls *)context)->below;

    return below->entropy(below->context, data, len) == 0
               ? 0
               : MBEDTLS_ERR_CTR_DRBG_ENTROPY_SOURCE_FAILED;
}

/* Adds entropy of the port below to the generator: 0, or MST_ERR_ENTROPY. */
static int random_seed(struct mst_mbedtls *mbedtls) {
    int rc = mbedtls->seeded
                 ? mbedtls_ctr_drbg_reseed(&mbedtls->random, NULL, 0)
                 : mbedtls_ctr_drbg_seed(&mbedtls->random, random_entropy,
                                         mbedtls, NULL, 0);

    mbedtls->seeded = mbedtls->seeded || rc == 0;
    return rc == 0 ? 0 : MST_ERR_ENTROPY;
}

/* ------------------------------------------------------------------------
 * Sessions
 * ------------------------------------------------------------------------ */

/* The room for a session with the link's server, or NULL. A host's certificate
 * was checked for that host alone, so name and port must be the same. */
static struct mst_mbedtls_session *
session_find(const struct mst_mbedtls_link *link) {
    const struct mst_endpoint *endpoint = link->endpoint;

    for (size_t i = 0; i < MST_MBEDTLS_SESSIONS; i++) {
        struct mst_mbedtls_session *s = &link->mbedtls->sessions[i];
        if (s->port == endpoint->port && strcmp(s->host, endpoint->host) == 0) {
            return s;
        }
    }
    return NULL;
}

static void session_drop(struct mst_mbedtls_session *s) {
    if (s->kept) {
        mbedtls_ssl_session_free(&s->session); /* which wipes it */
    }
    s->kept = false;
}

/* Keeps the connection's session, if there is memory for it. */
static void session_keep(const struct mst_mbedtls_link *link) {
    struct mst_mbedtls *mbedtls = link->mbedtls;
    struct mst_mbedtls_session *s = session_find(link);

    if (s == NULL) {
        s = &mbedtls->sessions[mbedtls->next_session];
        mbedtls->next_session =
            (mbedtls->next_session + 1) % MST_MBEDTLS_SESSIONS;
        memcpy(s->host, link->endpoint->host, sizeof s->host);
        s->port = link->endpoint->port;
    }
    session_drop(s);
    mbedtls_ssl_session_init(&s->session);
    s->checked_s = link->checked_s;
    s->kept = true;
    if (mbedtls_ssl_get_session(&link->ssl, &s->session) != 0) {
        session_drop(s);
    }
}

/* Drops expired sessions of all servers: a session is a secret. */
static void sessions_expire(struct mst_mbedtls *mbedtls, int64_t unix_s) {
    for (size_t i = 0; i < MST_MBEDTLS_SESSIONS; i++) {
        struct mst_mbedtls_session *s = &mbedtls->sessions[i];

        if (unix_s < s->checked_s ||
            unix_s - s->checked_s >= MST_MBEDTLS_RESUME_S) {
            session_drop(s);
        }
    }
}

/* Offers the session that is kept with the server, once: a ticket of TLS 1.3
 * should serve one connection only (RFC 8446, appendix C.4), and it may be the
 * reason why a server fails. */
static void session_offer(struct mst_mbedtls_link *link) {
    struct mst_mbedtls_session *s;

    sessions_expire(link->mbedtls, link->unix_s);
    s = session_find(link);
    if (s != NULL && s->kept) {
        link->offered = mbedtls_ssl_set_session(&link->ssl, &s->session) == 0;
        link->checked_s = s->checked_s;
        session_drop(s);
    }
}

/* ------------------------------------------------------------------------
 * Certificates
 * ------------------------------------------------------------------------ */

/* Reads a number of up to max; returns what follows it, or NULL. A leading zero
 * is not allowed in a decimal number: some read it as octal. */
static const char *number_parse(const char *text, unsigned base, unsigned max,
                                unsigned *value) {
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *begin = text, *digit;

    *value = 0;
    while (*text != '\0' && (digit = strchr(digits, *text)) != NULL &&
           (unsigned)(digit - digits) % 16 < base && *value <= max) {
        *value = *value * base + (unsigned)(digit - digits) % 16;
        text++;
    }
    return text > begin && *value <= max &&
                   (base != 10 || *begin != '0' || text == begin + 1)
               ? text
               : NULL;
}

static bool ipv4_parse(const char *text, uint8_t *address) {
    for (int i = 0; i < 4; i++) {
        unsigned value;

        text = number_parse(text, 10, 255, &value);
        if (text == NULL || *text != (i < 3 ? '.' : '\0')) {
            return false;
        }
        address[i] = (uint8_t)value;
        text++;
    }
    return true;
}

/* Reads groups of an IPv6 address, the last of which may be an IPv4 address, up
 * to "::" or the end. Returns what follows, or NULL. */
static const char *groups_parse(const char *text, uint8_t address[16],
                                size_t *len) {
    *len = 0;
    while (*text != '\0' && *text != ':') {
        unsigned value;
        const char *end = number_parse(text, 16, 0xFFFF, &value);

        if (end == NULL || *end == '.') {
            if (*len > 12 || !ipv4_parse(text, address + *len)) {
                return NULL;
            }
            *len += 4;
            return text + strlen(text);
        }
        if (*len > 14) {
            return NULL;
        }
        address[(*len)++] = (uint8_t)(value >> 8);
        address[(*len)++] = (uint8_t)value;
        if (end[0] != ':' || end[1] == ':') {
            return end;
        }
        text = end + 1;
    }
    return *len == 0 ? text : NULL;
}

/* Reads the notation of RFC 4291, section 2.2. */
static bool ipv6_parse(const char *text, uint8_t address[16]) {
    uint8_t end[16];
    size_t len, end_len;

    text = groups_parse(text, address, &len);
    if (text == NULL || len == 16 || text[0] != ':' || text[1] != ':') {
        return text != NULL && *text == '\0' && len == 16;
    }
    text = groups_parse(text + 2, end, &end_len);
    if (text == NULL || *text != '\0' || len + end_len > 14) {
        return false;
    }
    memset(address + len, 0, 16 - len);
    memcpy(address + 16 - end_len, end, end_len);
    return true;
}

/* The length of an IP address, or 0 for a name. */
static uint8_t address_parse(const char *host, uint8_t address[16]) {
    if (ipv4_parse(host, address)) {
        return 4;
    }
    return ipv6_parse(host, address) ? 16 : 0;
}

/* True if the certificate is for the link's host, as far as mbedTLS does not
 * check that: before 3.5 it knows no addresses, and it takes the subject's
 * common name if there are no alternative names. */
static bool name_is_listed(const struct mst_mbedtls_link *link,
                           const mbedtls_x509_crt *certificate) {
    const mbedtls_x509_sequence *name = &certificate->subject_alt_names;
    const int ip = MBEDTLS_ASN1_CONTEXT_SPECIFIC | 7; /* RFC 5280, 4.2.1.6 */

    if (link->address_len == 0) {
        return name->buf.p != NULL;
    }
    for (; name != NULL && name->buf.p != NULL; name = name->next) {
        if (name->buf.tag == ip && name->buf.len == link->address_len &&
            memcmp(name->buf.p, link->address, link->address_len) == 0) {
            return true;
        }
    }
    return false;
}

/* Seconds since 1970. Years are counted from March, so that the leap day is the
 * last. */
static int64_t time_seconds(const mbedtls_x509_time *t) {
    const int64_t year = t->year - (t->mon <= 2);
    const int64_t month = (t->mon + 9) % 12; /* from March */
    const int64_t days = year * 365 + year / 4 - year / 100 + year / 400 +
                         (month * 153 + 2) / 5 + t->day - 1 - 719468;

    return ((days * 24 + t->hour) * 60 + t->min) * 60 + t->sec;
}

/* True if a certificate is itself one of the trusted ones. mbedTLS trusts such
 * a certificate only if it signed itself. */
static bool is_anchor(const struct mst_mbedtls *mbedtls,
                      const mbedtls_x509_crt *certificate) {
    const mbedtls_x509_crt *anchor = mbedtls->anchors;

    for (; anchor != NULL; anchor = anchor->next) {
        if (anchor->raw.len == certificate->raw.len &&
            memcmp(anchor->raw.p, certificate->raw.p, anchor->raw.len) == 0) {
            return true;
        }
    }
    return false;
}

/* mbedTLS calls this for each certificate of the chain, last for the server's
 * (depth 0), which gets all flags: if it is trusted itself, its issuers do not
 * matter. The clock is that of the port below, not mbedTLS's. An issuer must
 * claim to be one, which no certificate of version 1 does. */
static int certificate_verify(void *context, mbedtls_x509_crt *certificate,
                              int depth, uint32_t *flags) {
    struct mst_mbedtls_link *link = context;

    *flags &=
        ~(uint32_t)(MBEDTLS_X509_BADCERT_EXPIRED | MBEDTLS_X509_BADCERT_FUTURE);
    if (link->unix_s < time_seconds(&certificate->valid_from)) {
        *flags |= MBEDTLS_X509_BADCERT_FUTURE;
    }
    if (link->unix_s > time_seconds(&certificate->valid_to)) {
        *flags |= MBEDTLS_X509_BADCERT_EXPIRED;
    }
    if (depth > 0) {
        link->issuers |=
            *flags |
            (certificate->version < 3 ? MBEDTLS_X509_BADCERT_OTHER : 0);
        *flags = 0;
        return 0;
    }
    if (is_anchor(link->mbedtls, certificate)) {
        *flags &= ~(uint32_t)MBEDTLS_X509_BADCERT_NOT_TRUSTED;
    } else {
        *flags |= link->issuers;
    }
    if (!name_is_listed(link, certificate)) {
        *flags |= MBEDTLS_X509_BADCERT_CN_MISMATCH;
    }
    link->verified = true;
    link->checked_s = link->unix_s;
    return 0;
}

/* ------------------------------------------------------------------------
 * Errors
 * ------------------------------------------------------------------------ */

struct known {
    int detail, error;
};

static int known_error(const struct known *known, size_t count, int detail,
                       int other) {
    for (size_t i = 0; i < count; i++) {
        if (known[i].detail == detail) {
            return known[i].error;
        }
    }
    return other;
}

static int flags_error(uint32_t flags) {
    if ((flags & MBEDTLS_X509_BADCERT_NOT_TRUSTED) != 0) {
        return MST_ERR_TLS_ISSUER;
    }
    if ((flags & MBEDTLS_X509_BADCERT_CN_MISMATCH) != 0) {
        return MST_ERR_TLS_NAME;
    }
    return (flags &
            (MBEDTLS_X509_BADCERT_EXPIRED | MBEDTLS_X509_BADCERT_FUTURE)) != 0
               ? MST_ERR_TLS_TIME
               : MST_ERR_TLS_CERTIFICATE;
}

static int alert_error(int alert) {
    static const struct known known[] = {
        {MBEDTLS_SSL_ALERT_MSG_PROTOCOL_VERSION, MST_ERR_TLS_VERSION},
        {MBEDTLS_SSL_ALERT_MSG_HANDSHAKE_FAILURE, MST_ERR_TLS_HANDSHAKE},
        {MBEDTLS_SSL_ALERT_MSG_INSUFFICIENT_SECURITY, MST_ERR_TLS_HANDSHAKE},
    };

    return known_error(known, sizeof known / sizeof *known, alert,
                       MST_ERR_TLS_ALERT);
}

/* An mbedTLS error is a high-level one (a multiple of 0x80) and a low-level
 * one, either of which may be 0. */
static int code_error(int code) {
    static const struct known high[] = {
        {MBEDTLS_ERR_SSL_ALLOC_FAILED, MST_ERR_PORT},
        {MBEDTLS_ERR_X509_ALLOC_FAILED, MST_ERR_PORT},
        {MBEDTLS_ERR_PK_ALLOC_FAILED, MST_ERR_PORT},
        {MBEDTLS_ERR_ECP_ALLOC_FAILED, MST_ERR_PORT},
        {BAD_CERTIFICATE, MST_ERR_TLS_CERTIFICATE},
        {BAD_VERSION, MST_ERR_TLS_VERSION},
#if MBEDTLS_VERSION_MAJOR > 2
        {MBEDTLS_ERR_SSL_HANDSHAKE_FAILURE, MST_ERR_TLS_HANDSHAKE},
#endif
        {MBEDTLS_ERR_PK_UNKNOWN_PK_ALG, MST_ERR_TLS_CERTIFICATE},
        {MBEDTLS_ERR_PK_UNKNOWN_NAMED_CURVE, MST_ERR_TLS_CERTIFICATE},
        {MBEDTLS_ERR_PK_INVALID_ALG, MST_ERR_TLS_CERTIFICATE},
        {MBEDTLS_ERR_PK_INVALID_PUBKEY, MST_ERR_TLS_CERTIFICATE},
    };
    const int low = -(-code & 0x7F);
    const bool is_x509 = code <= MBEDTLS_ERR_X509_FEATURE_UNAVAILABLE &&
                         code > MBEDTLS_ERR_X509_FATAL_ERROR - 0x80;

    if (low == MBEDTLS_ERR_ASN1_ALLOC_FAILED ||
        low == MBEDTLS_ERR_MPI_ALLOC_FAILED) {
        return MST_ERR_PORT;
    }
    return known_error(high, sizeof high / sizeof *high, code - low,
                       is_x509 ? MST_ERR_TLS_CERTIFICATE
                               : MST_ERR_TLS_PROTOCOL);
}

/* Converts an error of the port below to one for TLS. */
static int below_error(int error) {
    return error == MST_ERR_EOF ? MST_ERR_TLS_TRUNCATED : error;
}

static bool is_below_failed(int code) {
    return code == 0 || code == BELOW_FAILED; /* 0: of mbedtls_ssl_read() */
}

/* Result of a call of mbedTLS that did nothing: 0 for not now, or an error.
 * first and second are errors of the port below; the first counts. */
static int link_result(struct mst_mbedtls_link *link, int code, int first,
                       int second) {
    /* They include those of a certificate for another purpose. */
    const uint32_t flags = mbedtls_ssl_get_verify_result(&link->ssl);

    if (code == MBEDTLS_ERR_SSL_WANT_READ ||
        code == MBEDTLS_ERR_SSL_WANT_WRITE) {
        return 0;
    }
    if (is_below_failed(code)) {
        return below_error(first != 0 ? first : second);
    }
    if (code == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY) {
        return MST_ERR_EOF;
    }
    if (code == MBEDTLS_ERR_X509_CERT_VERIFY_FAILED ||
        (code == BAD_CERTIFICATE && flags != 0 && flags != UINT32_MAX)) {
        link->detail = (int)flags;
        return flags_error(flags);
    }
    if (code == MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE) {
        int alert = link->ssl.MBEDTLS_PRIVATE(in_msg)[1];

        link->detail = 1000 + alert;
        return alert_error(alert);
    }
    link->detail = code;
    return code_error(code);
}

/* ------------------------------------------------------------------------
 * Handshake
 * ------------------------------------------------------------------------ */

/* Frees mbedTLS's side of the link. */
static void link_drop(struct mst_mbedtls_link *link) {
    mbedtls_ssl_free(&link->ssl);
    link->made = 0;
    link->read_error = link->write_error = link->error = link->detail = 0;
    link->verified = link->offered = link->unsent = false;
    link->issuers = 0;
}

/* A name is also sent as SNI, which has no addresses (RFC 6066, section 3). */
static int handshake_begin(struct mst_mbedtls_link *link) {
    const char *host = link->endpoint->host;
    int rc = random_seed(link->mbedtls);

    if (rc != 0) {
        return rc;
    }
    link->address_len = address_parse(host, link->address);
    mbedtls_ssl_init(&link->ssl);
    if (mbedtls_ssl_setup(&link->ssl, &link->mbedtls->config) != 0 ||
        mbedtls_ssl_set_hostname(&link->ssl,
                                 link->address_len == 0 ? host : NULL) != 0) {
        return MST_ERR_PORT;
    }
    mbedtls_ssl_set_bio(&link->ssl, link, bio_send, bio_recv, NULL);
    mbedtls_ssl_set_verify(&link->ssl, certificate_verify, link);
    session_offer(link);
    return 0;
}

/* True if the session may be kept after the handshake. With TLS 1.3, tickets
 * come later. */
static bool has_session(const struct mst_mbedtls_link *link) {
#ifdef MBEDTLS_SSL_PROTO_TLS1_3
    return mbedtls_ssl_get_version_number(&link->ssl) ==
           MBEDTLS_SSL_VERSION_TLS1_2;
#else
    (void)link;
    return true;
#endif
}

/* Continues the handshake; returns 1 once it is done. There may be no
 * certificate only if a session was resumed. */
static int handshake_go_on(struct mst_mbedtls_link *link) {
    int n = mbedtls_ssl_handshake(&link->ssl);

    if (n != 0) {
        n = link_result(link, n, link->read_error, link->write_error);
        return n != 0 ? n : MST_PORT_IN_TLS;
    }
    if (mbedtls_ssl_get_verify_result(&link->ssl) != 0 ||
        (!link->verified && !link->offered)) {
        return link_result(link, MBEDTLS_ERR_X509_CERT_VERIFY_FAILED, 0, 0);
    }
    link->state = LINK_OPEN;
    link->mbedtls->handshakes++;
    link->mbedtls->resumed += !link->verified;
    if (has_session(link)) {
        session_keep(link);
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

static int mbedtls_resolve(void *context, int number,
                           const struct mst_endpoint *endpoint) {
    const struct mst_mbedtls *mbedtls = context;
    struct mst_mbedtls_link *link = link_of(mbedtls, number);

    if (link == NULL) {
        return MST_ERR_ARGUMENT;
    }
    if (link->state == LINK_CLOSED) {
        if (endpoint->tls && clock_read(mbedtls->below, &link->unix_s) != 0) {
            return MST_ERR_CLOCK;
        }
        link->endpoint = endpoint;
        link->state = endpoint->tls ? LINK_CONNECTS : LINK_PLAIN;
    }
    return mbedtls->below->resolve(mbedtls->below->context, number, endpoint);
}

/* A handshake begins in a separate call, so that the library knows that it is
 * under way before it can fail: then no other address is tried. */
static int mbedtls_connect(void *context, int number, int address) {
    const struct mst_mbedtls *mbedtls = context;
    const struct mst_port *below = mbedtls->below;
    struct mst_mbedtls_link *link = &mbedtls->links[number];
    int rc;

    switch (link->state) {
    case LINK_PLAIN: return below->connect(below->context, number, address);
    case LINK_CONNECTS:
        rc = below->connect(below->context, number, address);
        if (rc <= 0) {
            return rc;
        }
        link->state = LINK_BEGINS;
        return MST_PORT_IN_TLS;
    case LINK_OPEN: return 1;
    case LINK_FAILED: return link->error;
    default: break;
    }
    rc = link->state == LINK_BEGINS ? handshake_begin(link) : 0;
    link->state = LINK_SHAKES;
    rc = rc == 0 ? handshake_go_on(link) : rc;
    if (rc < 0) {
        link->state = LINK_FAILED;
        link->error = rc;
    }
    return rc;
}

/* Keeps a ticket of TLS 1.3 that a call of mbedTLS found; true if so, and the
 * call must be repeated. */
static bool ticket_keep(const struct mst_mbedtls_link *link, int code) {
#ifdef MBEDTLS_SSL_PROTO_TLS1_3
    if (code == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET) {
        session_keep(link);
        return true;
    }
#endif
    (void)link;
    (void)code;
    return false;
}

static int tls_write(struct mst_mbedtls_link *link, const void *data,
                     size_t len) {
    int n;

    do {
        n = mbedtls_ssl_write(&link->ssl, data, len);
    } while (ticket_keep(link, n));
    return n;
}

/* mbedTLS also wants to read if it has a ticket that it has not processed. */
static int tls_read(struct mst_mbedtls_link *link, void *data, size_t len) {
    int n;

    link->dry = false;
    do {
        n = mbedtls_ssl_read(&link->ssl, data, len);
    } while (ticket_keep(link, n) ||
             (n == MBEDTLS_ERR_SSL_WANT_READ && !link->dry));
    return n;
}

/* Sends mbedTLS's pending output: 0 once it is sent, or an error of mbedTLS.
 * With such output, a write of no bytes only does that. */
static int link_flush(struct mst_mbedtls_link *link) {
    static const unsigned char nothing = 0;

    return link->unsent ? tls_write(link, &nothing, 0) : 0;
}

/* Bytes that are already in a record count as taken once it is sent. The caller
 * passes them again until then, and they are not read: mbedTLS would assume
 * that they are as many as before, and that its output is not an alert. */
static int link_send(struct mst_mbedtls_link *link, const void *data,
                     size_t len) {
    int n = link_flush(link);

    if (n == 0 && link->made == 0) {
        n = mbedtls_ssl_get_max_out_record_payload(&link->ssl);
        len = n > 0 && (size_t)n < len ? (size_t)n : len;
        n = tls_write(link, data, len);
        link->made = n > 0 || link->unsent ? len : 0;
    }
    if (n < 0) {
        return link_result(link, n, link->write_error, link->read_error);
    }
    len = len < link->made ? len : link->made;
    link->made -= len;
    return (int)len;
}

static int mbedtls_send(void *context, int number, const void *data,
                        size_t len) {
    const struct mst_mbedtls *mbedtls = context;
    struct mst_mbedtls_link *link = &mbedtls->links[number];

    if (link->state == LINK_PLAIN) {
        return mbedtls->below->send(mbedtls->below->context, number, data, len);
    }
    return link->state == LINK_OPEN ? link_send(link, data, len)
                                    : MST_ERR_RESET;
}

static int link_recv(struct mst_mbedtls_link *link, void *data, size_t len) {
    int n;

    (void)link_flush(link); /* send reports an error */
    n = tls_read(link, data, len);
    if (n > 0) {
        return n;
    }
    link->error = link_result(link, n, link->read_error, link->write_error);
    if (link->detail != 0 && session_find(link) != NULL) {
        session_drop(session_find(link)); /* RFC 5246, section 7.2.2 */
    }
    return link->error;
}

static int mbedtls_recv(void *context, int number, void *data, size_t len) {
    const struct mst_mbedtls *mbedtls = context;
    struct mst_mbedtls_link *link = &mbedtls->links[number];

    if (link->state == LINK_PLAIN) {
        return mbedtls->below->recv(mbedtls->below->context, number, data, len);
    }
    if (link->state != LINK_OPEN) {
        return MST_ERR_RESET;
    }
    return link->error != 0 ? link->error : link_recv(link, data, len);
}

/* Sends close_notify if that is possible at once. Systems reset a connection
 * that is closed with bytes unread, such as a ticket, and sent data may be
 * lost. */
static void link_finish(struct mst_mbedtls_link *link) {
    const struct mst_port *below = link->mbedtls->below;
    unsigned char waste[1024];
    int pieces = link->read_error == 0 ? 64 : 0;

    (void)mbedtls_ssl_close_notify(&link->ssl);
    while (pieces-- > 0 && below->recv(below->context, link_number(link), waste,
                                       sizeof waste) > 0) {}
}

static void mbedtls_close(void *context, int number) {
    const struct mst_mbedtls *mbedtls = context;
    struct mst_mbedtls_link *link = link_of(mbedtls, number);

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
    mbedtls->below->close(mbedtls->below->context, number);
}

static uint32_t mbedtls_now_ms(void *context) {
    const struct mst_mbedtls *mbedtls = context;

    return mbedtls->below->now_ms(mbedtls->below->context);
}

static int mbedtls_unix_ns(void *context, int64_t *ns) {
    const struct mst_mbedtls *mbedtls = context;

    return mbedtls->below->unix_ns(mbedtls->below->context, ns);
}

static int mbedtls_entropy(void *context, void *data, size_t len) {
    const struct mst_mbedtls *mbedtls = context;

    return mbedtls->below->entropy(mbedtls->below->context, data, len);
}

static uint64_t mbedtls_now_ns(void *context) {
    const struct mst_mbedtls *mbedtls = context;

    return mbedtls->below->now_ns(mbedtls->below->context);
}

static int mbedtls_token_load(void *context,
                              const uint8_t key[MST_TOKEN_KEY_LEN], char *token,
                              size_t cap, int64_t *until_s) {
    const struct mst_mbedtls *mbedtls = context;

    return mbedtls->below->token_load(mbedtls->below->context, key, token, cap,
                                      until_s);
}

static void mbedtls_token_save(void *context,
                               const uint8_t key[MST_TOKEN_KEY_LEN],
                               const char *token, size_t len, int64_t until_s) {
    const struct mst_mbedtls *mbedtls = context;

    mbedtls->below->token_save(mbedtls->below->context, key, token, len,
                               until_s);
}

/* mbedTLS's error number, or that of the port below. */
static int mbedtls_detail(void *context, int number) {
    const struct mst_mbedtls *mbedtls = context;
    const struct mst_mbedtls_link *link = link_of(mbedtls, number);
    const struct mst_port *below = mbedtls->below;

    if (link != NULL && link->detail != 0) {
        return link->detail;
    }
    return link != NULL && below->detail != NULL
               ? below->detail(below->context, number)
               : 0;
}

static unsigned mbedtls_wants(void *context, int number, unsigned wants) {
    const struct mst_mbedtls *mbedtls = context;
    const struct mst_mbedtls_link *link = link_of(mbedtls, number);
    const struct mst_port *below = mbedtls->below;

    if (link == NULL) {
        return wants;
    }
    if (link->state == LINK_BEGINS) {
        wants = MST_WANT_WRITE;
    } else if (link->state == LINK_SHAKES) {
        wants = link->unsent ? MST_WANT_WRITE : MST_WANT_READ;
    } else if (link->unsent) {
        wants |= MST_WANT_WRITE;
    }
    return below->wants != NULL ? below->wants(below->context, number, wants)
                                : wants;
}

/* ------------------------------------------------------------------------
 * Begin and end
 * ------------------------------------------------------------------------ */

/* The suites of TLS 1.2 with forward secrecy and AEAD, and those of TLS 1.3.
 * mbedTLS ignores those that it was built without. */
static const int suites[] = {
#ifdef MBEDTLS_SSL_PROTO_TLS1_3
    MBEDTLS_TLS1_3_AES_128_GCM_SHA256,
    MBEDTLS_TLS1_3_AES_256_GCM_SHA384,
    MBEDTLS_TLS1_3_CHACHA20_POLY1305_SHA256,
#endif
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    0,
};

/* For certificates: SHA-256 or better, RSA of 2,048 bits or more, any curve. */
static const mbedtls_x509_crt_profile profile = {
    MBEDTLS_X509_ID_FLAG(MBEDTLS_MD_SHA256) |
        MBEDTLS_X509_ID_FLAG(MBEDTLS_MD_SHA384) |
        MBEDTLS_X509_ID_FLAG(MBEDTLS_MD_SHA512),
    0xFFFFFFF,
    0xFFFFFFF,
    2048,
};

/* mbedTLS 2.28 would accept TLS 1.0 and SHA-1, and prefer the slowest curve.
 * 3.6 prefers RSA-PSS signatures, which it fails to verify with TLS 1.2. */
static void config_restrict(mbedtls_ssl_config *config) {
#if MBEDTLS_VERSION_MAJOR == 2
    static const mbedtls_ecp_group_id curves[] = {
#ifdef MBEDTLS_ECP_DP_CURVE25519_ENABLED
        MBEDTLS_ECP_DP_CURVE25519,
#endif
#ifdef MBEDTLS_ECP_DP_SECP256R1_ENABLED
        MBEDTLS_ECP_DP_SECP256R1,
#endif
#ifdef MBEDTLS_ECP_DP_SECP384R1_ENABLED
        MBEDTLS_ECP_DP_SECP384R1,
#endif
#ifdef MBEDTLS_ECP_DP_SECP521R1_ENABLED
        MBEDTLS_ECP_DP_SECP521R1,
#endif
        MBEDTLS_ECP_DP_NONE};
    static const int hashes[] = {MBEDTLS_MD_SHA256, MBEDTLS_MD_SHA384,
                                 MBEDTLS_MD_SHA512, MBEDTLS_MD_NONE};

    mbedtls_ssl_conf_curves(config, curves);
    mbedtls_ssl_conf_sig_hashes(config, hashes);
    mbedtls_ssl_conf_min_version(config, MBEDTLS_SSL_MAJOR_VERSION_3,
                                 MBEDTLS_SSL_MINOR_VERSION_3);
#else
    static const uint16_t signatures[] = {
        MBEDTLS_TLS1_3_SIG_ECDSA_SECP256R1_SHA256,
        MBEDTLS_TLS1_3_SIG_ECDSA_SECP384R1_SHA384,
        MBEDTLS_TLS1_3_SIG_ECDSA_SECP521R1_SHA512,
        MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA256,
        MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA384,
        MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA512,
#ifdef MBEDTLS_SSL_PROTO_TLS1_3
        MBEDTLS_TLS1_3_SIG_RSA_PSS_RSAE_SHA256,
        MBEDTLS_TLS1_3_SIG_RSA_PSS_RSAE_SHA384,
        MBEDTLS_TLS1_3_SIG_RSA_PSS_RSAE_SHA512,
#endif
        MBEDTLS_TLS1_3_SIG_NONE};

    mbedtls_ssl_conf_sig_algs(config, signatures);
#endif
    mbedtls_ssl_conf_ciphersuites(config, suites);
    mbedtls_ssl_conf_cert_profile(config, &profile);
}

static int config_begin(struct mst_mbedtls *mbedtls,
                        mbedtls_x509_crt *anchors) {
    mbedtls_ssl_config *config = &mbedtls->config;

    mbedtls_ssl_config_init(config);
    mbedtls_ctr_drbg_init(&mbedtls->random);
#ifdef STARTS_PSA
    if (psa_crypto_init() != PSA_SUCCESS) {
        return MST_ERR_MEMORY;
    }
#endif
    if (mbedtls_ssl_config_defaults(config, MBEDTLS_SSL_IS_CLIENT,
                                    MBEDTLS_SSL_TRANSPORT_STREAM,
                                    MBEDTLS_SSL_PRESET_DEFAULT) != 0) {
        return MST_ERR_MEMORY;
    }
    config_restrict(config);
    mbedtls_ssl_conf_authmode(config, MBEDTLS_SSL_VERIFY_REQUIRED);
    mbedtls_ssl_conf_ca_chain(config, anchors, NULL);
    mbedtls_ssl_conf_rng(config, mbedtls_ctr_drbg_random, &mbedtls->random);
#if defined(MBEDTLS_SSL_PROTO_TLS1_3) &&    \
    defined(MBEDTLS_SSL_SESSION_TICKETS) && \
    MBEDTLS_VERSION_NUMBER >= 0x03060100
    mbedtls_ssl_conf_tls13_enable_signal_new_session_tickets(
        config, MBEDTLS_SSL_TLS1_3_SIGNAL_NEW_SESSION_TICKETS_ENABLED);
#endif
    return 0;
}

int mst_mbedtls_init(struct mst_mbedtls *mbedtls, mbedtls_x509_crt *anchors,
                     const struct mst_port *below,
                     struct mst_mbedtls_link *links, size_t count,
                     struct mst_port *port) {
    int rc;

    if (mbedtls != NULL) {
        memset(mbedtls, 0, sizeof *mbedtls);
    }
    if (mbedtls == NULL || below == NULL || links == NULL || count == 0 ||
        port == NULL || (below->flags & MST_PORT_SECURE) != 0) {
        return MST_ERR_ARGUMENT;
    }
    if (anchors == NULL || anchors->raw.p == NULL) {
        return MST_ERR_ANCHORS;
    }
    rc = config_begin(mbedtls, anchors);
    if (rc != 0) {
        mst_mbedtls_free(mbedtls);
        return rc;
    }
    memset(links, 0, count * sizeof *links);
    for (size_t i = 0; i < count; i++) {
        links[i].mbedtls = mbedtls;
    }
    mbedtls->below = below;
    mbedtls->anchors = anchors;
    mbedtls->links = links;
    mbedtls->count = count;
    *port = *below;
    port->context = mbedtls;
    port->flags = MST_PORT_SECURE; /* mbedTLS may hold more than recv gave */
    port->resolve = mbedtls_resolve;
    port->connect = mbedtls_connect;
    port->send = mbedtls_send;
    port->recv = mbedtls_recv;
    port->close = mbedtls_close;
    port->now_ms = mbedtls_now_ms;
    port->unix_ns = mbedtls_unix_ns;
    port->entropy = mbedtls_entropy;
    port->now_ns = below->now_ns != NULL ? mbedtls_now_ns : NULL;
    port->token_load = below->token_load != NULL ? mbedtls_token_load : NULL;
    port->token_save = below->token_save != NULL ? mbedtls_token_save : NULL;
    port->detail = mbedtls_detail;
    port->wants = mbedtls_wants;
    return 0;
}

void mst_mbedtls_free(struct mst_mbedtls *mbedtls) {
    for (size_t i = 0; i < mbedtls->count; i++) {
        link_drop(&mbedtls->links[i]);
    }
    for (size_t i = 0; i < MST_MBEDTLS_SESSIONS; i++) {
        session_drop(&mbedtls->sessions[i]);
    }
    mbedtls_ssl_config_free(&mbedtls->config);
    mbedtls_ctr_drbg_free(&mbedtls->random);
    memset(mbedtls, 0, sizeof *mbedtls);
}
