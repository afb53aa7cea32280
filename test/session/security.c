/*
 * Attacks: secrets in the wrong place, injected text in requests, responses to
 * other requests, and connections without TLS. Certificates are tested in
 * certificates.c, wiping in tls.c and resume.c.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE
#include "session.h"

#include <jansson.h>

/* ---- destinations ---- */

enum { AUTH, STREAM, ADDRESS, HOSTS };

static const char *const hosts[] = {SERVICE_AUTH_HOST, SERVICE_WS_HOST,
                                    SERVICE_API_HOST};

/* Plain text sent to each host. Nothing may go to other hosts. */
static struct {
    struct mst_port below;
    struct text to[HOSTS + 1];
    size_t host[MST_MOCK_LINKS]; /* the index of each link's host */
    unsigned others;
} wire;

static int wire_resolve(void *context, int link,
                        const struct mst_endpoint *endpoint) {
    size_t i = 0;

    while (i < HOSTS && strcmp(endpoint->host, hosts[i]) != 0) {
        i++;
    }
    wire.host[link] = i;
    wire.others += i == HOSTS || !endpoint->tls || endpoint->port != 443;
    return wire.below.resolve(context, link, endpoint);
}

static int wire_send(void *context, int link, const void *data, size_t len) {
    int n = wire.below.send(context, link, data, len);

    if (n > 0) {
        text_add_bytes(&wire.to[wire.host[link]], data, (size_t)n);
    }
    return n;
}

static void wire_begin(void) {
    session_begin();
    session.request = (struct mst_address_request){
        .network = "BITCOIN", .address = "bc1qxy2kgdygjrsqtzq2n"};
    memset(&wire, 0, sizeof wire);
    wire.below = session.port;
    session.port.resolve = wire_resolve;
    session.port.send = wire_send;
}

static void wire_end(void) {
    session_end();
    for (size_t i = 0; i <= HOSTS; i++) {
        text_free(&wire.to[i]);
    }
}

static bool wire_has(int host, const char *what) {
    const struct text *text = &wire.to[host];

    return bytes_contain(text_get(text), text->len, what, strlen(what));
}

/* The client secret goes only to the token endpoint, and each token only to the
 * service of its scope. */
static void wire_check(const char *name) {
    expect_int(name, 0, wire.others);
    expect_int(name, 1, wire_has(AUTH, "client_secret="));
    for (int other = STREAM; other <= ADDRESS; other++) {
        expect_int(name, 0, wire_has(other, "client_secret"));
        expect_int(name, 0, wire_has(other, SERVICE_SECRET));
        expect_int(name, 0, wire_has(other, "s%2Bcr%3Dt"));
    }
    expect_int(name, 0, wire_has(AUTH, SERVICE_TOKEN));
    expect_int(name, 0, wire_has(AUTH, SERVICE_ADDRESS_TOKEN));
    expect_int(name, 0, wire_has(ADDRESS, SERVICE_TOKEN));
    expect_int(name, 0, wire_has(STREAM, SERVICE_ADDRESS_TOKEN));
    wire_end();
}

TEST_CASE(test_secrets_go_to_their_hosts_alone) {
    wire_begin();
    session_start_kind(SESSION_BESIDE);
    session_subscribe();
    assert_true(session_until_subscribed(5000));
    session_put_and_wait("put");
    expect_int("put", MST_OK, session.seen.address.error);
    session_break(MST_ERR_EOF);
    assert_true(session_until_subscribed(SESSION_MINUTE));
    expect_int("streams", 1, wire_has(STREAM, SERVICE_TOKEN));
    expect_int("puts", 1, wire_has(ADDRESS, SERVICE_ADDRESS_TOKEN));
    session_end();
    wire_check("a session");
}

/* Redirects are never followed, neither to another host nor to one without TLS,
 * so neither secret nor token goes there. */
