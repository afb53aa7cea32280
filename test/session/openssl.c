/*
 * The session on a port with TLS by OpenSSL, over the mock: what a peer with
 * TLS 1.2 or 1.3 may do, good and bad, and session resumption. mbedtls.c
 * includes it for the mbedTLS port.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_openssl.h"
#include "openssl_peer.h"
#include "session.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ui.h>
#include <openssl/x509_vfy.h>
#include <unistd.h>

#define ADDRESS "192.0.2.7" /* the certificates name it too */

static struct mst_port below;
static struct openssl_peer peer;

#ifndef OF_MBEDTLS /* differences from mbedTLS */
#define RESUME_S MST_OPENSSL_RESUME_S
#define STAGE MST_STATE_CONNECT
#define IS_KEPT(kept) ((kept).session != NULL)

enum {
    OTHER_NAME = X509_V_ERR_HOSTNAME_MISMATCH,
    OTHER_ADDRESS = X509_V_ERR_IP_ADDRESS_MISMATCH,
    EXPIRED = X509_V_ERR_CERT_HAS_EXPIRED,
    EARLY = X509_V_ERR_CERT_NOT_YET_VALID,
    UNKNOWN = X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
    SELF_SIGNED = X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
    UNSIGNING = X509_V_ERR_KEYUSAGE_NO_DIGITAL_SIGNATURE,
    CLIENT = X509_V_ERR_INVALID_PURPOSE,
    OLD_VERSION = MST_ERR_TLS_VERSION, /* of TLS, before 1.2 */
    SHAKING = 0,                       /* what connect returns */
    NEW_KEYS = true
};

static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
static struct mst_openssl secured;
static struct mst_openssl_link links[MST_MOCK_LINKS];

static int secured_init(const char *ca) {
    return mst_openssl_init(&secured, ca, &below, links, COUNT(links),
                            &session.port);
}

static void secured_free(void) {
    mst_openssl_free(&secured);
    expect_int("nothing is left", 0, secured.context != NULL);
}

static void set_tls13_only(bool only) {
    secured.tls13_only = only;
}
#endif

static int version_of(size_t i) {
    return versions[i % COUNT(versions)];
}

static int make_certificates(void **state) {
    (void)state;
    unsetenv("SSL_CERT_FILE");
    return tls_make_certificates(
               "DNS:" SERVICE_AUTH_HOST ",DNS:" SERVICE_WS_HOST
               ",DNS:" SERVICE_API_HOST ",IP:" ADDRESS
               ",IP:2001:db8::a:0:7,IP:fe80::,IP:::ffff:192.0.2.7")
               ? 0
               : -1;
}

static void end(void) {
    session_end();
    secured_free();
    openssl_peer_free(&peer);
}

static int tear_down(void **state) {
    end();
    return session_tear_down(state);
}

/* Like session_begin(), with TLS and the trust anchors of this file. */
static void begin_port(const char *ca) {
    end();
    session_begin();
    below = session.port;
    below.flags = 0;
    assert_int_equal(secured_init(ca), 0);
}

/* The same, with a peer with this certificate and version (0: any). */
static void begin_trusting(const char *ca, const char *certificate,
                           int version) {
    begin_port(ca);
    session.config.anchors = NULL;
    session.config.anchors_len = 0;
    openssl_peer_init(&peer, &session.mock, certificate, version);
    session.service.core.sink =
        (struct mst_mock_sink){&peer, openssl_peer_write, openssl_peer_end};
}

static void begin(const char *certificate, int version) {
    begin_trusting(printed("%s/ca.pem", tls_folder), certificate, version);
}

static void expect_handshakes(const char *name, unsigned full,
                              unsigned resumed) {
    expect_int(name, full, peer.full);
    expect_int(name, resumed, peer.resumed);
    expect_int(name, full + resumed, secured.handshakes);
    expect_int(name, resumed, secured.resumed);
}

/* Breaks the connection, and expects a new one. */
static void reconnect(const char *name, int error) {
    service_end(&session.service, error);
    if (!session_until(MST_EVENT_CLOSED, 1000) ||
        !session_until_subscribed(SESSION_MINUTE)) {
        expect_failed("%s: not subscribed anew", name);
    }
    session_run(SESSION_MINUTE);
}

/* ---- data in both directions ---- */

/* Events must not depend on TLS, on reads of single bytes, or on a lower port
 * that reports that it has no more data. */
