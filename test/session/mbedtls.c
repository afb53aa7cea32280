/*
 * The session on a port with TLS by mbedTLS, over the mock: the cases of
 * openssl.c, and those that only mbedTLS needs.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_mbedtls.h"
#include "session.h"

#include <openssl/ssl.h>

#define OF_MBEDTLS
#define RESUME_S MST_MBEDTLS_RESUME_S
#define STAGE MST_STATE_TLS
#define IS_KEPT(session) ((session).kept)

enum {
    OTHER_NAME = MBEDTLS_X509_BADCERT_CN_MISMATCH,
    OTHER_ADDRESS = OTHER_NAME,
    EXPIRED = MBEDTLS_X509_BADCERT_EXPIRED,
    EARLY = MBEDTLS_X509_BADCERT_FUTURE,
    UNKNOWN = MBEDTLS_X509_BADCERT_NOT_TRUSTED,
    SELF_SIGNED = UNKNOWN | OTHER_NAME,
    UNSIGNING = MBEDTLS_X509_BADCERT_KEY_USAGE,
    CLIENT = MBEDTLS_X509_BADCERT_EXT_KEY_USAGE,
    /* mbedTLS 2.28 reports only its latest version. */
    OLD_VERSION = MBEDTLS_VERSION_MAJOR == 2 ? MST_ERR_TLS_HANDSHAKE
                                             : MST_ERR_TLS_VERSION,
    SHAKING = MST_PORT_IN_TLS,
    NEW_KEYS = false
};

static const int versions[] = {
    TLS1_2_VERSION,
#ifdef MBEDTLS_SSL_PROTO_TLS1_3
    TLS1_3_VERSION,
#endif
};
static struct mst_mbedtls secured;
static struct mst_mbedtls_link links[MST_MOCK_LINKS];
static struct mst_port below;
static mbedtls_x509_crt anchors;

static int secured_init(const char *ca) {
    mbedtls_x509_crt_init(&anchors);
    (void)mbedtls_x509_crt_parse_file(&anchors, ca);
    return mst_mbedtls_init(&secured, &anchors, &below, links, COUNT(links),
                            &session.port);
}

static void secured_free(void) {
    mst_mbedtls_free(&secured);
    mbedtls_x509_crt_free(&anchors);
}

static void set_tls13_only(bool only) {
#ifdef MBEDTLS_SSL_PROTO_TLS1_3
    mbedtls_ssl_conf_min_tls_version(&secured.config,
                                     only ? MBEDTLS_SSL_VERSION_TLS1_3
                                          : MBEDTLS_SSL_VERSION_TLS1_2);
#else
    (void)only;
#endif
}

#include "openssl.c" /* NOLINT(bugprone-suspicious-include) */

/* Certificates are checked whatever mode the program has set. */
TEST_CASE(test_always_checked) {
    static const int modes[] = {MBEDTLS_SSL_VERIFY_NONE,
                                MBEDTLS_SSL_VERIFY_OPTIONAL};

    for (size_t i = 0; i < 2 * COUNT(versions); i++) {
        begin("wrong", version_of(i));
        mbedtls_ssl_conf_authmode(&secured.config, modes[i / COUNT(versions)]);
        session_start_all();
        session_until_closed("not checked", SESSION_MINUTE,
                             i < COUNT(versions) ? MST_ERR_TLS_CERTIFICATE
                                                 : MST_ERR_TLS_NAME,
                             MST_STATE_TLS);
    }
}

/* IP addresses in all forms, and strings that look like addresses. */
TEST_CASE(test_addresses) {
    static const char *const hosts[] = {
        "192.0.2.7",           "2001:db8::a:0:7",
        "2001:DB8:0:0:0:a::7", "2001:db8:0:0:0:a:0:7",
        "2001:db8::a:0.0.0.7", "::ffff:c000:207",
        "::ffff:192.0.2.7",    "fe80::"};
    static const char *const others[] = {
        /* IPv4. */
        "192.0.2.07", "192.0.2.263", "192.0.2", "192.0.2.7.", "192.0.2.7.0",
        /* IPv6. */
        "2001:db8::a:0.0.0.7:0",
        "2001:db8:0:0:0:a:0:7::", "2001:db8:0:0:0::a:0:7",
        "2001:db8:0:0:0:a:0:7:0", "2001:db8:0:0:0:a:7", "2001:db8::a::7",
        "2001:db8::a:0:7:", ":2001:db8::a:0:7", "2001:db8::a:0:10007",
        "2001:db8::a:0:g", "::1:ffff:192.0.2.7", "::", ":"};

    for (size_t i = 0; i < COUNT(hosts); i++) {
        begin("localhost", 0);
        expect_int(hosts[i], 1, shake(hosts[i], 443));
    }
    for (size_t i = 0; i < COUNT(others); i++) {
        begin("localhost", 0);
        expect_int(others[i], MST_ERR_TLS_NAME, shake(others[i], 443));
    }
}

static bool stalled;

static int stalled_send(void *context, int link, const void *data, size_t len) {
    return stalled ? 0 : below_it.send(context, link, data, len);
}

