/*
 * The tables of small objects, each with every kind of wrong value, and any
 * number of members. The reasons to refuse a message, a record or a problem are
 * the same.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mini_stream.c" /* NOLINT(bugprone-suspicious-include) */

#include "support.h"

static struct mst_tokens tokens;

static const struct table {
    const char *name;
    const struct object_field *fields;
    size_t count;
} tables[] = {
    {"entry", message_entry_fields, COUNT(message_entry_fields)},
    {"service error", message_service_fields, COUNT(message_service_fields)},
    {"address", address_fields, COUNT(address_fields)},
    {"problem", problem_fields, COUNT(problem_fields)},
};

/* The last object that was read, and what it was read to. */
static struct object object;
static union record {
    struct mst_said said;
    struct mst_address address;
    struct mst_problem problem;
} record;

/* Which of the values below each kind accepts, by their first bytes. */
static const char *const taken[] = {
    [OBJECT_TEXT] = "\"",     [OBJECT_LABEL] = "\"",
    [OBJECT_WORD] = "\"-0",   [OBJECT_SCALAR] = "\"-0tf",
    [OBJECT_STATUS] = "\"-0", [OBJECT_TIME] = "\"",
    [OBJECT_BOOL] = "tf",     [OBJECT_OBJECT] = "",
};

static const char *const values[] = {
    /* Scalars. */
    "\"2026-01-02T03:04:05Z\"", "0", "-1.5e3", "true", "false",
    /* Containers. */
    "[]", "[\"x\"]", "{}", "{\"x\":\"y\"}"};

static const char *right_value(const struct object_field *field) {
    return field->kind == OBJECT_BOOL     ? "true"
           : field->kind == OBJECT_OBJECT ? "{}"
                                          : values[0];
}

/* Adds a member as text, within the object that its table enters. */
static void add_member(struct text *text, const struct table *table,
                       const struct object_field *field, const char *value,
                       unsigned times) {
    text_add(text, ",");
    if (field->in > 0) {
        text_add(text, "\"%s\":{\"more\":[{}]",
                 table->fields[field->in - 1].name);
    } else {
        text_add(text, "\"more\":{\"%s\":1}", field->name);
    }
    for (unsigned i = 0; i < times; i++) {
        text_add(text, ",\"%s\":", field->name);
        text_add_bytes(text, value, strlen(value));
    }
    text_add(text, "%s", field->in > 0 ? "}" : "");
}

static int read_text(const struct table *table, const struct text *text) {
    object = (struct object){.fields = table->fields,
                             .count = (unsigned)table->count,
                             .convert = address_convert};
    memset(&record, 0, sizeof record);
    return object_read(&object, text->data, text->len, &tokens, &record);
}

/* Adds what else the table needs, after other members. */
static void add_needed(struct text *text, const struct table *table,
                       size_t index) {
    for (size_t i = 0; i < table->count; i++) {
        if (i != index && (table->fields[i].flags & OBJECT_NEEDED) != 0) {
            add_member(text, table, &table->fields[i],
                       right_value(&table->fields[i]), 1);
        }
    }
}

/* Reads an object with all that its table needs and this member, repeated. */
static int read_with(const struct table *table, size_t index, const char *value,
                     unsigned times) {
    struct text *text = text_new();

    text_add(text, "{\"x\":null");
    add_needed(text, table, index);
    add_member(text, table, &table->fields[index], value, times);
    text_add(text, "}");
    return read_text(table, text);
}

static void each_field(void (*check)(const struct table *table, size_t index)) {
    for (size_t t = 0; t < COUNT(tables); t++) {
        for (size_t i = 0; i < tables[t].count; i++) {
            check(&tables[t], i);
        }
    }
}

static void expect_field(const struct table *table, size_t index,
                         const char *value, long long expected, long long got) {
    if (expected != got) {
        expect_int(printed("%s, %s, %.40s", table->name,
                           table->fields[index].name, value),
                   expected, got);
    }
}

static void check_types(const struct table *table, size_t index) {
    const struct object_field *field = &table->fields[index];

    for (size_t i = 0; i < COUNT(values); i++) {
        bool good =
            strchr(taken[field->kind], values[i][0]) != NULL ||
            (field->flags & OBJECT_LENIENT) != 0 ||
            (values[i][0] == '{' && (field->flags & OBJECT_ENTERED) != 0);

        expect_field(table, index, values[i],
                     good ? MST_OK : MST_ERR_MESSAGE_SHAPE,
                     read_with(table, index, values[i], 1));
    }
}

TEST_CASE(a_value_of_a_wrong_type_is_an_error_of_shape) {
    each_field(check_types);
}

/* For any values: also if one is null, or of a wrong type that counts as
 * absent. */
static void check_twice(const struct table *table, size_t index) {
    const char *right = right_value(&table->fields[index]);

    expect_field(table, index, right, MST_ERR_MESSAGE_KEY,
                 read_with(table, index, right, 2));
    expect_field(table, index, "null", MST_ERR_MESSAGE_KEY,
                 read_with(table, index, "null", 2));
}

