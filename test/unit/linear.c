/*
 * Reading takes time in proportion to the input, whatever it is: ten times the
 * input takes at most twelve times the work. Work is counted in basic blocks
 * (the Makefile compiles this file for that) and in bytes that functions of the
 * C library read.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "support.h"
#include "work.h"

static void *counted_move(void *to, const void *from, size_t len) {
    work_done += len;
    return memmove(to, from, len);
}

static void *counted_set(void *to, int c, size_t len) {
    work_done += len;
    return memset(to, c, len);
}

static const void *counted_find(const void *in, int c, size_t len) {
    const char *found = memchr(in, c, len);

    work_done += found != NULL ? (size_t)(found - (const char *)in) : len;
    return found;
}

static size_t counted_len(const char *text) {
    work_done += strlen(text);
    return strlen(text);
}

#define memmove counted_move
#define memcpy counted_move
#define memset counted_set
#define memchr counted_find
#define strlen counted_len
#include "mini_stream.c" /* NOLINT(bugprone-suspicious-include) */
#undef memmove
#undef memcpy
#undef memset
#undef memchr
#undef strlen

#include "parts.h"
#include "replies.h"

#define TIMES 10
#define MOST 12
#define TOKEN_LEN 400

/* ---- readers ---- */

static void message_reads(const uint8_t *data, size_t len, size_t step) {
    static uint8_t buffer[1024];
    static struct mst_decoder decoder;
    struct mst_event event;

    mst_decoder_init(&decoder, buffer, sizeof buffer, 0);
    for (size_t at = 0; at < len; at += step) {
        size_t n = len - at < step ? len - at : step;

        mst_decoder_feed(&decoder, data + at, n, at + n == len);
        while (mst_decoder_next(&decoder, &event) == 1) {}
    }
}

static void record_reads(const uint8_t *data, size_t len, size_t step) {
    static struct mst_tokens tokens;
    struct mst_address address;

    (void)step;
    (void)address_read(data, len, &tokens, &address);
}

static void reply_is_read(const uint8_t *data, size_t len, size_t step) {
    struct link_reply reply;

    (void)reply_read(200, data, len, step, &reply);
}

static void frames_read(const uint8_t *data, size_t len, size_t step) {
    struct mst_ws_piece piece;
    struct mst_ws ws;
    size_t used;

    mst_ws_init(&ws);
    for (size_t at = 0; at < len; at += used) {
        assert_true(mst_ws_read(&ws, data + at,
                                len - at < step ? len - at : step, &used,
                                &piece) >= 0);
    }
}

static void response_reads(const uint8_t *data, size_t len, size_t step) {
    static struct mst_http http;
    int rc = 0;

    memset(&http, 0, sizeof http);
    for (size_t at = 0; at < len && rc >= 0 && rc != HTTP_END; at += step) {
        size_t n = len - at < step ? len - at : step, used = 0, piece = 0;

        do {
            rc = http_read(&http, data + at, n, &used, &piece);
        } while (rc == HTTP_HEAD || rc == HTTP_BODY);
    }
}

/* ---- inputs ---- */

/* A text: a beginning, a unit n times, an end. The byte 254, which no text
 * contains, stands for a NUL. */
struct grown {
    const char *name, *before, *unit, *after;
};

#define NUL "\xFE"

static void grown_add(struct text *text, const struct grown *g, size_t n) {
    text_clear(text);
    text_add(text, "%s", g->before);
    for (size_t i = 0; i < n; i++) {
        text_add(text, "%s", g->unit);
    }
    text_add(text, "%s", g->after);
    for (size_t i = 0; i < text->len; i++) {
        text->data[i] = text->data[i] == *NUL ? '\0' : text->data[i];
    }
}

/* Returns the work of reading n units in pieces of this size. */
static uint64_t work_of(void (*reads)(const uint8_t *, size_t, size_t),
                        const struct grown *g, size_t n, size_t step) {
    struct text *text = text_new();
    uint64_t before;

    grown_add(text, g, n);
    before = work_done;
    reads((const uint8_t *)text->data, text->len,
          step < text->len ? step : text->len);
    return work_done - before;
}

