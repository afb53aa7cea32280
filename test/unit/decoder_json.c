/*
 * Tests of the decoder: JSON (RFC 8259) is validated before it is used.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "support.h"

#define SYNTAX_ERROR "error JSON_SYNTAX \"\"\n"

/* Decodes a heartbeat with another member of this value. */
static void expect_json_value(const char *value, size_t len,
                              const char *expected) {
    struct text *message = text_new();

    text_add(message, "{\"x\":");
    text_add_bytes(message, value, len);
    text_add(message, ",\"channel\":\"heartbeat\",\"payload\":%s}",
             HEARTBEAT_PAYLOAD);
    expect_events(text_get(message), decoding_new(256, 0), message->data,
                  message->len, expected);
}

TEST_CASE(every_valid_value_is_taken) {
    static const char *const values[] = {
        /* Numbers. */
        "0", "-0", "1", "-1", "10", "1234567890123456789012345678901234567890",
        "0.0", "-0.5", "1.0123456789", "1e1", "1E1", "1e+1", "1e-1", "0e0",
        "1.5e0001", "1e999999",
        /* Literals. */
        "true", "false", "null",
        /* Strings. */
        "\"\"", "\"a\"", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
        "\"\\u0000\\u001f\\u0041\\uABCD\\uabcd\\uFFFF\"", "\"\\ud83d\\ude00\"",
        "\"\\uD800\\uDC00\\udbff\\udfff\\ud7ff\\ue000\"",
        "{\"\\ud83d\\ude00\":1}", "\"\x7f\"",
        "\"\xc2\x80\xe0\xa0\x80\xf0\x90\x80\x80\xe2\x80\xa8\"",
        /* Arrays. */
        "[]", "[ ]", "[\n1\t,\r2 ]", "[[],[[]]]",
        /* Objects. */
        "{}", "{ }", "{\"\":{}}", "{\"a\" : 1 , \"b\" : [ ] }",
        "{\"a\":1,\"a\":1}",
        /* All kinds. */
        "[1,\"a\",true,false,null,{},[]]"};

    for (size_t i = 0; i < COUNT(values); i++) {
        expect_json_value(values[i], strlen(values[i]), "heartbeat " NS "\n");
    }
}

TEST_CASE(every_malformed_value_is_a_syntax_error) {
    static const char *const values[] = {
        /* Literals. */
        "tru", "truee", "True", "TRUE", "fals", "falsy", "nul", "nulll", "nil",
        "undefined", "NaN", "Infinity", "-Infinity", "t", "x",
        /* Numbers. */
        "01", "00", "-01", "1.", "1.e1", ".1", "-", "-.1", "-a", "+1", "--1",
        "1e", "1e+", "1e-", "1e1.5", "1E++1", "1.2.3", "1 2", "1a", "0x10",
        "1_000", "1-", "0-1",
        /* Strings. */
        "'a'", "\"a\"b", "\"a\"\"b\"", "\"a", "a\"", "\"a\nb\"", "\"a\tb\"",
        "\"a\rb\"", "\"\x01\"", "\"\x1f\"", "\"\\a\"", "\"\\x41\"", "\"\\'\"",
        "\"\\0\"", "\"\\N\"", "\"\\U0041\"", "\"\\u\"", "\"\\u004\"",
        "\"\\u004g\"", "\"\\u 041\"", "\"\\u+041\"", "\"\\u{41}\"", "\"\\\"",
        "\"\\\n\"",
        /* Halves of surrogate pairs (section 8.2). */
        "\"\\ud83d\"", "\"\\ude00\"", "\"\\ude00\\ud83d\"", "\"\\ud83dx\"",
        "\"\\ud83d\\n\"", "\"\\ud83d\\u0041\"", "\"\\ud83d\\ud83d\\ude00\"",
        "\"\\ud83d\\ude00\\ude00\"", "\"\\ud83d ude00\"", "\"\\ud83d\\\"",
        "\"\\ud83d\\ude0\"", "\"\\udbff\\ue000\"", "{\"\\ud83d\":1}",
        "{\"\\ude00\":1}",
        /* Arrays. */
        "[", "]", "[1", "[1,", "[1,]", "[,1]", "[,]", "[1,,2]", "[1 2]", "[1}",
        "[1]]", "[\"a\":1]", "[\"a\" \"b\"]", "(1)", "[tru]", "[1.]",
        /* Objects. */
        "{", "}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,\"a\":1}",
        "{\"a\":1,,\"b\":2}", "{\"a\":1 \"b\":2}", "{\"a\" 1}", "{\"a\"::1}",
        "{\"a\",1}", "{\"a\":1]", "{\"a\":1:2}", "{\"a\":1;\"b\":2}", "{a:1}",
        "{'a':1}", "{1:1}", "{null:1}", "{[]:1}", "{:1}", "{\"a\nb\":1}",
        "{\"\\u00\":1}", "{}{}", "{} {}",
        /* Outside of values. */
        "", ",", ":", "\v1", "\f1",
        ("\xc2\xa0"
         "1"),
        ("\xef\xbb\xbf"
         "1"),
        "/**/1", "1//\n", "1#\n", "\\u0031", "\x7f", "`1`", "\"a\"+\"b\""};

    for (size_t i = 0; i < COUNT(values); i++) {
        expect_json_value(values[i], strlen(values[i]), SYNTAX_ERROR);
    }
    expect_json_value(BYTES("\"a\0b\""), SYNTAX_ERROR);
    expect_json_value(BYTES("\"\\\0\""), SYNTAX_ERROR);
    expect_json_value(BYTES("1\0"), SYNTAX_ERROR);
    expect_json_value(BYTES("\0"), SYNTAX_ERROR);
    expect_json_value(BYTES("\0001"), SYNTAX_ERROR);
    expect_json_value(BYTES("[]\0"), SYNTAX_ERROR);
}

