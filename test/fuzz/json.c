/*
 * A fuzz target: JSON (RFC 8259), after a byte that selects a test and one that
 * says how it is cut. The scanner accepts what jansson accepts, whole and in
 * pieces, and if it is led into containers, and reads the same numbers and
 * texts. So does the reader of address records. Small objects are read with few
 * tokens as with enough for all. jansson reads what is written.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mini_stream.c" /* NOLINT(bugprone-suspicious-include) */

#include "fuzz.h"

/* The library has a function of this name. */
#define json_string jansson_string
#include <jansson.h>
#undef json_string

static struct mst_tokens tokens;

#define INPUT_MAX 4096

/* ---- jansson ---- */

/* Its memory is released all at once. */
static struct {
    size_t used;
    _Alignas(16) unsigned char bytes[4 << 20];
} heap;

static void *heap_take(size_t len) {
    void *at = heap.bytes + heap.used;

    heap.used += (len + 15) & ~(size_t)15;
    FUZZ_EXPECT(heap.used <= sizeof heap.bytes);
    return at;
}

static void heap_leave(void *at) {
    (void)at;
}

/* It may refuse what the library accepts: numbers that are no double, a NUL in
 * a key. */
static bool is_excused(const json_error_t *error) {
    enum json_error_code code = json_error_code(error);

    return code == json_error_numeric_overflow ||
           code == json_error_null_byte_in_key;
}

/* Reads a value, or returns NULL; sets *refused if it is not JSON. (jansson
 * ignores a NUL after a number, but JSON has none.) */
static json_t *reference(const uint8_t *data, size_t len, bool *refused) {
    const size_t flags =
        JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL;
    json_error_t error;
    json_t *value;

    heap.used = 0;
    *refused = len > 0 && memchr(data, '\0', len) != NULL;
    if (*refused) {
        return NULL;
    }
    json_set_alloc_funcs(heap_take, heap_leave);
    json_object_seed(1);
    value = json_loadb((const char *)data, len, flags, &error);
    *refused = value == NULL && !is_excused(&error);
    return value;
}

/* ---- The scanner ---- */

/* Reads a piece: 0 or an error. If led, the scanner enters all containers. */
static int scan_piece(struct mst_json *j, bool led, const uint8_t *data,
                      size_t len) {
    size_t at = 0;
    int rc = JSON_CLOSE;

    while (rc > 0) {
        size_t before = at;

        rc = json_next(j, data, len, &at);
        FUZZ_EXPECT(at <= len && at >= before && j->depth <= MST_JSON_DEPTH);
        FUZZ_EXPECT(j->key_len <= JSON_KEY_OTHER);
        if (rc == JSON_VALUE && led && (data[at] == '{' || data[at] == '[')) {
            int error = json_open(j, data[at++] == '[');
            rc = error < 0 ? error : rc;
        } else if (rc == JSON_VALUE) {
            (void)json_take(j, led ? JSON_TAKE : JSON_SKIP);
        }
    }
    FUZZ_EXPECT(rc < 0 || at == len);
    return rc;
}

/* Returns 0 for a whole value, MST_ERR_JSON_SYNTAX or MST_ERR_JSON_DEPTH. */
static int scan(bool led, uint8_t how, const uint8_t *data, size_t len) {
    struct mst_json j = {0};
    size_t at = 0;
    int rc = 0;

    while (rc == 0 && at < len) {
        size_t n = fuzz_piece(how, at, len);

        rc = scan_piece(&j, led, fuzz_put(data + at, n), n);
        at += n;
    }
    FUZZ_EXPECT(rc == 0 || rc == MST_ERR_JSON_SYNTAX ||
                rc == MST_ERR_JSON_DEPTH);
    return rc == 0 && !json_whole(&j) ? MST_ERR_JSON_SYNTAX : rc;
}

/* ---- Values ---- */

/* The library's text of a string must be jansson's, except that NUL becomes
 * U+FFFD. */
static void compare_text(const json_t *value, const char *text, size_t len) {
    size_t expected = json_string_length(value);

    if (strlen(json_string_value(value)) == expected) {
        FUZZ_EXPECT(len == expected &&
                    memcmp(text, json_string_value(value), len) == 0);
    }
}

