/*
 * A fuzz target: a server's response, after a byte that says if it answers the
 * opening handshake and one that says how it is cut. Whole and in pieces it is
 * read as by a reference that has all of it (RFC 9112). The limits are small,
 * so that short inputs reach them.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define MST_LINE_MAX 64
#define MST_HEADERS_MAX 400
#define MST_BODY_MAX 100
#include "mini_stream.c" /* NOLINT(bugprone-suspicious-include) */

#include "fuzz.h"

#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

#define INPUT_MAX 4096
#define KEY "dGhlIHNhbXBsZSBub25jZQ==" /* of RFC 6455, section 1.3 */
#define ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

/* A reader's results. */
struct found {
    bool error, head, over, close, retry, ends;
    unsigned status;
    uint32_t retry_s;
    size_t used, body_len;
    char body[INPUT_MAX];
};

/* ---- The reference ---- */

struct text {
    const char *at;
    size_t len;
};

/* A part of the response is incomplete, malformed or complete. */
enum step { MORE, BAD, DONE };

struct answer {
    const char *data;
    size_t len, at;
    size_t counted; /* bytes towards MST_HEADERS_MAX */
    bool upgrading;
    bool has_length, chunked, upgrade, connection, accept;
    bool old, wrong; /* HTTP/1.0; a bad value, reported after all headers */
    uint32_t length;
};

/* Takes a line without its CR LF, which may be incomplete. */
static enum step take_line(struct answer *a, struct text *line) {
    const char *from = a->data + a->at;
    size_t left = a->len - a->at, n = 0;

    while (n < left && from[n] != 0x7F &&
           ((unsigned char)from[n] >= 0x20 || from[n] == '\t')) {
        n++;
    }
    *line = (struct text){from, n};
    a->at += n + 2 < left ? n + 2 : left;
    if (n < left &&
        (from[n] != '\r' || (n + 1 < left && from[n + 1] != '\n'))) {
        return BAD;
    }
    return n + 2 <= left ? DONE : MORE;
}

/* Takes a line that counts towards the limit of all headers. */
static enum step take_counted(struct answer *a, struct text *line) {
    size_t before = a->at;
    enum step step = take_line(a, line);

    a->counted += a->at - before;
    return a->counted > MST_HEADERS_MAX ? BAD : step;
}

static bool text_equals(struct text t, const char *word) {
    return t.len == strlen(word) && strncasecmp(t.at, word, t.len) == 0;
}

static struct text text_trim(struct text t) {
    while (t.len > 0 && strchr(" \t", t.at[t.len - 1]) != NULL) {
        t.len--;
    }
    while (t.len > 0 && strchr(" \t", *t.at) != NULL) {
        t = (struct text){t.at + 1, t.len - 1};
    }
    return t;
}

static bool text_lists(struct text t, const char *word) {
    bool found = false;

    while (t.len > 0 && !found) {
        const char *comma = memchr(t.at, ',', t.len);
        size_t n = comma != NULL ? (size_t)(comma - t.at) : t.len;

        found = text_equals(text_trim((struct text){t.at, n}), word);
        n += comma != NULL;
        t = (struct text){t.at + n, t.len - n};
    }
    return found;
}

/* Reads a number of digits only; larger ones become UINT32_MAX. */
static bool text_number(struct text t, uint32_t *number) {
    uint64_t n = 0;

    for (size_t i = 0; i < t.len; i++) {
        if (t.at[i] < '0' || t.at[i] > '9') {
            return false;
        }
        n = n * 10 + (uint64_t)(t.at[i] - '0');
        n = n < UINT32_MAX ? n : UINT32_MAX;
    }
    if (t.len > 0) {
        *number = (uint32_t)n;
    }
    return t.len > 0;
}