/* With lengths that fit all buffers and lengths that fit none, in pieces of
 * several sizes. Input that does not fit is read in another way, at another
 * cost per byte. */
static void expect_linear(void (*reads)(const uint8_t *, size_t, size_t),
                          const struct grown *g) {
    static const size_t lengths[] = {90, 8000}, steps[] = {1, 100, SIZE_MAX};

    for (size_t i = 0; i < COUNT(lengths); i++) {
        size_t n = lengths[i] / strlen(g->unit);

        for (size_t k = 0; k < COUNT(steps); k++) {
            uint64_t one = work_of(reads, g, n, steps[k]);
            uint64_t many = work_of(reads, g, TIMES * n, steps[k]);

            assert_true(one > 0);
            if (many > MOST * one) {
                expect_failed("%s, %zu, %zu at a time: %d for %d", g->name, n,
                              steps[k], (int)many, (int)one);
            }
        }
    }
}

static const struct grown texts[] = {
    {"a string", "{\"x\":\"", "a", "\"}"},
    {"a string that does not end", "{\"x\":\"", "a", ""},
    {"a string with a control character", "{\"x\":\"", "a", "\n\"}"},
    {"escapes", "{\"x\":\"", "\\n", "\"}"},
    {"escapes in numbers", "{\"x\":\"", "\\u0041", "\"}"},
    {"surrogate pairs", "{\"x\":\"", "\\ud83d\\ude00", "\"}"},
    {"backslashes", "{\"x\":\"", "\\\\", "\"}"},
    {"a key", "{\"", "k", "\":1}"},
    {"a key of escapes", "{\"", "\\u0041", "\":1}"},
    {"a number", "{\"x\":1", "0", "}"},
    {"a fraction", "{\"x\":0.", "1", "}"},
    {"an exponent", "{\"x\":1e", "1", "}"},
    {"a number with a letter", "{\"x\":1", "0", "x}"},
    {"white space", "{", " ", "}"},
    {"white space behind", "{}", "\n", ""},
    {"white space, then something", "{}", "\n", "x"},
    {"members", "{\"a\":0", ",\"b\":true", "}"},
    {"members of one name", "{\"a\":0", ",\"a\":0", "}"},
    {"values", "{\"x\":[0", ",1", "]}"},
    {"values without commas", "{\"x\":[0", " 1", "]}"},
    {"objects", "{\"x\":[{}", ",{\"a\":[[]]}", "]}"},
    {"brackets", "{\"x\":", "[", ""},
    {"brackets of both kinds", "{\"x\":", "[{\"x\":", ""},
    {"nesting up and down", "{\"x\":[", "[[[[{\"a\":{}}]]]],", "0]}"},
    {"commas", "{\"x\":[", ",", "]}"},
    {"colons", "{\"x\"", ":", "1}"},
    {"quotes", "{", "\"", "}"},
};

TEST_CASE(every_text_is_read_in_linear_time) {
    for (size_t i = 0; i < COUNT(texts); i++) {
        expect_linear(message_reads, &texts[i]);
        expect_linear(record_reads, &texts[i]);
        expect_linear(reply_is_read, &texts[i]);
    }
}

#define BOOK "{\"channel\":\"market_data\",\"payload\":{\"market\":\"B\","
#define HEAD BOOK "\"type\":\"SNAPSHOT\",\"time\":\"" TIME "\","
#define ENTRY "{\"type\":\"heartbeat\",\"success\":true}"