static void compare_number(const json_t *value, const uint8_t *data,
                           size_t len) {
    struct mst_decimal decimal;
    double expected = json_real_value(value), got;
    int rc = mst_decimal_parse((const char *)data, len, &decimal);

    FUZZ_EXPECT(rc == 0 || rc == MST_ERR_DECIMAL_WIDE);
    if (rc == 0) {
        double error = (expected < 0 ? -expected : expected) *
                       (decimal.inexact ? 1e-15 + 1e-17 : 1e-15);

        got = mst_decimal_to_double(decimal);
        FUZZ_EXPECT(got >= expected - error && got <= expected + error);
    }
}

/* Compares a value if no white space surrounds it. */
static void compare_scalar(const json_t *value, const uint8_t *data,
                           size_t len) {
    static char scratch[INPUT_MAX];
    struct json_text text;

    if (json_is_real(value) && !json_is_space(data[0]) &&
        !json_is_space(data[len - 1])) {
        compare_number(value, data, len);
    } else if (json_is_string(value) && data[0] == '"' &&
               data[len - 1] == '"') {
        text = json_scalar((const char *)data, len, scratch, sizeof scratch);
        FUZZ_EXPECT(text.string && !text.cut);
        compare_text(value, text.at, text.len);
    }
}

/* ---- Tests ---- */

static void test_scan(uint8_t how, const uint8_t *data, size_t len) {
    bool refused, whole, utf8 = fuzz_utf8(data, len, &whole) == len && whole;
    struct mst_decimal decimal;
    json_t *value;
    int rc = scan(false, 0, data, len);

    FUZZ_EXPECT(utf8 == utf8_is((const char *)data, len));
    FUZZ_EXPECT(scan(false, how, data, len) == rc);
    FUZZ_EXPECT(scan(true, how, data, len) == rc);
    if (len > 0 && (data[0] == '-' || decimal_is_digit((char)data[0])) &&
        !json_is_space(data[len - 1])) {
        FUZZ_EXPECT((mst_decimal_parse((const char *)data, len, &decimal) !=
                     MST_ERR_DECIMAL) == (rc == 0));
    }
    if (!utf8 || rc == MST_ERR_JSON_DEPTH) {
        return;
    }
    value = reference(data, len, &refused);
    FUZZ_EXPECT(rc == 0 ? !refused : value == NULL);
    if (value != NULL) {
        compare_scalar(value, data, len);
    }
}

static void compare_member(const json_t *record, const char *name,
                           const char *text) {
    const json_t *value = json_object_get(record, name);

    FUZZ_EXPECT(value == NULL || json_is_null(value) || json_is_string(value));
    if (json_is_string(value)) {
        compare_text(value, text, strlen(text));
    } else {
        FUZZ_EXPECT(text[0] == '\0');
    }
}

static void test_address(const uint8_t *data, size_t len) {
    struct mst_address address;
    int rc = address_read(data, len, &tokens, &address);
    bool refused;
    const json_t *value = reference(data, len, &refused), *record;

    if (rc != 0) {
        FUZZ_EXPECT(address.id[0] == '\0' && address.nickname[0] == '\0');
        FUZZ_EXPECT(rc != MST_ERR_JSON_SYNTAX || value == NULL);
        return;
    }
    FUZZ_EXPECT(!refused);
    if (value != NULL) {
        record = json_object_get(value, "address");
        compare_member(record, "id", address.id);
        compare_member(record, "crypto_network", address.network);
        compare_member(record, "address", address.address);
        compare_member(record, "nickname", address.nickname);
        compare_member(record, "status", address.status);
        FUZZ_EXPECT(address.bookmarked ==
                    json_is_true(json_object_get(record, "bookmarked")));
    }
}

/* Texts for a log must be UTF-8 without control characters. */
static void expect_label(const char *text, size_t room) {
    size_t len = strnlen(text, room);

    FUZZ_EXPECT(len < room && text_is_field(text));
    FUZZ_EXPECT(utf8_is(text, len));
}

static void test_problem(const uint8_t *data, size_t len) {
    struct mst_problem p;

    address_problem_read(data, len, &tokens, &p);
    expect_label(p.title, sizeof p.title);
    expect_label(p.detail, sizeof p.detail);
    FUZZ_EXPECT(p.status == 0 || (p.status >= 100 && p.status < 600));
}

