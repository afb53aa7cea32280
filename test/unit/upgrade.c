/*
 * Tests of the WebSocket opening handshake (RFC 6455, section 4): the request
 * and the response to it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "support.h"

/* The key and the accept value of RFC 6455, section 1.3. */
#define KEY "dGhlIHNhbXBsZSBub25jZQ=="
#define ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

#define STATUS_101 "HTTP/1.1 101 Switching Protocols\r\n"
#define UPGRADE "Upgrade: websocket\r\n"
#define CONNECTION "Connection: Upgrade\r\n"
#define ACCEPTED "Sec-WebSocket-Accept: " ACCEPT "\r\n"
#define GOOD STATUS_101 UPGRADE CONNECTION ACCEPTED

/* ---- A reader of the response ---- */

struct upgrading {
    struct reader reader;
    struct mst_http http;
    size_t used;
    int rc;
};

static void upgrading_begin(void *context) {
    struct upgrading *upgrading = context;

    mst_ws_upgrade_init(&upgrading->http, KEY);
    upgrading->used = 0;
    upgrading->rc = 0;
}

static void upgrading_piece(void *context, const uint8_t *data, size_t len,
                            bool final, struct text *record) {
    struct upgrading *upgrading = context;
    size_t used = SIZE_MAX;

    if (upgrading->rc == 0) {
        upgrading->rc = mst_ws_upgrade_read(&upgrading->http, data, len, &used);
        if (upgrading->rc >= 0) {
            assert_true(used <= len);
            assert_true(upgrading->rc == 1 || used == len);
            upgrading->used += used;
        }
    }
    if (!final) {
        return;
    }
    if (upgrading->rc == 1) {
        text_add(record, "upgraded by %zu bytes", upgrading->used);
    } else if (upgrading->rc == 0) {
        text_add(record, "more");
    } else {
        text_add(record, "%s", error_name(upgrading->rc));
    }
    text_add(record, ", %d", mst_http_status(&upgrading->http));
}

static void expect_response(const char *response, size_t len,
                            const char *expected) {
    struct upgrading upgrading = {
        .reader = {&upgrading, upgrading_begin, upgrading_piece}};

    replay_everywhere(response, &upgrading.reader, response, len, expected);
}

static void expect_upgraded(const char *response) {
    expect_response(response, strlen(response),
                    printed("upgraded by %zu bytes, 101", strlen(response)));
}

static void expect_all(const char *const *responses, size_t count,
                       const char *expected) {
    for (size_t i = 0; i < count; i++) {
        expect_response(responses[i], strlen(responses[i]), expected);
    }
}

static void expect_responses(const struct message_case *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        expect_all(&cases[i].message, 1, cases[i].expected);
    }
}

/* ---- Responses that upgrade ---- */

TEST_CASE(good_responses_upgrade) {
    static const char *const responses[] = {
        GOOD "\r\n",
        STATUS_101 ACCEPTED CONNECTION UPGRADE "\r\n",
        "HTTP/1.1 101\r\n" UPGRADE CONNECTION ACCEPTED "\r\n",
        "HTTP/1.1 101 \r\n" UPGRADE CONNECTION ACCEPTED "\r\n",
        "HTTP/1.1 101 W\xc3\xa9 are (upgraded); really!\r\n" UPGRADE CONNECTION
            ACCEPTED "\r\n",
        STATUS_101 "UPGRADE: WebSocket\r\ncONNECTION: uPGRADE\r\n"
                   "sec-websocket-accept: " ACCEPT "\r\n\r\n",
        STATUS_101 "Upgrade:websocket\r\nConnection:Upgrade\r\n"
                   "Sec-WebSocket-Accept:" ACCEPT "\r\n\r\n",
        STATUS_101 "Upgrade: \t websocket \t\r\nConnection:   Upgrade  \r\n"
                   "Sec-WebSocket-Accept: \t" ACCEPT " \r\n\r\n",
        STATUS_101 UPGRADE "Connection: keep-alive, Upgrade\r\n" ACCEPTED
                           "\r\n",
        STATUS_101 UPGRADE "Connection: Upgrade,keep-alive\r\n" ACCEPTED "\r\n",
        STATUS_101 UPGRADE "Connection: , ,upgrade ,\r\n" ACCEPTED "\r\n",
        STATUS_101 UPGRADE "Connection: keep-alive\r\n" CONNECTION ACCEPTED
                           "\r\n",
        GOOD "Server: x\r\nDate: Fri, 02 Jan 2026 03:04:05 GMT\r\n"
             "X-Empty:\r\nX-Colons: a:b:c\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n" GOOD "\r\n",
        "HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n"
        "HTTP/1.1 102 Processing\r\n\r\n" GOOD "\r\n",
    };

    for (size_t i = 0; i < COUNT(responses); i++) {
        expect_upgraded(responses[i]);
    }
}

