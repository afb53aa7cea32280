/*
 * Tests of the decoder: JSON (RFC 8259) is validated before it is believed.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "support.h"

#define SYNTAX_ERROR "error JSON_SYNTAX \"\"\n"

#define HEARTBEAT \
    "{\"channel\":\"heartbeat\",\"payload\":" HEARTBEAT_PAYLOAD "}"

/* Decodes a heartbeat with a further member of this value. */
static void expect_json_value(const char *value, size_t len,
                              const char *expected) {
    static const char before[] = "{\"x\":";
    static const char after[] = ",\"channel\":\"heartbeat\",\"payload\":"
                                "{\"timestamp\":\"" TIME "\"}}";
    struct decoding decoding;
    struct text message = {0};

    text_add_bytes(&message, BYTES(before));
    text_add_bytes(&message, value, len);
    text_add_bytes(&message, BYTES(after));
    decoding_open(&decoding, 256, 0);
    expect_events(text_get(&message), &decoding, message.data, message.len,
                  expected);
    decoding_close(&decoding);
    text_free(&message);
}

TEST_CASE(every_valid_value_is_taken) {
    static const char *const values[] = {
        "0",
        "-0",
        "1",
        "-1",
        "10",
        "1234567890123456789012345678901234567890",
        "0.0",
        "-0.5",
        "1.0123456789",
        "1e1",
        "1E1",
        "1e+1",
        "1e-1",
        "0e0",
        "1.5e0001",
        "1e999999",
        "true",
        "false",
        "null",
        "\"\"",
        "\"a\"",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
        "\"\\u0000\\u001f\\u0041\\uABCD\\uabcd\\uFFFF\"",
        "\"\\ud83d\\ude00\"",
        "\"\\uD800\\uDC00\\udbff\\udfff\\ud7ff\\ue000\"",
        "{\"\\ud83d\\ude00\":1}",
        "\"\x7f\"",
        "\"\xc2\x80\xe0\xa0\x80\xf0\x90\x80\x80\xe2\x80\xa8\"",
        "[]",
        "[ ]",
        "[\n1\t,\r2 ]",
        "[[],[[]]]",
        "{}",
        "{ }",
        "{\"\":{}}",
        "{\"a\" : 1 , \"b\" : [ ] }",
        "{\"a\":1,\"a\":1}",
        "[1,\"a\",true,false,null,{},[]]",
    };

    for (size_t i = 0; i < COUNT(values); i++) {
        expect_json_value(values[i], strlen(values[i]), "heartbeat " NS "\n");
    }
}