TEST_CASE(test_main_job) {
    static const size_t sizes[] = {0, 1, 5, 1000};
    struct text *expected = text_new();

    session_begin();
    session_main_job();
    session_record_copy(expected);
    for (size_t i = 0; i < 4 * COUNT(sizes); i++) {
        begin("localhost", version_of(i));
        below.flags = i / 2 % 2 == 0 ? 0 : MST_PORT_DRAINS;
        session.mock.plan.recv_max = sizes[i / 4];
        session.mock.plan.send_max = sizes[COUNT(sizes) - 1 - i / 4];
        session_main_job();
        expect_text("events", text_get(expected),
                    text_get(&session.seen.record));
        expect_text("version",
                    version_of(i) == TLS1_2_VERSION ? "TLSv1.2" : "TLSv1.3",
                    peer.last);
        expect_text("SNI", SERVICE_WS_HOST, peer.name);
    }
}

TEST_CASE(test_kinds) {
    for (int i = 0; i < SESSION_KINDS; i++) {
        begin("localhost", 0);
        session.service.rules.expire = true;
        session_open_kind((enum session_kind)i);
        session_run(5 * SESSION_HOUR);
        assert_true(session_until_subscribed(10000));
        expect_int("full handshakes", 2, peer.full);
    }
}

/* Like session_stall_after(), below TLS. */
static void stall_after(size_t bytes) {
    struct mst_port port = session.port;

    session.port = below;
    session_stall_after(bytes);
    below = session.port;
    session.port = port;
}

/* Cuts the ciphertext at many offsets, and stalls after many bytes of the
 * handshake. */
TEST_CASE(test_cuts) {
    for (uint64_t offset = 1; offset < 3500; offset += 61) {
        begin("localhost", version_of(offset));
        session.mock.plan.cut_at = offset;
        session_start_all();
        session_expect_subscribed(5000, "cut at %d", (int)offset);
        begin("localhost", version_of(offset));
        stall_after((size_t)offset / 3);
        session_start_and_run(1000);
        session_unstall();
        session_expect_subscribed(5000, "stalled at %d", (int)offset / 3);
    }
}

/* Without TLS the layer passes everything through. */
TEST_CASE(test_plain) {
    begin_port(printed("%s/ca.pem", tls_folder));
    session.config.ws_url = "ws://" SERVICE_WS_HOST;
    session.config.auth_url = "http://" SERVICE_AUTH_HOST;
    session.config.flags |= MST_ALLOW_PLAIN;
    session.mock.plan.clock_unset = true;
    session_open();
    expect_int("handshakes", 0, secured.handshakes);
}

/* Connects to a host without a client object: the handshake's result. */
static int shake_detail;

static int shake(const char *host, uint16_t port) {
    int rc = session_reach(host, port);
    char byte;

    if (rc > 0) { /* there may be a ticket */
        expect_int("silence", 0,
                   session.port.recv(session.port.context, 0, &byte, 1));
    }
    shake_detail = session.port.detail(session.port.context, 0);
    session.port.close(session.port.context, 0);
    return rc;
}

/* ---- certificates and clock ---- */

/* With each version. OpenSSL's server does not use "unsigning" with TLS 1.2. */
static void certificate_expect(const char *certificate, int error, int detail) {
    size_t first = strcmp(certificate, "unsigning") == 0 ? 1 : 0;

    for (size_t i = first; i < COUNT(versions); i++) {
        begin(certificate, versions[i]);
        session_start_all();
        session_until_closed(certificate, SESSION_MINUTE, error, STAGE);
        expect_int("requests", 0, session.service.tokens.count);
        expect_int("permanent", 1, session.seen.closed.permanent);
        expect_int("detail", detail, session.seen.closed.detail);
        expect_handshakes(certificate, 0, 0);
        openssl_peer_anew(&peer, "localhost", versions[i]);
        session_expect_subscribed(15 * SESSION_MINUTE, "%s", certificate);
    }
}

TEST_CASE(test_certificates) {
    certificate_expect("wrong", MST_ERR_TLS_NAME, OTHER_NAME);
    certificate_expect("nameless", MST_ERR_TLS_NAME, OTHER_NAME);
    certificate_expect("expired", MST_ERR_TLS_TIME, EXPIRED);
    certificate_expect("early", MST_ERR_TLS_TIME, EARLY);
    certificate_expect("unknown", MST_ERR_TLS_ISSUER, UNKNOWN);
    certificate_expect("ca", MST_ERR_TLS_NAME, OTHER_NAME);
    certificate_expect("other", MST_ERR_TLS_ISSUER, SELF_SIGNED);
    certificate_expect("client", MST_ERR_TLS_CERTIFICATE, CLIENT);
    certificate_expect("unsigning", MST_ERR_TLS_CERTIFICATE, UNSIGNING);
    begin("nameless", 0); /* it has a common name only */
    expect_int("common name", MST_ERR_TLS_NAME, shake("nameless", 443));
}