TEST_CASE(bytes_behind_the_response_are_left) {
    static const char response[] = GOOD "\r\n\x81\x05Hello\r\n\r\nHTTP/1.1";

    expect_response(response, sizeof response - 1,
                    printed("upgraded by %zu bytes, 101", strlen(GOOD "\r\n")));
}

TEST_CASE(a_long_header_that_does_not_matter_is_skipped) {
    expect_upgraded(printed(
        STATUS_101 UPGRADE "Set-Cookie: a=%s\r\n" CONNECTION ACCEPTED
                           "X-Connection: %s\r\n\r\n",
        repeated("x", 4 * MST_LINE_MAX), repeated("close, ", MST_LINE_MAX)));
}

/* ---- Responses that do not upgrade ---- */

TEST_CASE(a_wrong_answer_to_the_key_is_named) {
    static const char *const responses[] = {
        STATUS_101 UPGRADE CONNECTION
        "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOp=\r\n\r\n",
        STATUS_101 UPGRADE CONNECTION
        "Sec-WebSocket-Accept: S3PPLMBITXAQ9KYGZZHZRBK+XOO=\r\n\r\n",
        STATUS_101 UPGRADE CONNECTION "Sec-WebSocket-Accept: " KEY "\r\n\r\n",
        STATUS_101 UPGRADE CONNECTION
        "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo\r\n\r\n",
        STATUS_101 UPGRADE CONNECTION "Sec-WebSocket-Accept: " ACCEPT
                                      "x\r\n\r\n",
        STATUS_101 UPGRADE CONNECTION "Sec-WebSocket-Accept:\r\n\r\n",
        /* Only one is allowed (section 11.3.3). */
        GOOD ACCEPTED "\r\n",
    };

    expect_all(responses, COUNT(responses), "WS_ACCEPT, 101");
}

TEST_CASE(a_101_without_its_headers_is_no_upgrade) {
    static const char *const responses[] = {
        STATUS_101 "\r\n",
        STATUS_101 CONNECTION ACCEPTED "\r\n",
        STATUS_101 UPGRADE ACCEPTED "\r\n",
        STATUS_101 "Upgrade: h2c\r\n" CONNECTION ACCEPTED "\r\n",
        STATUS_101 "Upgrade: websockets\r\n" CONNECTION ACCEPTED "\r\n",
        /* Upgrades to two protocols. */
        STATUS_101 "Upgrade: websocket, h2c\r\n" CONNECTION ACCEPTED "\r\n",
        STATUS_101 "Upgrade: h2c\r\n" UPGRADE CONNECTION ACCEPTED "\r\n",
        STATUS_101 UPGRADE "Connection: keep-alive\r\n" ACCEPTED "\r\n",
        STATUS_101 UPGRADE "Connection: not-Upgrade\r\n" ACCEPTED "\r\n",
        STATUS_101 UPGRADE "Connection: Upgrade-Insecure\r\n" ACCEPTED "\r\n",
        STATUS_101 "Xpgrade: websocket\r\n" CONNECTION ACCEPTED "\r\n",
        STATUS_101 "X-Upgrade: websocket\r\n" CONNECTION ACCEPTED "\r\n",
        /* An interim response's headers do not count for the 101. */
        "HTTP/1.1 103 Early Hints\r\n" UPGRADE CONNECTION ACCEPTED
        "\r\n" STATUS_101 "\r\n",
    };
    static const struct message_case others[] = {
        {"HTTP/1.1 103 Early Hints\r\n" ACCEPTED
         "\r\n" STATUS_101 UPGRADE CONNECTION "\r\n",
         "WS_ACCEPT, 101"},
        {"HTTP/1.0 101 Switching Protocols\r\n" UPGRADE CONNECTION ACCEPTED
         "\r\n",
         "HTTP_SYNTAX, 101"},
    };

    expect_all(responses, COUNT(responses), "WS_UPGRADE, 101");
    expect_responses(others, COUNT(others));
}