static const struct {
    const char *data;
    size_t len;
} malformed_values[] = {
    /* Literals. */
    {BYTES("tru")},
    {BYTES("truee")},
    {BYTES("True")},
    {BYTES("TRUE")},
    {BYTES("fals")},
    {BYTES("falsy")},
    {BYTES("nul")},
    {BYTES("nulll")},
    {BYTES("nil")},
    {BYTES("undefined")},
    {BYTES("NaN")},
    {BYTES("Infinity")},
    {BYTES("-Infinity")},
    {BYTES("t")},
    {BYTES("x")},
    /* Numbers. */
    {BYTES("01")},
    {BYTES("00")},
    {BYTES("-01")},
    {BYTES("1.")},
    {BYTES("1.e1")},
    {BYTES(".1")},
    {BYTES("-")},
    {BYTES("-.1")},
    {BYTES("-a")},
    {BYTES("+1")},
    {BYTES("--1")},
    {BYTES("1e")},
    {BYTES("1e+")},
    {BYTES("1e-")},
    {BYTES("1e1.5")},
    {BYTES("1E++1")},
    {BYTES("1.2.3")},
    {BYTES("1 2")},
    {BYTES("1a")},
    {BYTES("0x10")},
    {BYTES("1_000")},
    {BYTES("1-")},
    {BYTES("0-1")},
    /* Strings. */
    {BYTES("'a'")},
    {BYTES("\"a\"b")},
    {BYTES("\"a\"\"b\"")},
    {BYTES("\"a")},
    {BYTES("a\"")},
    {BYTES("\"a\nb\"")},
    {BYTES("\"a\tb\"")},
    {BYTES("\"a\rb\"")},
    {BYTES("\"\x01\"")},
    {BYTES("\"\x1f\"")},
    {BYTES("\"a\0b\"")},
    {BYTES("\"\\a\"")},
    {BYTES("\"\\x41\"")},
    {BYTES("\"\\'\"")},
    {BYTES("\"\\0\"")},
    {BYTES("\"\\N\"")},
    {BYTES("\"\\U0041\"")},
    {BYTES("\"\\u\"")},
    {BYTES("\"\\u004\"")},
    {BYTES("\"\\u004g\"")},
    {BYTES("\"\\u 041\"")},
    {BYTES("\"\\u+041\"")},
    {BYTES("\"\\u{41}\"")},
    {BYTES("\"\\\"")},
    {BYTES("\"\\\n\"")},
    {BYTES("\"\\\0\"")},
    /* Halves of surrogate pairs (section 8.2). */
    {BYTES("\"\\ud83d\"")},
    {BYTES("\"\\ude00\"")},
    {BYTES("\"\\ude00\\ud83d\"")},
    {BYTES("\"\\ud83dx\"")},
    {BYTES("\"\\ud83d\\n\"")},
    {BYTES("\"\\ud83d\\u0041\"")},
    {BYTES("\"\\ud83d\\ud83d\\ude00\"")},
    {BYTES("\"\\ud83d\\ude00\\ude00\"")},
    {BYTES("\"\\ud83d ude00\"")},
    {BYTES("\"\\ud83d\\\"")},
    {BYTES("\"\\ud83d\\ude0\"")},
    {BYTES("\"\\udbff\\ue000\"")},
    {BYTES("{\"\\ud83d\":1}")},
    {BYTES("{\"\\ude00\":1}")},
    /* Arrays. */
    {BYTES("[")},
    {BYTES("]")},
    {BYTES("[1")},
    {BYTES("[1,")},
    {BYTES("[1,]")},
    {BYTES("[,1]")},
    {BYTES("[,]")},
    {BYTES("[1,,2]")},
    {BYTES("[1 2]")},
    {BYTES("[1}")},
    {BYTES("[1]]")},
    {BYTES("[\"a\":1]")},
    {BYTES("[\"a\" \"b\"]")},
    {BYTES("(1)")},
    {BYTES("[tru]")},
    {BYTES("[1.]")},
    /* Objects. */
    {BYTES("{")},
    {BYTES("}")},
    {BYTES("{\"a\"}")},
    {BYTES("{\"a\":}")},
    {BYTES("{\"a\":1,}")},
    {BYTES("{,\"a\":1}")},
    {BYTES("{\"a\":1,,\"b\":2}")},
    {BYTES("{\"a\":1 \"b\":2}")},
    {BYTES("{\"a\" 1}")},
    {BYTES("{\"a\"::1}")},
    {BYTES("{\"a\",1}")},
    {BYTES("{\"a\":1]")},
    {BYTES("{\"a\":1:2}")},
    {BYTES("{\"a\":1;\"b\":2}")},
    {BYTES("{a:1}")},
    {BYTES("{'a':1}")},
    {BYTES("{1:1}")},
    {BYTES("{null:1}")},
    {BYTES("{[]:1}")},
    {BYTES("{:1}")},
    {BYTES("{\"a\nb\":1}")},
    {BYTES("{\"\\u00\":1}")},
    {BYTES("{}{}")},
    {BYTES("{} {}")},
    /* Around values. */
    {BYTES("")},
    {BYTES(",")},
    {BYTES(":")},
    {BYTES("1\0")},
    {BYTES("\0")},
    {BYTES("\0001")},
    {BYTES("[]\0")},
    {BYTES("\v1")},
    {BYTES("\f1")},
    {BYTES("\xc2\xa0"
           "1")},
    {BYTES("\xef\xbb\xbf"
           "1")},
    {BYTES("/**/1")},
    {BYTES("1//\n")},
    {BYTES("1#\n")},
    {BYTES("\\u0031")},
    {BYTES("\x7f")},
    {BYTES("`1`")},
    {BYTES("\"a\"+\"b\"")},
};

TEST_CASE(every_malformed_value_is_a_syntax_error) {
    for (size_t i = 0; i < COUNT(malformed_values); i++) {
        expect_json_value(malformed_values[i].data, malformed_values[i].len,
                          SYNTAX_ERROR);
    }
}