/* True for a header whose value matters; others may be longer than a line. */
static bool name_matters(struct text name) {
    static const char *const names[] = {
        /* About a body. */
        "content-length", "transfer-encoding", "content-encoding",
        /* About the handshake. */
        "connection", "upgrade", "sec-websocket-accept",
        "sec-websocket-extensions", "sec-websocket-protocol",
        /* About a refusal. */
        "retry-after"};
    bool found = false;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        found |= text_equals(name, names[i]);
    }
    return found;
}

/* Takes a header about the body's length; false for an error. */
static bool take_framing(struct answer *a, struct text name,
                         struct text value) {
    if (text_equals(name, "content-length")) {
        bool again = a->has_length;

        a->has_length = true;
        return !again && text_number(value, &a->length);
    }
    if (text_equals(name, "transfer-encoding")) {
        bool again = a->chunked;

        a->chunked = true;
        return !again && !a->old && text_equals(value, "chunked");
    }
    return !text_equals(name, "content-encoding") ||
           text_equals(value, "identity");
}

/* Takes any header; false for an error. */
static bool take_header(struct answer *a, struct found *f, struct text name,
                        struct text value) {
    const bool upgraded = a->upgrading && f->status == 101;
    const struct text accept = {ACCEPT, strlen(ACCEPT)};
    bool good = true;
    size_t empty = 0;

    while (empty < value.len && strchr(", \t", value.at[empty]) != NULL) {
        empty++;
    }
    if (empty == value.len && !text_equals(name, "content-length")) {
        return true; /* an empty list names nothing */
    }
    if (text_equals(name, "connection")) {
        a->connection |= text_lists(value, "upgrade");
        f->close |= text_lists(value, "close");
    } else if (text_equals(name, "upgrade")) {
        good = !upgraded || text_equals(value, "websocket");
        a->upgrade = true;
    } else if (text_equals(name, "sec-websocket-accept")) {
        good = !upgraded || (!a->accept && value.len == accept.len &&
                             memcmp(value.at, accept.at, value.len) == 0);
        a->accept = true;
    } else if (text_equals(name, "sec-websocket-extensions") ||
               text_equals(name, "sec-websocket-protocol")) {
        good = !upgraded;
    } else if (text_equals(name, "retry-after")) {
        f->retry = true;
        if (!text_number(value, &f->retry_s)) {
            f->retry_s = 300;
        }
    } else if (!a->upgrading) {
        good = take_framing(a, name, value);
    }
    return good;
}

/* True if a header or trailer begins with a complete name. */
static bool line_is_named(struct text line, struct text *name) {
    static const char marks[] = "!#$%&'*+-.^_`|~";

    *name = (struct text){line.at, 0};
    while (name->len < line.len &&
           (isalnum((unsigned char)line.at[name->len]) ||
            strchr(marks, line.at[name->len]) != NULL)) {
        name->len++;
    }
    return name->len > 0 && name->len < MST_LINE_MAX && name->len < line.len &&
           line.at[name->len] == ':';
}

static bool header_line(struct answer *a, struct found *f, struct text line) {
    struct text name, value;

    if (!line_is_named(line, &name)) {
        return false;
    }
    if (name_matters(name)) {
        value.at = line.at + name.len + 1;
        value.len = line.len - name.len - 1;
        a->wrong |= line.len > MST_LINE_MAX ||
                    !take_header(a, f, name, text_trim(value));
    }
    return true;
}

static bool status_line(struct found *f, struct text line) {
    char start[14] = {0};
    bool known;

    memcpy(start, line.at, line.len < 13 ? line.len : 13);
    known = strncmp(start, "HTTP/1.0 ", 9) == 0 ||
            strncmp(start, "HTTP/1.1 ", 9) == 0;
    if (!known || strspn(start + 9, "0123456789") != 3 ||
        (start[12] != '\0' && start[12] != ' ')) {
        return false;
    }
    f->status = (unsigned)strtoul(start + 9, NULL, 10);
    f->close = start[7] == '0';
    return f->status >= 100 && f->status < 600 &&
           (f->status != 101 || !f->close);
}

