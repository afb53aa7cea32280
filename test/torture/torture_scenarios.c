/*
 * The scenarios of the torture: see torture.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "proxy_peer.h"
#include "torture.h"
#include "truth.h"

/* ---- begin ---- */

/* Tokens live for a minute. */
static void begin_renewal(void) {
    session_begin();
    session.service.expires_in = 60;
    session.service.rules.expire = true;
}

static void begin_until_close(void) {
    session_begin();
    session.service.framing = SERVICE_UNTIL_CLOSE;
}

/* Data comes late and in pieces, and the token response is chunked. */
static void begin_slow(void) {
    struct mst_mock_plan *plan = &session.mock.plan;

    session_begin();
    session.service.framing = SERVICE_CHUNKED;
    plan->addresses = 2;
    plan->resolve_ms = 2;
    plan->connect_ms = 3;
    plan->data_ms = 2;
    plan->recv_max = 150;
    plan->send_max = 150;
}

/* Like the POSIX port: a short read means that there is no more data. */
static void begin_drains(void) {
    session_begin();
    session.port.flags |= MST_PORT_DRAINS;
}

/* The smallest possible memory. */
static void begin_small(void) {
    session_begin();
    session_lengths(256, 0);
}

/* The token is so long that a request is written in several pieces. */
static void begin_large(void) {
    static char token[1500];

    session_begin();
    memset(token, 'x', sizeof token - 1);
    memcpy(token, SERVICE_TOKEN, strlen(SERVICE_TOKEN));
    session.service.token_value = token;
}

/* The token endpoint fails at first, and its first token is not accepted. */
static void begin_refused(void) {
    session_begin();
    service_answer(
        &session.service.token,
        "HTTP/1.1 503 Later\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n", 1,
        0);
    service_answer(&session.service.upgrade,
                   "HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\n{}", 1, 0);
}

static void begin_pings(void) {
    session_begin();
    session.config.ping_ms = 40000;
}

static void begin_plain(void) {
    session_begin();
    session.config.ws_url = "ws://" SERVICE_WS_HOST;
    session.config.auth_url = "http://" SERVICE_AUTH_HOST;
    session.config.flags |= MST_ALLOW_PLAIN;
}

static void begin_tls(void) {
    session_begin_tls("localhost");
}

/* A token stored by an earlier process. */
static struct {
    char token[MST_TOKEN_MAX];
    size_t len;
    int64_t until_s;
} store;

static int store_load(void *context, const uint8_t key[MST_TOKEN_KEY_LEN],
                      char *token, size_t cap, int64_t *until_s) {
    (void)context, (void)key;
    assert_true(store.len <= cap);
    memcpy(token, store.token, store.len);
    *until_s = store.until_s;
    return (int)store.len;
}

static void store_save(void *context, const uint8_t key[MST_TOKEN_KEY_LEN],
                       const char *token, size_t len, int64_t until_s) {
    (void)context, (void)key;
    assert_true(len <= sizeof store.token);
    if (len > 0) {
        memcpy(store.token, token, len);
    }
    store.len = len;
    store.until_s = until_s;
}

static void begin_store(void) {
    session_begin();
    store_save(NULL, NULL, SERVICE_TOKEN, strlen(SERVICE_TOKEN),
               MST_MOCK_WALL_NS / 1000000000 + 3600);
    session.port.token_load = store_load;
    session.port.token_save = store_save;
}

static const struct mst_address_request request = {
    .network = "BITCOIN", .address = "bc1qexample", .nickname = "cold"};

static void begin_put(void) {
    session_begin();
    session.config.ws_url = NULL;
    session.request = request;
}

static void begin_put_chunked(void) {
    begin_put();
    session.service.framing = SERVICE_CHUNKED;
}

static void begin_put_until_close(void) {
    begin_put();
    session.service.framing = SERVICE_UNTIL_CLOSE;
}

static void begin_put_201(void) {
    begin_put();
    session.service.address.raw =
        "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\n"
        "Content-Length: 16\r\n\r\n{\"address\":null}";
}

static void begin_put_422(void) {
    begin_put();
    session.service.address.raw =
        "HTTP/1.1 422 Not So\r\nContent-Type: application/problem+json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
        "11\r\n{\"title\":\"Not so\"\r\n"
        "1a\r\n,\"detail\":\"No such chain\"}\r\n0\r\n\r\n";
}

/* The service fails: the next request must wait. */
static void begin_put_503(void) {
    begin_put();
    session.service.address.raw =
        "HTTP/1.1 503 Later\r\nRetry-After: 1\r\nConnection: close\r\n"
        "Content-Length: 19\r\n\r\n{\"title\":\"Not now\"}";
}

static void begin_put_tls(void) {
    begin_tls();
    session.config.ws_url = NULL;
    session.request = request;
}

static void begin_beside(void) {
    session_begin();
    session.request = request;
}

/* The next token is fetched early, on the transfer's link; subscriptions are
 * audited. */
static void begin_ahead(void) {
    begin_beside();
    session.service.expires_in = 130;
    session.service.rules.expire = true;
    session.config.ping_ms = 40000;
    session.config.audit_ms = 50000;
}

/* ---- start ---- */

static void start_proxied(void) {
    proxy_peer_begin("http://user:secret@proxy.example");
    session_start_all();
}

static void start_pair(void) {
    session_start_pair(0);
    session_subscribe();
}

