/*
 * Connections through an HTTP proxy, over the mock: the request, tunnels for
 * all kinds of objects, and every kind of refusal.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "proxy_peer.h"

/* Like session_begin() or session_begin_tls(), through a proxy. */
static void begin(const char *certificate, const char *url) {
    if (certificate != NULL) {
        session_begin_tls(certificate);
    } else {
        session_begin();
        session.config.ws_url = "ws://" SERVICE_WS_HOST;
        session.config.auth_url = "http://" SERVICE_AUTH_HOST;
        session.config.base_url = "http://" SERVICE_API_HOST;
        session.config.flags |= MST_ALLOW_PLAIN;
    }
    proxy_peer_begin(url);
}

TEST_CASE(test_request) {
    begin(NULL, "http://Aladdin:open%20sesame@proxy.example:3128/");
    session_connect();
    /* RFC 7617, section 2 */
    assert_string_equal(proxy_peer.request,
                        "CONNECT " SERVICE_WS_HOST ":80 HTTP/1.1\r\n"
                        "Host: " SERVICE_WS_HOST ":80\r\n"
                        "Proxy-Authorization: Basic "
                        "QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n");
    assert_string_equal(proxy_peer.hosts,
                        "proxy.example:3128 proxy.example:3128 ");
    begin(NULL, "http://[2001:db8::7]");
    session.config.ws_url = "ws://[2001:db8::1]:8080";
    session.config.auth_url = "http://[2001:db8::1]:65535";
    proxy_peer.answer = NULL;
    session_start();
    session_run(100);
    assert_string_equal(proxy_peer.request,
                        "CONNECT [2001:db8::1]:65535 HTTP/1.1\r\n"
                        "Host: [2001:db8::1]:65535\r\n\r\n");
    assert_string_equal(proxy_peer.hosts, "2001:db8::7:80 ");
}

/* Each kind of object for hours, also with reads and writes of one byte. */
TEST_CASE(test_streams) {
    for (int i = 0; i < 2 * SESSION_KINDS; i++) {
        begin(NULL, "http://user:secret@proxy.example");
        session.service.rules.expire = true;
        if (i % 2 != 0) {
            session.mock.plan.recv_max = session.mock.plan.send_max = 1;
        }
        session_open_kind((enum session_kind)(i / 2));
        if (i % 2 == 0) {
            session_run(5 * SESSION_HOUR);
            assert_true(session_until_subscribed(10000));
            assert_true(proxy_peer.asked > 5);
        }
    }
}

TEST_CASE(test_tls_through_it) {
    begin("localhost", "http://user:secret@proxy.example");
    session_open();
    assert_int_equal(
        strstr(proxy_peer.request, "CONNECT " SERVICE_WS_HOST ":443 "),
        proxy_peer.request);
}

#define HEAD "HTTP/1.1 "

