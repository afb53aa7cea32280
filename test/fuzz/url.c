/*
 * A fuzz target: a caller's texts for requests, after a byte that says what
 * they are. The library must accept the URLs that a reference accepts, with the
 * same parts, also when these are put together again. A request must have
 * exactly the expected lines. A form must decode to what went into it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mini_stream.c" /* NOLINT(bugprone-suspicious-include) */

#include "fuzz.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define INPUT_MAX 2048

/* ---- The reference ---- */

static bool is_host(const char *host, size_t len, bool bracket) {
    bool good = len > 0 && len <= MST_HOST_MAX &&
                (!bracket || memchr(host, ':', len) != NULL);

    for (size_t i = 0; i < len; i++) {
        good =
            good &&
            ((isascii(host[i]) && isalnum(host[i])) ||
             (host[i] == '.' && i > 0 && i + 1 < len && host[i - 1] != '.') ||
             host[i] == '-' || host[i] == '_' || (bracket && host[i] == ':'));
    }
    return good;
}

/* True if a text may be in a request line or a header's value, without
 * `but`. */
static bool is_printable(const char *text, const char *but) {
    bool good = true;

    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;

        good = good && c >= 0x20 && c != 0x7F && strchr(but, c) == NULL;
    }
    return good;
}

/* Takes a URL's authority: a host, perhaps in brackets, perhaps with a port. */
static bool take_authority(const char *text, size_t len,
                           struct mst_endpoint *out) {
    bool bracket = len > 0 && text[0] == '[';
    const char *end = bracket ? memchr(text, ']', len) : memchr(text, ':', len);
    size_t host_len = end == NULL ? len : (size_t)(end - text);
    unsigned long port = out->tls ? 443 : 80;

    if (bracket && end == NULL) {
        return false;
    }
    if (!is_host(text + bracket, host_len - bracket, bracket)) {
        return false;
    }
    memcpy(out->host, text + bracket, host_len - bracket);
    text += host_len + bracket;
    len -= host_len + bracket;
    if (len > 0) {
        size_t digits = strspn(text + 1, "0123456789");

        port = strtoul(text + 1, NULL, 10);
        if (text[0] != ':' || digits == 0 || digits != len - 1) {
            return false;
        }
    }
    out->port = (uint16_t)port;
    return port >= 1 && port <= 65535;
}

static bool reference(const char *url, const char *scheme,
                      struct mst_endpoint *out) {
    size_t len;

    memset(out, 0, sizeof *out);
    if (strncmp(url, scheme, strlen(scheme)) != 0) {
        return false;
    }
    url += strlen(scheme);
    out->tls = url[0] == 's';
    url += out->tls;
    if (strncmp(url, "://", 3) != 0) {
        return false;
    }
    url += 3;
    len = strcspn(url, "/");
    if (!take_authority(url, len, out) || strlen(url + len) > MST_PATH_MAX ||
        !is_printable(url + len, " #")) {
        return false;
    }
    memcpy(out->path, url + len, strlen(url + len));
    return true;
}

/* ---- URLs ---- */

static void expect_same(const struct mst_endpoint *a,
                        const struct mst_endpoint *b) {
    FUZZ_EXPECT(strcmp(a->host, b->host) == 0 && strcmp(a->path, b->path) == 0);
    FUZZ_EXPECT(a->port == b->port && a->tls == b->tls);
}

static void text_of(const struct mst_endpoint *e, const char *scheme,
                    char *text, size_t size) {
    bool bracket = strchr(e->host, ':') != NULL;
    int len = snprintf(text, size, "%s%s://%s%s%s:%u%s", scheme,
                       e->tls ? "s" : "", bracket ? "[" : "", e->host,
                       bracket ? "]" : "", e->port, e->path);

    FUZZ_EXPECT(len > 0 && (size_t)len < size);
}

/* Checks the first lines of a request to an endpoint. */
static void expect_request(const struct mst_endpoint *e, const char *below) {
    char out[1024], line[1024];
    struct out o = {(uint8_t *)out, sizeof out - 1, 0, 0};
    size_t path_len = strlen(e->path);
    bool bracket = strchr(e->host, ':') != NULL;
    int len;

    while (below != NULL && path_len > 0 && e->path[path_len - 1] == '/') {
        path_len--;
    }
    http_request_begin(&o, "GET ", e, below);
    FUZZ_EXPECT(o.len < sizeof out);
    out[o.len] = '\0';
    len = snprintf(line, sizeof line, "GET %.*s%s HTTP/1.1\r\nHost: %s%s%s",
                   (int)path_len, e->path,
                   below != NULL   ? below
                   : path_len == 0 ? "/"
                                   : "",
                   bracket ? "[" : "", e->host, bracket ? "]" : "");
    if (e->port != (e->tls ? 443 : 80)) {
        len += snprintf(line + len, sizeof line - (size_t)len, ":%u", e->port);
    }
    len += snprintf(line + len, sizeof line - (size_t)len,
                    "\r\nUser-Agent: mini_stream/%s\r\n", MST_VERSION);
    FUZZ_EXPECT(strcmp(out, line) == 0 && (size_t)len == o.len);
}