TEST_CASE(every_message_is_read_in_linear_time) {
    static const struct grown messages[] = {
        {"levels", HEAD "\"bids\":[" LEVEL("1", "2"), "," LEVEL("3.5", "4"),
         "]}}"},
        {"levels with more in them", HEAD "\"bids\":[" LEVEL("1", "2"),
         ",{\"x\":[{}],\"price\":\"1\",\"y\":\"\\n\",\"amount\":\"2\"}", "]}}"},
        {"levels with white space", HEAD "\"bids\":[" LEVEL("1", "2"),
         " , { \"price\" : \"1\" , \"amount\" : \"2\" }", "]}}"},
        {"levels before their market",
         "{\"channel\":\"market_data\",\"payload\":{\"bids\":[" LEVEL("1", "2"),
         "," LEVEL("3.5", "4"),
         "],\"market\":\"B\",\"type\":\"UPDATE\",\"time\":\"" TIME "\"}}"},
        {"levels before their channel",
         "{\"payload\":{\"market\":\"B\",\"type\":\"UPDATE\",\"time\":\"" TIME
         "\",\"bids\":[" LEVEL("1", "2"),
         "," LEVEL("3.5", "4"), "]},\"channel\":\"market_data\"}"},
        {"a level that is malformed", HEAD "\"bids\":[" LEVEL("1", "2"),
         "," LEVEL("3.5", "4"), ",{]}}"},
        {"a price", HEAD "\"bids\":[{\"amount\":\"1\",\"price\":\"1", "1",
         "\"}]}}"},
        {"a price of zeros", HEAD "\"bids\":[{\"amount\":\"1\",\"price\":\"0.",
         "0", "1\"}]}}"},
        {"a market", "{\"channel\":\"market_data\",\"payload\":{\"market\":\"",
         "M", "\"}}"},
        {"a market of escapes",
         "{\"channel\":\"market_data\",\"payload\":{\"market\":\"", "\\u004D",
         "\"}}"},
        {"a time", BOOK "\"time\":\"2026-01-02T03:04:05.", "1", "Z\"}}"},
        {"entries", "{\"type\":\"subscribe\",\"channels\":[" ENTRY, "," ENTRY,
         "]}"},
        {"entries before their type", "{\"channels\":[" ENTRY, "," ENTRY,
         "],\"type\":\"subscribe\"}"},
        {"an entry", "{\"type\":\"subscribe\",\"channels\":[{\"type\":\"x\"",
         ",\"y\":0", "}]}"},
        {"an error's text", "{\"error\":{\"code\":\"X\",\"message\":\"",
         "\\u20ac", "\"}}"},
    };

    for (size_t i = 0; i < COUNT(messages); i++) {
        expect_linear(message_reads, &messages[i]);
    }
}

TEST_CASE(every_reply_is_read_in_linear_time) {
    static const struct grown replies[] = {
        {"a token", "{\"access_token\":\"", "t", "\"}"},
        {"a token of escapes", "{\"access_token\":\"", "\\u0041", "\"}"},
        {"a scope", "{\"scope\":\"a", " b", "\"}"},
        {"an error", "{\"error\":\"", "e", "\"}"},
    };
    static const struct grown records[] = {
        {"an id", "{\"address\":{\"id\":\"", "i", "\"}}"},
        {"a nickname of escapes", "{\"address\":{\"id\":\"i\",\"nickname\":\"",
         "\\u20ac", "\"}}"},
        {"members", "{\"address\":{\"id\":\"i\"", ",\"x\":{\"id\":1}", "}}"},
    };

    for (size_t i = 0; i < COUNT(replies); i++) {
        expect_linear(reply_is_read, &replies[i]);
    }
    for (size_t i = 0; i < COUNT(records); i++) {
        expect_linear(record_reads, &records[i]);
    }
}

