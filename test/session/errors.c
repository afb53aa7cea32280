/*
 * Bad responses of the token and WebSocket endpoints: what is reported, and how
 * the session recovers.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

#include <limits.h>

#define RESPONSE(status, type, body)             \
    "HTTP/1.1 " status "\r\nContent-Type: " type \
    "\r\nConnection: close\r\n\r\n" body
#define JSON_RESPONSE(status, body) RESPONSE(status, "application/json", body)
#define REFUSED \
    "{\"error\":\"invalid_client\",\"error_description\":\"no such client\"}"
#define TOKEN_JSON(token, expires, type, scope)           \
    "{\"access_token\":" token ",\"expires_in\":" expires \
    ",\"token_type\":" type scope "}"
#define TOKEN_WITH(members) TOKEN_JSON("\"a\"", "60", "\"bearer\"", members)

struct bad_response {
    const char *name;
    const char *raw; /* NULL: set by the test */
    int raw_end;
    int error;
    int http_status;
    bool permanent;
    const char *text; /* part of the failure's text */
};

static struct service *const service = &session.service;

/* Expects this failure after one bad response, then recovery. */
static void expect_bad(const struct bad_response *bad,
                       struct service_script *script) {
    enum mst_state stage =
        script == &service->token ? MST_STATE_TOKEN : MST_STATE_UPGRADE;

    session_start_all();
    session_until_closed(bad->name, SESSION_MINUTE, bad->error, stage);
    expect_int(bad->name, bad->http_status, session.seen.closed.http_status);
    expect_int(bad->name, bad->permanent, session.seen.closed.permanent);
    if (strstr(session.seen.closed.text, bad->text) == NULL) {
        expect_failed("%s: text is \"%s\"", bad->name,
                      session.seen.closed.text);
    }
    if (session.seen.events[MST_EVENT_OPEN] != 0) {
        expect_failed("%s: was opened", bad->name);
    }
    memset(script, 0, sizeof *script);
    service->token_body = NULL;
    service->token_value = NULL;
    session_expect_subscribed(10 * SESSION_MINUTE, "%s", bad->name);
}

/* ---- the token endpoint ---- */