static void test_url(const char *url, const char *scheme) {
    struct mst_endpoint expected, got, again;
    char text[MST_HOST_MAX + MST_PATH_MAX + 32];
    bool good = reference(url, scheme, &expected);
    int rc = http_url(url, scheme, &got);

    FUZZ_EXPECT(rc == (good ? 0 : MST_ERR_URL));
    if (!good) {
        return;
    }
    expect_same(&expected, &got);
    FUZZ_EXPECT(is_printable(got.host, " #/?@") &&
                is_printable(got.path, " #"));
    text_of(&got, scheme, text, sizeof text);
    FUZZ_EXPECT(http_url(text, scheme, &again) == 0);
    expect_same(&got, &again);
    expect_request(&got, NULL);
    expect_request(&got, "/below");
}

/* ---- Headers ---- */

/* Returns the input's next NUL-terminated text, "" after the last. */
static const char *next_text(const char **at, const char *end) {
    const char *text = *at;

    *at = text + strlen(text) < end ? text + strlen(text) + 1 : end;
    return text;
}

static void test_upgrade(const char *at, const char *end, size_t room) {
    static char out[4 * INPUT_MAX + 512], expected[sizeof out];
    const char *host = next_text(&at, end), *path = next_text(&at, end);
    const char *key = next_text(&at, end), *login = next_text(&at, end);
    bool good = is_printable(host, " ") && is_printable(path, " #") &&
                is_printable(key, "") && is_printable(login, "");
    const char *authorization = login[0] != '\0' ? login : NULL;
    int len = snprintf(
        expected, sizeof expected,
        "GET %s%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: mini_stream/%s\r\n"
        "Upgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n%s%s%s\r\n",
        path[0] == '\0' ? "/" : "", path, host, MST_VERSION, key,
        authorization != NULL ? "Authorization: " : "", login,
        authorization != NULL ? "\r\n" : "");
    int rc = path[0] != '\0' && path[0] != '/' ? MST_ERR_ARGUMENT
             : good                            ? len
                                               : MST_ERR_HEADER_VALUE;

    FUZZ_EXPECT(mst_ws_upgrade_write(out, sizeof out, host, path, key,
                                     authorization) == rc);
    FUZZ_EXPECT(rc < 0 || memcmp(out, expected, (size_t)len) == 0);
    room = rc > 0 && room > (size_t)rc ? (size_t)rc : room;
    memset(out, 0x55, sizeof out);
    FUZZ_EXPECT(
        mst_ws_upgrade_write(out, room, host, path, key, authorization) ==
        (rc > 0 && room < (size_t)rc ? MST_ERR_ARGUMENT : rc));
    FUZZ_EXPECT(out[room] == 0x55);
}

/* A form's value must consist of plain characters and escapes that decode to
 * what went into it. */
static void test_form(const char *value) {
    static char out[3 * INPUT_MAX + 8];
    struct out o = {(uint8_t *)out, sizeof out, 0, 0};
    size_t at = 5;

    http_form_write(&o, "name", value);
    FUZZ_EXPECT(o.len <= sizeof out && memcmp(out, "name=", at) == 0);
    for (; *value != '\0'; value++) {
        char digits[] = {out[at], at + 2 < o.len ? out[at + 1] : '\0',
                         at + 2 < o.len ? out[at + 2] : '\0', '\0'};

        FUZZ_EXPECT(at < o.len);
        if (digits[0] == '%') {
            FUZZ_EXPECT(strspn(digits + 1, "0123456789ABCDEF") == 2);
            FUZZ_EXPECT((char)strtoul(digits + 1, NULL, 16) == *value);
            at += 3;
        } else {
            FUZZ_EXPECT(isascii(*value) &&
                        (isalnum(*value) || strchr("-._~", *value) != NULL));
            FUZZ_EXPECT(out[at++] == *value);
        }
    }
    FUZZ_EXPECT(at == o.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    static char text[INPUT_MAX + 1];

    if (len < 2 || len > INPUT_MAX) {
        return 0;
    }
    memcpy(text, data + 2, len - 2);
    text[len - 2] = '\0';
    switch (data[0] % 4) {
    case 0: test_url(text, "http"); break;
    case 1: test_url(text, "ws"); break;
    case 2: test_upgrade(text, text + len - 2, 2u * data[1]); break;
    default: test_form(text); break;
    }
    return 0;
}
