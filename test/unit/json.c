/*
 * All readers of JSON, compared with jansson: messages (with their frames,
 * which must be UTF-8), address records, problems and token responses. All of
 * them accept the same texts, except that a token response must be an object.
 * Members that are ignored must be valid too.
 *
 * JSON_CASES: the number of texts; JSON_SEED: their seed.
 * SPDX-License-Identifier: 0BSD
 */
#define json_string scanner_string /* jansson has this name too */
#include "mini_stream.c"           /* NOLINT(bugprone-suspicious-include) */
#undef json_string

#include "replies.h"
#include "support.h"

#include <jansson.h>

#define TEXT_MAX 4096

/* ---- readers: true if one accepts a text, in pieces of this size ---- */

/* Reads a text frame as a client does. */
static bool message_reads(const uint8_t *text, size_t len, size_t step) {
    static uint8_t buffer[2048], frame[TEXT_MAX + 4];
    static struct mst_decoder decoder;
    static struct mst_ws ws;
    struct mst_event event = {.type = MST_EVENT_NONE};
    size_t head = len < 126 ? 2 : 4, whole = head + len;
    bool taken = false;

    frame[0] = 0x81;
    frame[1] = (uint8_t)(head == 2 ? len : 126);
    frame[2] = (uint8_t)(len >> 8);
    frame[3] = (uint8_t)len;
    if (len > 0) {
        memcpy(frame + head, text, len);
    }
    mst_ws_init(&ws);
    mst_decoder_init(&decoder, buffer, sizeof buffer, 0);
    for (size_t at = 0, used; at < whole; at += used) {
        struct mst_ws_piece piece = {.len = 0};
        int rc =
            mst_ws_read(&ws, frame + at, whole - at < step ? whole - at : step,
                        &used, &piece);
        if (rc < 0) {
            return false;
        }
        if (rc == 1) {
            mst_decoder_feed(&decoder, piece.data, piece.len, piece.last);
        }
        while (rc == 1 && mst_decoder_next(&decoder, &event) == 1) {
            taken |= event.type != MST_EVENT_ERROR ||
                     (event.as.failure.error != MST_ERR_JSON_SYNTAX &&
                      event.as.failure.error != MST_ERR_JSON_DEPTH);
        }
    }
    return taken;
}

static bool record_reads(const uint8_t *text, size_t len, size_t step) {
    static struct mst_tokens tokens;
    struct mst_address address;
    int rc = address_read(text, len, &tokens, &address);

    (void)step;
    return rc != MST_ERR_JSON_SYNTAX && rc != MST_ERR_JSON_DEPTH;
}

static bool problem_reads(const uint8_t *text, size_t len, size_t step) {
    static struct mst_tokens tokens;
    struct mst_problem problem;
    int rc = address_body_read(text, len, problem_fields, COUNT(problem_fields),
                               &tokens, &problem, sizeof problem);

    (void)step;
    return rc != MST_ERR_JSON_SYNTAX && rc != MST_ERR_JSON_DEPTH;
}

static bool reply_reads(const uint8_t *text, size_t len, size_t step) {
    struct link_reply reply;

    return reply_read(200, text, len, step, &reply) == 0;
}

static const struct {
    const char *name;
    bool (*reads)(const uint8_t *text, size_t len, size_t step);
    bool object; /* accepts only objects */
} readers[] = {
    {"message", message_reads, false},
    {"record", record_reads, false},
    {"problem", problem_reads, false},
    {"reply", reply_reads, true},
};

/* Returns 1 if jansson accepts a text, 0 if not, -1 beyond jansson's own
 * limits. */