static const struct bad_response bad_tokens[] = {
    {"wrong secret, 401", JSON_RESPONSE("401 Unauthorized", REFUSED),
     MST_ERR_EOF, MST_ERR_TOKEN_REFUSED, 401, true, "invalid_client"},
    {"wrong secret, 400", JSON_RESPONSE("400 Bad Request", REFUSED),
     MST_ERR_EOF, MST_ERR_TOKEN_REFUSED, 400, true, "invalid_client"},
    {"wrong scope",
     JSON_RESPONSE("400 Bad Request", "{\"error\":\"invalid_scope\"}"),
     MST_ERR_EOF, MST_ERR_TOKEN_REFUSED, 400, true, "invalid_scope"},
    {"HTML instead of JSON",
     RESPONSE("200 OK", "text/html", "<html><body>Hello</body></html>"),
     MST_ERR_EOF, MST_ERR_TOKEN_SHAPE, 200, false, ""},
    {"empty body", SERVICE_EMPTY("200 OK"), 0, MST_ERR_TOKEN_SHAPE, 200, false,
     ""},
    {"nested too deeply",
     JSON_RESPONSE("200 OK",
                   TOKEN_WITH(",\"x\":[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]")),
     MST_ERR_EOF, MST_ERR_JSON_DEPTH, 200, false, ""},
    {"a refusal whose error is no text",
     JSON_RESPONSE("400 Bad Request", "{\"error\":7}"), MST_ERR_EOF,
     MST_ERR_HTTP_STATUS, 400, false, ""},
    {"a token with a refusal",
     JSON_RESPONSE("400 Bad Request",
                   TOKEN_WITH(",\"error\":\"invalid_client\"")),
     MST_ERR_EOF, MST_ERR_TOKEN_REFUSED, 400, true, "invalid_client"},
    {"other token type",
     JSON_RESPONSE("200 OK", TOKEN_JSON("\"a\"", "60", "\"mac\"", "")),
     MST_ERR_EOF, MST_ERR_TOKEN_TYPE, 200, true, ""},
    {"narrower scope",
     JSON_RESPONSE("200 OK", TOKEN_WITH(",\"scope\":\"exchange:other\"")),
     MST_ERR_EOF, MST_ERR_TOKEN_SCOPE, 200, true, SERVICE_SCOPE},
    {"404", RESPONSE("404 Not Found", "text/plain", "what?"), MST_ERR_EOF,
     MST_ERR_HTTP_STATUS, 404, false, ""},
    {"500", RESPONSE("500 Oops", "text/html", "<html>"), MST_ERR_EOF,
     MST_ERR_HTTP_STATUS, 500, false, ""},
    {"101 that was not asked for",
     "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
     "Upgrade: websocket\r\n\r\n",
     0, MST_ERR_HTTP_STATUS, 101, false, ""},
    {"redirect",
     "HTTP/1.1 302 Found\r\nLocation: https://evil.example/\r\n"
     "Content-Length: 0\r\n\r\n",
     0, MST_ERR_HTTP_STATUS, 302, false, ""},
    {"truncated headers", "HTTP/1.1 200 OK\r\nContent-Le", MST_ERR_EOF,
     MST_ERR_HTTP_TRUNCATED, 200, false, ""},
    {"truncated body",
     "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"access_token\":",
     MST_ERR_EOF, MST_ERR_HTTP_TRUNCATED, 200, false, ""},
    {"truncated chunk",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{\"a",
     MST_ERR_EOF, MST_ERR_HTTP_TRUNCATED, 200, false, ""},
    {"no response", "", MST_ERR_EOF, MST_ERR_EOF, 0, false, ""},
    {"reset", "HTTP/1.1 200 OK\r\n", MST_ERR_RESET, MST_ERR_RESET, 200, false,
     ""},
    {"two lengths",
     "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 0,
     MST_ERR_HTTP_LENGTH, 200, false, ""},
    {"length and chunked",
     "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
     "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     0, MST_ERR_HTTP_LENGTH, 200, false, ""},
    {"content coding",
     "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
     "Content-Length: 2\r\n\r\n{}",
     0, MST_ERR_HTTP_CODING, 200, false, ""},
    {"not HTTP", "SSH-2.0-OpenSSH_9.2\r\n", 0, MST_ERR_HTTP_SYNTAX, 0, false,
     ""},
};

/* Bodies without a token, all with status 200. */
static const struct {
    const char *name, *body;
} no_tokens[] = {
    {"not JSON", "{\"access_token\":\"a\",}"},
    {"no token", "{\"expires_in\":60,\"token_type\":\"bearer\"}"},
    {"no token type", "{\"access_token\":\"a\",\"expires_in\":60}"},
    {"token is a number", TOKEN_JSON("1", "60", "\"bearer\"", "")},
    {"empty token", TOKEN_JSON("\"\"", "60", "\"bearer\"", "")},
    {"token twice", TOKEN_WITH(",\"access_token\":\"b\"")},
    {"token with CR and LF",
     TOKEN_JSON("\"a\\r\\nX: y\"", "60", "\"bearer\"", "")},
    {"not UTF-8, where it does not matter", TOKEN_WITH(",\"x\":\"\xC0\xAF\"")},
    {"half of a surrogate pair, where it does not matter",
     TOKEN_WITH(",\"x\":\"\\ud83d\"")},
    {"something behind its end", TOKEN_WITH("") "x"},
    {"scope is no text", TOKEN_WITH(",\"scope\":7")},
    {"lifetime is no number", TOKEN_JSON("\"a\"", "true", "\"bearer\"", "")},
    {"lifetime is no number in a string",
     TOKEN_JSON("\"a\"", "\"1h\"", "\"bearer\"", "")},
};

TEST_CASE(test_bad_token_responses) {
    struct service_script *script = &service->token;
    for (size_t i = 0; i < COUNT(bad_tokens); i++) {
        session_begin();
        service_answer(script, bad_tokens[i].raw, 0, bad_tokens[i].raw_end);
        expect_bad(&bad_tokens[i], script);
    }
    for (size_t i = 0; i < COUNT(no_tokens); i++) {
        const struct bad_response bad = {
            no_tokens[i].name, NULL, 0, MST_ERR_TOKEN_SHAPE, 200, false, ""};
        session_begin();
        service->token_body = no_tokens[i].body;
        expect_bad(&bad, script);
    }
}

TEST_CASE(test_large_headers) {
    static const struct bad_response bad = {
        "too much that matters", NULL, 0, MST_ERR_HTTP_HEADER, 200, false, ""};
    struct text *text = text_new();

    /* Longer than a line may be, but ignored. */
    session_begin();
    service->token.headers = service->upgrade.headers =
        printed("X-Long: %03000d\r\nSet-Cookie: %0*d\r\n", 1, MST_LINE_MAX, 2);
    session_open();

    session_begin();
    service->token.raw = printed(
        "HTTP/1.1 200 OK\r\nContent-Length: %0*d\r\n\r\n", MST_LINE_MAX + 1, 2);
    expect_bad(&bad, &service->token);

    session_begin();
    text_add(text, "HTTP/1.1 200 OK\r\n");
    while (text->len < MST_HEADERS_MAX + 100) {
        text_add(text, "X-Header: %0*d\r\n", 100, 1);
    }
    service->token.raw = text_get(text);
    expect_bad(&bad, &service->token);
}

TEST_CASE(test_good_token_responses) {
    static const char *const bodies[] = {
        TOKEN_JSON("\"" SERVICE_TOKEN "\"", "3600", "\"Bearer\"", ""),
        TOKEN_JSON("\"" SERVICE_TOKEN "\"", "3599", "\"BEARER\"",
                   ",\"scope\":\"" SERVICE_SCOPE "\""),
        TOKEN_JSON("\"" SERVICE_TOKEN "\"", "3599", "\"bearer\"",
                   ",\"scope\":\"a:b " SERVICE_SCOPE " c:d\",\"x\":[{}]"),
        " { \"token_type\" : \"bearer\" , \"expires_in\" : 3600 ,\n"
        "\"access_token\" : \"token-AbC.123_x~y+z\\/w\\u003d=\" } ",
        TOKEN_JSON("\"" SERVICE_TOKEN "\"", "3600", "\"bearer\"",
                   ",\"refresh_token\":null,\"error\":null"),
        TOKEN_JSON("\"" SERVICE_TOKEN "\"", "3600", "\"bearer\"",
                   ",\"error\":\"none\""),
    };

    for (size_t i = 0; i < COUNT(bodies); i++) {
        for (enum service_framing framing = SERVICE_LENGTH;
             framing <= SERVICE_UNTIL_CLOSE; framing++) {
            session_begin();
            service->token_body = bodies[i];
            service->framing = framing;
            session.mock.plan.recv_max = 7;
            session_start_all();
            session_expect_subscribed(5000, "not taken: %s", bodies[i]);
        }
    }
}

/* A token that expires at once serves for one connect, even if the caller polls
 * seldom. Requests are not repeated without a pause. */
TEST_CASE(test_short_lifetimes) {
    static const char *const seconds[] = {
        "0",   "1",    "29",    "60",      "\"60\"", "59.9",
        "-60", "1e99", "-1e99", "0.1e-99", "1e-2",   "9223372036854775808"};

    for (size_t i = 0; i < COUNT(seconds); i++) {
        session_begin();
        service->token_body =
            printed(TOKEN_JSON("\"" SERVICE_TOKEN "\"", "%s", "\"bearer\"", ""),
                    seconds[i]);
        session_start_all();
        for (int poll = 0; poll < 1000; poll++) {
            struct mst_event event;
            mst_poll(&session.client, &event);
            mst_mock_advance(&session.mock, 10);
        }
        expect_int(seconds[i], 1, service->tokens.count);
        expect_int(seconds[i], MST_STATE_OPEN, session_state());
    }
}

/* A token up to the longest, far longer than the message buffer. */
TEST_CASE(test_large_token) {
    static const struct bad_response large = {
        "a token too large", NULL, 0, MST_ERR_TOKEN_TOO_LARGE, 200, true, ""};

    session_begin();
    session_lengths(256, 4096);
    service->token_value = repeated("t", MST_TOKEN_MAX);
    session_open();

    session_begin();
    service->token_value = repeated("t", MST_TOKEN_MAX + 1);
    expect_bad(&large, &service->token);
}

/* Texts must be UTF-8: of any other refusal only the status is reported. */
TEST_CASE(test_error_that_is_no_utf8) {
    session_begin();
    service_answer(
        &service->token,
        JSON_RESPONSE("400 Bad Request", "{\"error\":\"invalid\xff\"}"), 0,
        MST_ERR_EOF);
    session_start();
    session_until_closed("refused", SESSION_MINUTE, MST_ERR_HTTP_STATUS,
                         MST_STATE_TOKEN);
    expect_int("status", 400, session.seen.closed.http_status);
    expect_text("text", "", session.seen.closed_text);
    service->token.raw = NULL;
}

/* One limit applies to all relevant members together. Beyond it a response is
 * too large, not malformed. */
TEST_CASE(test_large_type) {
    struct bad_response bad = {"large type", NULL, 0, MST_ERR_TOKEN_TYPE,
                               200,          true, ""};

    for (int more = 0; more < 2; more++) {
        const int len = more ? MST_TOKEN_ROOM : MST_TOKEN_MAX;
        session_begin();
        service->token_body =
            printed("{\"access_token\":\"a\",\"token_type\":\"%0*d\"}", len, 0);
        expect_bad(&bad, &service->token);
        bad.error = MST_ERR_TOKEN_TOO_LARGE;
    }
}

/* Other members may have any length, and a scope may be long. */
TEST_CASE(test_large_members) {
    session_begin();
    service->token_body =
        printed("{\"id_token\":\"%04096d\",\"access_token\":\"" SERVICE_TOKEN
                "\",\"token_type\":\"bearer\",\"expires_in\":\"3600\","
                "\"scope\":\"%04000d " SERVICE_SCOPE "\",\"x\":[1%01999d]}",
                0, 1, 1);
    session_open();
}

static void expect_longest_text(const char *status, const char *body) {
    service->token.raw = printed("HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%s",
                                 status, strlen(body), body);
    session_start_all();
    assert_true(session_until(MST_EVENT_CLOSED, SESSION_MINUTE));
    expect_int(status, MST_TEXT_MAX, strlen(session.client.link.failure.text));
}

/* A failure's text is cut to MST_TEXT_MAX bytes. */
TEST_CASE(test_long_text) {
    const char *scope = repeated("0", 2 * MST_TEXT_MAX - 1);

    session_begin();
    expect_longest_text("400 No", printed("{\"error\":\"%s\"}", scope));
    session_begin();
    session.config.scope = service->scope = scope;
    expect_longest_text("200 OK", TOKEN_WITH(",\"scope\":\"b\""));
}

/* A port may return any negative number as an error. */
TEST_CASE(test_error_of_the_port) {
    static const int errors[] = {-123456, -100 * MST_BANDS, INT_MIN};

    for (size_t i = 0; i < COUNT(errors); i++) {
        session_begin_open();
        session_fail_next(MST_MOCK_RECV, errors[i]);
        session_until_closed("its own error", SESSION_MINUTE, errors[i],
                             MST_STATE_OPEN);
        expect_int("failures", 1, session_stats()->failures);
        for (size_t band = 0; band < MST_BANDS; band++) {
            expect_int("of a band", 0, session_stats()->errors[band]);
        }
        assert_true(session_until_subscribed(SESSION_MINUTE));
    }
}

/* A port need not provide the platform's error number. */
TEST_CASE(test_error_without_detail) {
    session_begin();
    session.port.detail = NULL;
    session.mock.plan.detail = 111;
    session.mock.plan.connect_error[0] = MST_ERR_REFUSED;
    session_start();
    session_until_closed("refused", SESSION_MINUTE, MST_ERR_REFUSED,
                         MST_STATE_CONNECT);
    expect_int("detail", 0, session.seen.closed.detail);
    session.mock.plan.connect_error[0] = 0;
}

/* A later failure does not report an earlier error number. */
TEST_CASE(test_detail_of_an_earlier_error) {
    session_begin();
    session.mock.plan.detail = 111;
    session.mock.plan.connect_error[0] = MST_ERR_REFUSED;
    session_start();
    assert_true(session_until(MST_EVENT_CLOSED, SESSION_MINUTE));
    expect_int("detail", 111, session.seen.closed.detail);
    session.mock.plan.connect_error[0] = 0;
    service->token.status = 500;
    session_until_closed("500", SESSION_MINUTE, MST_ERR_HTTP_STATUS,
                         MST_STATE_TOKEN);
    expect_int("detail", 0, session.seen.closed.detail);
}

/* ---- the WebSocket endpoint ---- */

#define SWITCHING "HTTP/1.1 101 Switching Protocols\r\n"
#define ACCEPT "Sec-WebSocket-Accept: dGhlIHNhbXBsZSBub25jZQAAAAA=\r\n"

TEST_CASE(test_bad_upgrade_responses) {
    static const struct bad_response cases[] = {
        {"200 instead of 101",
         RESPONSE("200 OK", "text/html", "<html>hello</html>"), MST_ERR_EOF,
         MST_ERR_WS_UPGRADE, 200, false, ""},
        {"503", RESPONSE("503 Oops", "text/html", ""), MST_ERR_EOF,
         MST_ERR_WS_UPGRADE, 503, false, ""},
        {"403", RESPONSE("403 Forbidden", "text/plain", ""), MST_ERR_EOF,
         MST_ERR_FORBIDDEN, 403, true, ""},
        {"wrong accept",
         SWITCHING "Upgrade: websocket\r\nConnection: Upgrade\r\n" ACCEPT
                   "\r\n",
         0, MST_ERR_WS_ACCEPT, 101, false, ""},
        {"no accept",
         SWITCHING "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n", 0,
         MST_ERR_WS_ACCEPT, 101, false, ""},
        {"truncated", SWITCHING "Upgrade: webs", MST_ERR_EOF,
         MST_ERR_HTTP_TRUNCATED, 101, false, ""},
        {"no response", "", MST_ERR_EOF, MST_ERR_EOF, 0, false, ""},
        {"not HTTP", "\x81\x02{}", 0, MST_ERR_HTTP_SYNTAX, 0, false, ""},
    };
    struct service_script *script = &service->upgrade;

    for (size_t i = 0; i < COUNT(cases); i++) {
        session_begin();
        service_answer(script, cases[i].raw, 0, cases[i].raw_end);
        expect_bad(&cases[i], script);
    }
}

TEST_CASE(test_extension_not_asked_for) {
    static const struct bad_response extension = {
        "an extension", NULL, 0, MST_ERR_WS_EXTENSION, 101, false, ""};

    session_begin();
    service->upgrade.headers =
        "Sec-WebSocket-Extensions: permessage-deflate\r\n";
    expect_bad(&extension, &service->upgrade);
    session_begin();
    service->upgrade.headers = "Sec-WebSocket-Protocol: chat\r\n";
    expect_bad(&extension, &service->upgrade);
}

static const char unauthorized[] = SERVICE_EMPTY("401 Unauthorized");

/* The token is replaced once, at once, and only once. */
TEST_CASE(test_unauthorized) {
    session_begin();
    service_answer(&service->upgrade, unauthorized, 1, 0);
    session_open();
    expect_int("tokens", 2, service->tokens.count);
    expect_int("upgrades", 2, service->upgrades.count);
    expect_int("at once", service->upgrades.first_ms,
               service->upgrades.last_ms);

    /* A later 401 is handled again with another new token. */
    session_run(SESSION_MINUTE);
    service_answer(&service->upgrade, unauthorized, 1, 0);
    service_end(service, MST_ERR_EOF);
    session_run(10);
    assert_true(session_until_subscribed(5000));
    expect_int("tokens", 3, service->tokens.count);
    expect_int("upgrades", 4, service->upgrades.count);
    expect_int("at once", service->upgrades.ms[2], service->upgrades.ms[3]);

    session_begin();
    service->upgrade.raw = unauthorized;
    session_start_all();
    assert_true(session_until(MST_EVENT_CLOSED, SESSION_MINUTE));
    session_run(SESSION_HOUR);
    session_expect_closed("always", MST_ERR_UNAUTHORIZED, MST_STATE_UPGRADE);
    expect_int("status", 401, session.seen.closed.http_status);
    /* Backoff up to a minute, half of it on average. */
    assert_in_range(service->upgrades.count, 30, 300);
    assert_true(service->tokens.count <= service->upgrades.count + 1);
    service->upgrade.raw = NULL;
    assert_true(session_until_subscribed(2 * SESSION_MINUTE));
}

/* The error is reported once, and attempts are rare. */
static void permanent_expect(const char *name) {
    session_start_and_run(2 * SESSION_HOUR);
    expect_int(name, 1, session.seen.events[MST_EVENT_CLOSED]);
    expect_int(name, true, session.seen.closed.permanent);
    /* At intervals of five minutes, or less with full jitter. */
    assert_in_range(service->connects.count, 20, 150);
    assert_in_range(service->tokens.count, 1, 80);
}

TEST_CASE(test_permanent_errors) {
    session_begin();
    service->upgrade.raw = SERVICE_EMPTY("403 Forbidden");
    permanent_expect("403");
    service->upgrade.raw = NULL;
    assert_true(session_until_subscribed(10 * SESSION_MINUTE));
    /* After a success the same error is reported again. */
    session_run(SESSION_MINUTE);
    service->upgrade.raw = SERVICE_EMPTY("403 Forbidden");
    service_end(service, MST_ERR_EOF);
    session_run(20 * SESSION_MINUTE);
    expect_int("closed, then 403 anew", 3,
               session.seen.events[MST_EVENT_CLOSED]);

    session_begin();
    service->token.raw = SERVICE_BAD_CLIENT;
    permanent_expect("invalid_client");
}

static void throttled_expect(struct service_script *script, const char *headers,
                             uint32_t wait_ms) {
    static const char body[] = "{\"error\":\"slow_down\"}";
    script->raw = printed("HTTP/1.1 429 Too Many Requests\r\n%s"
                          "Content-Length: %zu\r\n\r\n%s",
                          headers, strlen(body), body);
    session_start_all();
    assert_true(session_until(MST_EVENT_CLOSED, SESSION_MINUTE));
    expect_int("error", MST_ERR_THROTTLED, session.seen.closed.error);
    expect_int("status", 429, session.seen.closed.http_status);
    assert_true(session.seen.closed.retry_ms >= wait_ms);
    script->raw = NULL;
    uint64_t connects = service->connects.count;
    session_run(wait_ms - 1);
    expect_int("connections meanwhile", connects, service->connects.count);
    assert_true(session_until_subscribed(2 * SESSION_MINUTE));
}

TEST_CASE(test_throttled) {
    static const struct {
        const char *headers;
        uint32_t wait_ms;
    } cases[] = {{"Retry-After: 7\r\n", 7000},
                 {"", 300000},
                 {"Retry-After: 900\r\n", 900000},
                 {"Retry-After: soon\r\n", 300000},
                 {"Retry-After: Fri, 02 Jan 2026 03:04:05 GMT\r\n", 300000}};

    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        session_begin();
        throttled_expect(i % 2 == 0 ? &service->token : &service->upgrade,
                         cases[i / 2].headers, cases[i / 2].wait_ms);
    }
}

RUN_SESSIONS(NULL, NULL)