TEST_CASE(a_member_that_counts_is_there_once) {
    each_field(check_twice);
}

static void check_absent(const struct table *table, size_t index) {
    bool needed = (table->fields[index].flags & OBJECT_NEEDED) != 0;
    int expected = needed ? MST_ERR_MESSAGE_SHAPE : MST_OK;

    expect_field(table, index, "absent", expected,
                 read_with(table, index, "", 0));
    expect_field(table, index, "null", expected,
                 read_with(table, index, "null", 1));
    expect_field(table, index, "null", 0, (object.set & BIT(index)) != 0);
    (void)read_with(table, index, right_value(&table->fields[index]), 1);
    if (table->fields[index].kind != OBJECT_OBJECT) {
        expect_field(table, index, "there", 1, (object.set & BIT(index)) != 0);
    }
}

/* Any of a table's fields. */
TEST_CASE(each_field_that_is_needed_is_missed) {
    static const struct object_field fields[] = {
        {"a", 0, 8, 0, OBJECT_TEXT, OBJECT_NEEDED},
        {"b", 8, 8, 0, OBJECT_TEXT, 0},
        {"c", 16, 8, 0, OBJECT_TEXT, OBJECT_NEEDED}};
    static const struct {
        const char *text;
        int expected;
    } cases[] = {{"{\"a\":\"x\",\"c\":\"y\"}", MST_OK},
                 {"{\"b\":\"x\",\"c\":\"y\"}", MST_ERR_MESSAGE_SHAPE},
                 {"{\"a\":\"x\",\"b\":\"y\"}", MST_ERR_MESSAGE_SHAPE}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct object o = {.fields = fields, .count = COUNT(fields)};
        char out[24] = "";

        expect_int(cases[i].text, cases[i].expected,
                   object_read(&o, cases[i].text, strlen(cases[i].text),
                               &tokens, out));
    }
}

TEST_CASE(null_is_as_good_as_absent) {
    each_field(check_absent);
}

/* Reads a text of this length, with a last letter of three bytes. */
static void check_text(const struct table *table, size_t index, size_t len) {
    const struct object_field *field = &table->fields[index];
    char value[512] = "\"";
    bool fits = len < field->room;
    int rc;

    memset(value + 1, 'x', len - 3);
    memcpy(value + len - 2, "\xe2\x82\xac\"", 5);
    rc = read_with(table, index, value, 1);
    if (!fits && (field->flags & OBJECT_WHOLE) != 0) {
        expect_field(table, index, value, MST_ERR_MESSAGE_SIZE, rc);
        assert_int_equal(object.item_len, strlen(value));
        return;
    }
    expect_field(table, index, value, 0, rc);
    expect_field(table, index, value, (long long)(fits ? len : len - 3),
                 (long long)strlen((char *)&record + field->offset));
}

static void check_lengths(const struct table *table, size_t index) {
    const struct object_field *field = &table->fields[index];

    if (field->kind <= OBJECT_SCALAR) {
        assert_in_range(field->room, 8, 400);
        for (size_t len = field->room - 4U; len <= field->room + 2U; len++) {
            if (len < field->room || len - 3 < field->room) {
                check_text(table, index, len);
            }
        }
    }
}

TEST_CASE(a_text_fits_is_cut_between_characters_or_is_refused) {
    each_field(check_lengths);
}

/* If several members set the same text, the first in the table wins, in any
 * order. */
static void check_order(const struct table *table, size_t index) {
    const struct object_field *field = &table->fields[index];

    for (size_t i = index + 1; i < table->count; i++) {
        const struct object_field *other = &table->fields[i];
        struct text *text = text_new();

        /* The inner object occurs once, and then it is not a text. */
        if (other->offset != field->offset || other->kind != field->kind ||
            field->kind > OBJECT_SCALAR ||
            (field->in > 0 && field->in == other->in) || field->in == i + 1 ||
            other->in == index + 1) {
            continue;
        }
        for (int first = 0; first < 2; first++) {
            text_clear(text);
            text_add(text, "{\"type\":\"x\"");
            add_member(text, table, first == 0 ? field : other,
                       first == 0 ? "\"winner\"" : "\"loser\"", 1);
            add_member(text, table, first == 0 ? other : field,
                       first == 0 ? "\"loser\"" : "\"winner\"", 1);
            text_add(text, "}");
            expect_int(text_get(text), 0, read_text(table, text));
            expect_text(text_get(text), "winner",
                        (char *)&record + field->offset);
        }
    }
}

TEST_CASE(of_texts_for_one_place_the_first_wins) {
    each_field(check_order);
}

TEST_CASE(a_table_has_bits_for_its_fields) {
    for (size_t t = 0; t < COUNT(tables); t++) {
        assert_in_range(tables[t].count, 1, 32);
        for (size_t i = 0; i < tables[t].count; i++) {
            uint8_t in = tables[t].fields[i].in;
            assert_true(in == 0 ||
                        (tables[t].fields[in - 1].flags & OBJECT_ENTERED) != 0);
        }
    }
}

/* ---- Any number of members ---- */