static int jansson_reads(const char *text, size_t len) {
    json_error_t error;
    json_t *json =
        json_loadb(text, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    enum json_error_code code = json_error_code(&error);
    bool taken = json != NULL;

    json_decref(json);
    return taken ? 1
           : code == json_error_numeric_overflow ||
                   code == json_error_null_byte_in_key
               ? -1
               : 0;
}

/* Expects this result of all readers, for pieces of any size. */
static void expect_read(const char *text, size_t len, bool expected) {
    static const size_t steps[] = {TEXT_MAX + 4, 1, 3, 7};
    const bool object = text[strspn(text, " \t\r\n")] == '{';

    for (size_t r = 0; r < COUNT(readers); r++) {
        bool takes = expected && (object || !readers[r].object);

        for (size_t i = 0; i < COUNT(steps); i++) {
            if (readers[r].reads(guarded(text, len), len, steps[i]) != takes) {
                expect_failed("%s, %zu at a time, should %s: %.*s",
                              readers[r].name, steps[i],
                              takes ? "take" : "refuse", (int)len, text);
                break;
            }
        }
    }
}

/* ---- UTF-8 (RFC 8259, section 8.1) ---- */

TEST_CASE(utf_8_is_checked_everywhere) {
    static const struct {
        const char *name, *bytes;
    } cases[] = {
        {"overlong in 2 bytes", "\xC0\xAF"},
        {"overlong in 3 bytes", "\xE0\x80\xAF"},
        {"overlong in 4 bytes", "\xF0\x80\x80\xAF"},
        {"a surrogate", "\xED\xA0\xBD"},
        {"a surrogate pair", "\xED\xA0\xBD\xED\xB8\x80"},
        {"beyond U+10FFFF", "\xF4\x90\x80\x80"},
        {"5 bytes", "\xF8\x88\x80\x80\x80"},
        {"cut off after 1 of 2", "\xC3"},
        {"cut off after 2 of 3", "\xE2\x82"},
        {"cut off after 3 of 4", "\xF0\x9F\x98"},
        {"a tail alone", "\x80"},
        {"no byte of UTF-8", "\xFF"},
    };
    static const char *const places[] = {
        "\"%s\"",       "{\"%s\":1}",           "{\"a\":\"%s\"}",
        "[1,[\"%s\"]]", "{\"a\":[{\"%s\":0}]}", "[] %s",
        "%s[]",         "\"\\n%s\\n\"",         "{\"a\":\"x%sy\",\"b\":[]}",
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        for (size_t k = 0; k < COUNT(places); k++) {
            const char *text = printed(places[k], cases[i].bytes);

            expect_int(cases[i].name, 0, jansson_reads(text, strlen(text)));
            expect_read(text, strlen(text), false);
        }
    }
    expect_read(BYTES("{\"\xC3\xA9\":\"\xE2\x82\xAC\xF0\x9F\x98\x80\"}"), true);
    expect_read(BYTES("\xEF\xBB\xBF{}"), false); /* a byte order mark */
}

/* ---- strings (RFC 8259, section 7) ---- */

/* In texts that are skipped or read, and in names; at every place, because
 * several bytes are checked in one step. */
TEST_CASE(control_characters_are_refused_in_every_string) {
    static const struct {
        const char *before, *after;
    } places[] = {
        {"\"", "\""},
        {"{\"a\":[\"", "\"]}"},
        {"{\"channel\":\"", "\"}"},
        {"{\"address\":{\"id\":\"", "\"}}"},
        {"{\"error\":\"", "\"}"},
        {"{\"", "\":1}"},
        {"{\"a\":[{\"b\":0,\"", "\":[]}]}"},
    };
    char string[19];

    for (size_t i = 0; i < COUNT(places); i++) {
        for (size_t at = 0; at < sizeof string; at++) {
            for (int c = 0; c <= ' '; c++) {
                struct text *text = text_new();

                memset(string, 'a', sizeof string);
                string[at] = (char)c;
                text_add(text, "%s", places[i].before);
                text_add_bytes(text, string, sizeof string);
                text_add(text, "%s", places[i].after);
                expect_int(places[i].before, c == ' ',
                           jansson_reads(text->data, text->len));
                expect_read(text->data, text->len, c == ' ');
            }
        }
    }
}

/* No other byte begins or ends a name or a text. A message may be refused
 * before its end if a byte could begin another value. */
TEST_CASE(a_quote_is_a_quote) {
    static const char text[] = "{\"channel\":\"news\",\"x\":\"y\"}";
    static const char values[] = "-0123456789tfn[{ \t\r\n";

    expect_read(BYTES(text), true);
    for (size_t i = 0; i + 1 < sizeof text; i++) {
        for (int c = 0; c < 256 && text[i] == '"'; c++) {
            char bad[sizeof text];

            memcpy(bad, text, sizeof text);
            bad[i] = (char)c;
            if (memchr(values, c, sizeof values - 1) == NULL) {
                expect_read(BYTES(bad), c == '"');
            }
        }
    }
}

/* ---- accepted by jsmn, but not JSON ---- */

/* In everything that is read with jsmn: entries, error messages, token
 * responses, records and problems. */
TEST_CASE(what_jsmn_alone_takes_is_refused) {
    static const struct {
        const char *before, *after;
    } objects[] = {
        {"{\"type\":\"subscribe\",\"channels\":[{\"type\":\"heartbeat\"",
         "}]}"},
        {"{\"type\":\"error\",\"error\":\"X\"", "}"},
        {"{\"type\":\"error\",\"error\":{\"code\":\"X\"", "}}"},
        {"{\"access_token\":\"t\",\"token_type\":\"bearer\"", "}"},
        {"{\"address\":{\"id\":\"i\"", "}}"},
        {"{\"title\":\"T\"", "}"},
    };
    static const struct {
        const char *text;
        size_t len;
    } members[] = {
        {BYTES(",\"x\":1")}, /* valid */
        {BYTES(",\"x\"")},
        {BYTES(",\"x\" \"y\"")},
        {BYTES(" \"x\":1")},
        {BYTES(",,\"x\":1")},
        {BYTES(",\"x\":1,")},
        {BYTES(",\"x\"::1")},
        {BYTES(",:1")},
        {BYTES(",x:1")},
        {BYTES(",\"x\":[1 2]")},
        {BYTES(",\"x\":[1,]")},
        {BYTES(",\"x\":[\"a\":1]")},
        {BYTES(",\"x\":01")},
        {BYTES(",\"x\":-")},
        {BYTES(",\"x\":1.2.3")},
        {BYTES(",\"x\":tru")},
        {BYTES(",\"x\":nulls")},
        {BYTES(",\"x\":\"\\ud83d\"")},
        {BYTES(",\"x\":\"\\ude00\\ud83d\"")},
        {BYTES(",\"x\":\"\t\"")},
        {BYTES(",\"x\":\"\xff\"")},
        {BYTES(",x:1")},
        /* jsmn rejects these too. */
        {BYTES(",\"x\":\"\\u12\"")},
        {BYTES(",\"x\":\0\"1\"")},
    };

    for (size_t i = 0; i < COUNT(objects) * COUNT(members); i++) {
        const size_t object = i / COUNT(members), member = i % COUNT(members);
        struct text *text = text_new();
        jsmn_parser parser;
        jsmntok_t found[32];
        bool taken;

        text_add(text, "%s", objects[object].before);
        text_add_bytes(text, members[member].text, members[member].len);
        text_add(text, "%s", objects[object].after);
        jsmn_init(&parser);
        taken =
            jsmn_parse(&parser, text->data, text->len, found, COUNT(found)) > 0;
        expect_int(text->data, member < COUNT(members) - 2, taken);
        expect_int(text->data, member == 0,
                   jansson_reads(text->data, text->len));
        expect_read(text->data, text->len, member == 0);
    }
}

/* ---- nesting (RFC 8259, section 9) ---- */

TEST_CASE(nesting_has_a_limit_in_every_reader) {
    static const size_t depths[] = {
        1, MST_JSON_DEPTH - 1, MST_JSON_DEPTH, MST_JSON_DEPTH + 1, 33, 300};
    static const char *const kinds[][2] = {{"[", "]"}, {"{\"x\":", "}"}};

    for (size_t i = 0; i < COUNT(depths) * COUNT(kinds); i++) {
        const char *const *kind = kinds[i % COUNT(kinds)];
        size_t depth = depths[i / COUNT(kinds)];
        const char *text = printed("%s0%s", repeated(kind[0], depth),
                                   repeated(kind[1], depth));

        expect_read(text, strlen(text), depth <= MST_JSON_DEPTH);
    }
}

/* ---- generated texts ---- */

static const char *const scalars[] = {
    /* Numbers. */
    "0", "-0", "7", "-12", "0.5", "-1.25", "3e5", "4E-2", "6e+1",
    /* Literals. */
    "true", "false", "null",
    /* Strings. */
    "\"\"", "\"abc\"", "\"\\\"\\\\\\/\"", "\"\\b\\f\\n\\r\\t\"",
    "\"\\u0041\\u00e9\"", "\"\\ud83d\\ude00\"", "\"\\u0000\"",
    "\"\xC3\xA9\xE2\x82\xAC\"", "\"\xF0\x9F\x98\x80\""};
static const char *const spaces[] = {"", "", "", " ", "\n\t", "\r"};
static const char *const keys[] = {"\"a\"", "\"\"", "\"k\\u0041\"",
                                   "\"\xC3\xA9\"", "\"\\ud83d\\ude00\""};

#define PICK(seed, array) (array)[random_below(seed, COUNT(array))]

/* Adds a value, with white space around its tokens. Open containers are on a
 * stack: '[' or '{'. */
static void value_add(struct text *text, uint64_t *seed) {
    char open[8];
    size_t depth = 0;

    do {
        bool first = false;

        if (depth < sizeof open && random_below(seed, 3) == 0) {
            open[depth] = random_below(seed, 2) ? '[' : '{';
            text_add(text, "%c%s", open[depth++], PICK(seed, spaces));
            first = true;
        } else {
            text_add(text, "%s%s", PICK(seed, scalars), PICK(seed, spaces));
        }
        while (depth > 0 && random_below(seed, 5) < 2) {
            text_add(text, "%c%s", open[--depth] == '[' ? ']' : '}',
                     PICK(seed, spaces));
            first = false;
        }
        if (depth > 0) {
            text_add(text, "%s%s", first ? "" : ",", PICK(seed, spaces));
            if (open[depth - 1] == '{') {
                text_add(text, "%s%s:%s", PICK(seed, keys), PICK(seed, spaces),
                         PICK(seed, spaces));
            }
        }
    } while (depth > 0 && text->len < TEXT_MAX / 2);
}

/* Changes a text at one place: adds, removes or replaces bytes or a token,
 * repeats the beginning, or cuts off the rest. */
static void text_damage(struct text *text, uint64_t *seed) {
    static const char *const tokens[] = {
        /* Of JSON. */
        ",", ":", "[", "]", "{", "}", "\"", "\\", "-", "+", ".", "0", "1", "e",
        "E", "u", "\\u", "\\ud83d", "\\ude00", "tru", "null",
        /* White space, and other bytes. */
        " ", "\f", "\x01", "\x7F",
        /* Incomplete and invalid UTF-8. */
        "\x80", "\xC3", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xC0\x80",
        /* From other languages. */
        "/*x*/", "'", "NaN", "Infinity", "//", "\xEF\xBB\xBF"};
    size_t at = random_below(seed, (uint32_t)text->len + 1);
    size_t most = text->len - at;
    size_t gone = random_below(seed, 3) == 0 ? most < 2 ? most : 1 : 0;
    struct text changed = {0};

    text_add_bytes(&changed, text_get(text), at);
    switch (random_below(seed, 8)) {
    case 0: gone = most; break;
    case 1: gone = most < 4 ? most : random_below(seed, 4); break;
    case 2:
        text_add_bytes(&changed, text_get(text), most < at ? most : 0);
        break;
    default: text_add(&changed, "%s", PICK(seed, tokens));
    }
    text_add_bytes(&changed, text_get(text) + at + gone, most - gone);
    text_free(text);
    *text = changed;
}

TEST_CASE(generated_texts_are_judged_as_jansson_judges_them) {
    uint64_t cases = setting("JSON_CASES", 20000);
    uint64_t seed = setting("JSON_SEED", 8259), valid = 0, invalid = 0;
    struct text *text = text_new();

    for (uint64_t i = 0; i < cases; i++) {
        int expected;

        text_clear(text);
        value_add(text, &seed);
        for (uint32_t n = random_below(&seed, 4); n > 0; n--) {
            text_damage(text, &seed);
        }
        expected = jansson_reads(text_get(text), text->len);
        if (expected >= 0 && text->len < TEXT_MAX) {
            expect_read(text_get(text), text->len, expected == 1);
            valid += expected == 1;
            invalid += expected == 0;
        }
    }
    if (valid < cases / 5 || invalid < cases / 5) {
        expect_failed("%d valid and %d invalid texts", (int)valid,
                      (int)invalid);
    }
}

RUN_CASES(NULL, NULL)
