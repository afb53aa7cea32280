/*
 * Tests of the errors: their texts, and which are permanent.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "support.h"

#include <limits.h>

/* Every error, with words that only its text contains. */
static const struct {
    int error;
    const char *words;
} errors[] = {
    {MST_OK, "no error"},
    {MST_ERR_ARGUMENT, "or not UTF-8"},
    {MST_ERR_BUILD, "other limits"},
    {MST_ERR_MEMORY, "too small"},
    {MST_ERR_URL, "usable URL"},
    {MST_ERR_PLAIN, "not allowed"},
    {MST_ERR_CREDENTIALS, "secret is missing"},
    {MST_ERR_ANCHORS, "trust anchors"},
    {MST_ERR_IP_HOST, "under TLS"},
    {MST_ERR_HEADER_VALUE, "header value"},
    {MST_ERR_FULL, "more subscription"},
    {MST_ERR_EXISTS, "subscribed already"},
    {MST_ERR_MISSING, "such subscription"},
    {MST_ERR_CLOSED, "is closed"},
    {MST_ERR_BUSY, "under way"},
    {MST_ERR_INEXACT, "not exact"},
    {MST_ERR_NO_LEVELS, "no level"},
    {MST_ERR_HORIZON, "the book knows"},
    {MST_ERR_ADDRESS, "breaks a rule"},
    {MST_ERR_BOOK, "another subscription"},
    {MST_ERR_CLOCK, "not set"},
    {MST_ERR_ENTROPY, "no entropy"},
    {MST_ERR_RESOLVE, "be resolved"},
    {MST_ERR_REFUSED, "connection refused"},
    {MST_ERR_UNREACHABLE, "is unreachable"},
    {MST_ERR_RESET, "connection reset"},
    {MST_ERR_EOF, "the peer"},
    {MST_ERR_PORT, "the port"},
    {MST_ERR_PROXY_LOGIN, "other credentials"},
    {MST_ERR_PROXY_REFUSED, "proxy refuses"},
    {MST_ERR_PROXY_GATEWAY, "reach the host"},
    {MST_ERR_PROXY_ANSWER, "no tunnel"},
    {MST_ERR_PROXY_TIMEOUT, "does not answer"},
    {MST_ERR_TLS_ISSUER, "not trusted"},
    {MST_ERR_TLS_NAME, "another name"},
    {MST_ERR_TLS_TIME, "this time"},
    {MST_ERR_TLS_CERTIFICATE, "not acceptable"},
    {MST_ERR_TLS_VERSION, "TLS 1.2"},
    {MST_ERR_TLS_HANDSHAKE, "handshake failed"},
    {MST_ERR_TLS_ALERT, "TLS alert"},
    {MST_ERR_TLS_PROTOCOL, "protocol error"},
    {MST_ERR_TLS_TRUNCATED, "without close_notify"},
    {MST_ERR_HTTP_SYNTAX, "malformed HTTP response"},
    {MST_ERR_HTTP_LENGTH, "HTTP lengths"},
    {MST_ERR_HTTP_CODING, "was not asked for"},
    {MST_ERR_HTTP_HEADER, "header is too large"},
    {MST_ERR_HTTP_BODY, "body is too large"},
    {MST_ERR_HTTP_TRUNCATED, "ended early"},
    {MST_ERR_HTTP_STATUS, "HTTP status"},
    {MST_ERR_TOKEN_REFUSED, "was refused"},
    {MST_ERR_TOKEN_SHAPE, "not a token response"},
    {MST_ERR_TOKEN_TYPE, "bearer token"},
    {MST_ERR_TOKEN_SCOPE, "narrower scope"},
    {MST_ERR_TOKEN_TOO_LARGE, "token response is too large"},
    {MST_ERR_UNAUTHORIZED, "not accepted"},
    {MST_ERR_FORBIDDEN, "allow list"},
    {MST_ERR_THROTTLED, "many requests"},
    {MST_ERR_WS_UPGRADE, "to WebSocket"},
    {MST_ERR_WS_ACCEPT, "wrong Sec-WebSocket-Accept"},
    {MST_ERR_WS_EXTENSION, "extension not asked for"},
    {MST_ERR_WS_RESERVED, "or opcode"},
    {MST_ERR_WS_MASKED, "the server"},
    {MST_ERR_WS_LENGTH, "frame length"},
    {MST_ERR_WS_CONTROL, "control frame"},
    {MST_ERR_WS_FRAGMENT, "of order"},
    {MST_ERR_WS_UTF8, "text is not UTF-8"},
    {MST_ERR_WS_CLOSE, "close frame"},
    {MST_ERR_WS_CLOSED, "by the service"},
    {MST_ERR_JSON_SYNTAX, "not JSON"},
    {MST_ERR_JSON_DEPTH, "too deeply"},
    {MST_ERR_MESSAGE_SHAPE, "wrong type"},
    {MST_ERR_MESSAGE_KEY, "stands twice"},
    {MST_ERR_MESSAGE_SIZE, "message buffer"},
    {MST_ERR_MESSAGE_ORDER, "they belong to"},
    {MST_ERR_MESSAGE_BINARY, "binary message"},
    {MST_ERR_DECIMAL, "or negative"},
    {MST_ERR_DECIMAL_WIDE, "many digits"},
    {MST_ERR_TIME, "a timestamp"},
    {MST_ERR_TIMEOUT, "took too long"},
    {MST_ERR_SILENCE, "for too long"},
    {MST_ERR_SLOW, "too slowly"},
    {MST_ERR_ANSWER, "answered in time"},
    {MST_ERR_SERVICE, "of the service"},
    {MST_ERR_HEARTBEAT, "heartbeats come"},
    {MST_ERR_LAG, "fallen behind"},
    {MST_ERR_SNAPSHOT, "came in time"},
    {MST_ERR_NO_RESULT, "no result"},
    {MST_ERR_GARBAGE, "unreadable"},
};