/* ---- Small objects ---- */

static const struct {
    const struct object_field *fields;
    unsigned count;
} tables[] = {
    {message_entry_fields, COUNT_OF(message_entry_fields)},
    {message_service_fields, COUNT_OF(message_service_fields)},
    {address_fields, COUNT_OF(address_fields)},
    {problem_fields, COUNT_OF(problem_fields)},
};

/* The results of reading an object. */
struct made {
    int rc;
    struct object o;
    union {
        struct mst_said said;
        struct mst_address address;
        struct mst_problem problem;
    } record;
    char text[INPUT_MAX];
};

static void make_begin(struct made *m, size_t table, const uint8_t *data,
                       size_t len) {
    memset(m, 0, sizeof *m);
    memcpy(m->text, data, len);
    m->o.fields = tables[table].fields;
    m->o.count = tables[table].count;
    m->o.convert = address_convert;
    m->o.text = m->text;
}

/* Reads the object with a token for every byte. */
static void make_with_all(struct made *m, size_t len) {
    static jsmntok_t all[INPUT_MAX];
    jsmn_parser parser;
    int count;

    jsmn_init(&parser);
    count = jsmn_parse(&parser, m->text, len, all, INPUT_MAX);
    m->rc = count < 1 || all[0].type != JSMN_OBJECT
                ? MST_ERR_MESSAGE_SHAPE
                : object_members(&m->o, all, count, &m->record);
    for (unsigned i = 0; m->rc == 0 && i < m->o.count; i++) {
        bool needed = (m->o.fields[i].flags & OBJECT_NEEDED) != 0;
        m->rc = needed && (m->o.set & BIT(i)) == 0 ? MST_ERR_MESSAGE_SHAPE : 0;
    }
}

static void compare_made(const struct made *few, const struct made *all) {
    FUZZ_EXPECT(few->rc == all->rc && few->o.seen == all->o.seen &&
                few->o.set == all->o.set);
    FUZZ_EXPECT(memcmp((const char *)&few->record, (const char *)&all->record,
                       sizeof few->record) == 0);
}

static void test_objects(const uint8_t *data, size_t len) {
    static struct made few, all;

    for (size_t t = 0; json_check(data, len) == 0 && t < COUNT_OF(tables);
         t++) {
        make_begin(&few, t, data, len);
        few.rc = object_read(&few.o, few.text, len, &tokens, &few.record);
        make_begin(&all, t, data, len);
        make_with_all(&all, len);
        compare_made(&few, &all);
    }
}

/* Writes a text, also through windows; jansson must read it. */
static void test_write(uint8_t how, const uint8_t *data, size_t len) {
    static char text[INPUT_MAX + 1], out[6 * INPUT_MAX + 2];
    static uint8_t window[sizeof out];
    struct out all = {(uint8_t *)out, sizeof out, 0, 0};
    bool refused, whole;
    json_t *value;

    memcpy(text, data, len);
    text[len] = '\0';
    len = strlen(text);
    json_write_string(&all, text);
    FUZZ_EXPECT(all.len <= sizeof out);
    for (size_t at = 0; how > 0 && at < all.len; at += how) {
        struct out part = {window, how, at, 0};
        size_t n = all.len - at < how ? all.len - at : how;

        json_write_string(&part, text);
        FUZZ_EXPECT(part.len == all.len);
        FUZZ_EXPECT(memcmp(window, out + at, n) == 0);
    }
    FUZZ_EXPECT(scan(false, how, (const uint8_t *)out, all.len) == 0);
    if (fuzz_utf8(data, len, &whole) == len && whole) {
        value = reference((const uint8_t *)out, all.len, &refused);
        FUZZ_EXPECT(value != NULL && json_string_length(value) == len);
        compare_text(value, text, len);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    uint8_t what, how;

    if (len < 2 || len > INPUT_MAX) {
        return 0;
    }
    what = data[0];
    how = data[1];
    data += 2;
    len -= 2;
    switch (what % 8) {
    case 0: test_address(data, len); break;
    case 1: test_problem(data, len); break;
    case 2: test_write(how, data, len); break;
    case 3: test_objects(data, len); break;
    default: test_scan(how, data, len); break;
    }
    return 0;
}
