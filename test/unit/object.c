/*
 * The tables of small objects, each fed every kind of wrong value: what a
 * message, a record or a problem is refused for is the same for all of them.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mini_stream.c" /* NOLINT(bugprone-suspicious-include) */

#include "support.h"

#include <stdio.h>

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

/* Anything that a table is for. */
union record {
    struct mst_said said;
    struct mst_address address;
    struct mst_problem problem;
};

/* Which values each kind takes: of these below, by their first bytes. */
static const char *const taken[] = {
    [OBJECT_TEXT] = "\"",     [OBJECT_LABEL] = "\"",
    [OBJECT_WORD] = "\"-0",   [OBJECT_SCALAR] = "\"-0tf",
    [OBJECT_STATUS] = "\"-0", [OBJECT_TIME] = "\"",
    [OBJECT_BOOL] = "tf",     [OBJECT_OBJECT] = "",
};

static const char *const values[] = {"\"2026-01-02T03:04:05Z\"",
                                     "0",
                                     "-1.5e3",
                                     "true",
                                     "false",
                                     "[]",
                                     "[\"x\"]",
                                     "{}",
                                     "{\"x\":\"y\"}"};

static const char *right_value(const struct object_field *field) {
    return field->kind == OBJECT_BOOL     ? "true"
           : field->kind == OBJECT_OBJECT ? "{}"
                                          : values[0];
}

/* A member as text, inside of the object that its table enters. */
static void add_member(struct text *text, const struct table *table,
                       const struct object_field *field, const char *value,
                       unsigned times) {
    const struct object_field *outer = table->fields;

    while ((outer->flags & OBJECT_ENTERED) == 0) {
        outer++;
    }
    text_add(text, ",");
    if (field->depth == 2) {
        text_add(text, "\"%s\":{\"more\":[{}]", outer->name);
    } else {
        text_add(text, "\"more\":{\"%s\":1}", field->name);
    }
    for (unsigned i = 0; i < times; i++) {
        text_add(text, ",\"%s\":", field->name);
        text_add_bytes(text, value, strlen(value));
    }
    text_add(text, "%s", field->depth == 2 ? "}" : "");
}

/* Reads an object of all that its table needs and this member, so often. */
static int read_with(const struct table *table, size_t index, const char *value,
                     unsigned times, union record *record, struct object *o) {
    struct text text = {0};
    int rc;

    text_add(&text, "{\"x\":null");
    for (size_t i = 0; i < table->count; i++) {
        if (i != index && (table->fields[i].flags & OBJECT_NEEDED) != 0) {
            add_member(&text, table, &table->fields[i],
                       right_value(&table->fields[i]), 1);
        }
    }
    add_member(&text, table, &table->fields[index], value, times);
    text_add(&text, "}");
    *o = (struct object){.fields = table->fields,
                         .count = (unsigned)table->count};
    memset(record, 0, sizeof *record);
    rc = object_read(o, text.data, text.len, record);
    text_free(&text);
    return rc;
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
    char name[128];

    snprintf(name, sizeof name, "%s, %s, %.40s", table->name,
             table->fields[index].name, value);
    expect_int(name, expected, got);
}

static void check_types(const struct table *table, size_t index) {
    const struct object_field *field = &table->fields[index];

    for (size_t i = 0; i < COUNT(values); i++) {
        union record record;
        struct object o;
        bool good =
            strchr(taken[field->kind], values[i][0]) != NULL ||
            (field->flags & OBJECT_LENIENT) != 0 ||
            (values[i][0] == '{' && (field->flags & OBJECT_ENTERED) != 0);

        expect_field(table, index, values[i],
                     good ? MST_OK : MST_ERR_MESSAGE_SHAPE,
                     read_with(table, index, values[i], 1, &record, &o));
    }
}

static void a_value_of_a_wrong_type_is_an_error_of_shape(void **state) {
    (void)state;
    each_field(check_types);
}

/* Of whatever values: also where one is null, or of a wrong type that is
 * as good as absent. */
static void check_twice(const struct table *table, size_t index) {
    union record record;
    struct object o;
    const char *right = right_value(&table->fields[index]);

    expect_field(table, index, right, MST_ERR_MESSAGE_KEY,
                 read_with(table, index, right, 2, &record, &o));
    expect_field(table, index, "null", MST_ERR_MESSAGE_KEY,
                 read_with(table, index, "null", 2, &record, &o));
}

static void a_member_that_counts_is_there_once(void **state) {
    (void)state;
    each_field(check_twice);
}

static void check_absent(const struct table *table, size_t index) {
    bool needed = (table->fields[index].flags & OBJECT_NEEDED) != 0;
    int expected = needed ? MST_ERR_MESSAGE_SHAPE : MST_OK;
    union record record;
    struct object o;

    expect_field(table, index, "absent", expected,
                 read_with(table, index, "", 0, &record, &o));
    expect_field(table, index, "null", expected,
                 read_with(table, index, "null", 1, &record, &o));
    expect_field(table, index, "null", 0, (o.set & BIT(index)) != 0);
    (void)read_with(table, index, right_value(&table->fields[index]), 1,
                    &record, &o);
    if (table->fields[index].kind != OBJECT_OBJECT) {
        expect_field(table, index, "there", 1, (o.set & BIT(index)) != 0);
    }
}