TEST_CASE(test_refusals) {
    static const struct {
        const char *answer;
        int error, detail;
    } cases[] = {
        {HEAD "407 Proxy Authentication Required\r\n"
              "Proxy-Authenticate: Basic realm=\"here\"\r\n\r\n<html>",
         MST_ERR_PROXY_LOGIN, 407},
        {HEAD "401 Unauthorized\r\n\r\n", MST_ERR_PROXY_LOGIN, 401},
        {HEAD "403 Filtered\r\n\r\n", MST_ERR_PROXY_REFUSED, 403},
        {HEAD "400 Bad Request\n\n", MST_ERR_PROXY_REFUSED, 400},
        {HEAD "500 Unable to connect\r\n\r\n", MST_ERR_PROXY_GATEWAY, 500},
        {HEAD "502 Bad Gateway\r\nContent-Length: 3\r\n\r\nno!",
         MST_ERR_PROXY_GATEWAY, 502},
        {"HTTP/1.0 504 Timeout\r\n\r\n", MST_ERR_PROXY_GATEWAY, 504},
        {HEAD "302 Found\r\nLocation: http://login/\r\n\r\n",
         MST_ERR_PROXY_ANSWER, 302},
        {HEAD "101 Switching Protocols\r\n\r\n", MST_ERR_PROXY_ANSWER, 101},
        {HEAD "100 Continue\r\n\r\n", MST_ERR_PROXY_TIMEOUT, 0},
        {HEAD "100 Continue\r\nX: y\r\n\r\n" HEAD "103 Hints\r\n\r\n" HEAD
              "403 No\r\n\r\n",
         MST_ERR_PROXY_REFUSED, 403},
        {HEAD "200 OK\r\nContent-Type: text/html\r\n\r\n<html>",
         MST_ERR_PROXY_ANSWER, 200},
        {"SSH-2.0-OpenSSH_9.2\r\n", MST_ERR_PROXY_ANSWER, 0},
        {"HTTP/1.1\r\n\r\n", MST_ERR_PROXY_ANSWER, 0},
        {HEAD "2x0 OK\r\n\r\n", MST_ERR_PROXY_ANSWER, 0},
        {HEAD "2000 OK\r\n\r\n", MST_ERR_PROXY_ANSWER, 0},
        {HEAD "407", MST_ERR_PROXY_TIMEOUT, 407},
        {HEAD " 200 OK\r\n\r\n", MST_ERR_PROXY_ANSWER, 0},
        {"HTTP/1.x 200 OK\r\n\r\n", MST_ERR_PROXY_ANSWER, 0},
        {"HTTP/1.\n 200\n\n", MST_ERR_PROXY_ANSWER, 0},
        {HEAD "403\r\n\r\n", MST_ERR_PROXY_REFUSED, 403},
        {HEAD "403\n\n", MST_ERR_PROXY_REFUSED, 403},
        {"HTTP/2 200\r\n\r\n", MST_ERR_PROXY_ANSWER, 0},
        {NULL, MST_ERR_PROXY_TIMEOUT, 0},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *name = cases[i].answer ? cases[i].answer : "nothing";
        begin(NULL, "http://user:secret@proxy.example");
        proxy_peer.answer = cases[i].answer;
        session_start();
        session_until_closed(name, SESSION_MINUTE, cases[i].error,
                             MST_STATE_CONNECT);
        expect_int(name, cases[i].detail, session.seen.closed.detail);
        expect_int(name, cases[i].error == MST_ERR_PROXY_LOGIN,
                   session.seen.closed.permanent);
        expect_int(name, 0, session.service.tokens.count);
        /* The client tries again, and succeeds once the proxy accepts. */
        proxy_peer.answer = PROXY_PEER_TUNNEL;
        if (!session_until(MST_EVENT_OPEN, SESSION_HOUR)) {
            expect_failed("%s: does not come back", name);
        }
    }
}

/* Responses may be of any reasonable length, interim ones included. */
TEST_CASE(test_long_head) {
    static const int fills[] = {8000, 8300, 8151, 8152};

    for (size_t i = 0; i < COUNT(fills); i++) {
        begin(NULL, "http://proxy.example");
        proxy_peer.answer =
            printed(HEAD "%s\r\nX: %*s\r\n\r\n%s", i < 2 ? "403 No" : "100 ",
                    fills[i], "", i < 2 ? "" : HEAD "403 No\r\n\r\n");
        session_start();
        session_until_closed("long head", SESSION_MINUTE,
                             i % 2 == 0 ? MST_ERR_PROXY_REFUSED
                                        : MST_ERR_PROXY_ANSWER,
                             MST_STATE_CONNECT);
    }
}

/* A proxy has several addresses; some refuse. All are tried in one attempt. */
TEST_CASE(test_next_address) {
    for (unsigned refused = 1; refused <= 3; refused++) {
        begin(NULL, "http://proxy.example");
        session.mock.plan.addresses = 3;
        proxy_peer.refused = refused;
        session_start();
        assert_int_equal(session_until(MST_EVENT_CLOSED, 100), refused == 3);
        if (refused == 3) {
            expect_int("all refuse", MST_ERR_PROXY_GATEWAY,
                       session.seen.closed.error);
            assert_int_equal(proxy_peer.asked, 3);
        } else {
            assert_int_equal(session.seen.events[MST_EVENT_OPEN], 1);
        }
    }
    begin(NULL, "http://user:secret@proxy.example");
    session.mock.plan.addresses = 3;
    proxy_peer.answer = HEAD "407 No\r\n\r\n";
    session_start();
    assert_true(session_until(MST_EVENT_CLOSED, 100));
    assert_int_equal(proxy_peer.asked, 1); /* others would refuse too */
    begin(NULL, "http://proxy.example");
    session.mock.plan.addresses = 2;
    proxy_peer.refused = 1;
    proxy_peer.silently = true;
    session_start();
    assert_true(session_until(MST_EVENT_OPEN, SESSION_MINUTE));
    assert_int_equal(session.seen.events[MST_EVENT_CLOSED], 0);
}

