/*
 * The reader of HTTP responses by itself: bodies and their limits, in any
 * pieces; and the token request.
 * SPDX-License-Identifier: 0BSD
 */
#include "mini_stream.c" /* NOLINT(bugprone-suspicious-include) */

#include "support.h"

#define HEAD "HTTP/1.1 200 OK\r\n"
#define CHUNKED HEAD "Transfer-Encoding: chunked\r\n\r\n"

/* A reader of a response, and the body that it reads. */
struct reading {
    struct reader reader;
    struct mst_http http;
    int found; /* HTTP_END, HTTP_MORE before the end, or an error */
    int heads;
    struct text body;
};

static void reading_begin(void *context) {
    struct reading *r = context;

    memset(&r->http, 0, sizeof r->http);
    r->found = HTTP_MORE;
    r->heads = 0;
    text_clear(&r->body);
}

static void reading_piece(void *context, const uint8_t *data, size_t len,
                          bool final, struct text *record) {
    struct reading *r = context;
    size_t used = 0, piece = 0;

    while (r->found >= 0 && r->found != HTTP_END) {
        r->found = http_read(&r->http, data, len, &used, &piece);
        r->heads += r->found == HTTP_HEAD;
        if (r->found == HTTP_BODY) {
            text_add_bytes(&r->body, data + used - piece, piece);
        }
        if (r->found == HTTP_MORE) {
            break;
        }
    }
    assert_in_range(r->heads, 0, 1);
    if (final && r->found == HTTP_MORE && http_ends(&r->http)) {
        r->found = HTTP_END;
    }
    if (final && r->found == HTTP_END) {
        text_add(record, "end, ");
        text_add_bytes(record, text_get(&r->body), r->body.len);
    } else if (final) {
        text_add(record, "%s", r->found < 0 ? error_name(r->found) : "more");
    }
}

/* Expects an error's name, "more", or "end, " and the body. */
static void expect_response(const char *text, const char *expected) {
    struct reading r = {.reader = {&r, reading_begin, reading_piece}};

    replay_everywhere(text, &r.reader, text, strlen(text), expected);
    text_free(&r.body);
}

TEST_CASE(bodies_end_where_they_say) {
    expect_response(HEAD "Content-Length: 3\r\n\r\nabc", "end, abc");
    expect_response(HEAD "Content-Length: 0\r\n\r\n", "end, ");
    expect_response(HEAD "\r\nto the end", "end, to the end");
    expect_response(CHUNKED "3\r\nabc\r\n00a;x=y\r\n0123456789\r\n0\r\n\r\n",
                    "end, abc0123456789");
    expect_response(CHUNKED "1\r\na\r\n0\r\nTrailer: 1\r\n\r\n", "end, a");
    expect_response(CHUNKED "1 \r\na\r\n1\t ;x\r\nb\r\n0  \r\n\r\n", "end, ab");
    expect_response("HTTP/1.1 100 Continue\r\n\r\n" HEAD
                    "Content-Length: 1\r\n\r\nx",
                    "end, x");
    expect_response(HEAD "Content-Length: 4\r\n\r\nabc", "more");
    expect_response(CHUNKED "3\r\nabc\r\n0\r\n", "more");
    expect_response(CHUNKED "1 \r\na\r\n1\t;x\r\nb\r\n0\r\n\r\n", "end, ab");
    expect_response("HTTP/1.1 204 No Content\r\n\r\n", "end, ");
    /* The length of a body that is not sent. */
    expect_response("HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n",
                    "end, ");
}

/* No other protocol was requested. */
TEST_CASE(a_switch_is_no_response) {
    expect_response("HTTP/1.1 101 Switching Protocols\r\n\r\n", "HTTP_STATUS");
}