/* The clock of the lower port decides. */
TEST_CASE(test_wrong_clock) {
    static const int64_t years_ns = 30 * INT64_C(31557600) * 1000000000;

    begin("localhost", 0);
    mst_mock_set_wall(&session.mock, MST_MOCK_WALL_NS + years_ns);
    session_start_all();
    session_until_closed("clock", 1000, MST_ERR_TLS_TIME, STAGE);
    mst_mock_set_wall(&session.mock, MST_MOCK_WALL_NS);
    assert_true(session_until_subscribed(10 * SESSION_MINUTE));
}

/* Without a clock there is no traffic. */
TEST_CASE(test_no_clock) {
    for (int i = 0; i < 2; i++) {
        begin("localhost", 0);
        session.mock.plan.clock_unset = i == 0;
        mst_mock_set_wall(&session.mock, i == 0 ? MST_MOCK_WALL_NS : 0);
        session_start_and_run(SESSION_MINUTE);
        session_expect_closed("clock", MST_ERR_CLOCK, MST_STATE_RESOLVE);
        expect_int("connections", 0, session.mock.connects);
        session.mock.plan.clock_unset = false;
        mst_mock_set_wall(&session.mock, MST_MOCK_WALL_NS);
        assert_true(session_until_subscribed(10 * SESSION_MINUTE));
    }
}

/* A host may be an IP address, if the certificate names it. An IP address is
 * not sent as a server name. */
TEST_CASE(test_address) {
    for (size_t i = 0; i < COUNT(versions); i++) {
        begin("localhost", versions[i]);
        expect_int("address", 1, shake(ADDRESS, 443));
        expect_text("SNI", "", peer.name);
        expect_int("another address", MST_ERR_TLS_NAME,
                   shake("192.0.2.8", 443));
        expect_int("detail", OTHER_ADDRESS, shake_detail);
        expect_int("of IPv6", MST_ERR_TLS_NAME, shake("2001:db8::7", 443));
        expect_int("detail", OTHER_ADDRESS, shake_detail);
        begin("wrong", versions[i]);
        expect_int("a name", 1, shake("wrong.example", 443));
        expect_text("SNI", "wrong.example", peer.name);
        expect_int("no address", MST_ERR_TLS_NAME, shake(ADDRESS, 443));
    }
}

/* ---- other errors ---- */

TEST_CASE(test_versions) {
    static const struct {
        int version; /* of the peer */
        bool only;   /* TLS 1.3 only */
        int error;
    } cases[] = {{TLS1_2_VERSION, false, 0},
                 {TLS1_1_VERSION, false, OLD_VERSION},
                 {TLS1_3_VERSION, false, 0},
                 {TLS1_3_VERSION, true, 0},
                 {TLS1_2_VERSION, true, MST_ERR_TLS_VERSION}};

    for (size_t i = 0; i < (COUNT(versions) > 1 ? COUNT(cases) : 2); i++) {
        begin("localhost", cases[i].version);
        set_tls13_only(cases[i].only);
        session_start_all();
        if (cases[i].error == 0) {
            assert_true(session_until_subscribed(1000));
        } else {
            session_until_closed("version", 1000, cases[i].error, STAGE);
        }
    }
}

/* A server that answers the ClientHello with a fatal alert, or without TLS. */
TEST_CASE(test_answers) {
    static const struct {
        const char *answer;
        size_t len;
        int error, detail; /* detail 0: any */
    } cases[] = {
        {BYTES("\x15\x03\x03\x00\x02\x02\x46"), MST_ERR_TLS_VERSION, 1070},
        {BYTES("\x15\x03\x03\x00\x02\x02\x28"), MST_ERR_TLS_HANDSHAKE, 1040},
        {BYTES("\x15\x03\x03\x00\x02\x02\x50"), MST_ERR_TLS_ALERT, 1080},
        {BYTES("HTTP/1.1 400 Bad Request\r\n"), MST_ERR_TLS_PROTOCOL, 0},
        {BYTES("\x16\x03\x03\x00\x04\x02\x00\x00\x00"), MST_ERR_TLS_PROTOCOL,
         0},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        begin("localhost", 0);
        peer.silent = true;
        session_start_and_run(10);
        mst_mock_write(&session.mock, 0, cases[i].answer, cases[i].len);
        session_until_closed("answer", 1000, cases[i].error, STAGE);
        if (cases[i].detail != 0) {
            expect_int("detail", cases[i].detail, session.seen.closed.detail);
        } else {
            assert_int_not_equal(session.seen.closed.detail, 0);
        }
        peer.silent = false;
        assert_true(session_until_subscribed(10 * SESSION_MINUTE));
    }
}