/* A later error does not report the proxy's earlier status. */
TEST_CASE(test_detail) {
    begin(NULL, "http://proxy.example");
    proxy_peer.refused = 1;
    session_start();
    assert_true(session_until(MST_EVENT_CLOSED, SESSION_MINUTE));
    assert_int_equal(session.seen.closed.detail, 503);
    session.mock.plan.connect_error[0] = MST_ERR_REFUSED;
    session.mock.plan.detail = 111;
    assert_true(session_until(MST_EVENT_CLOSED, SESSION_MINUTE));
    assert_int_equal(session.seen.closed.error, MST_ERR_REFUSED);
    assert_int_equal(session.seen.closed.detail, 111);
}

/* Excludes some servers from the proxy. */
static bool token_is_direct(void *context,
                            const struct mst_endpoint *endpoint) {
    ++*(int *)context;
    return strcmp(endpoint->host, SERVICE_AUTH_HOST) == 0;
}

TEST_CASE(test_direct) {
    int asked = 0;

    begin(NULL, "http://proxy.example");
    session.mock.plan.resolve_ms = 100;
    proxy_peer.proxy.direct = token_is_direct;
    proxy_peer.proxy.direct_context = &asked;
    proxy_peer.direct = SERVICE_AUTH_HOST;
    session_connect();
    assert_string_equal(proxy_peer.hosts,
                        SERVICE_AUTH_HOST ":80 proxy.example:80 ");
    assert_int_equal(proxy_peer.asked, 1);
    assert_int_equal(asked, 2); /* once per connection */
}

/* The connection is lost while the proxy's response is awaited. */
TEST_CASE(test_connection_lost) {
    static const int ends[][2] = {{MST_ERR_EOF, MST_ERR_PROXY_ANSWER},
                                  {MST_ERR_RESET, MST_ERR_RESET}};

    for (size_t i = 0; i < COUNT(ends); i++) {
        begin(NULL, "http://proxy.example");
        proxy_peer.answer = NULL;
        session_start();
        session.mock.plan.send_stall = true;
        session_run(100);
        assert_int_equal(mst_wants(&session.client.link),
                         MST_WANT_READ | MST_WANT_WRITE);
        session.mock.plan.send_stall = false;
        session_run(100);
        assert_int_equal(proxy_peer.asked, 1);
        assert_int_equal(mst_wants(&session.client.link), MST_WANT_READ);
        mst_mock_end(&session.mock, 0, ends[i][0]);
        assert_true(session_until(MST_EVENT_CLOSED, 1000));
        expect_int("lost", ends[i][1], session.seen.closed.error);
    }
}

/* Secrets are wiped after the proxy's request, and at the end. */
TEST_CASE(test_secrets) {
    static const char secret[] = "dXNlcjpzZWNyZXQ=";
    static const struct proxy_peer none;

    begin(NULL, "http://user:secret@proxy.example");
    session_open();
    assert_non_null(strstr(proxy_peer.request, secret));
    assert_memory_equal(proxy_peer.links[0].request, none.links[0].request,
                        sizeof none.links[0].request);
    assert_string_equal(proxy_peer.proxy.login, secret);
    mst_proxy_wipe(&proxy_peer.proxy);
    assert_memory_equal(proxy_peer.proxy.login, none.proxy.login,
                        sizeof none.proxy.login);
}

/* A scripted port, for cases that the mock does not allow. */
static struct {
    const char *answer;
    int end;   /* recv's result after the answer */
    int taken; /* send's result, or -1: it takes all */
    int addresses, sends, connects, resolves, closes, others;
    uint32_t now_ms;
    bool hangs; /* it never connects */
} told;

static struct mst_port port;