/* Takes the status and headers of one response. */
static enum step take_head(struct answer *a, struct found *f) {
    struct text line;
    enum step step;

    f->retry = a->has_length = a->chunked = a->wrong = false;
    a->upgrade = a->connection = a->accept = false;
    step = take_counted(a, &line);
    if (step == DONE && !status_line(f, line)) {
        return BAD;
    }
    a->old = f->close;
    while (step == DONE) {
        step = take_counted(a, &line);
        if (step == DONE && line.len == 0) {
            break;
        }
        if (step == DONE && !header_line(a, f, line)) {
            return BAD;
        }
    }
    return step == DONE && (a->wrong || (f->status == 101 && !a->upgrading))
               ? BAD
               : step;
}

/* Takes `len` bytes of the body. */
static enum step take_body(struct answer *a, struct found *f, size_t len) {
    size_t left = a->len - a->at, n = len < left ? len : left;

    if (n > MST_BODY_MAX - f->body_len) {
        return BAD;
    }
    memcpy(f->body + f->body_len, a->data + a->at, n);
    f->body_len += n;
    a->at += n;
    return n == len ? DONE : MORE;
}

/* Takes the line of a chunk's size. Its extension counts like headers, and so
 * do digits after the first eight. */
static enum step take_size(struct answer *a, size_t *size) {
    size_t from = a->at, n = 0;
    struct text line;
    enum step step = take_line(a, &line);

    *size = 0;
    for (; n < line.len && isxdigit((unsigned char)line.at[n]); n++) {
        const char digit[] = {line.at[n], '\0'};

        *size = *size > UINT32_MAX >> 4 ? UINT32_MAX
                                        : *size * 16 + strtoul(digit, NULL, 16);
    }
    if (n < line.len || n >= 8) {
        a->counted += a->at - from - (n >= 8 ? 8 : n + 1);
        while (n < line.len && n > 0 && strchr(" \t", line.at[n]) != NULL) {
            n++;
        }
        step = n == 0 || (n < line.len && line.at[n] != ';') ||
                       a->counted > MST_HEADERS_MAX
                   ? BAD
                   : step;
    }
    return step == DONE && n == 0 ? BAD : step;
}

static enum step take_chunks(struct answer *a, struct found *f) {
    struct text line, name;
    enum step step;
    size_t size;

    do {
        step = take_size(a, &size);
        if (step == DONE && size > MST_BODY_MAX - f->body_len) {
            return BAD;
        }
        if (step == DONE && size > 0) {
            step = take_body(a, f, size);
        }
        if (step == DONE && size > 0) {
            step = take_line(a, &line);
            step = line.len > 0 ? BAD : step;
        }
    } while (step == DONE && size > 0);
    while (step == DONE) {
        step = take_counted(a, &line);
        if (step == DONE && line.len == 0) {
            break;
        }
        step = step == DONE && !line_is_named(line, &name) ? BAD : step;
    }
    return step;
}

/* Takes the last response after its head. */
static enum step take_rest(struct answer *a, struct found *f) {
    if ((a->has_length && a->chunked) ||
        (a->has_length && a->length > MST_BODY_MAX)) {
        return BAD;
    }
    f->head = true;
    if (f->status == 204 || f->status == 304) {
        return DONE;
    }
    if (a->chunked) {
        return take_chunks(a, f);
    }
    if (a->has_length) {
        return take_body(a, f, a->length);
    }
    f->close = f->ends = true;
    return take_body(a, f, SIZE_MAX);
}

static void read_reference(struct found *f, bool upgrading, const uint8_t *data,
                           size_t len) {
    struct answer a = {
        .data = (const char *)data, .len = len, .upgrading = upgrading};
    enum step step;

    memset(f, 0, offsetof(struct found, body));
    do {
        step = take_head(&a, f);
    } while (step == DONE && f->status < 200 && f->status != 101);
    if (step == DONE && upgrading) {
        f->head = true;
        step = f->status == 101 && a.upgrade && a.connection && a.accept ? DONE
                                                                         : BAD;
    } else if (step == DONE) {
        step = take_rest(&a, f);
    }
    f->error = step == BAD;
    f->over = step == DONE;
    f->used = a.at;
}