TEST_CASE(test_truncation) {
    for (size_t i = 0; i < COUNT(versions); i++) {
        begin("localhost", versions[i]);
        peer.truncate = true;
        session_open();
        service_end(&session.service, MST_ERR_EOF);
        session_until_closed("no close_notify", 1000, MST_ERR_TLS_TRUNCATED,
                             MST_STATE_OPEN);
        peer.truncate = false;
        assert_true(session_until_subscribed(10000));
        service_end(&session.service, MST_ERR_EOF);
        session_until_closed("close_notify", 1000, MST_ERR_EOF, MST_STATE_OPEN);
        assert_true(session_until_subscribed(10000));
        /* During the handshake. */
        peer.silent = true;
        service_end(&session.service, MST_ERR_RESET);
        mst_mock_end(&session.mock, 0, MST_ERR_RESET);
        assert_true(session_until(MST_EVENT_CLOSED, 1000));
        session_run(10000);
        mst_mock_end(&session.mock, 0, MST_ERR_EOF);
        session_until_closed("handshake", 1000, MST_ERR_TLS_TRUNCATED, STAGE);
        peer.silent = false;
        assert_true(session_until_subscribed(SESSION_HOUR));
    }
}

static void wipe(void) {
    mst_client_wipe(&session.client);
    session.has_client = false;
}

/* A client that closes sends close_notify, unless it would have to wait. */
TEST_CASE(test_goodbye) {
    for (size_t i = 0; i < COUNT(versions); i++) {
        begin("localhost", version_of(i));
        session_open();
        expect_int("of the token's connection", 1, peer.goodbyes);
        wipe();
        expect_int("of the stream", 2, peer.goodbyes);
        begin("localhost", versions[i]);
        session_open();
        session.mock.plan.send_stall = true;
        wipe();
        expect_int("not if it must wait", 1, peer.goodbyes);
    }
}

/* A record that was not made with the session's keys. */
TEST_CASE(test_forged_record) {
    for (size_t i = 0; i < COUNT(versions); i++) {
        begin("localhost", versions[i]);
        session_open();
        session_run(1000);
        session_forge_record();
        expect_handshakes("forged", 3, 0);
    }
}

/* Errors of the lower port, and their numbers, are reported during the
 * handshake and after it. */
TEST_CASE(test_errors_below) {
    static const int errors[] = {MST_ERR_RESET, MST_ERR_UNREACHABLE,
                                 MST_ERR_PORT};

    for (size_t i = 0; i < 4 * COUNT(errors); i++) {
        int error = errors[i / 4];
        enum mst_mock_call call = i % 2 == 0 ? MST_MOCK_SEND : MST_MOCK_RECV;
        bool open = i / 2 % 2 == 0;

        begin("localhost", 0);
        session_start();
        if (open) {
            assert_true(session_until(MST_EVENT_OPEN, 1000));
            session_run(100);
        }
        session.mock.plan.detail = 104;
        session_fail_next(call, error);
        session_subscribe();
        service_push(&session.service, "heartbeat", "");
        session_until_closed("below", 1000, error,
                             open ? MST_STATE_OPEN : STAGE);
        expect_int("detail", 104, session.seen.closed.detail);
        assert_true(session_until_subscribed(SESSION_MINUTE));
    }
}

static void begin_that_fails(uint64_t n) {
    begin("localhost", version_of(n));
}

/* Makes each call of the lower port fail in turn, the clock's included. */
TEST_CASE(test_every_call_fails) {
    session_every_call_fails(begin_that_fails, end);
}

/* A host has several addresses; one has a bad certificate or never answers. All
 * are tried in one attempt, unless the handshake is a stage. */
static const char *next_certificate;
static struct mst_mock_peer next_peer;

static void next_opened(void *context, int link,
                        const struct mst_endpoint *endpoint) {
    (void)context;
    openssl_peer_anew(
        &peer, session.mock.connects == 1 ? next_certificate : "localhost", 0);
    peer.silent = session.mock.connects == 1 &&
                  strcmp(next_certificate, "localhost") == 0;
    next_peer.opened(&peer, link, endpoint);
}

TEST_CASE(test_next_address) {
    static const char *const certificates[] = {"wrong", "unknown", "localhost"};

    for (size_t i = 0; i < COUNT(certificates); i++) {
        next_certificate = certificates[i];
        begin("localhost", 0);
        session.mock.plan.addresses = 2;
        session.mock.plan.resolve_ms = 20;
        next_peer = session.mock.peer;
        session.mock.peer.opened = next_opened;
        session_start_all();
        assert_true(session_until_subscribed(15 * SESSION_MINUTE));
        expect_int("closed", STAGE == MST_STATE_TLS,
                   session.seen.events[MST_EVENT_CLOSED]);
    }
}