static int told_resolve(void *context, int link,
                        const struct mst_endpoint *endpoint) {
    (void)context, (void)endpoint;
    told.others += link != 0;
    told.resolves++;
    return told.addresses;
}

static int told_connect(void *context, int link, int address) {
    (void)context, (void)address;
    told.others += link != 0;
    told.connects++;
    return !told.hangs;
}

static int told_send(void *context, int link, const void *data, size_t len) {
    (void)context, (void)link, (void)data;
    told.sends++;
    return told.taken != -1 ? told.taken : (int)len;
}

static int told_recv(void *context, int link, void *data, size_t len) {
    (void)context, (void)link;
    if (len == 0 || *told.answer == '\0') {
        return told.end;
    }
    memcpy(data, told.answer++, 1);
    return 1;
}

static void told_close(void *context, int link) {
    (void)context;
    told.others += link != 0;
    told.closes++;
}

static uint32_t told_now_ms(void *context) {
    (void)context;
    return told.now_ms;
}

static int told_detail(void *context, int link) {
    (void)context;
    told.others += link != 0;
    return 111;
}

static unsigned told_wants(void *context, int link, unsigned wants) {
    (void)context;
    told.others += link != 0;
    return wants;
}

static int init_proxy(const char *url) {
    return mst_proxy_init(&proxy_peer.proxy, url, &proxy_peer.below,
                          proxy_peer.links, 1, &port);
}

static const struct mst_endpoint endpoint = {.host = "a", .port = 443};

/* Begins, for a first connect with this answer. */
static void told_begin(const char *answer, int end) {
    memset(&told, 0, sizeof told);
    told.answer = answer;
    told.end = end;
    told.taken = -1;
    told.addresses = 2;
    proxy_peer.below = (struct mst_port){.resolve = told_resolve,
                                         .connect = told_connect,
                                         .send = told_send,
                                         .recv = told_recv,
                                         .close = told_close,
                                         .now_ms = told_now_ms,
                                         .detail = told_detail,
                                         .wants = told_wants};
    assert_int_equal(init_proxy("http://u:p@proxy"), 0);
    assert_int_equal(port.resolve(port.context, 0, &endpoint), 2);
}

static int told_go_on(int address) {
    return port.connect(port.context, 0, address);
}

/* Bytes or errors right after the answer, or in place of it. */
TEST_CASE(test_ends) {
    static const struct {
        const char *answer;
        int end, rc, detail;
    } cases[] = {
        {PROXY_PEER_TUNNEL, 0, 1, 111},
        {PROXY_PEER_TUNNEL, MST_ERR_EOF, MST_ERR_PROXY_ANSWER, 200},
        {PROXY_PEER_TUNNEL, MST_ERR_RESET, MST_ERR_RESET, 111},
        {PROXY_PEER_TUNNEL "x", 0, MST_ERR_PROXY_ANSWER, 200},
        {HEAD "100 \r\n\r\n" PROXY_PEER_TUNNEL, 0, 1, 111},
        {HEAD "4", MST_ERR_RESET, MST_ERR_RESET, 111},
        {HEAD "4", MST_ERR_EOF, MST_ERR_PROXY_ANSWER, 0},
        {HEAD "40\r\n\r\n", 0, MST_ERR_PROXY_ANSWER, 0},
        {HEAD "403 No\r\n\r\n", MST_ERR_EOF, MST_ERR_PROXY_REFUSED, 403},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *name = cases[i].answer;
        told_begin(name, cases[i].end);
        expect_int(name, cases[i].rc, told_go_on(0));
        expect_int(name, cases[i].detail, port.detail(port.context, 0));
    }
    told_begin(PROXY_PEER_TUNNEL, 0);
    assert_int_equal(told_go_on(0), 1);
    assert_int_equal(told_go_on(0), 1); /* it stays connected */
    assert_int_equal(told.connects, 1);
}