TEST_CASE(test_redirects_lead_nowhere) {
    static const char *const places[] = {
        "https://evil.example/", "http://" SERVICE_AUTH_HOST "/",
        "http://" SERVICE_WS_HOST "/", "//evil.example/", "/other"};

    for (size_t i = 0; i < COUNT(places) * 3; i++) {
        wire_begin();
        struct service_script *const scripts[] = {&session.service.token,
                                                  &session.service.upgrade,
                                                  &session.service.address};
        const char *raw = printed(SERVICE_EMPTY("30%d Away\r\nLocation: %s"),
                                  i % 2 ? 7 : 2, places[i / 3]);
        scripts[i % 3]->raw = raw;
        session_start_all();
        if (i % 3 == 2) {
            session_put_and_wait(raw);
            expect_int(raw, MST_ERR_HTTP_STATUS, session.seen.address.error);
        }
        session_run(10 * SESSION_MINUTE);
        expect_int(raw, i % 3 == 2, session.seen.events[MST_EVENT_OPEN] > 0);
        scripts[i % 3]->raw = NULL;
        assert_true(session_until_subscribed(10 * SESSION_MINUTE));
        session_end();
        wire_check(raw);
    }
}

/* ---- without TLS ---- */

/* If a host must be reached by TLS and does not speak it, nothing is sent,
 * whatever it answers. URLs without TLS must be allowed explicitly. */
TEST_CASE(test_no_downgrade_to_plain) {
    static const char *const answers[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 426 Upgrade Required\r\nUpgrade: TLS/1.0\r\n\r\n",
        "\x15\x03\x01\x00\x02\x02\x28", "\x16\x03\x00\x00\x04\x0E\x00\x00",
        "{\"access_token\":\"x\"}"};
    struct mst_config config;
    static struct mst_client client;

    for (size_t i = 0; i < COUNT(answers); i++) {
        session_begin_tls("localhost");
        session.tls.silent = true;
        wire.below = session.port;
        session.port.resolve = wire_resolve;
        session.port.send = wire_send;
        session_start();
        session_run(10);
        mst_mock_write(&session.mock, 0, answers[i], strlen(answers[i]));
        mst_mock_end(&session.mock, 0, MST_ERR_EOF);
        assert_true(session_until(MST_EVENT_CLOSED, SESSION_MINUTE));
        assert_in_range(-session.seen.closed.error, 200, 299);
        session_run(SESSION_MINUTE);
        expect_int("in the clear", 0,
                   wire_has(AUTH, "POST") + wire_has(AUTH, "client_secret"));
        session_check();
        config = session.config;
        config.ws_url = "ws://" SERVICE_WS_HOST;
        expect_int(
            "ws", MST_ERR_PLAIN,
            mst_client_init(&client, &config, &session.port, &session.lengths));
        config = session.config;
        config.auth_url = "http://" SERVICE_AUTH_HOST;
        expect_int(
            "http", MST_ERR_PLAIN,
            mst_client_init(&client, &config, &session.port, &session.lengths));
        wire_end();
    }
}

/* ---- injected text ---- */

/* A market's name is escaped in requests, whatever it contains. Names with
 * control characters are rejected. */
TEST_CASE(test_markets_say_nothing_else) {
    static const char *const markets[] = {"A\"}},{\"type\":\"heartbeat\"},{",
                                          "A\\",
                                          "\\u0022",
                                          "\"",
                                          "A\",\"b\":\"",
                                          "{}",
                                          "A\xE2\x80\xA8"};
    static const char *const refused[] = {"A\n", "A\r\nB", "\x01", "A\x7F", ""};

    for (size_t i = 0; i < COUNT(markets); i++) {
        session_begin();
        session_start();
        expect_int("subscribe", 0,
                   session_wish(MST_EXECUTION_DATA, markets[i]));
        session_run(100);
        json_t *json = json_loads(session.service.request, 0, NULL);
        const json_t *channels = json_object_get(json, "channels");
        const json_t *entry = json_array_get(channels, 0);
        const char *market = json_string_value(
            json_object_get(json_object_get(entry, "params"), "market"));
        expect_int("channels", 1, json_array_size(channels));
        expect_int("members", 2, json_object_size(json));
        expect_text("market", markets[i], market != NULL ? market : "");
        json_decref(json);
    }
    session_begin();
    session_start();
    for (size_t i = 0; i < COUNT(refused); i++) {
        expect_int("refused", MST_ERR_ARGUMENT,
                   session_wish(MST_EXECUTION_DATA, refused[i]));
    }
}