/* ---- resumption ---- */

TEST_CASE(test_resumed) {
    static const int ends[] = {MST_ERR_EOF, MST_ERR_RESET};

    for (size_t i = 0; i < 8; i++) {
        begin("localhost", version_of(i));
        if (i / 4 % 2 != 0) { /* by session ID, not ticket */
            SSL_CTX_set_options(peer.context, SSL_OP_NO_TICKET);
        }
        session_open();
        expect_handshakes("two hosts", 2, 0);
        for (unsigned j = 1; j <= 5; j++) {
            peer.truncate = j == 2;
            reconnect("resumed", ends[i / 2 % 2]);
            expect_handshakes("resumed", 2, j);
        }
        session_run(SESSION_HOUR);
        reconnect("next token", MST_ERR_EOF);
        expect_handshakes("next token", 2, 7);
    }
}

/* If the server has forgotten the session, or the certificate must be checked
 * again, a full handshake follows. Its session replaces the old one. */
TEST_CASE(test_full_again) {
    for (size_t i = 0; i < COUNT(versions); i++) {
        begin("localhost", versions[i]);
        /* The token never expires: its host is used only once. */
        session.service.token_body = SERVICE_ENDLESS;
        session_open();
        reconnect("resumed", MST_ERR_EOF);
        openssl_peer_anew(&peer, "localhost", versions[i]);
        reconnect("forgotten", MST_ERR_EOF);
        expect_handshakes("forgotten", 3, 1);
        reconnect("resumed", MST_ERR_EOF);
        expect_handshakes("the new one", 3, 2);
        for (unsigned hour = 0; hour < 23; hour++) {
            session_run(SESSION_HOUR - SESSION_MINUTE);
            reconnect("within a day", MST_ERR_EOF);
        }
        expect_handshakes("within a day", 3, 25);
        openssl_peer_certificate(&peer, "expired");
        session_run(SESSION_HOUR);
        session_break(MST_ERR_EOF);
        session_until_closed("expired", SESSION_MINUTE, MST_ERR_TLS_TIME,
                             STAGE);
    }
}

/* A session of one name and port is never used for another, even if the server
 * would resume it. */
TEST_CASE(test_names_apart) {
    for (size_t i = 0; i < COUNT(versions); i++) {
        begin("localhost", versions[i]);
        expect_int("first", 1, shake(SERVICE_WS_HOST, 443));
        expect_int("same", 1, shake(SERVICE_WS_HOST, 443));
        expect_handshakes("same", 1, 1);
        expect_int("another name", 1, shake(SERVICE_AUTH_HOST, 443));
        expect_handshakes("another name", 2, 1);
        expect_int("another port", 1, shake(SERVICE_WS_HOST, 444));
        expect_handshakes("another port", 3, 1);
        expect_int("a wrong name", MST_ERR_TLS_NAME,
                   shake("evil.example", 443));
        expect_int("an address", 1, shake(ADDRESS, 443));
        expect_handshakes("an address", 4, 1);
        expect_int("still kept", 1, shake(SERVICE_WS_HOST, 443));
        expect_handshakes("still kept", 4, 2);
        expect_int("a fifth", 1, shake(SERVICE_API_HOST, 443));
        expect_int("the oldest made room", 1, shake(SERVICE_WS_HOST, 443));
        expect_handshakes("the oldest made room", 6, 2);
    }
}

static unsigned sessions_kept(void) {
    unsigned kept = 0;

    for (size_t i = 0; i < COUNT(secured.sessions); i++) {
        kept += IS_KEPT(secured.sessions[i]);
    }
    return kept;
}

/* Sessions that are too old are discarded, whatever their server. */
TEST_CASE(test_old_sessions_go) {
    begin("localhost", 0);
    expect_int("one", 1, shake(SERVICE_WS_HOST, 443));
    mst_mock_advance(&session.mock, RESUME_S * UINT32_C(1000) / 2);
    expect_int("another", 1, shake(SERVICE_AUTH_HOST, 443));
    expect_int("both", 2, sessions_kept());
    mst_mock_advance(&session.mock, RESUME_S * UINT32_C(1000) / 2);
    expect_int("a third", 1, shake(SERVICE_API_HOST, 443));
    expect_int("not the first", 2, sessions_kept());
    mst_mock_set_wall(&session.mock, MST_MOCK_WALL_NS);
    expect_int("a fourth", 1, shake(ADDRESS, 443));
    expect_int("none from the future", 1, sessions_kept());
}