/* Whichever of a table's fields it is. */
static void each_field_that_is_needed_is_missed(void **state) {
    static const struct object_field fields[] = {
        {"a", 0, 8, 1, OBJECT_TEXT, OBJECT_NEEDED},
        {"b", 8, 8, 1, OBJECT_TEXT, 0},
        {"c", 16, 8, 1, OBJECT_TEXT, OBJECT_NEEDED}};
    static const struct {
        const char *text;
        int expected;
    } cases[] = {{"{\"a\":\"x\",\"c\":\"y\"}", MST_OK},
                 {"{\"b\":\"x\",\"c\":\"y\"}", MST_ERR_MESSAGE_SHAPE},
                 {"{\"a\":\"x\",\"b\":\"y\"}", MST_ERR_MESSAGE_SHAPE}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct object o = {.fields = fields, .count = COUNT(fields)};
        char record[24] = "";

        expect_int(
            cases[i].text, cases[i].expected,
            object_read(&o, cases[i].text, strlen(cases[i].text), record));
    }
}

static void null_is_as_good_as_absent(void **state) {
    (void)state;
    each_field(check_absent);
}

/* A text of this many letters, the last of three bytes. */
static void check_text(const struct table *table, size_t index, size_t len) {
    const struct object_field *field = &table->fields[index];
    char value[512] = "\"";
    bool fits = len < field->room;
    union record record;
    struct object o;
    int rc;

    memset(value + 1, 'x', len - 3);
    memcpy(value + len - 2, "\xe2\x82\xac\"", 5);
    rc = read_with(table, index, value, 1, &record, &o);
    if (!fits && (field->flags & OBJECT_WHOLE) != 0) {
        expect_field(table, index, value, MST_ERR_MESSAGE_SIZE, rc);
        assert_int_equal(o.item_len, strlen(value));
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

static void a_text_fits_is_cut_between_characters_or_is_refused(void **state) {
    (void)state;
    each_field(check_lengths);
}

/* What stands in gives way wherever it is; of several, the first counts. */
static void check_stand_in(const struct table *table, size_t index) {
    const struct object_field *field = &table->fields[index];

    for (size_t i = 0; i < table->count; i++) {
        const struct object_field *other = &table->fields[i];
        struct text text = {0};
        union record record;
        struct object o;
        bool own = (other->flags & OBJECT_STANDS_IN) == 0;

        /* The object inside is there once, and then it is no text. */
        if (i == index || other->offset != field->offset ||
            other->kind != field->kind ||
            (field->flags & OBJECT_STANDS_IN) == 0 ||
            field->depth + other->depth == 4 ||
            (field->depth != other->depth &&
             ((field->flags | other->flags) & OBJECT_ENTERED) != 0)) {
            continue;
        }
        for (int first = 0; first < 2; first++) {
            text_clear(&text);
            text_add(&text, "{\"x\":0");
            add_member(&text, table, first == 0 ? field : other,
                       first == 0 ? "\"in\"" : "\"own\"", 1);
            add_member(&text, table, first == 0 ? other : field,
                       first == 0 ? "\"own\"" : "\"in\"", 1);
            text_add(&text, "}");
            o = (struct object){.fields = table->fields,
                                .count = (unsigned)table->count};
            memset(&record, 0, sizeof record);
            expect_int(text_get(&text), 0,
                       object_read(&o, text.data, text.len, &record));
            expect_text(text_get(&text), own || first == 1 ? "own" : "in",
                        (char *)&record + field->offset);
        }
        text_free(&text);
    }
}

static void what_stands_in_gives_way(void **state) {
    (void)state;
    each_field(check_stand_in);
}

static void a_table_enters_one_object(void **state) {
    (void)state;
    for (size_t t = 0; t < COUNT(tables); t++) {
        unsigned entered = 0;

        for (size_t i = 0; i < tables[t].count; i++) {
            entered += (tables[t].fields[i].flags & OBJECT_ENTERED) != 0;
        }
        expect_int(tables[t].name, 1, entered);
        assert_in_range(tables[t].count, 1, 32);
    }
}

/* What is no UTF-8, as text of the caller's may be, is cut all the same. */
static void a_text_of_no_characters_is_cut_to_nothing(void **state) {
    char to[4] = "abc";

    (void)state;
    text_copy(to, sizeof to, "\x80\x80\x80\x80\x80", 5);
    assert_string_equal(to, "");
    text_copy(to, sizeof to, "a\xe2\x82\xac", 4);
    assert_string_equal(to, "a");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_value_of_a_wrong_type_is_an_error_of_shape),
        TEST(a_member_that_counts_is_there_once),
        TEST(each_field_that_is_needed_is_missed),
        TEST(null_is_as_good_as_absent),
        TEST(a_text_fits_is_cut_between_characters_or_is_refused),
        TEST(what_stands_in_gives_way),
        TEST(a_table_enters_one_object),
        TEST(a_text_of_no_characters_is_cut_to_nothing),
    };

    return cmocka_run_group_tests_name("objects", tests, NULL, NULL);
}