/* A token that would end its header or the request is rejected, both from the
 * service and from a store. */
TEST_CASE(test_tokens_say_nothing_else) {
    static const char *const tokens[] = {"a\\r\\nX-Evil: 1",
                                         "a\\nb",
                                         "a\\u0000b",
                                         "a b",
                                         "a\\tb",
                                         "a\\u00e9",
                                         "\xC3\xA9",
                                         "a\\u007f",
                                         "a\\r\\n\\r\\nGET / HTTP/1.1"};

    for (size_t i = 0; i < COUNT(tokens); i++) {
        wire_begin();
        session.service.token_value = tokens[i];
        session_start();
        session_until_closed(tokens[i], 1000, MST_ERR_TOKEN_SHAPE,
                             MST_STATE_TOKEN);
        expect_int(tokens[i], 0, wire.to[STREAM].len);
        session.service.token_value = NULL;
        wire_end();
    }
}

/* ---- unsolicited responses ---- */

/* Bytes after a response are not taken for the next one, although they arrive
 * before the next request is sent. */
TEST_CASE(test_a_response_behind_a_response) {
    static const char forged[] = "HTTP/1.1 200 OK\r\nContent-Length: 26\r\n\r\n"
                                 "{\"address\":{\"id\":\"good\"}} "
                                 "HTTP/1.1 200 OK\r\nContent-Length: 28\r\n\r\n"
                                 "{\"address\":{\"id\":\"forged\"}} ";

    for (size_t cut = 0; cut < 2; cut++) {
        wire_begin();
        session.config.ws_url = NULL;
        service_answer(&session.service.address, forged, 1, 0);
        session.mock.plan.recv_max = cut ? 7 : 0;
        session_put_and_wait("first");
        expect_int("first", MST_OK, session.seen.address.error);
        expect_text("first", "good", session.record.id);
        session_put_and_wait("second");
        expect_int("second", MST_OK, session.seen.address.error);
        expect_int("forged", 0, strcmp(session.record.id, "forged") == 0);
        expect_int("puts", 2, session.service.puts.count);
        wire_end();
    }
}

/* A token reply, followed by a response to the upgrade. */
TEST_CASE(test_a_response_behind_a_token) {
    static const char forged[] =
        "HTTP/1.1 200 OK\r\nContent-Length: 66\r\n\r\n"
        "{\"access_token\":\"" SERVICE_TOKEN "\",\"token_type\":\"bearer\"}   "
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\n\r\n\x81\x02{}";

    wire_begin();
    session.service.token.raw = forged;
    session_open();
    expect_int("upgrades", 1, session.service.upgrades.count);
    expect_int("messages", 0, session.seen.events[MST_EVENT_UNKNOWN]);
    session_end();
    wire_check("behind a token");
}

/* An incomplete token, or one in an interim response, is wiped. */
TEST_CASE(test_a_part_of_a_token_is_wiped) {
    static const char *const parts[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
        "{\"access_token\":\"" SERVICE_TOKEN,
        "HTTP/1.1 183 Begun\r\n\r\n{\"access_token\":\"" SERVICE_TOKEN "\"}",
        "HTTP/1.1 200 OK\r\nX-Token: " SERVICE_TOKEN "\r\n"};

    for (size_t i = 0; i < COUNT(parts); i++) {
        session_begin();
        service_answer(&session.service.token, parts[i], 1, MST_ERR_RESET);
        session_start_all();
        assert_true(session_until(MST_EVENT_CLOSED, 5000));
        session_run(0);
        expect_int("tokens", 1, session.service.tokens.count);
        if (memmem(&session.client, sizeof session.client, SERVICE_TOKEN,
                   strlen(SERVICE_TOKEN)) != NULL) {
            expect_failed("is left of: %s", parts[i]);
        }
        assert_true(session_until_subscribed(SESSION_MINUTE));
    }
}

RUN_SESSIONS(session_certificates, tls_remove_certificates)