/* ---- the port by itself ---- */

static struct { size_t received; } echo;

static void echo_opened(void *context, int link,
                        const struct mst_endpoint *endpoint) {
    (void)context, (void)link, (void)endpoint;
    echo.received = 0;
}

static void echo_received(void *context, int link, const void *data,
                          size_t len) {
    (void)context;
    echo.received += len;
    assert_int_equal(openssl_peer_write(&peer, link, data, len), len);
}

static void echo_closed(void *context, int link) {
    (void)context, (void)link;
}

static void begin_echo(int version) {
    begin("localhost", version);
    peer.inner = (struct mst_mock_peer){.opened = echo_opened,
                                        .received = echo_received,
                                        .closed = echo_closed};
}

/* Connects the port, without a client, to a peer that echoes. */
static void connect_alone(int version) {
    begin_echo(version);
    assert_int_equal(session_reach(SERVICE_WS_HOST, 443), 1);
}

static struct mst_port below_it; /* the original port */
static int unread;

static void closing(void *context, int link) {
    char byte;

    unread = below.recv(context, link, &byte, 1);
    below_it.close(context, link);
}

/* A system may reset a connection that is closed with unread bytes, such as a
 * ticket. */
TEST_CASE(test_unread) {
    static const char much[20000];

    for (size_t i = 0; i < COUNT(versions); i++) {
        connect_alone(versions[i]);
        below_it = below;
        below.close = closing;
        (void)openssl_peer_write(&peer, 0, much, sizeof much);
        session.port.close(session.port.context, 0);
        expect_int("unread", 0, unread);
    }
}

/* Accepts nothing at every second call. */
static int halting_send(void *context, int link, const void *data, size_t len) {
    static unsigned calls;

    return ++calls % 2 != 0
               ? 0
               : below_it.send(context, link, data, len < 1000 ? len : 1000);
}

/* Sends much in both directions, in pieces of many lengths, with new keys
 * halfway. Data may be at another address when it is sent again. */
TEST_CASE(test_much) {
    enum { MUCH = 200000 };
    static unsigned char out[2][MUCH], in[MUCH]; /* out: two equal copies */
    const struct mst_port *port = &session.port;

    for (int i = 0; i < MUCH; i++) {
        out[0][i] = out[1][i] = (unsigned char)(i ^ i >> 8 ^ i >> 16);
    }
    for (size_t i = 0; i < 4; i++) {
        size_t sent = 0, got = 0;
        bool anew = false;

        begin_echo(version_of(i));
        session.mock.plan.recv_max = i / 2 == 0 ? 0 : 777;
        below_it = below;
        below.send = i / 2 == 0 ? below.send : halting_send;
        assert_int_equal(session_reach(SERVICE_WS_HOST, 443), 1);
        memset(in, 0, sizeof in);
        for (int round = 0; got < MUCH; round++) {
            int n = 0;
            assert_true(round < 100000);
            if (sent < MUCH) {
                size_t len = 1 + sent % 40000;
                len = len < MUCH - sent ? len : MUCH - sent;
                n = port->send(port->context, 0, out[round % 2] + sent, len);
                assert_true(n >= 0 && (size_t)n <= len);
                sent += (size_t)n;
            }
            if (NEW_KEYS && !anew && got > MUCH / 2 && i % 2 == 1) {
                anew = true;
                SSL_key_update(peer.links[0].ssl, SSL_KEY_UPDATE_REQUESTED);
            }
            n = port->recv(port->context, 0, in + got, MUCH - got);
            assert_true(n >= 0);
            got += (size_t)n;
        }
        assert_memory_equal(in, out[0], MUCH);
        expect_int("received", MUCH, echo.received);
        port->close(port->context, 0);
        expect_int("goodbye", i / 2 == 0, peer.goodbyes); /* or it would wait */
        port->close(port->context, 0);
    }
}

#ifndef OF_MBEDTLS /* mbedTLS reads a record's header separately */
/* If the lower port reports that it has no more data, it is read again only
 * after a wait. */
