/*
 * However the bytes of a session are split, its events, books and counts are
 * the same. Covers responses of the token endpoint, of the opening handshake
 * and of addresses, frames after the handshake, and whole sessions. Reads are
 * cut at some offsets, or at every offset if SPLITS is set. With SPLITS=65536
 * or more, short inputs (at most 64 bytes) are also cut at every two and three
 * offsets.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

#define USUAL_STEP 41 /* between two offsets */
#define EVERY_PLACES 65536

#define STATUS(line) "HTTP/1.1 " line "\r\n"
#define LENGTH(n) "Content-Length: " #n "\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n"
#define TOKEN(more)                                 \
    "{\"access_token\":\"" SERVICE_TOKEN "\"," more \
    "\"token_type\":\"bearer\",\"scope\":\"" SERVICE_SCOPE "\"}"
#define RECORD                                                                 \
    "{\"address\":{\"id\":\"i\",\"crypto_network\":\"INK\",\"nickname\":"      \
    "\"\\u00e9\\ud83d\\ude00\",\"created_at\":\"2026-01-02T03:04:05Z\",\"x\":" \
    "[1,{\"y\":null}],\"bookmarked\":true,\"address\":\"a\",\"status\":\"s\"}" \
    "}"

enum where {
    AT_TOKEN,
    AT_UPGRADE,
    AT_ADDRESS,
    AT_GREETING,
    AT_STREAM,
    WHOLE_SESSION
};

struct vector {
    enum where where;
    int end; /* of the connection, after the bytes; 0: none */
    const char *bytes;
    size_t len;
};