TEST_CASE(a_message_is_one_value_and_nothing_else) {
    static const struct {
        const char *data;
        size_t len;
    } messages[] = {
        {BYTES("")},
        {BYTES(" ")},
        {BYTES("\r\n\t ")},
        {BYTES("\0")},
        {BYTES("<html><body>Bad Gateway</body></html>")},
        {BYTES("\xef\xbb\xbf" HEARTBEAT)},
        {BYTES(HEARTBEAT HEARTBEAT)},
        {BYTES(HEARTBEAT "\n" HEARTBEAT)},
        {BYTES(HEARTBEAT ",")},
        {BYTES(HEARTBEAT "}")},
        {BYTES(HEARTBEAT "]")},
        {BYTES(HEARTBEAT "x")},
        {BYTES(HEARTBEAT "0")},
        {BYTES(HEARTBEAT "\"\"")},
        {BYTES(HEARTBEAT "\0")},
        {BYTES(HEARTBEAT " \0garbage")},
        {BYTES("{}{}")},
        {BYTES("{\"a\"}")},
        {BYTES("{\"type\":\"welcome\",}")},
        {BYTES("}")},
        {BYTES("{{}}")},
        {BYTES("{\"channel\":\"candles\"}x")},
        {BYTES("1 2")},
        {BYTES("-")},
        {BYTES("\"")},
    };
    struct decoding decoding;

    decoding_open(&decoding, 0, 0);
    for (size_t i = 0; i < COUNT(messages); i++) {
        expect_events(messages[i].data, &decoding, messages[i].data,
                      messages[i].len, SYNTAX_ERROR);
    }
    decoding_close(&decoding);
}

/* What is malformed inside of an item that is looked into is so as well. */
TEST_CASE(malformed_levels_and_entries_are_syntax_errors) {
    static const char *const messages[] = {
        BOOK_MESSAGE("UPDATE", "{\"price\"}", ""),
        BOOK_MESSAGE("UPDATE", "{\"price\":\"1\",}", ""),
        BOOK_MESSAGE("UPDATE", "{\"price\":\"1\" \"amount\":\"2\"}", ""),
        BOOK_MESSAGE("UPDATE", "{\"price\":tru,\"amount\":\"2\"}", ""),
        BOOK_MESSAGE("UPDATE", "{\"price\":\"1\\x\",\"amount\":\"2\"}", ""),
        BOOK_MESSAGE("UPDATE", LEVEL("1", "2") LEVEL("3", "4"), ""),
        BOOK_MESSAGE("UPDATE", LEVEL("1", "2") ",", ""),
        BOOK_MESSAGE("UPDATE", "," LEVEL("1", "2"), ""),
        BOOK_MESSAGE("UPDATE", LEVEL("1", "2") "}", ""),
        BOOK_MESSAGE("UPDATE", LEVEL("1\n", "2"), ""),
        "{\"type\":\"subscribe\",\"channels\":[{\"type\"}]}",
        "{\"type\":\"subscribe\",\"channels\":[{\"success\":tru}]}",
        "{\"type\":\"subscribe\",\"channels\":[{\"type\":\"x\",}]}",
        "{\"type\":\"subscribe\",\"channels\":[,]}",
        "{\"type\":\"error\",\"error\":{\"code\"}}",
        "{\"error\":{\"code\":\"X\",}}",
        "{\"channel\":}",
        "{\"channel\":x}",
        "{\"type\":,\"channels\":[]}",
        "{\"type\":\"subscribe\",\"channels\":}",
        "{\"type\":\"subscribe\",\"channels\":x}",
        "{\"channel\":\"heartbeat\",\"payload\":}",
        "{\"channel\":\"heartbeat\",\"payload\":]",
        "{\"channel\":\"market_data\",\"payload\":{\"market\":+}}",
        "{\"channel\":\"market_data\",\"payload\":{\"bids\":,}}",
        "{\"type\":\"error\",\"error\":x}",
        "x",
        "]",
    };

    for (size_t i = 0; i < COUNT(messages); i++) {
        expect_error(messages[i], 0, 0, "JSON_SYNTAX \"\"");
    }
}

/* Any byte in place of any other must be judged alike however it is split;
 * one change never yields two messages. */