TEST_CASE(test_drained) {
    const struct mst_port *port = &session.port;
    const uint64_t *calls = &session.mock.calls[MST_MOCK_RECV];
    char byte;

    for (size_t i = 0; i < 2 * COUNT(versions); i++) {
        const bool drains = i / 2 == 1;
        connect_alone(version_of(i));
        below.flags = drains ? MST_PORT_DRAINS : 0;
        expect_int("sent", 1, port->send(port->context, 0, "a", 1));
        (void)port->wants(port->context, 0, MST_WANT_READ);
        expect_int("received", 1, port->recv(port->context, 0, &byte, 1));
        uint64_t before = *calls;
        expect_int("no more", 0, port->recv(port->context, 0, &byte, 1));
        expect_int("calls", !drains, *calls - before);
        expect_int("sent", 1, port->send(port->context, 0, "b", 1));
        expect_int("received", 1, port->recv(port->context, 0, &byte, 1));
        (void)openssl_peer_write(&peer, 0, "c", 1);
        (void)port->wants(port->context, 0, MST_WANT_READ);
        expect_int("received", 1, port->recv(port->context, 0, &byte, 1));
        expect_int("the last", 'c', byte);
        port->close(port->context, 0);
    }
}

#endif

/* The end of a connection stays the same error. */
TEST_CASE(test_ends_stay) {
    static const int ends[] = {MST_ERR_EOF, MST_ERR_TLS_TRUNCATED,
                               MST_ERR_TLS_PROTOCOL};
    static const unsigned char record[5 + 32] = {0x17, 3, 3, 0, 32};
    const struct mst_port *port = &session.port;
    char byte;

    for (size_t i = 0; i < COUNT(versions) * COUNT(ends); i++) {
        const int error = ends[i / 2];
        connect_alone(version_of(i));
        (void)openssl_peer_write(&peer, 0, "a", 1);
        if (error == MST_ERR_TLS_PROTOCOL) {
            (void)mst_mock_write(&session.mock, 0, record, sizeof record);
        } else {
            peer.truncate = error == MST_ERR_TLS_TRUNCATED;
            openssl_peer_end(&peer, 0, MST_ERR_EOF);
        }
        expect_int("before", 1, port->recv(port->context, 0, &byte, 1));
        for (int j = 0; j < 3; j++) {
            expect_int("end", error, port->recv(port->context, 0, &byte, 1));
        }
        session_fail_next(MST_MOCK_SEND, MST_ERR_RESET);
        if (error != MST_ERR_TLS_PROTOCOL) {
            expect_int("to send", MST_ERR_RESET,
                       port->send(port->context, 0, "a", 1));
        }
        port->close(port->context, 0);
    }
}

/* What to wait for depends on the TLS layer's state. */
TEST_CASE(test_wants) {
    static const struct mst_endpoint endpoint = {
        .host = SERVICE_WS_HOST, .port = 443, .tls = true};
    const struct mst_port *port = &session.port;

    begin("localhost", 0);
    session.mock.plan.data_ms = 10;
    session.mock.plan.send_stall = true;
    expect_int("closed", 0, port->wants(port->context, 0, 0));
    expect_int("addresses", 1, port->resolve(port->context, 0, &endpoint));
    expect_int("stalled", SHAKING, port->connect(port->context, 0, 0));
    expect_int("to send", MST_WANT_WRITE,
               port->wants(port->context, 0, MST_WANT_READ));
    session.mock.plan.send_stall = false;
    expect_int("sent", SHAKING, port->connect(port->context, 0, 0));
    expect_int("to read", MST_WANT_READ,
               port->wants(port->context, 0, MST_WANT_WRITE));
    for (int i = 0; i < 100 && port->connect(port->context, 0, 0) != 1; i++) {
        mst_mock_advance(&session.mock, 1);
    }
    expect_int("connected", 1, port->connect(port->context, 0, 0));
    expect_int("nothing", 0, port->wants(port->context, 0, 0));
    expect_int("both", MST_WANT_READ | MST_WANT_WRITE,
               port->wants(port->context, 0, MST_WANT_READ | MST_WANT_WRITE));
    session.mock.plan.detail = 7;
    expect_int("detail", 7, port->detail(port->context, 0));
    expect_int("not a link", 0, port->detail(port->context, MST_MOCK_LINKS));
    expect_int("not a link", MST_ERR_ARGUMENT,
               port->resolve(port->context, MST_MOCK_LINKS, &endpoint));
    expect_int("not a link", MST_ERR_ARGUMENT,
               port->resolve(port->context, -1, &endpoint));
    port->close(port->context, MST_MOCK_LINKS);
    port->close(port->context, 0);
}

#ifndef OF_MBEDTLS /* without mbedTLS */
/* The file of the system's trust store, if any. */
static const char *system_store = "/nowhere";

const char *X509_get_default_cert_file(void) {
    return system_store;
}

static int asked;

static int ask(UI *ui) {
    (void)ui;
    return ++asked;
}

/* Damaged certificates, and encrypted ones (no password is asked for), are
 * skipped; the others are used. A byte order mark is allowed, and so is a
 * pipe. */