static void start_standby(void) {
    session.config.flags |= MST_HOT_STANDBY;
    start_pair();
}

static void start_beside(void) {
    session_start_all();
    session_start_transfer();
}

/* ---- play ---- */

/* Changes a book after ms, and passes on the update. */
static void change_after(uint32_t ms) {
    torture_pass(ms);
    truth_change();
    torture_pass(500);
}

/* Everything is subscribed and followed for a while. */
static void play_stream(void) {
    torture_pass(500);
    truth_change();
    torture_trade();
    torture_pass(500);
    /* A pong is sent while more data arrives. */
    service_frame(&session.service, 0x80, 9, "ping", 4);
    torture_parts();
    change_after(600);
}

/* The stream ends when its token expires. */
static void play_renewal(void) {
    torture_pass(500);
    truth_change();
    change_after(62000);
}

/* The connection is lost twice, once within a message. */
static void play_reconnect(void) {
    change_after(500);
    session.tls.truncate = true;
    service_end(&session.service, MST_ERR_RESET);
    torture_pass(3000);
    session.tls.truncate = false;
    change_after(0);
    service_bytes(&session.service, "\x81\x10{\"channel\":", 13);
    service_end(&session.service, MST_ERR_EOF);
    change_after(5000);
}

static void play_rotation(void) {
    torture_pass(500);
    truth_change();
    (void)mst_pair_rotate(&session.pair);
    for (int i = 0; i < 4; i++) {
        torture_pass(1000);
        truth_change();
        torture_trade();
    }
    torture_pass(500);
}

/* The leader's connection is lost. */
static void play_standby(void) {
    change_after(1500);
    service_link_end(&session.service, session_leader()->link.config.link,
                     MST_ERR_RESET);
    torture_pass(100);
    truth_change();
    torture_trade();
    change_after(4000);
}

/* Pings in both directions; at first nothing is subscribed; the service
 * closes. */
static void play_pings(void) {
    torture_pass(500);
    service_frame(&session.service, 0x80, 9, "are you there", 13);
    torture_pass(TORTURE_RECOVERY_MS + 1000);
    session_subscribe();
    change_after(500);
    service_close(&session.service, 1001, "away");
    change_after(4000);
}

/* The second request may use the connection of the first. */
static void play_put(void) {
    torture_pass(100);
    torture_put();
    torture_pass(2000);
    torture_put();
    torture_pass(2000);
}

static void play_beside(void) {
    torture_pass(500);
    truth_change();
    torture_put();
    change_after(500);
}

/* Nothing changes when a ping is due: a millisecond would decide if it is
 * sent. */
static void play_ahead(void) {
    for (int i = 0; i < 3; i++) {
        torture_pass(44500);
        truth_change();
    }
    torture_put();
    torture_pass(2000);
}

#define STREAM(name, begin, play, flags) \
    { name, begin, session_start_all, play, flags, MST_OK, 0 }
#define PUT(name, begin, flags, error, status) \
    { name, begin, session_start_transfer, play_put, flags, error, status }

const struct torture_scenario torture_scenarios[] = {
    STREAM("stream", session_begin, play_stream, 0),
    STREAM("slow", begin_slow, play_stream, 0),
    STREAM("drains", begin_drains, play_reconnect, 0),
    STREAM("small", begin_small, play_reconnect, 0),
    STREAM("large", begin_large, play_stream, 0),
    STREAM("renewal", begin_renewal, play_renewal, TORTURE_RENEWS),
    STREAM("reconnect", begin_until_close, play_reconnect, 0),
    STREAM("refused", begin_refused, play_stream, TORTURE_RENEWS),
    STREAM("store", begin_store, play_reconnect, TORTURE_RENEWS),
    {"pings", begin_pings, session_start, play_pings, 0, 0, 0},
    {"proxy", begin_plain, start_proxied, play_stream, 0, 0, 0},
    {"rotation", session_begin, start_pair, play_rotation, 0, 0, 0},
    {"standby", session_begin, start_standby, play_standby, TORTURE_EITHER, 0,
     0},
    PUT("put", begin_put, 0, MST_OK, 200),
    PUT("put-chunked", begin_put_chunked, 0, MST_OK, 200),
    PUT("put-until-close", begin_put_until_close, TORTURE_OPEN, MST_OK, 200),
    PUT("put-201", begin_put_201, 0, MST_ERR_HTTP_STATUS, 201),
    PUT("put-503", begin_put_503, 0, MST_ERR_HTTP_STATUS, 503),
    PUT("put-422", begin_put_422, 0, MST_ERR_HTTP_STATUS, 422),
    {"beside", begin_beside, start_beside, play_beside, 0, MST_OK, 200},
    {"ahead", begin_ahead, start_beside, play_ahead, TORTURE_RENEWS, MST_OK,
     200},
    STREAM("tls", begin_tls, play_stream, TORTURE_TLS),
    STREAM("tls-reconnect", begin_tls, play_reconnect, TORTURE_TLS),
    PUT("tls-put", begin_put_tls, TORTURE_TLS, MST_OK, 200),
};

const size_t torture_scenarios_len = COUNT(torture_scenarios);

const struct torture_scenario *torture_scenario(const char *name) {
    for (size_t i = 0; i < torture_scenarios_len; i++) {
        if (strcmp(torture_scenarios[i].name, name) == 0) {
            return &torture_scenarios[i];
        }
    }
    return NULL;
}