/* A proxy that answers before the request is completely sent. */
TEST_CASE(test_early_answer) {
    static const struct {
        const char *answer;
        int taken, rc;
    } cases[] = {
        {HEAD "403 No\r\n\r\n", 0, MST_ERR_PROXY_REFUSED},
        {HEAD "403 No\r\n\r\n", MST_ERR_RESET, MST_ERR_PROXY_REFUSED},
        {PROXY_PEER_TUNNEL, 0, MST_ERR_PROXY_ANSWER},
        {PROXY_PEER_TUNNEL, MST_ERR_RESET, MST_ERR_PROXY_ANSWER},
        {HEAD "403 ", MST_ERR_RESET, MST_ERR_RESET},
        {"", MST_ERR_RESET, MST_ERR_RESET},
        {"", 0, 0},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *name = cases[i].answer;
        told_begin(name, 0);
        told.taken = cases[i].taken;
        expect_int(name, cases[i].rc, told_go_on(0));
        expect_int(name, 1, told.sends);
        expect_int(name, cases[i].rc == 0, proxy_peer.links[0].request[0] != 0);
        if (cases[i].rc == 0) {
            expect_int(name, MST_WANT_READ | MST_WANT_WRITE,
                       (int)port.wants(port.context, 0, MST_WANT_WRITE));
            mst_proxy_wipe(&proxy_peer.proxy);
            expect_int(name, 0, proxy_peer.links[0].request[0]);
        }
    }
}

/* Each further address is resolved again: there may be fewer by now. */
TEST_CASE(test_resolves_anew) {
    told_begin(HEAD "503 No\r\n\r\n", 0);
    assert_int_equal(told_go_on(0), MST_ERR_PROXY_GATEWAY);
    told.addresses = 1;
    assert_int_equal(told_go_on(1), MST_ERR_UNREACHABLE);
    assert_int_equal(port.detail(port.context, 0), 111);
    told.addresses = MST_ERR_RESOLVE;
    assert_int_equal(told_go_on(1), MST_ERR_RESOLVE);
    assert_int_equal(told.closes, 2);
    told.addresses = 0;
    assert_int_equal(told_go_on(1), 0);
    assert_int_equal(told_go_on(1), 0);
    assert_int_equal(told.closes, 3);
    assert_int_equal(told.connects, 1);
    told.addresses = 2;
    told.answer = PROXY_PEER_TUNNEL;
    assert_int_equal(told_go_on(1), 1);
    assert_int_equal(told.resolves, 6);
    assert_int_equal(told.closes, 3);
}

/* Each address has its full time, after any other, also if the clock wraps. */
TEST_CASE(test_silent_addresses) {
    told_begin("", 0);
    told.now_ms = UINT32_MAX - 5000;
    for (int address = 0; address < 2; address++) {
        assert_int_equal(told_go_on(address), 0);
        told.now_ms += 8999;
        assert_int_equal(told_go_on(address), 0);
        told.now_ms++;
        assert_int_equal(told_go_on(address), MST_ERR_PROXY_TIMEOUT);
        assert_int_equal(port.detail(port.context, 0), 0);
    }
    told.now_ms += 9000;
    assert_int_equal(told_go_on(1), 0); /* again, from the start */
    told.now_ms += 9000;
    told.answer = PROXY_PEER_TUNNEL; /* an answer counts, however late */
    assert_int_equal(told_go_on(1), 1);
    told_begin("", 0);
    told.hangs = true;
    assert_int_equal(told_go_on(0), 0);
    told.now_ms += 10000; /* the caller ends this */
    assert_int_equal(told_go_on(0), 0);
    told.hangs = false;
    assert_int_equal(told_go_on(1), 0);
}

/* A silent proxy is reported with its own error, if its time is shorter than
 * the library's. */
TEST_CASE(test_silence) {
    static const struct {
        uint32_t connect_ms, answer_ms;
        int error;
    } cases[] = {
        {0, 0, MST_ERR_PROXY_TIMEOUT},
        {9001, 0, MST_ERR_PROXY_TIMEOUT},
        {5000, 0, MST_ERR_TIMEOUT},
        {5000, 4999, MST_ERR_PROXY_TIMEOUT},
        {20000, 5000, MST_ERR_PROXY_TIMEOUT},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        begin(NULL, "http://proxy.example");
        session.mock.plan.resolve_ms = session.mock.plan.connect_ms = 30;
        session.config.connect_ms = cases[i].connect_ms;
        proxy_peer.proxy.answer_ms = cases[i].answer_ms > 0
                                         ? cases[i].answer_ms
                                         : proxy_peer.proxy.answer_ms;
        proxy_peer.answer = NULL;
        session_start();
        session_until_closed("error", SESSION_MINUTE, cases[i].error,
                             MST_STATE_CONNECT);
        expect_int("permanent", false, session.seen.closed.permanent);
    }
}