TEST_CASE(one_changed_byte_gives_the_same_events_at_every_split) {
    static const char good[] = BOOK_MESSAGE("UPDATE", LEVEL("1", "2"), "");
    static const char bytes[] = "\"\\{}[]:,0-.eu \n\x01\x7f\x80x";
    struct decoding decoding;

    decoding_open(&decoding, 256, 0);
    for (size_t at = 0; at < sizeof good - 1; at++) {
        for (size_t i = 0; i < sizeof bytes; i++) {
            char message[sizeof good];

            memcpy(message, good, sizeof good);
            message[at] = bytes[i];
            expect_events(message, &decoding, message, sizeof good - 1, NULL);
        }
    }
    decoding_close(&decoding);
}

/* A decoder that has read no time yet knows the minute of none. */
TEST_CASE(a_first_time_of_control_characters_is_a_syntax_error) {
    static const char message[] =
        "{\"channel\":\"heartbeat\",\"payload\":{\"timestamp\":\""
        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
        "05Z\"}}";
    struct decoding decoding;

    decoding_open(&decoding, 256, 0);
    expect_events("NULs", &decoding, BYTES(message), SYNTAX_ERROR);
    decoding_close(&decoding);
}

/* ---- Truncation ---- */

TEST_CASE(a_truncated_message_is_an_error_at_every_length) {
    static const char *const messages[] = {
        " " HEARTBEAT,
        BOOK_MESSAGE("UPDATE", LEVEL("1", "2"), LEVEL("3", "4")),
        "{\"payload\":{\"bids\":[" LEVEL(
            "1",
            "2") "],\"market\":\"BTCUSD\",\"type\":\"UPDATE\",\"time\":\"" TIME
                 "\"},\"channel\":\"market_data\"}",
        "{\"channel\":\"execution_data\",\"payload\":{\"market\":\"BTCUSD\","
        "\"price\":\"1\",\"amount\":\"2\",\"executed_at\":\"" TIME "\"}}",
        "{\"channel\":\"candles\",\"payload\":[1.5e3,true,\"\\u0041\"]}",
        "{\"type\":\"error\",\"error\":\"MALFORMED_REQUEST\"}",
        "{\"error\":{\"code\":\"UNKNOWN_ACTION\",\"message\":\"no\"}}",
    };

    for (size_t i = 0; i < COUNT(messages); i++) {
        for (size_t len = 0; len < strlen(messages[i]); len++) {
            struct text message = {0};

            text_add_bytes(&message, messages[i], len);
            expect_error(text_get(&message), 0, 0, "JSON_SYNTAX \"\"");
            text_free(&message);
        }
    }
}

/* ---- Depth ---- */

static void expect_depth(size_t depth, const char *open, const char *close,
                         const char *expected) {
    struct text value = {0};

    for (size_t i = 1; i < depth; i++) { /* the message itself is the first */
        text_add(&value, "%s", open);
    }
    text_add(&value, "0");
    for (size_t i = 1; i < depth; i++) {
        text_add(&value, "%s", close);
    }
    expect_json_value(value.data, value.len, expected);
    text_free(&value);
}

TEST_CASE(nesting_is_capped) {
    static const char good[] = "heartbeat " NS "\n";
    static const char deep[] = "error JSON_DEPTH \"\"\n";

    expect_depth(MST_JSON_DEPTH, "[", "]", good);
    expect_depth(MST_JSON_DEPTH, "{\"x\":", "}", good);
    expect_depth(MST_JSON_DEPTH + 1, "[", "]", deep);
    expect_depth(MST_JSON_DEPTH + 1, "{\"x\":", "}", deep);
    expect_depth(300, "[", "]", deep);
    expect_depth(300, "{\"x\":", "}", deep);
}

TEST_CASE(nesting_is_capped_inside_of_a_level) {
    static const char *const values[] = {
        "[[[[[[[[[[[[]]]]]]]]]]]]", /* 4 containers are open around it */
        "[[[[[[[[[[[[[]]]]]]]]]]]]]",
    };
    static const char *const expected[] = {
        "part BTCUSD " NS " update first last: bid 1 2\n",
        "error JSON_DEPTH \"\" in BTCUSD\n",
    };

    assert_int_equal(MST_JSON_DEPTH, 16);
    for (size_t i = 0; i < COUNT(values); i++) {
        char message[512];

        snprintf(message, sizeof message,
                 BOOK_MESSAGE("UPDATE",
                              "{\"x\":%s,\"price\":\"1\",\"amount\":\"2\"}",
                              ""),
                 values[i]);
        expect_decoded(message, 0, 0, expected[i]);
    }
}

RUN_CASES(NULL, NULL)