TEST_CASE(a_message_is_one_value_and_nothing_else) {
    static const char *const messages[] = {
        /* More than one. */
        "\xef\xbb\xbf" HEARTBEAT, HEARTBEAT HEARTBEAT, HEARTBEAT "\n" HEARTBEAT,
        HEARTBEAT ",", HEARTBEAT "}", HEARTBEAT "]", HEARTBEAT "x",
        HEARTBEAT "0", HEARTBEAT "\"\"", "{}{}",
        /* None, or an incomplete one. */
        "", " ", "\r\n\t ", "<html><body>Bad Gateway</body></html>", "{\"a\"}",
        "{\"type\":\"welcome\",}", "}", "{{}}", "{\"channel\":\"candles\"}x",
        "1 2", "-", "\""};
    struct decoding *decoding = decoding_new(0, 0);

    for (size_t i = 0; i < COUNT(messages); i++) {
        expect_events(messages[i], decoding, messages[i], strlen(messages[i]),
                      SYNTAX_ERROR);
    }
    expect_events("NUL", decoding, BYTES("\0"), SYNTAX_ERROR);
    expect_events("NUL", decoding, BYTES(HEARTBEAT "\0"), SYNTAX_ERROR);
    expect_events("NUL", decoding, BYTES(HEARTBEAT " \0garbage"), SYNTAX_ERROR);
}

/* Malformed JSON within an item that is decoded is an error too. */
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

/* Any byte in place of any other gives the same result at every split, and
 * never two messages. */
TEST_CASE(one_changed_byte_gives_the_same_events_at_every_split) {
    static const char good[] = BOOK_MESSAGE("UPDATE", LEVEL("1", "2"), "");
    static const char bytes[] = "\"\\{}[]:,0-.eu \n\x01\x7f\x80x";
    struct decoding *decoding = decoding_new(256, 0);

    for (size_t at = 0; at < sizeof good - 1; at++) {
        for (size_t i = 0; i < sizeof bytes; i++) {
            char message[sizeof good];

            memcpy(message, good, sizeof good);
            message[at] = bytes[i];
            expect_events(message, decoding, message, sizeof good - 1, NULL);
        }
    }
}

/* A decoder that has read no time yet remembers no minute. */
TEST_CASE(a_first_time_of_control_characters_is_a_syntax_error) {
    static const char message[] =
        HEARTBEAT_WITH("{\"timestamp\":\"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                       "05Z\"}");

    expect_events("NULs", decoding_new(256, 0), BYTES(message), SYNTAX_ERROR);
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
        EXECUTION("1", "2"),
        "{\"channel\":\"candles\",\"payload\":[1.5e3,true,\"\\u0041\"]}",
        "{\"type\":\"error\",\"error\":\"MALFORMED_REQUEST\"}",
        "{\"error\":{\"code\":\"UNKNOWN_ACTION\",\"message\":\"no\"}}",
    };

    for (size_t i = 0; i < COUNT(messages); i++) {
        for (size_t len = 0; len < strlen(messages[i]); len++) {
            expect_error(printed("%.*s", (int)len, messages[i]), 0, 0,
                         "JSON_SYNTAX \"\"");
        }
    }
}

/* ---- Depth ---- */

static void expect_depth(size_t depth, const char *open, const char *close,
                         const char *expected) {
    size_t inner = depth - 1; /* the message is the first level */
    const char *value =
        printed("%s0%s", repeated(open, inner), repeated(close, inner));

    expect_json_value(value, strlen(value), expected);
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
        "[[[[[[[[[[[[]]]]]]]]]]]]", /* in 4 open containers */
        "[[[[[[[[[[[[[]]]]]]]]]]]]]",
    };
    static const char *const expected[] = {
        "part BTCUSD " NS " update first last: bid 1 2\n",
        "error JSON_DEPTH \"\" in BTCUSD\n",
    };

    assert_int_equal(MST_JSON_DEPTH, 16);
    for (size_t i = 0; i < COUNT(values); i++) {
        expect_decoded(
            printed(BOOK_MESSAGE("UPDATE",
                                 "{\"x\":%s,\"price\":\"1\",\"amount\":\"2\"}",
                                 ""),
                    values[i]),
            0, 0, expected[i]);
    }
}

RUN_CASES(NULL, NULL)