/* ---- The library ---- */

/* Reads all of a piece of the input. Returns 0, 1 if the response has ended, or
 * an error. */
static int read_piece(struct found *f, struct mst_http *h, const uint8_t *data,
                      size_t len) {
    size_t used = 0, piece = 0;
    int rc;

    do {
        size_t before = used;

        rc = http_read(h, data, len, &used, &piece);
        FUZZ_EXPECT(used <= len && used >= before);
        if (rc == HTTP_HEAD) {
            f->head = true;
        } else if (rc == HTTP_BODY) {
            FUZZ_EXPECT(piece <= used - before);
            FUZZ_EXPECT(f->body_len + piece <= MST_BODY_MAX);
            memcpy(f->body + f->body_len, data + used - piece, piece);
            f->body_len += piece;
        }
    } while (rc == HTTP_HEAD || rc == HTTP_BODY);
    f->used += used;
    FUZZ_EXPECT(rc != HTTP_MORE || used == len);
    return rc == HTTP_END ? 1 : rc;
}

static int read_handshake(struct found *f, struct mst_http *h,
                          const uint8_t *data, size_t len) {
    size_t used;
    int rc = mst_ws_upgrade_read(h, data, len, &used);

    FUZZ_EXPECT(used <= len && (rc != 0 || used == len));
    f->used += used;
    f->head |= rc > 0;
    return rc;
}

static void read_cut(struct found *f, bool upgrading, uint8_t how,
                     const uint8_t *data, size_t len) {
    struct mst_http h = {0};
    size_t at = 0;
    int rc = 0;

    memset(f, 0, offsetof(struct found, body));
    if (upgrading) {
        mst_ws_upgrade_init(&h, KEY);
    }
    while (rc == 0 && at < len) {
        size_t n = fuzz_piece(how, at, len);
        const uint8_t *piece = fuzz_put(data + at, n);

        rc = upgrading ? read_handshake(f, &h, piece, n)
                       : read_piece(f, &h, piece, n);
        at += n;
    }
    FUZZ_EXPECT(h.headers_len <= MST_HEADERS_MAX + 1);
    f->error = rc < 0;
    f->over = rc > 0;
    f->status = (unsigned)mst_http_status(&h);
    f->close = h.close;
    f->retry = http_has(&h, HTTP_RETRY_AFTER);
    f->retry_s = h.retry_after_s;
    f->ends = http_ends(&h);
}

static void compare(const struct found *a, const struct found *b) {
    FUZZ_EXPECT(a->error == b->error);
    if (a->error) {
        return; /* how much is read of too large a body depends on the pieces */
    }
    FUZZ_EXPECT(a->body_len == b->body_len &&
                memcmp(a->body, b->body, a->body_len) == 0);
    FUZZ_EXPECT(a->head == b->head && a->over == b->over);
    FUZZ_EXPECT(a->used == b->used);
    if (a->head) {
        FUZZ_EXPECT(a->status == b->status && a->close == b->close);
        FUZZ_EXPECT(a->retry == b->retry);
        FUZZ_EXPECT(!a->retry || a->retry_s == b->retry_s);
        FUZZ_EXPECT(a->ends == b->ends);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    static struct found expected, got;
    bool upgrading;
    uint8_t how;

    if (len < 2 || len > INPUT_MAX) {
        return 0;
    }
    upgrading = (data[0] & 1) != 0;
    how = data[1];
    data += 2;
    len -= 2;
    read_reference(&expected, upgrading, data, len);
    read_cut(&got, upgrading, 0, data, len);
    compare(&expected, &got);
    read_cut(&got, upgrading, how, data, len);
    compare(&expected, &got);
    return 0;
}