/* Invalid link numbers are not passed to the lower port. */
TEST_CASE(test_other_links) {
    static const int others[] = {-1, 1, 5};

    told_begin(PROXY_PEER_TUNNEL, 0);
    for (size_t i = 0; i < COUNT(others); i++) {
        int other = others[i];
        assert_int_equal(port.resolve(port.context, other, &endpoint),
                         MST_ERR_ARGUMENT);
        port.close(port.context, other);
        assert_int_equal(port.detail(port.context, other), 0);
        assert_int_equal(port.wants(port.context, other, MST_WANT_READ),
                         MST_WANT_READ);
    }
    assert_int_equal(told.others, 0);
}

TEST_CASE(test_urls) {
    static const struct {
        const char *url, *host;
        int port;
    } cases[] = {
        {"http://proxy", "proxy", 80},
        {"http://proxy:8080/", "proxy", 8080},
        {"http://10.0.0.1:1", "10.0.0.1", 1},
        {"http://[::1]:65535", "::1", 65535},
        {"http://a:b@proxy", "proxy", 80},
        {"http://a:@proxy", "proxy", 80},
        {"http://a:b%40c@d@proxy", "proxy", 80},
        {"http://a:b:c%3Ad@proxy", "proxy", 80},
    };
    static const char *const refused[] = {
        /* Another scheme, or none. */
        "https://proxy", "proxy:3128", "",
        /* Hosts. */
        "http://", "http://:80", "http://.proxy", "http://pro..xy",
        "http://pro xy", "http://pro\r\nxy", "http://[::1", "http://[]",
        "http://[::1]8",
        /* Ports. */
        "http://proxy:", "http://proxy:0", "http://proxy:65536",
        "http://proxy:4294967376", "http://proxy:8x",
        /* More than host and port. */
        "http://proxy/path", "http://proxy?query",
        /* Credentials. */
        "http://a%3Ab:c@proxy", "http://user@proxy", "http://a:%4@proxy",
        "http://a:%zz@proxy", "http://a:%0d%0aX@proxy"};

    begin(NULL, "http://proxy");
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *name = cases[i].url;
        expect_int(name, 0, init_proxy(name));
        expect_text(name, cases[i].host, proxy_peer.proxy.endpoint.host);
        expect_int(name, cases[i].port, proxy_peer.proxy.endpoint.port);
    }
    for (size_t i = 0; i < COUNT(refused); i++) {
        expect_int(refused[i], MST_ERR_URL, init_proxy(refused[i]));
        expect_int(refused[i], 0, proxy_peer.proxy.login[0]);
    }
    for (int i = 0; i < 2; i++) { /* the longest, and one more */
        expect_int("credentials", i == 0 ? 0 : MST_ERR_URL,
                   init_proxy(printed("http://a:%0*d@proxy",
                                      MST_PROXY_LOGIN_MAX - 2 + i, 0)));
        expect_int("host", i == 0 ? 0 : MST_ERR_URL,
                   init_proxy(printed("http://%0*d", MST_HOST_MAX + i, 0)));
    }
    proxy_peer.below.flags |= MST_PORT_SECURE;
    assert_int_equal(init_proxy("http://proxy"), MST_ERR_ARGUMENT);
}

/* The longest names. */
TEST_CASE(test_longest) {
    begin(NULL, printed("http://a:%0*d@proxy", MST_PROXY_LOGIN_MAX - 2, 0));
    session.config.auth_url = printed("http://%0*d:65535", MST_HOST_MAX, 0);
    proxy_peer.answer = NULL;
    session_start();
    session_run(100);
    size_t len = strlen(proxy_peer.request);
    assert_true(len > 2 * MST_HOST_MAX + MST_PROXY_LOGIN_MAX &&
                len <= MST_PROXY_REQUEST_LEN);
    assert_string_equal(proxy_peer.request + len - 4, "\r\n\r\n");
}

RUN_SESSIONS(session_certificates, tls_remove_certificates)