TEST_CASE(lengths_that_conflict_are_refused) {
    static const char *const heads[] = {
        /* Several. */
        "Content-Length: 3\r\nContent-Length: 3\r\n",
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 3\r\nContent-Length: 4\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
        /* Not numbers. */
        "Content-Length: -1\r\n", "Content-Length: +3\r\n",
        "Content-Length: 0x3\r\n", "Content-Length: 3 3\r\n",
        "Content-Length: 3.0\r\n", "Content-Length: 1x\r\n",
        "Content-Length: \r\n", "Content-Length: 3, 3\r\n"};
    static const char *const chunks[] = {
        /* Not lengths. */
        "\r\n", "x\r\n",
        /* Wrong lengths. */
        "3\r\nabcd\r\n",
        /* Not lines, or not numbers. */
        "3\nabc", ";\r\n", " 3\r\nabc", "-3\r\nabc", "+3\r\nabc", "0x3\r\nabc",
        "3x\r\nabc", "3 x\r\nabc", "3 3\r\nabc", "3\t;\x01\r\nabc", "3,\r\nabc",
        "3\rabc", "3\r\r\nabc", "3\r\nabc\n", "3\r\nabc0\r\n\r\n"};

    for (size_t i = 0; i < COUNT(heads); i++) {
        expect_response(printed(HEAD "%s\r\nabc", heads[i]), "HTTP_LENGTH");
    }
    for (size_t i = 0; i < COUNT(chunks); i++) {
        expect_response(printed(CHUNKED "%s", chunks[i]), "HTTP_LENGTH");
    }
}

/* A line never contains parts of the previous one, even after one of the
 * greatest length, and a fault in a trailer is not taken for a wrong length. */
TEST_CASE(lines_end_where_they_end) {
    const char *longer =
        printed("X-Longer: %s", repeated("9", MST_LINE_MAX - 10));
    const char *length = printed("Content-Length: %0*d", MST_LINE_MAX - 17, 3);

    expect_response(printed(HEAD "%s\r\n%s\r\n\r\nabc", longer, length),
                    "end, abc");
    expect_response(CHUNKED "0\r\nX: \x01\r\n\r\n", "HTTP_SYNTAX");
    expect_response(CHUNKED "0\r\nX: y\n\r\n", "HTTP_SYNTAX");
}

/* Trailers have the syntax of headers, although they are ignored (RFC 9112,
 * section 7.1.2). */
TEST_CASE(trailers_are_read_as_headers_are) {
    static const char *const bad[] = {"trailer", ": 1", "a b: 1", " a: 1",
                                      "a: 1\r\nHTTP/1.1 200 OK"};

    for (size_t i = 0; i < COUNT(bad); i++) {
        expect_response(printed(CHUNKED "0\r\n%s\r\n\r\n", bad[i]),
                        "HTTP_SYNTAX");
    }
    expect_response(CHUNKED "0\r\nContent-Length: 7\r\n"
                            "Transfer-Encoding: gzip\r\n\r\n",
                    "end, ");
}

/* HTTP/1.0 has no chunks (RFC 9112, section 6.1). */
TEST_CASE(chunks_are_of_http_1_1) {
    expect_response("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                    "0\r\n\r\n",
                    "HTTP_CODING");
    expect_response("HTTP/1.0 200 OK\r\n\r\nabc", "end, abc");
}

TEST_CASE(codings_not_asked_for_are_refused) {
    expect_response(HEAD "Transfer-Encoding: gzip\r\n\r\n", "HTTP_CODING");
    expect_response(HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n",
                    "HTTP_CODING");
    expect_response(HEAD "Transfer-Encoding: chunked\r\n"
                         "Transfer-Encoding: chunked\r\n\r\n",
                    "HTTP_CODING");
    expect_response(HEAD "Content-Encoding: gzip\r\n\r\n", "HTTP_CODING");
    expect_response(HEAD "Content-Encoding: identity\r\n\r\na", "end, a");
    /* An empty list names no coding: it counts as no header. */
    expect_response(HEAD "Content-Encoding:\r\nTransfer-Encoding: , \t,\r\n"
                         "Content-Length: 1\r\n\r\na",
                    "end, a");
    expect_response(HEAD "Transfer-Encoding: \r\nContent-Encoding: ,\r\n"
                         "Transfer-Encoding: chunked\r\n\r\n"
                         "1\r\na\r\n0\r\n\r\n",
                    "end, a");
    expect_response(HEAD "Content-Encoding: ,gzip\r\n\r\n", "HTTP_CODING");
}

TEST_CASE(a_body_has_a_limit) {
    /* In 32 bits the first would be 3 and the second 0; in 64 the third 3. */
    static const char *const chunks[] = {"100000003", "100000000",
                                         "10000000000000003", "fffffffff"};

    expect_response(
        printed(HEAD "Content-Length: %d\r\n\r\n", MST_BODY_MAX + 1),
        "HTTP_BODY");
    /* These are 3 in 32 and in 64 bits. */
    expect_response(HEAD "Content-Length: 4294967299\r\n\r\nabc", "HTTP_BODY");
    expect_response(HEAD "Content-Length: 18446744073709551619\r\n\r\nabc",
                    "HTTP_BODY");
    expect_response(printed(HEAD "\r\n%s", repeated("x", MST_BODY_MAX + 1)),
                    "HTTP_BODY");
    for (size_t i = 0; i < COUNT(chunks); i++) {
        expect_response(printed(CHUNKED "%s\r\nabc\r\n0\r\n\r\n", chunks[i]),
                        "HTTP_BODY");
    }
    expect_response(
        printed(CHUNKED "%s1\r\nx\r\n0\r\n\r\n",
                repeated("10\r\n0123456789abcdef\r\n", MST_BODY_MAX / 16)),
        "HTTP_BODY");
}

