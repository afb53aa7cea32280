/*
 * What a JSON object may have in it, and what is wrong with one that has
 * something else.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_SCHEMA_H
#define SANDBOX_SCHEMA_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum schema_kind {
    SCHEMA_ANY,
    SCHEMA_NUMBER, /* whole, from min to max */
    SCHEMA_TEXT,   /* of min to max bytes */
    SCHEMA_FLAG,   /* true or false */
    SCHEMA_CHOICE, /* one of the choices */
    SCHEMA_OBJECT, /* of the fields */
};

struct schema_field {
    const char *name;
    enum schema_kind kind;
    bool required;
    int64_t min;
    int64_t max;
    const char *const *choices;               /* up to NULL */
    const struct schema_field *const *fields; /* up to NULL */
    const char *otherwise; /* JSON for schema_fill; NULL: stays absent */
};

/* For an array of them. */
#define SCHEMA_FIELD(...)          \
    &(const struct schema_field) { \
        __VA_ARGS__                \
    }

struct schema_error {
    char *path; /* a.b.c; empty: the whole */
    char *text; /* what is wrong, for people */
};

/* Whether the value is an object with such fields and no others. If not, the
 * error, with a path that begins with this one, says why. */
bool schema_check(const json_t *value, const char *path,
                  const struct schema_field *const *fields,
                  struct schema_error *error);

/* Reads a file with one JSON value; fields: what it must be an object of, or
 * NULL. To be released; NULL, with an error that names file and line or key. */
json_t *schema_load(const char *path, const struct schema_field *const *fields,
                    GError **error);

/* Makes an error of the file of it, and clears it. */
void schema_refuse_file(struct schema_error *wrong, const char *path,
                        GError **error);

/* Adds what is absent and has a default. */
void schema_fill(json_t *object, const struct schema_field *const *fields);

/* The field in JSON, see fault_fields, to be released. */
json_t *schema_json(const struct schema_field *field);

/* Sets the error, and returns false; name, if it is not NULL, is in the object
 * at the path. */
bool schema_refuse(struct schema_error *error, const char *path,
                   const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void schema_error_clear(struct schema_error *error);

#endif