TEST_CASE(every_error_has_its_own_text) {
    for (size_t i = 0; i < COUNT(errors); i++) {
        for (size_t j = 0; j < COUNT(errors); j++) {
            bool has = strstr(mst_strerror(errors[j].error), errors[i].words);

            if (has != (i == j)) {
                expect_failed("%s: %s", error_name(errors[j].error),
                              mst_strerror(errors[j].error));
            }
        }
    }
}

TEST_CASE(every_reason_of_a_doubt_has_its_own_name) {
    assert_string_equal(mst_book_reason_name((enum mst_book_reason)0), "");
    for (int i = MST_BOOK_NO_SNAPSHOT; i <= MST_BOOK_DETACHED; i++) {
        const char *name = mst_book_reason_name((enum mst_book_reason)i);

        assert_string_not_equal(name, "");
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(
                name, mst_book_reason_name((enum mst_book_reason)j));
        }
    }
    assert_string_equal(mst_book_reason_name(MST_BOOK_NO_SNAPSHOT),
                        "no snapshot yet");
}

TEST_CASE(a_number_that_is_no_error_is_unknown) {
    static const int edges[] = {1, 99, INT_MAX, INT_MIN, INT_MIN + 1};
    size_t known = 0;

    for (int error = 1; error > -100000; error--) {
        known += strcmp(mst_strerror(error), "unknown error") != 0;
    }
    assert_int_equal(known, COUNT(errors));
    for (size_t i = 0; i < COUNT(edges); i++) {
        assert_string_equal(mst_strerror(edges[i]), "unknown error");
    }
}

/* Errors that are permanent in any state: the client retries slowly. */
TEST_CASE(what_is_permanent_by_itself_is_so_everywhere) {
    static const int permanent[] = {
        MST_ERR_TLS_ISSUER,      MST_ERR_TLS_NAME,    MST_ERR_TLS_TIME,
        MST_ERR_TLS_CERTIFICATE, MST_ERR_TLS_VERSION, MST_ERR_TOKEN_TYPE,
        MST_ERR_TOKEN_SCOPE,     MST_ERR_FORBIDDEN,   MST_ERR_TOKEN_TOO_LARGE,
        MST_ERR_PROXY_LOGIN,
    };

    for (int error = 1; error > -1000; error--) {
        bool expected = false;

        for (size_t i = 0; i < COUNT(permanent); i++) {
            expected |= permanent[i] == error;
        }
        expect_int(error_name(error), expected, mst_error_is_permanent(error));
    }
}

RUN_CASES(NULL, NULL)