static const struct vector vectors[] = {
    /* The token endpoint. */
    {AT_TOKEN, MST_ERR_EOF, BYTES(STATUS("200 OK") "\r\n" TOKEN(""))},
    {AT_TOKEN, 0,
     BYTES(STATUS("200 Yes") CHUNKED
           "\r\n"
           "1;x\r\n{\r\n4b\r\n\"access_token\":\"" SERVICE_TOKEN
           "\",\"token_type\":\"Bearer\","
           "\"expires_in\"\r\n7;a=\"b;\"\r\n:120}  \r\n0\r\nX: y\r\n\r\n")},
    {AT_TOKEN, 0,
     BYTES(STATUS("103 Early Hints") "Link: </x>\r\n\r\n" STATUS("200 OK")
               LENGTH(119) "Date: Fri, 02 Jan 2026 03:04:05 GMT\r\n\r\n"
                           "{\"x\":{\"access_token\":7},\"access_token\":"
                           "\"" SERVICE_TOKEN "\","
                           "\"token_type\":\"bearer\",\"expires_in\":3.6e3,"
                           "\"scope\":null}")},
    {AT_TOKEN, 0, BYTES(STATUS("200 OK") LENGTH(2) "\r\n{}")},
    {AT_TOKEN, MST_ERR_EOF,
     BYTES(STATUS("200 OK") "\r\n{\"access_token\":\"t")},
    {AT_TOKEN, 0, BYTES(STATUS("200 OK") "\r\n{\"access_token\":7,")},
    {AT_TOKEN, MST_ERR_EOF,
     BYTES(STATUS("200 OK") "\r\n" TOKEN("\"access_token\":\"u\","))},
    {AT_TOKEN, 0,
     BYTES(STATUS("400 Bad Request")
               LENGTH(26) "\r\n{\"error\":\"invalid_client\"}")},
    {AT_TOKEN, MST_ERR_EOF,
     BYTES(STATUS("401 No") "\r\n{\"error\":\"\\u0069\xC3\xA9\"}")},
    {AT_TOKEN, 0, BYTES(STATUS("429 Later") "Retry-After: 7\r\n\r\n")},
    {AT_TOKEN, 0,
     BYTES(STATUS("503 No") "Retry-After: Fri, 02 Jan 2026 03:04:09 "
                            "GMT\r\n" LENGTH(0) "\r\n")},
    {AT_TOKEN, 0, BYTES(STATUS("302 Found") "Location: /\r\n\r\n")},
    {AT_TOKEN, 0, BYTES(STATUS("200 OK") LENGTH(1) LENGTH(2) "\r\n")},
    {AT_TOKEN, 0, BYTES(STATUS("200 OK") CHUNKED LENGTH(1) "\r\n")},
    {AT_TOKEN, 0, BYTES(STATUS("200 OK") CHUNKED "\r\n5\r\n{    x")},
    {AT_TOKEN, MST_ERR_EOF, BYTES(STATUS("200 OK") LENGTH(9) "\r\n{")},
    {AT_TOKEN, MST_ERR_RESET, BYTES(STATUS("200 OK") LENGTH(9) "\r\n{")},
    {AT_TOKEN, 0, BYTES("HTTP/1.0 200 OK\r\n\r\n")},
    {AT_TOKEN, 0, BYTES("SSH-2.0-x\r\n")},
    {AT_TOKEN, MST_ERR_EOF, BYTES("HTTP/1.1 20")},
    /* The opening handshake. */
    {AT_UPGRADE, 0, BYTES(STATUS("401 No") LENGTH(0) "\r\n")},
    {AT_UPGRADE, 0, BYTES(STATUS("403 No") LENGTH(3) "\r\nno!")},
    {AT_UPGRADE, 0, BYTES(STATUS("429 No") "Retry-After: 3\r\n\r\n")},
    {AT_UPGRADE, MST_ERR_EOF,
     BYTES(STATUS("503 No") "Connection: close\r\n\r\n")},
    {AT_UPGRADE, 0, BYTES(STATUS("200 OK") LENGTH(2) "\r\n{}")},
    {AT_UPGRADE, 0,
     BYTES(STATUS("101 Yes") "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                             "Sec-WebSocket-Accept: "
                             "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")},
    {AT_UPGRADE, 0, BYTES(STATUS("101 Yes") "Upgrade: h2c\r\n\r\n")},
    {AT_UPGRADE, 0, BYTES("HTTP/1.1 101 Switching Protocols\n\n")},
    {AT_UPGRADE, MST_ERR_RESET, BYTES("\x81\x02{}")},
    /* Addresses. */
    {AT_ADDRESS, MST_ERR_EOF, BYTES(STATUS("200 OK") "\r\n" RECORD)},
    {AT_ADDRESS, 0,
     BYTES(STATUS("200 OK") CHUNKED
           "\r\n1a\r\n{\"address\":{\"id\":\"an-id\"}}\r\n000\r\n\r\n")},
    {AT_ADDRESS, 0, BYTES(STATUS("200 OK") LENGTH(2) "\r\n[]")},
    {AT_ADDRESS, MST_ERR_EOF,
     BYTES(STATUS("200 OK") "\r\n{\"address\":{\"id\":\"\\x\"}}")},
    {AT_ADDRESS, 0,
     BYTES(STATUS("422 No") "Content-Type: application/problem+json\r\n" LENGTH(
         42) "\r\n{\"title\":\"no\",\"detail\":\"\\tbad\",\"status\":1}")},
    {AT_ADDRESS, 0,
     BYTES(STATUS("409 Conflict") CHUNKED "\r\n1\r\n{\r\n0\r\n\r\n")},
    {AT_ADDRESS, 0, BYTES(STATUS("401 No") LENGTH(2) "\r\n{}")},
    {AT_ADDRESS, 0, BYTES(STATUS("403 No") LENGTH(4) "\r\nnull")},
    {AT_ADDRESS, 0, BYTES(STATUS("500 No") LENGTH(4) "\r\nnull")},
    {AT_ADDRESS, 0, BYTES(STATUS("204 Nothing") "\r\n")},
    {AT_ADDRESS, MST_ERR_EOF, BYTES(STATUS("200 OK") LENGTH(9) "\r\n{")},
    {AT_ADDRESS, 0, BYTES("HTTP/1.1 2x0\r\n")},
    /* Frames in the same read as the end of the handshake. */
    {AT_GREETING, 0, BYTES("\x89\x02hi\x81\x02{}\x01\x01{\x8A\x00\x80\x01}")},
    {AT_GREETING, 0, BYTES("\x88\x00\x81\x02{}")},
    {AT_GREETING, 0, BYTES("\x81\x02{}\x83\x01x")},
    {AT_GREETING, 0, BYTES("\x01\xff")},
    /* Frames after a request. The next request waits until all have arrived. */
    {AT_STREAM, 0, BYTES("\x89\x02hi\x81\x02{}\x01\x01{\x8A\x00\x80\x01}")},
    {AT_STREAM, 0,
     BYTES("\x81\x10{\"type\":\"dance\"}\x01\x02{\"\x00\x00\x89\x01p\x80\x05"
           "\xC3\xA9\":1\x81\x02}]\x82\x01x")},
    {AT_STREAM, 0, BYTES("\x81\x7E\x00\x7E")},
    {AT_STREAM, 0,
     BYTES("\x81\x02{}\x88\x07\x03\xE8"
           "ende!\x81\x02{}")},
    {AT_STREAM, MST_ERR_EOF, BYTES("\x88\x00\x81\x02{}")},
    {AT_STREAM, 0, BYTES("\x81\x01{\x81\x04\xF0\x9F\x98\x80\x81\x02\xC3\x28")},
    {AT_STREAM, 0, BYTES("\x01\x01\xC3\x80\x01\xA9\x01\x01\xC3\x80\x01\x28")},
    {AT_STREAM, 0, BYTES("\x81\x02{}\x83\x01x")},
    {AT_STREAM, 0, BYTES("\x81\x02{}\x81\x82mask{}")},
    {AT_STREAM, 0, BYTES("\x81\x02{}\x89\x7E\x00\x7E")},
    {AT_STREAM, 0, BYTES("\x01\x02{}\x81\x02{}")},
    {AT_STREAM, 0, BYTES("\x81\x7F\x80\x00\x00\x00\x00\x00\x00\x01")},
    {AT_STREAM, MST_ERR_EOF, BYTES("\x81\x20{\"chan")},
    {AT_STREAM, 0, BYTES("\x88\x01x")},
    /* All that a client reads. */
    {WHOLE_SESSION, 0, "length", SERVICE_LENGTH},
    {WHOLE_SESSION, MST_ERR_EOF, "chunked", SERVICE_CHUNKED},
    {WHOLE_SESSION, MST_ERR_RESET, "until close", SERVICE_UNTIL_CLOSE},
};