/* After a partial send the original record is sent, however many bytes are
 * passed to the next call. */
TEST_CASE(test_sent_again) {
    static const size_t lengths[][2] = {{5, 5}, {5, 9}, {5, 2}};
    const struct mst_port *port = &session.port;

    for (size_t i = 0; i < COUNT(lengths) * COUNT(versions); i++) {
        const size_t *len = lengths[i / COUNT(versions)];
        size_t sent = 0;
        char in[16] = "";
        int n, got = 0;

        begin_echo(version_of(i));
        below_it = below;
        below.send = stalled_send;
        assert_int_equal(session_reach(SERVICE_WS_HOST, 443), 1);
        stalled = true;
        expect_int("stalled", 0,
                   port->send(port->context, 0, "123456789", len[0]));
        expect_int("to send", MST_WANT_WRITE, port->wants(port->context, 0, 0));
        expect_int("still", 0,
                   port->send(port->context, 0, "123456789", len[1]));
        stalled = false;
        for (int j = 0; j < 9 && sent < 9; j++) {
            n = port->send(port->context, 0, &"123456789"[sent],
                           sent == 0 ? len[1] : 9 - sent);
            assert_true(n >= 0);
            sent += (size_t)n;
        }
        while ((n = port->recv(port->context, 0, in + got,
                               sizeof in - 1 - (size_t)got)) > 0) {
            got += n;
        }
        expect_text("echo", "123456789", in);
        port->close(port->context, 0);
    }
}

/* Nothing is sent or received before the handshake is complete. */
TEST_CASE(test_not_open) {
    const struct mst_port *port = &session.port;
    char byte = 0;

    connect_alone(0);
    for (int i = 0; i < 2; i++) {
        port->close(port->context, 0);
        expect_int("send", MST_ERR_RESET,
                   port->send(port->context, 0, &byte, 1));
        expect_int("recv", MST_ERR_RESET,
                   port->recv(port->context, 0, &byte, 1));
        expect_int("failed", MST_ERR_TLS_NAME, shake("evil.example", 443));
    }
}

#ifdef MBEDTLS_SSL_PROTO_TLS1_3
/* New keys, which OpenSSL's server never asks for, end the connection. */
TEST_CASE(test_new_keys) {
    const struct mst_port *port = &session.port;
    char byte;

    connect_alone(TLS1_3_VERSION);
    expect_int("silence", 0, port->recv(port->context, 0, &byte, 1));
    SSL_key_update(peer.links[0].ssl, SSL_KEY_UPDATE_NOT_REQUESTED);
    (void)openssl_peer_write(&peer, 0, "a", 1);
    expect_int("new keys", MST_ERR_TLS_PROTOCOL,
               port->recv(port->context, 0, &byte, 1));
    port->close(port->context, 0);
}
#endif

static bool has_no_entropy;

static int entropy(void *context, void *data, size_t len) {
    return has_no_entropy ? MST_ERR_ENTROPY
                          : below_it.entropy(context, data, len);
}

/* Each handshake needs entropy. */
TEST_CASE(test_entropy) {
    begin("localhost", 0);
    below_it = below;
    below.entropy = entropy;
    for (int i = 0; i < 4; i++) {
        has_no_entropy = i % 2 == 0;
        expect_int("entropy", has_no_entropy ? MST_ERR_ENTROPY : 1,
                   shake(SERVICE_WS_HOST, 443));
    }
}

TEST_CASE(test_init) {
    static struct mst_mbedtls it;
    struct mst_port port;

    begin("localhost", 0);
    memset(&it, 0, sizeof it);
    mst_mbedtls_free(&it);
    for (int i = 0; i < 8; i++) {
        mbedtls_x509_crt none;

        mbedtls_x509_crt_init(&none);
        memset(&it, i == 0 ? 0 : 0xA5, sizeof it); /* init sets all fields */
        below.flags = i == 5 ? MST_PORT_SECURE : MST_PORT_DRAINS;
        assert_int_equal(mst_mbedtls_init(i == 0 ? NULL : &it,
                                          i == 1   ? NULL
                                          : i == 6 ? &none
                                                   : &anchors,
                                          i == 2 ? NULL : &below,
                                          i == 3 ? NULL : links, i != 4,
                                          i == 7 ? NULL : &port),
                         i == 1 || i == 6 ? MST_ERR_ANCHORS : MST_ERR_ARGUMENT);
        mst_mbedtls_free(&it);
    }
    below.now_ns = NULL;
    below.detail = NULL;
    assert_int_equal(mst_mbedtls_init(&it, &anchors, &below, links, 1, &port),
                     0);
    assert_int_equal(port.flags, MST_PORT_SECURE);
    assert_null(port.now_ns);
    assert_null(port.token_load);
    assert_null(port.token_save);
    assert_int_equal(port.detail(port.context, 0), 0);
    mst_mbedtls_free(&it);
}

RUN_WITH(expect_begin, tear_down, make_certificates, tls_remove_certificates)
