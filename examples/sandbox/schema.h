/*
 * Schemas of JSON objects: which members they may have, and what is wrong with
 * an object that does not match.
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
    SCHEMA_NUMBER, /* a whole number from min to max */
    SCHEMA_TEXT,   /* a string of min to max bytes */
    SCHEMA_FLAG,   /* true or false */
    SCHEMA_CHOICE, /* one of the choices */
    SCHEMA_OBJECT, /* an object with these fields */
};

struct schema_field {
    const char *name;
    enum schema_kind kind;
    bool required;
    int64_t min;
    int64_t max;
    const char *const *choices;               /* ends with NULL */
    const struct schema_field *const *fields; /* ends with NULL */
    const char *otherwise;                    /* JSON of the default, or NULL */
};

/* An element of an array of fields. */
#define SCHEMA_FIELD(...)          \
    &(const struct schema_field) { \
        __VA_ARGS__                \
    }

struct schema_error {
    char *path; /* a.b.c; empty for the whole value */
    char *text; /* what is wrong, in words */
};

/* Returns true if the value is an object that matches the fields. Else sets the
 * error, whose path begins with this one. */
bool schema_check(const json_t *value, const char *path,
                  const struct schema_field *const *fields,
                  struct schema_error *error);

/* Reads a file with one JSON value, to be released. It must be an object that
 * matches the fields, unless they are NULL. On failure, returns NULL and sets
 * the error, which names the file and the line or key. */
json_t *schema_load(const char *path, const struct schema_field *const *fields,
                    GError **error);

/* Turns the error into one that names the file, and clears it. */
void schema_refuse_file(struct schema_error *wrong, const char *path,
                        GError **error);

/* Adds the defaults of absent members. */
void schema_fill(json_t *object, const struct schema_field *const *fields);

/* Returns the field as JSON, see fault_fields, to be released. */
json_t *schema_json(const struct schema_field *field);

/* Sets the error and returns false. name is the member of the object at the
 * path that is wrong, or NULL for the object itself. */
bool schema_refuse(struct schema_error *error, const char *path,
                   const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void schema_error_clear(struct schema_error *error);

#endif