/* Reads end at these offsets of the whole input. */
static struct {
    int (*recv)(void *context, int link, void *data, size_t len);
    size_t places[3], count, next;
    struct text read; /* the whole input */
} cut;

static int cut_recv(void *context, int link, void *data, size_t len) {
    if (cut.next < cut.count) {
        size_t left = cut.places[cut.next] - cut.read.len;
        if (left == 0) {
            cut.next++;
            session.mock.calls[MST_MOCK_ANY]++;
            return 0;
        }
        len = len < left ? len : left;
    }
    int n = cut.recv(context, link, data, len);
    if (n > 0) {
        text_add_bytes(&cut.read, data, (size_t)n);
    }
    return n;
}

static void begin(const struct vector *v) {
    struct service *s = &session.service;
    struct service_script *script = v->where == AT_TOKEN     ? &s->token
                                    : v->where == AT_UPGRADE ? &s->upgrade
                                                             : &s->address;

    session_begin();
    text_clear(&cut.read);
    cut.next = 0;
    cut.recv = session.port.recv;
    session.port.recv = cut_recv;
    if (v->where == AT_GREETING) {
        s->rules.greeting = v->bytes;
        s->rules.greeting_len = v->len;
    } else if (v->where == WHOLE_SESSION) {
        s->framing = (enum service_framing)v->len;
        s->rules.feed_ms = 900;
        s->rules.beat_ms = 700;
        s->rules.fail_code = "UNKNOWN_CHANNEL";
        s->rules.fail_market = "ETHUSD";
        s->rules.fail_type = v->end == 0 ? "subscribe" : "none";
    } else if (v->where != AT_STREAM) {
        script->raw = v->bytes;
        script->raw_len = v->len;
        script->raw_times = 1;
        script->raw_end = v->end;
    }
}

static void play(const struct vector *v) {
    begin(v);
    if (v->where == AT_ADDRESS) {
        session.request = (struct mst_address_request){.id = "an-id"};
        session_put_and_wait(v->bytes);
        return;
    }
    session_start_and_run(100);
    if (v->where == AT_STREAM) {
        service_bytes(&session.service, v->bytes, v->len);
    }
    if (v->where == AT_STREAM && v->end != 0) {
        service_end(&session.service, v->end);
    }
    session_run(2500);
    if (v->where == WHOLE_SESSION) {
        service_frame(&session.service, 0x80, 9, "ping", 4);
        service_text(&session.service, "{\"channel\":\"news\",\"payload\":{}}");
        service_text(&session.service, "{\"channel\":\"heartbeat\"}");
        service_end(&session.service, v->end != 0 ? v->end : MST_ERR_EOF);
        session_run(2500);
    }
}