TEST_CASE(frames_and_responses_are_read_in_linear_time) {
    static const struct grown frames[] = {
        {"pings", "", "\x89\x01p", ""},
        {"messages", "", "\x81\x02\xC3\xA9", ""},
        {"fragments", "\x01\x01x", NUL "\x01x", "\x80\x01x"},
        {"empty fragments", "\x01" NUL, NUL NUL, "\x80" NUL},
        {"fragments of half a character", "\x01\x01\xC3",
         NUL "\x01\xA9" NUL "\x01\xC3", "\x80\x01\xA9"},
        {"pings between fragments", "\x01\x01x", "\x89\x01p" NUL "\x01x",
         "\x80\x01x"},
        {"a message", "\x82\x7F\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF", "x", ""},
        {"a text", "\x81\x7F\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF", "\xC3\xA9", ""},
    };
    static const struct grown responses[] = {
        {"a header", "HTTP/1.1 200 OK\r\nX: ", "a", "\r\n\r\n"},
        {"headers", "HTTP/1.1 200 OK\r\n", "X: a\r\n", "\r\n"},
        {"a list", "HTTP/1.1 200 OK\r\nConnection: ", "a,", "\r\n\r\n"},
        {"a body", "HTTP/1.1 200 OK\r\n\r\n", "a", ""},
        {"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
         "1\r\na\r\n", "0\r\n\r\n"},
        {"an extension",
         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
         "1;",
         "x", "\r\na\r\n0\r\n\r\n"},
    };

    for (size_t i = 0; i < COUNT(responses); i++) {
        expect_linear(response_reads, &responses[i]);
    }
    for (size_t i = 0; i < COUNT(frames); i++) {
        expect_linear(frames_read, &frames[i]);
    }
}

/* ---- output, and its trace ---- */

/* Returns the work of writing a token of this length in windows. */
static uint64_t work_of_bearer(size_t token_len, bool masked) {
    static struct mst_link link;
    static char token[TIMES * TOKEN_LEN];
    static uint8_t window[100];
    struct out out = {window, sizeof window, 0, 0};
    uint64_t before = work_done;

    memset(token, 't', token_len);
    link.token = &link.own.tokens[0];
    link.token->text = token;
    link.token->len = (uint32_t)token_len;
    do {
        out.len = 0;
        link_write_bearer(&link, &out, masked);
        out.skip += sizeof window;
    } while (out.skip < out.len);
    return work_done - before;
}

TEST_CASE(a_token_is_written_in_linear_time) {
    for (int masked = 0; masked < 2; masked++) {
        uint64_t one = work_of_bearer(TOKEN_LEN, masked != 0);

        assert_true(work_of_bearer(TIMES * TOKEN_LEN, masked != 0) <=
                    MOST * one);
    }
}

/* ---- books ---- */

#define DEPTH 10000

/* Returns the work of a snapshot of bids, best first or last. */
static uint64_t work_of_snapshot(struct mst_book *book, uint32_t depth,
                                 bool best_first) {
    static struct mst_level room[2 * (DEPTH + 2)], levels[DEPTH];
    uint64_t before;

    assert_int_equal(mst_book_init(book, room, depth + 2), 0);
    for (uint32_t i = 0; i < depth; i++) {
        levels[i] = level_at(MST_BID, best_first ? i : depth - 1 - i);
    }
    before = work_done;
    parts_apply(book, levels, depth, 1, true);
    assert_int_equal(mst_book_depth(book, MST_BID), depth);
    return work_done - before;
}

/* The service sends the best levels first. */
TEST_CASE(a_snapshot_takes_least_in_the_usual_order) {
    struct mst_book book;
    uint64_t best_first = work_of_snapshot(&book, DEPTH, true);

    assert_true(work_of_snapshot(&book, DEPTH, false) > best_first);
}

/* Returns the work of new levels next to the best one, which moves few. */
static uint64_t work_of_change(uint32_t depth) {
    struct mst_level change[2] = {{.price_coefficient = 1000000 - 2,
                                   .amount_coefficient = 1,
                                   .side = MST_BID},
                                  {.price_coefficient = 1000000,
                                   .amount_coefficient = 1,
                                   .side = MST_BID}};
    struct mst_book book;
    uint64_t before;

    (void)work_of_snapshot(&book, depth, true);
    before = work_done;
    parts_apply(&book, change, COUNT(change), 2, false);
    assert_int_equal(mst_book_depth(&book, MST_BID), depth + 2);
    return work_done - before;
}

TEST_CASE(a_change_takes_as_much_in_a_deep_book) {
    assert_true(work_of_change(DEPTH) <= 2 * work_of_change(DEPTH / TIMES));
}

RUN_CASES(NULL, NULL)
