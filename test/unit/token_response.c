/*
 * Responses of the token endpoint by themselves: what is kept while they
 * arrive, how it is used, and what remains in a token's storage.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mini_stream.c" /* NOLINT(bugprone-suspicious-include) */

#include "replies.h"
#include "support.h"

/* Reads a response with a token. Returns 0 or an error. After 0 its storage
 * contains the token and nothing else. */
static int take_token(const struct text *text, size_t step, uint32_t *life_ms) {
    struct link_reply r;
    int rc = reply_read(200, (const uint8_t *)text->data, text->len, step, &r);

    *life_ms = TIMER_NONE;
    rc = rc == 0 ? link_reply_take(&reply_link, &r, life_ms) : rc;
    for (size_t i = r.token.len; rc == 0 && i < sizeof reply_room; i++) {
        assert_int_equal(reply_room[i], 0);
    }
    return rc;
}

/* Adds a member with a text of this length. */
static void add_long(struct text *text, const char *name, size_t len) {
    const char *member = printed(",\"%s\":\"%s\"", name, repeated("a", len));

    text_add_bytes(text, member, strlen(member));
}

TEST_CASE(a_token_response_may_be_cut_anywhere) {
    struct text *text = text_new(), *begin = text_new();
    uint32_t life_ms;

    text_add(text, " {\"scope\":\"a b\",\"id_token\":\"\\u20ac\", \"x\":[{"
                   "\"access_token\":\"no\"}],\"access\\u005ftoken\" :"
                   "\"t\\/\\u002b\\\"\" , \"error\":{},\"token_type\":"
                   "\"Bea\\u0072er\",\"expires_in\":3.6e3 } ");
    for (size_t step = 1; step <= text->len; step++) {
        expect_int("in pieces", 0, take_token(text, step, &life_ms));
        expect_text("in pieces", "t/+\"", reply_room);
        expect_int("in pieces", 3600000, life_ms);
        text_clear(begin);
        text_add_bytes(begin, text->data, step);
        expect_int(begin->data, step < text->len - 1 ? MST_ERR_TOKEN_SHAPE : 0,
                   take_token(begin, step, &life_ms));
    }
}

/* Begins an object with a token of this length. The first bytes are escaped. */
static void add_token(struct text *text, size_t len, size_t escaped) {
    text_clear(text);
    text_add(text, "{\"token_type\":\"bearer\",\"access_token\":\"");
    for (size_t i = 0; i < len; i++) {
        text_add_bytes(text, "\\/", i < escaped ? 2 : 1);
        text->data[text->len - 1] = '/';
    }
    text_add(text, "\"");
}

/* Ends the object. Expects this length of the token, or this error. */
static void expect_token(struct text *text, int expected) {
    uint32_t life_ms;
    int rc;

    text_add(text, "}");
    rc = take_token(text, 100, &life_ms);
    expect_int(text->data, expected, rc == 0 ? (int)strlen(reply_room) : rc);
}

/* Stored bytes of a relevant member besides its value. */
#define MARK 2
/* Stored bytes of two members, one of them a token, without its text. */
#define KEPT (MARK + sizeof("\"bearer\"") - 1 + MARK + 2)

TEST_CASE(what_counts_in_a_token_response_has_a_limit) {
    struct text *text = text_new();

    for (size_t over = 0; over < 2; over++) {
        int error = MST_ERR_TOKEN_TOO_LARGE;

        add_token(text, MST_TOKEN_MAX + over, 0);
        expect_token(text, over > 0 ? error : MST_TOKEN_MAX);
        /* Including the NUL after it, all relevant members fill the storage. */
        add_token(text, MST_TOKEN_MAX,
                  MST_TOKEN_ROOM - 1 - KEPT - MST_TOKEN_MAX + over);
        expect_token(text, over > 0 ? error : MST_TOKEN_MAX);
        add_token(text, 1, 0);
        add_long(text, "scope",
                 MST_TOKEN_ROOM - 1 - KEPT - 1 - (MARK + 2) + over);
        expect_token(text, over > 0 ? error : 1);
    }
}