TEST_CASE(headers_trailers_and_extensions_have_a_limit) {
    const char *lines = repeated("A: b\r\n", MST_HEADERS_MAX / 6 + 1);
    const char *const texts[] = {
        printed(HEAD "%s", lines),
        printed(CHUNKED "0\r\n%s", lines),
        printed(CHUNKED "1;%s", repeated("x", MST_HEADERS_MAX + 1)),
        printed(CHUNKED "1%s", repeated(" ", MST_HEADERS_MAX + 1)),
        repeated("HTTP/1.1 100 Continue\r\n\r\n", MST_HEADERS_MAX / 25 + 1),
    };

    for (size_t i = 0; i < COUNT(texts); i++) {
        expect_response(texts[i], "HTTP_HEADER");
    }
}

/* Reads a URL. The returned endpoint is valid until the next call. */
static const struct mst_endpoint *expect_url(int expected, const char *url) {
    static struct mst_endpoint endpoint;

    expect_int(url, expected, http_url(url, "ws", &endpoint));
    return &endpoint;
}

static const char *url_with_host(size_t len) {
    return printed("wss://%s", repeated("h", len));
}

static const char *url_with_path(size_t len) {
    return printed("wss://h/%s", repeated("p", len - 1));
}

TEST_CASE(a_url_is_taken_or_refused) {
    for (int len = MST_HOST_MAX; len <= MST_HOST_MAX + 1; len++) {
        int rc = len > MST_HOST_MAX ? MST_ERR_URL : 0;
        expect_url(rc, printed("wss://%0*d", len, 7)); /* digits only */
        expect_url(rc, printed("ws://%0*d:80", len, 7));
        expect_url(MST_ERR_URL, printed("http://%0*d", len, 7));
    }
}

/* A host and a path of the greatest length, and one byte more. */
TEST_CASE(a_url_fits_to_the_byte) {
    const char *host = expect_url(0, url_with_host(MST_HOST_MAX))->host;
    const char *path;

    assert_int_equal(strlen(host), MST_HOST_MAX);
    path = expect_url(0, url_with_path(MST_PATH_MAX))->path;
    assert_int_equal(strlen(path), MST_PATH_MAX);
    expect_url(MST_ERR_URL, url_with_host(MST_HOST_MAX + 1));
    expect_url(MST_ERR_URL, url_with_path(MST_PATH_MAX + 1));
}

TEST_CASE(an_address_keeps_its_brackets) {
    char request[256] = "";
    struct out o = {(uint8_t *)request, sizeof request - 1, 0, 0};
    struct mst_endpoint endpoint;

    assert_int_equal(http_url("http://[2001:db8::1]:8080/x", "http", &endpoint),
                     0);
    assert_string_equal(endpoint.host, "2001:db8::1");
    http_request_begin(&o, "GET ", &endpoint, NULL);
    assert_non_null(strstr(request, "\r\nHost: [2001:db8::1]:8080\r\n"));
}

TEST_CASE(the_token_path_follows_the_url) {
    static const struct {
        const char *url, *line;
    } cases[] = {
        {"https://a.example", "POST /oauth2/token HTTP/1.1\r\n"},
        {"https://a.example/", "POST /oauth2/token HTTP/1.1\r\n"},
        {"https://a.example/x//", "POST /x/oauth2/token HTTP/1.1\r\n"},
    };
    static struct mst_access access = {.client_id = "a+b &=%",
                                       .client_secret = "s"};
    static struct mst_token room = {.scope = "a-scope"};

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct mst_link link = {.state = MST_STATE_TOKEN,
                                .access = &access,
                                .reply = {.token = &room}};
        char request[1024] = "";
        struct out o = {(uint8_t *)request, sizeof request - 1, 0, 0};

        assert_int_equal(http_url(cases[i].url, "http", &link.endpoint), 0);
        link_write(&link, &o);
        assert_int_equal(strncmp(request, cases[i].line, strlen(cases[i].line)),
                         0);
        assert_non_null(strstr(request, "client_id=a%2Bb%20%26%3D%25&"));
    }
}