TEST_CASE(test_anchors) {
    static const struct {
        const char *text;
        size_t skipped;
    } cases[] = {
        {"", 0},
        {"\xEF\xBB\xBF", 0},
        {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", 1},
        {"-----BEGIN CERTIFICATE-----\n*\n-----END CERTIFICATE-----\n", 1},
        {"-----BEGIN CERTIFICATE-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: "
         "AES-128-CBC,000102030405060708090A0B0C0D0E0F\n\n"
         "AAAAAAAAAAAAAAAAAAAAAA==\n-----END CERTIFICATE-----\n",
         1},
        {"-----BEGIN CERTIFICATE-----\nAAAA\n", 1}, /* cut off */
        {"-----BEGIN CERTIFICATE-----\nAAAA", 1},
        {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", 1},
        {"#-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", 0},
    };
    UI_METHOD *asking = UI_create_method("asking");
    char ca[4096];
    FILE *file;

    (void)UI_method_set_opener(asking, ask);
    UI_set_default_method(asking);
    assert_non_null(file = fopen(printed("%s/ca.pem", tls_folder), "r"));
    size_t len = fread(ca, 1, sizeof ca, file);
    assert_int_equal(fclose(file), 0);
    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        const char *text = cases[i / 2].text;
        int ends[2];

        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], text, strlen(text)), strlen(text));
        assert_int_equal(write(ends[1], ca, len), len);
        assert_int_equal(close(ends[1]), 0);
        const char *path = printed("/dev/fd/%d", ends[0]);
        if (i % 2 == 0) {
            begin_trusting(path, "localhost", 0);
        } else { /* as the system's store */
            system_store = path;
            begin_trusting(NULL, "localhost", 0);
            system_store = "/nowhere";
        }
        assert_int_equal(close(ends[0]), 0);
        session_start_all();
        session_expect_subscribed(SESSION_MINUTE, "%zu", i);
        expect_int("read", 1, secured.anchors.len);
        expect_int("no issuers", 0, secured.anchors.leaves);
        expect_int("skipped", (long long)cases[i / 2].skipped,
                   secured.anchors.skipped);
    }
    expect_int("asked for a password", 0, asked);
    UI_set_default_method(UI_OpenSSL());
    UI_destroy_method(asking);
    begin_trusting(printed("%s/localhost.pem", tls_folder), "localhost", 0);
    expect_int("no issuers", 1, secured.anchors.leaves);
    expect_int("is trusted itself", 1, shake(SERVICE_WS_HOST, 443));
}

static struct mst_openssl it;
static struct mst_port port;

static int init(const char *ca) {
    return mst_openssl_init(&it, ca, &below, links, 1, &port);
}

TEST_CASE(test_init) {
    session_begin();
    below = session.port;
    below.flags = 0;
    memset(&it, 0, sizeof it);
    mst_openssl_free(&it);
    memset(&it, 0xA5, sizeof it);
    for (int i = 0; i < 5; i++) { /* each argument in turn */
        assert_int_equal(mst_openssl_init(i == 0 ? NULL : &it, NULL,
                                          i == 1 ? NULL : &below,
                                          i == 2 ? NULL : links, i != 3,
                                          i == 4 ? NULL : &port),
                         MST_ERR_ARGUMENT);
    }
    mst_openssl_free(&it);
    assert_int_equal(init("/nowhere"), MST_ERR_ANCHORS);
    assert_true(ERR_SYSTEM_ERROR(it.anchors.detail));
    assert_int_equal(init(""), MST_ERR_ANCHORS);
    assert_int_equal(init(printed("%s/localhost.key", tls_folder)),
                     MST_ERR_ANCHORS);
    assert_false(ERR_SYSTEM_ERROR(it.anchors.detail));
    assert_int_equal(init("/dev/zero"), MST_ERR_ANCHORS); /* endless */
    assert_int_equal(ERR_GET_REASON(it.anchors.detail), EFBIG);
    mst_openssl_free(&it);
    below.flags = MST_PORT_DRAINS;
    below.now_ns = NULL;
    below.detail = NULL;
    assert_int_equal(init(NULL), 0);
    assert_int_equal(port.flags, MST_PORT_SECURE);
    assert_null(port.now_ns);
    assert_null(port.token_load);
    assert_null(port.token_save);
    assert_int_equal(port.detail(port.context, 0), 0);
    mst_openssl_free(&it);
    below.flags = MST_PORT_SECURE;
    assert_int_equal(init(NULL), MST_ERR_ARGUMENT);
}

RUN_WITH(expect_begin, tear_down, make_certificates, tls_remove_certificates)
#endif