/* Numbers as they are stored, which a split must not change either. */
static void book_tell(struct text *text, const struct mst_book *book) {
    text_add(text, "%s %u:", mst_book_state_name(mst_book_state(book)),
             mst_book_flags(book));
    for (unsigned n = 0; n < 2 * SESSION_LEVELS; n++) {
        enum mst_side side = n < SESSION_LEVELS ? MST_BID : MST_ASK;
        const struct mst_level *level =
            mst_book_level(book, side, n % SESSION_LEVELS);
        if (level != NULL) {
            text_add(text, " ");
            record_decimal(text, mst_level_price(level));
            text_add(text, "x");
            record_decimal(text, mst_level_amount(level));
        }
    }
    text_add(text, "\n");
}

/* Writes all results of a session as text. */
static void tell(const struct vector *v, struct text *text) {
    const struct mst_stats *stats = mst_link_stats(
        v->where == AT_ADDRESS ? &session.transfer.link : &session.client.link);

    text_clear(text);
    session_record_copy(text);
    text_add(text,
             "%" PRIu64
             " messages, %u unknown, %u bad, %u tokens, %u opens, %u "
             "failures, at %" PRIu64 " ms\n",
             stats->messages, stats->unknown, stats->bad_messages,
             stats->tokens, stats->opens, stats->failures, session_now());
    if (v->where == AT_ADDRESS) {
        text_add(text, "%s %s %s %d \"%s\" \"%s\" %d \"%s\"\n",
                 session.record.id, session.record.network,
                 session.record.nickname, session.record.bookmarked,
                 session.seen.problem.title, session.seen.problem.detail,
                 session.seen.address.maybe_done, session.seen.address_body);
    } else {
        book_tell(text, session_book(0));
        book_tell(text, session_book(1));
    }
}

/* Plays it again, cut at these places. True if the results are the same. */
static bool is_same(const struct vector *v, const char *expected) {
    struct text got = {0}, name = {0};

    play(v);
    tell(v, &got);
    bool same = strcmp(expected, text_get(&got)) == 0;
    if (!same) {
        text_add(&name, "vector %zu cut at %zu", (size_t)(v - vectors),
                 cut.places[0]);
        for (size_t i = 1; i < cut.count; i++) {
            text_add(&name, ", %zu", cut.places[i]);
        }
        expect_text(text_get(&name), expected, text_get(&got));
    }
    text_free(&got);
    text_free(&name);
    splits_count(0, 1);
    return same;
}

static size_t find(const struct vector *v) {
    size_t at = 0;

    while (v->where != WHOLE_SESSION && at + v->len <= cut.read.len &&
           memcmp(cut.read.data + at, v->bytes, v->len) != 0) {
        at++;
    }
    assert_true(v->where == WHOLE_SESSION || at + v->len <= cut.read.len);
    return at;
}

static bool every_places(const struct vector *v, size_t at, size_t count,
                         const char *expected) {
    size_t places[3] = {1, 2, 3};
    bool same = true, more = count < v->len;

    for (; more && same; more = splits_next(places, count, v->len)) {
        for (size_t i = 0; i < count; i++) {
            cut.places[i] = at + places[i];
        }
        cut.count = count;
        same = is_same(v, expected);
    }
    return same;
}

static void split(const struct vector *v) {
    size_t step = splits_all() ? 1 : USUAL_STEP;
    struct text expected = {0};
    bool same = true;

    cut.count = 0;
    play(v);
    tell(v, &expected);
    size_t at = find(v);
    size_t end = v->where == WHOLE_SESSION ? cut.read.len : at + v->len;
    splits_count(1, 0);
    for (size_t i = at > 0 ? at : 1; i <= end && same; i += step) {
        cut.count = 1;
        cut.places[0] = i;
        same = is_same(v, text_get(&expected));
    }
    if (same && setting("SPLITS", 0) >= EVERY_PLACES &&
        v->where != WHOLE_SESSION && v->len <= SPLITS_SHORT) {
        (void)(every_places(v, at, 2, text_get(&expected)) &&
               every_places(v, at, 3, text_get(&expected)));
    }
    text_free(&expected);
}

TEST_CASE(test_splits) {
    for (size_t i = 0; i < COUNT(vectors); i++) {
        split(&vectors[i]);
    }
    text_free(&cut.read);
}

RUN_SESSIONS(NULL, NULL)