/* Decodes a field of the form. */
static void form_field(const char *body, const char *name, char *out) {
    const char *at = strstr(body, name);

    assert_non_null(at);
    for (at += strlen(name); *at != '&' && *at != '\0'; at++) {
        char hex[3] = {at[0] == '%' ? at[1] : '\0',
                       at[0] == '%' ? at[2] : '\0'};

        *out++ = at[0] == '%' ? (char)strtol(hex, NULL, 16) : *at;
        at += at[0] == '%' ? 2 : 0;
    }
    *out = '\0';
}

/* Whatever bytes credentials and scope contain, the form has four fields with
 * their exact values. */
TEST_CASE(credentials_add_no_field_to_the_form) {
    static struct mst_access access;
    static struct mst_token room;
    struct mst_link link = {
        .state = MST_STATE_TOKEN, .access = &access, .reply = {.token = &room}};
    char all[300], request[4096] = "", got[300];
    struct out o = {(uint8_t *)request, sizeof request - 1, 0, 0};
    const char *body;
    size_t len = 0, fields = 0;

    for (int c = 1; c < 256; c++) {
        all[len++] = (char)c;
    }
    memcpy(all + len, "&scope=x\r\n", 11);
    access.client_id = access.client_secret = room.scope = all;
    assert_int_equal(http_url("https://a.example", "http", &link.endpoint), 0);
    link_write(&link, &o);
    body = strstr(request, "\r\n\r\n");
    assert_non_null(body);
    body += 4;
    assert_null(strpbrk(body, "\r\n \"<>#"));
    for (const char *at = body; *at != '\0'; at++) {
        fields += *at == '=';
    }
    expect_int("fields", 4, fields);
    form_field(body, "client_id=", got);
    expect_text("client_id", all, got);
    form_field(body, "client_secret=", got);
    expect_text("client_secret", all, got);
    form_field(body, "scope=", got);
    expect_text("scope", all, got);
}

/* ---- Retry-After ---- */

TEST_CASE(test_retry_after) {
    static const struct {
        const char *header;
        bool has;
        uint32_t s;
    } cases[] = {
        {"", false, 0},
        {"Retry-After: 120\r\n", true, 120},
        {"retry-AFTER:0\r\n", true, 0},
        {"Retry-After: \t7 \t\r\n", true, 7},
        {"Retry-After: 99999999999999999999\r\n", true, UINT32_MAX},
        {"Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n", true, 300},
        {"Retry-After: Sunday, 06-Nov-94 08:49:37 GMT\r\n", true, 300},
        {"Retry-After: Sun Nov  6 08:49:37 1994\r\n", true, 300},
        {"Retry-After: -5\r\n", true, 300},
        {"Retry-After: +5\r\n", true, 300},
        {"Retry-After: 5s\r\n", true, 300},
        {"Retry-After: 1.5\r\n", true, 300},
        {"Retry-After: soon\r\n", true, 300},
        {"Retry-After:\r\n", false, 0},
        {"X-Retry-After: 5\r\n", false, 0},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct mst_http http = {0};
        const char *text =
            printed("HTTP/1.1 503 No\r\n%s\r\n", cases[i].header);
        size_t used = 0, piece;

        expect_int(text, HTTP_HEAD,
                   http_read(&http, (const uint8_t *)text, strlen(text), &used,
                             &piece));
        expect_int(text, cases[i].has, http_has(&http, HTTP_RETRY_AFTER));
        expect_int(text, cases[i].s, http.retry_after_s);
    }
}

/* An interim response's headers do not apply to the final one. */
TEST_CASE(test_interim) {
    static const char text[] =
        "HTTP/1.1 103 Early Hints\r\nRetry-After: 9\r\n\r\n"
        "HTTP/1.1 429 No\r\nContent-Length: 0\r\n\r\n";
    struct mst_http http = {0};
    size_t used = 0, piece;

    expect_int("head", HTTP_HEAD,
               http_read(&http, (const uint8_t *)text, sizeof text - 1, &used,
                         &piece));
    expect_int("status", 429, http.status);
    expect_int("has", false, http_has(&http, HTTP_RETRY_AFTER));
    expect_int("seconds", 0, http.retry_after_s);
}

RUN_CASES(NULL, NULL)