TEST_CASE(what_was_not_asked_for_is_refused) {
    static const struct message_case cases[] = {
        {GOOD "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
         "WS_EXTENSION, 101"},
        {GOOD "sec-websocket-extensions: x-unknown; a=1\r\n\r\n",
         "WS_EXTENSION, 101"},
        {GOOD "Sec-WebSocket-Protocol: chat\r\n\r\n", "WS_EXTENSION, 101"},
        /* In a refusal these headers are ignored. */
        {"HTTP/1.1 403 Forbidden\r\nSec-WebSocket-Protocol: chat\r\n\r\n",
         "FORBIDDEN, 403"},
        {GOOD ACCEPTED "\r\n", "WS_ACCEPT, 101"},
    };

    expect_responses(cases, COUNT(cases));
}

TEST_CASE(another_status_is_told) {
    static const struct {
        int status, error;
    } cases[] = {
        {200, MST_ERR_WS_UPGRADE}, {204, MST_ERR_WS_UPGRADE},
        {301, MST_ERR_WS_UPGRADE}, {302, MST_ERR_WS_UPGRADE},
        {400, MST_ERR_WS_UPGRADE}, {401, MST_ERR_UNAUTHORIZED},
        {403, MST_ERR_FORBIDDEN},  {404, MST_ERR_WS_UPGRADE},
        {426, MST_ERR_WS_UPGRADE}, {429, MST_ERR_THROTTLED},
        {500, MST_ERR_WS_UPGRADE}, {503, MST_ERR_WS_UPGRADE},
        {599, MST_ERR_WS_UPGRADE},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *response =
            printed("HTTP/1.1 %d Something\r\n" UPGRADE CONNECTION ACCEPTED
                    "Content-Type: text/html\r\nContent-Length: 9\r\n"
                    "Retry-After: 30\r\n\r\n<html>no!",
                    cases[i].status);

        expect_response(
            response, strlen(response),
            printed("%s, %d", error_name(cases[i].error), cases[i].status));
    }
}

/* A gateway's own headers do not hide its status. */
TEST_CASE(a_refusal_is_told_whatever_its_body) {
    static const struct message_case cases[] = {
        {"HTTP/1.1 403 Forbidden\r\nContent-Encoding: gzip\r\n"
         "Content-Length: 3\r\n\r\nxyz",
         "FORBIDDEN, 403"},
        {"HTTP/1.1 401 Unauthorized\r\nTransfer-Encoding: chunked\r\n\r\n"
         "0\r\n\r\n",
         "UNAUTHORIZED, 401"},
        {"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 99999999\r\n\r\n",
         "THROTTLED, 429"},
        {"HTTP/1.1 429 Too Many Requests\r\nno header\r\n\r\n",
         "THROTTLED, 429"},
        {"HTTP/1.0 503 Service Unavailable\r\n\r\nbusy", "WS_UPGRADE, 503"},
    };

    expect_responses(cases, COUNT(cases));
}

TEST_CASE(what_is_not_http_is_refused) {
    static const char *const responses[] = {
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "\r\n\r\n\r\n",
        "HTTP/2 101 Switching Protocols\r\n\r\n",
        "HTTP/2.0 101 Switching Protocols\r\n\r\n",
        "http/1.1 101 Switching Protocols\r\n\r\n",
        "HTTP/1.1  101 Switching Protocols\r\n\r\n",
        "HTTP/1.2 101 Switching Protocols\r\n\r\n",
        "HTTP/1.1 600 Switching Protocols\r\n\r\n",
        "HTTP/1.1 1O1 Switching Protocols\r\n\r\n",
        "HTTP/1.1 101S\r\n\r\n",
        "HTTP/1.1 10 Switching Protocols\r\n\r\n",
        "HTTP/1.1 1010 Switching Protocols\r\n\r\n",
        "HTTP/1.1 -01 Switching Protocols\r\n\r\n",
        "HTTP/1.1 099 Switching Protocols\r\n\r\n",
        "HTTP/1.1 Switching Protocols\r\n\r\n",
        "HTTP/1.1\t101 Switching Protocols\r\n\r\n",
        "HTTP/1.1\r\n\r\n",
        "HTTP/11 101 Switching Protocols\r\n\r\n",
        " HTTP/1.1 101 Switching Protocols\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
    };

    expect_all(responses, COUNT(responses), "HTTP_SYNTAX, 0");
}

