/*
 * Tests of the decoder: damaged messages in random pieces (seeded).
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "support.h"

#define MESSAGE_MAX 4096
#define ROUNDS 20000

static const char *const messages[] = {
    BOOK_MESSAGE("UPDATE", LEVEL("1.5", "2e-3"), LEVEL("3", "0")),
    "{\"payload\":{\"asks\":[" LEVEL(
        "1", "2") "],\"market\":\"BTCUSD\","
                  "\"time\":\"" TIME
                  "\",\"type\":\"UPDATE\"},\"channel\":\"market_data\"}",
    TOP(LEVEL("1", "2"), LEVEL("3", "4")),
    EXECUTION("12345678901234567.89", "0.10"),
    HEARTBEAT,
    "{\"type\":\"subscribe\",\"channels\":[{\"type\":\"market_data\","
    "\"params\":{\"market\":\"BTCUSD\"},\"success\":true},{\"type\":\"x\","
    "\"success\":false,\"error\":\"UNKNOWN_CHANNEL\"}]}",
    "{\"channels\":[{\"type\":\"heartbeat\"}],\"type\":\"subscription_list\"}",
    "{\"type\":\"error\",\"code\":\"X\",\"message\":\"\\u00e9\\ud83d\\ude00\"}",
    "{\"error\":{\"code\":\"UNKNOWN_ACTION\",\"message\":\"a\\nb\"}}",
    "{\"channel\":\"candles\",\"payload\":[1,-2.5e+10,true,null,{\"a\":[]}]}",
};

/* Replacements: parts of other messages, and confusable bytes. */
static const char *const bits[] = {
    /* Of JSON. */
    "\"", "\\", "\\u00", "{", "}", "[", "]", ":", ",", "0", "-", ".", "e",
    "true", "[[", "null",
    /* Of messages, and other bytes. */
    "\"channel\"", "\"payload\":{", "\"price\":\"1\",", "\x01", "\xc3\xa9",
    LEVEL("9", "9") ",", "\"bids\":[", "\"type\":\"x\","};

/* Replaces some bytes of a message. Returns the new length. */
static size_t damage(char *message, size_t len, uint64_t *seed) {
    const char *bit = bits[random_next(seed) % COUNT(bits)];
    size_t bit_len = random_next(seed) % 4 == 0 ? 0 : strlen(bit);
    size_t at = random_below(seed, (uint32_t)len + 1);
    size_t gone = random_next(seed) % 4 == 0 ? random_below(seed, 24) : 0;

    if (gone > len - at) {
        gone = len - at;
    }
    if (len - gone + bit_len > MESSAGE_MAX) {
        return len;
    }
    memmove(message + at + bit_len, message + at + gone, len - at - gone);
    memcpy(message + at, bit, bit_len);
    return len - gone + bit_len;
}

/* Repeats a piece of a message many times, for many levels or to exceed the
 * buffer. */
static size_t swell(char *message, size_t len, uint64_t *seed) {
    char *level = strstr(message, LEVEL("1", "2"));
    const size_t piece = strlen(LEVEL("1", "2") ",");
    size_t times = random_below(seed, 80);

    if (level == NULL || len + times * piece > MESSAGE_MAX) {
        return len;
    }
    memmove(level + times * piece, level, len - (size_t)(level - message) + 1);
    for (size_t i = 0; i < times; i++) {
        memcpy(level + i * piece, LEVEL("1", "2") ",", piece);
    }
    return len + times * piece;
}

/* Feeds a message in random pieces, then a heartbeat. */
static void feed_randomly(struct decoding *decoding, const char *message,
                          size_t len, uint64_t *seed, struct text *record) {
    size_t at = 0, most = 1 + random_below(seed, 200);

    decoding->reader.begin(decoding);
    for (;;) {
        size_t piece = random_below(seed, (uint32_t)most + 1);
        uint8_t *data;

        if (piece > len - at) {
            piece = len - at;
        }
        data = guarded(message + at, piece);
        at += piece;
        decoding->reader.piece(decoding, data, piece, at == len, record);
        if (at == len) {
            return;
        }
        memset(data, 0xA5, piece);
    }
}

TEST_CASE(damaged_messages_give_the_same_events_in_all_pieces) {
    static const size_t buffers[] = {256, 300, 2048};
    char message[MESSAGE_MAX + 1];
    struct text *whole = text_new(), *record = text_new();
    uint64_t seed = 11;

    for (int round = 0; round < ROUNDS; round++) {
        struct decoding *decoding;
        size_t len;

        snprintf(message, sizeof message, "%s",
                 messages[random_next(&seed) % COUNT(messages)]);
        len = swell(message, strlen(message), &seed);
        for (uint64_t n = random_next(&seed) % 4; n > 0; n--) {
            len = damage(message, len, &seed);
        }
        decoding = decoding_new(buffers[random_next(&seed) % 3], 0);
        text_clear(whole);
        text_clear(record);
        replay(&decoding->reader, message, len, 0, whole);
        feed_randomly(decoding, message, len, &seed, record);
        message[len] = '\0';
        expect_text(message, text_get(whole), text_get(record));
    }
}

RUN_CASES(NULL, NULL)