/* Adds this number of members that are ignored. */
static void add_others(struct text *text, unsigned count) {
    static const char *const others[] = {
        "\"x\":0,",
        "\"type\\u0073\":{\"id\":[{\"error\":1}]},",
        "\"\":[[],\"code\",{\"market\":{}}],",
    };

    for (unsigned i = 0; i < count; i++) {
        text_add(text, "%s", others[i % COUNT(others)]);
    }
}

/* Their places: in the object before and after a member; if the member is in an
 * inner object, before and after that; in the member's value, or in another
 * value before it. */
#define OTHER_PLACES 5

static int read_among(const struct table *table, size_t index, unsigned place,
                      unsigned count) {
    const struct object_field *field = &table->fields[index];
    const bool inside = field->in > 0;
    struct text *text = text_new();
    unsigned n[OTHER_PLACES] = {0};

    n[place] = count;
    text_add(text, "{");
    add_others(text, n[0]);
    if (inside) {
        text_add(text, "\"%s\":{", table->fields[field->in - 1].name);
        add_others(text, n[1]);
    }
    if (place == 4 && (field->flags & OBJECT_ENTERED) != 0) {
        text_add(text, "\"%s\":{", field->name);
        add_others(text, n[4]);
        text_add(text, "\"x\":0},");
    } else {
        text_add(text, "\"more\":[{");
        add_others(text, n[4]);
        text_add(text, "\"x\":0}],\"%s\":%s,", field->name, right_value(field));
    }
    add_others(text, inside ? n[2] : 0);
    text_add(text, inside ? "\"x\":0}," : "");
    add_others(text, n[3]);
    text_add(text, "\"x\":0");
    add_needed(text, table, index);
    text_add(text, "}");
    return read_text(table, text);
}

static void check_among(const struct table *table, size_t index) {
    for (unsigned place = 0; place < OTHER_PLACES; place++) {
        int rc = read_among(table, index, place, 0);
        const union record few = record;
        const unsigned set = object.set;

        for (unsigned count = 1; count <= 200; count++) {
            const char *name = printed("%u members in place %u", count, place);

            expect_field(table, index, name, rc,
                         read_among(table, index, place, count));
            expect_field(table, index, name, set, object.set);
            expect_field(table, index, name, 0,
                         memcmp((char *)&few, (char *)&record, sizeof few));
        }
    }
}

TEST_CASE(an_object_may_have_any_number_of_members) {
    each_field(check_among);
}

/* Tokens run out where the chain of open values is longest. Members before,
 * after and around it are read all the same. */
TEST_CASE(tokens_may_run_out_at_any_depth) {
    static const struct object_field fields[] = {
        {"a", 0, 8, 0, OBJECT_TEXT, 0},
        {"b", 0, 0, 0, OBJECT_OBJECT, OBJECT_ENTERED},
        {"c", 8, 8, 2, OBJECT_TEXT, 0},
        {"d", 16, 8, 2, OBJECT_TEXT, 0},
        {"e", 24, 8, 0, OBJECT_TEXT, 0}};
    static const struct table table = {"deep", fields, COUNT(fields)};
    static const char *const open[] = {"[", "{\"c\":"};
    static const char *const close[] = {"]", "}"};
    static const char *const each[] = {",\"d\"", ",\"d\":0"};

    for (unsigned n = 0; n < 8 * 100; n++) {
        struct text *text = text_new();
        unsigned kinds = n % 8, more = n / 8, depth = 2;

        text_add(text, "{\"a\":\"1\",\"b\":{\"c\":\"2\",\"x\":");
        for (; depth < MST_JSON_DEPTH; depth++) {
            text_add(text, "%s", open[kinds >> depth % 2 & 1u]);
        }
        text_add(text, "0");
        while (depth-- > 2) {
            unsigned kind = kinds >> depth % 2 & 1u;
            /* At the deepest level, or at all levels. */
            bool here = depth == MST_JSON_DEPTH - 1 || kinds >= 4;
            for (unsigned i = 0; here && i < more; i++) {
                text_add(text, "%s", each[kind]);
            }
            text_add(text, "%s", close[kind]);
        }
        text_add(text, ",\"d\":\"3\"},\"e\":\"4\"}");
        expect_int("JSON", 0, json_check(text->data, text->len));
        expect_int(text->data, 0, read_text(&table, text));
        expect_int(text->data, 31, object.set);
        for (size_t i = 0; i < 4; i++) {
            const char expected[] = {(char)('1' + i), '\0'};
            expect_text(text->data, expected, (char *)&record + 8 * i);
        }
    }
}

/* Invalid UTF-8, which a caller's text may have, is truncated too. */
TEST_CASE(a_text_of_no_characters_is_cut_to_nothing) {
    char to[4] = "abc";

    text_copy(to, sizeof to, "\x80\x80\x80\x80\x80", 5);
    assert_string_equal(to, "");
    text_copy(to, sizeof to, "a\xe2\x82\xac", 4);
    assert_string_equal(to, "a");
}

RUN_CASES(NULL, NULL)