TEST_CASE(malformed_header_lines_are_refused) {
    static const char *const lines[] = {
        /* Spaces. */
        "X-Space : a\r\n", "X-Tab\t: a\r\n", " X-Fold: a\r\n",
        "X-Fold: a\r\n b\r\n", "X-Fold: a\r\n\tb\r\n",
        /* Names. */
        "no colon\r\n", ": no name\r\n", "X Space: a\r\n",
        /* Bytes. */
        "X-Control: a\x01\r\n", "X-Control: a\x7f\r\n", "X-\x01: a\r\n",
        "X-Return: a\rb\r\n", "X(Y): a\r\n", "X-\xc3\xa9: a\r\n",
        /* A known name. */
        ("Sec-WebSocket-Accept : " ACCEPT "\r\n")};

    for (size_t i = 0; i < COUNT(lines); i++) {
        const char *response = printed(GOOD "%s\r\n", lines[i]);

        expect_response(response, strlen(response), "HTTP_SYNTAX, 101");
    }
    expect_response(BYTES(GOOD "X-Nul: a\0b\r\n\r\n"), "HTTP_SYNTAX, 101");
    expect_response(BYTES(GOOD "X\0Nul: a\r\n\r\n"), "HTTP_SYNTAX, 101");
}

/* A lone LF might end a line for one reader and be part of it for another: it
 * is refused everywhere. */
TEST_CASE(a_lone_line_feed_is_refused) {
    static const struct message_case cases[] = {
        {"HTTP/1.1 101 Switching Protocols\n" UPGRADE CONNECTION ACCEPTED
         "\r\n",
         "HTTP_SYNTAX, 0"},
        {STATUS_101 UPGRADE "Connection: Upgrade\n" ACCEPTED "\r\n",
         "HTTP_SYNTAX, 101"},
        {GOOD "\n", "HTTP_SYNTAX, 101"},
        {GOOD "X: a\nSec-WebSocket-Protocol: b\r\n\r\n", "HTTP_SYNTAX, 101"},
    };

    expect_responses(cases, COUNT(cases));
}

/* Expects this result of a relevant line with this length, without CRLF. */
static void expect_line_of(size_t len, const char *expected) {
    const char *response =
        printed(STATUS_101 UPGRADE ACCEPTED "Connection: Upgrade, %s\r\n\r\n",
                repeated("x", len - strlen("Connection: Upgrade, ")));

    if (expected == NULL) {
        expect_upgraded(response);
    } else {
        expect_response(response, strlen(response), expected);
    }
}

TEST_CASE(a_line_that_matters_is_bounded) {
    const char *response;

    expect_line_of(MST_LINE_MAX - 1, NULL);
    expect_line_of(MST_LINE_MAX, NULL);
    expect_line_of(MST_LINE_MAX + 1, "HTTP_HEADER, 101");
    expect_line_of(3 * MST_LINE_MAX, "HTTP_HEADER, 101");
    /* A name longer than a stored line is refused too. */
    response = printed(GOOD "%s: a\r\n\r\n", repeated("x", MST_LINE_MAX));
    expect_response(response, strlen(response), "HTTP_HEADER, 101");
}

TEST_CASE(all_headers_together_are_bounded) {
    static const char line[] = "X-Header: of some length or other\r\n";
    const char *const responses[] = {
        printed(GOOD "%s\r\n",
                repeated(line, MST_HEADERS_MAX / strlen(line) + 1)),
        printed(GOOD "X-Endless: %s", repeated("x", MST_HEADERS_MAX + 1000))};

    expect_all(responses, COUNT(responses), "HTTP_HEADER, 101");
}

TEST_CASE(a_response_that_ends_early_is_not_an_upgrade) {
    static const char response[] = GOOD "\r\n";

    for (size_t len = 0; len < sizeof response - 1; len++) {
        expect_response(response, len,
                        len < strlen(STATUS_101) ? "more, 0" : "more, 101");
    }
}

/* ---- The request ---- */

/* Expects a line exactly once in the request. */
static void expect_line(const char *request, const char *line) {
    const char *at = strstr(request, line);

    if (at == NULL || strstr(at + 1, line) != NULL) {
        expect_failed("%s\n    should have once: %s", request, line);
    }
}