/* Ignored members may have any length, others what the token leaves. */
TEST_CASE(other_members_may_be_long) {
    static const struct {
        const char *name;
        size_t len, token;
        int expected;
    } cases[] = {
        {"id_token", 4096, 1, 1},
        {"id_token", 4096, MST_TOKEN_MAX, MST_TOKEN_MAX},
        {"id_token", MST_BODY_MAX, MST_TOKEN_MAX, MST_TOKEN_MAX},
        {"error", 600, MST_TOKEN_MAX, MST_TOKEN_MAX},
        {"scope", 600, MST_TOKEN_MAX, MST_TOKEN_MAX},
        {"scope", 600, 200, 200},
        {"scope", 4000, 200, 200},
        {"scope", 4000, MST_TOKEN_MAX, MST_ERR_TOKEN_TOO_LARGE},
        {"token_type", 4096, MST_TOKEN_MAX, MST_ERR_TOKEN_TOO_LARGE},
        {"expires_in", 4096, MST_TOKEN_MAX, MST_ERR_TOKEN_TOO_LARGE},
    };
    struct text *text = text_new();

    for (size_t i = 0; i < COUNT(cases); i++) {
        add_token(text, cases[i].token, 0);
        add_long(text, cases[i].name, cases[i].len);
        expect_token(text, cases[i].expected);
    }
}

TEST_CASE(a_lifetime_may_be_any_number) {
    static const struct {
        int64_t life_ms; /* negative: an error */
        const char *values[14];
    } cases[] = {
        {3600000,
         {"3600", "\"3600\"", "\"3.6e3\"", "3600.999", "36e2", "360000e-2"}},
        {60000, {"\"\\u0036\\u0030\""}},
        {0,
         {"0", "-0", "0.9", "\"0.0\"", "0e99", "1e-99", "-1", "-3600.5",
          "-1e99", "\"-1\"", "0e10000000"}},
        {86400000,
         {"86400", "86401", "4294967296", "9223372036854775808",
          "18446744073709551616", "100000000000000000000000000000000000000000",
          "1e30", "1e99", "1E+400", "8.64E4", "864e+2"}},
        {12000, {"0.00012e5", "125e-1"}},
        {125000, {"12.5e1"}},
        {TIMER_NONE, {"null"}},
        {MST_ERR_TOKEN_SHAPE,
         {"\"\"", "\"1 \"", "\"01\"", "\"1.\"", "\"1e\"", "\"-\"",
          "\"1\\u0000\"", "\"x\"", "\"1s\"", "\" 1\"", "true", "[]",
          "{\"s\":1}"}},
    };
    struct text *text = text_new();

    for (size_t i = 0; i < COUNT(cases); i++) {
        for (const char *const *value = cases[i].values; *value != NULL;
             value++) {
            uint32_t life_ms;
            int rc;

            add_token(text, 1, 0);
            text_add(text, ",\"expires_in\":%s}", *value);
            rc = take_token(text, 1, &life_ms);
            expect_int(*value, cases[i].life_ms,
                       rc == 0 ? (long long)life_ms : rc);
        }
    }
}

/* Only the error of a refusal is kept. */
TEST_CASE(only_what_counts_is_kept) {
    static const struct {
        int status, expected;
        const char *body, *kept; /* up to the string's end */
    } cases[] = {
        {400, 0, "{\"access_token\":\"t\", \"error\" : \"e\" ,\"x\":[]}",
         "\4\"e"},
        {401, 0, "{\"error\":{\"error\":[1]},\"scope\":7}",
         "\4{\"error\":[1]}"},
        {400, 0, "{}", ""},
        {200, 0, "{\"error\":\"e\",\"x\":0}", "\4\"e"},
        {200, 0, "{\"x\":{\"scope\":\"s\"},\"scope\":\"s\"}", "\3\"s"},
        {400, MST_ERR_TOKEN_SHAPE, "{\"error\":1,\"error\":2}", "\0041"},
        {400, MST_ERR_TOKEN_SHAPE, "{\"error\":null,\"error\":2}", "\4null"},
        {200, MST_ERR_TOKEN_SHAPE, "[\"access_token\"]", ""},
        {200, MST_ERR_TOKEN_SHAPE, "\"access_token\"", ""},
        {200, MST_ERR_TOKEN_SHAPE, "", ""},
        {200, MST_ERR_TOKEN_SHAPE, "{\"x\":0}}", ""},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct link_reply r;

        expect_int(cases[i].body, cases[i].expected,
                   reply_read(cases[i].status, (const uint8_t *)cases[i].body,
                              strlen(cases[i].body), 1, &r));
        expect_text(cases[i].body, cases[i].kept, reply_room + 1);
    }
}

RUN_CASES(NULL, NULL)