TEST_CASE(the_request_is_that_of_rfc_6455) {
    static const char line[] = "GET /chat?x=1 HTTP/1.1\r\n";
    char request[512];
    int len;

    len = mst_ws_upgrade_write(request, sizeof request, "example.com:8443",
                               "/chat?x=1", KEY, "Bearer abc.DEF-123~_+/=");
    assert_in_range(len, 1, sizeof request - 1);
    request[len] = '\0';
    assert_memory_equal(request, line, strlen(line));
    expect_line(request, "\r\nHost: example.com:8443\r\n");
    expect_line(request, "\r\nUpgrade: websocket\r\n");
    expect_line(request, "\r\nConnection: Upgrade\r\n");
    expect_line(request, "\r\nSec-WebSocket-Key: " KEY "\r\n");
    expect_line(request, "\r\nSec-WebSocket-Version: 13\r\n");
    expect_line(request, "\r\nAuthorization: Bearer abc.DEF-123~_+/=\r\n");
    expect_line(request, "\r\n\r\n");
    assert_string_equal(request + len - 4, "\r\n\r\n");
    assert_null(strstr(request, "Sec-WebSocket-Extensions"));
    assert_null(strstr(request, "Sec-WebSocket-Protocol"));
}

TEST_CASE(a_request_needs_no_authorization) {
    char request[512];
    int len;

    len = mst_ws_upgrade_write(request, sizeof request, "localhost", "/", KEY,
                               NULL);
    assert_in_range(len, 1, sizeof request - 1);
    request[len] = '\0';
    expect_line(request, "\r\nHost: localhost\r\n");
    assert_null(strstr(request, "Authorization"));
}

TEST_CASE(a_path_that_does_not_begin_with_a_slash_is_refused) {
    char request[512];

    assert_int_equal(mst_ws_upgrade_write(request, sizeof request, "localhost",
                                          "chat", KEY, NULL),
                     MST_ERR_ARGUMENT);
}

/* An endpoint's path may be empty: the request is for the root. */
TEST_CASE(an_empty_path_is_the_root) {
    static const char line[] = "GET / HTTP/1.1\r\n";
    char request[512];

    assert_true(mst_ws_upgrade_write(request, sizeof request, "localhost", "",
                                     KEY, NULL) > 0);
    assert_memory_equal(request, line, strlen(line));
}

static void expect_bad(const char *name, const char *host, const char *path,
                       const char *key, const char *authorization) {
    char request[512];

    expect_int(name, MST_ERR_HEADER_VALUE,
               mst_ws_upgrade_write(request, sizeof request, host, path, key,
                                    authorization));
}

TEST_CASE(control_characters_in_a_request_are_refused) {
    static const char *const bad[] = {"a\rb",  "a\nb",  "a\r\nX: y",
                                      "a\x01", "a\x7f", "\n"};

    for (size_t i = 0; i < COUNT(bad); i++) {
        expect_bad("host", bad[i], "/", KEY, NULL);
        expect_bad("path", "localhost", printed("/%s", bad[i]), KEY, NULL);
        expect_bad("key", "localhost", "/", bad[i], NULL);
        expect_bad("authorization", "localhost", "/", KEY, bad[i]);
    }
    expect_bad("space in the host", "local host", "/", KEY, NULL);
    expect_bad("space in the path", "localhost", "/a b", KEY, NULL);
}

TEST_CASE(a_buffer_too_small_for_the_request_is_refused) {
    char request[512];
    int whole;

    whole = mst_ws_upgrade_write(request, sizeof request, "localhost", "/", KEY,
                                 "Bearer x");
    assert_in_range(whole, 1, sizeof request);
    for (size_t len = 0; len < (size_t)whole; len++) {
        expect_int("too small", MST_ERR_ARGUMENT,
                   mst_ws_upgrade_write(guarded_room(len), len, "localhost",
                                        "/", KEY, "Bearer x"));
    }
    expect_int("more than an int can say", whole,
               mst_ws_upgrade_write(request, SIZE_MAX, "localhost", "/", KEY,
                                    "Bearer x"));
    expect_int("just fits", whole,
               mst_ws_upgrade_write(guarded_room((size_t)whole + 1),
                                    (size_t)whole + 1, "localhost", "/", KEY,
                                    "Bearer x"));
}

RUN_CASES(NULL, NULL)
