/* Checks JSON objects. SPDX-License-Identifier: 0BSD */
#include "schema.h"

#include <gio/gio.h>
#include <string.h>

bool schema_refuse(struct schema_error *error, const char *path,
                   const char *name, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    error->path = name && *path ? g_strdup_printf("%s.%s", path, name)
                                : g_strdup(name ? name : path);
    error->text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    return false;
}

void schema_error_clear(struct schema_error *error) {
    g_clear_pointer(&error->path, g_free);
    g_clear_pointer(&error->text, g_free);
}

static bool check_number(const json_t *value, const char *path,
                         const struct schema_field *field,
                         struct schema_error *error) {
    return (json_is_integer(value) && json_integer_value(value) >= field->min &&
            json_integer_value(value) <= field->max) ||
           schema_refuse(error, path, field->name,
                         "must be a whole number from %" G_GINT64_FORMAT
                         " to %" G_GINT64_FORMAT,
                         field->min, field->max);
}

static bool check_text(const json_t *value, const char *path,
                       const struct schema_field *field,
                       struct schema_error *error) {
    int64_t len = (int64_t)json_string_length(value);

    return (json_is_string(value) && len >= field->min && len <= field->max) ||
           schema_refuse(error, path, field->name,
                         "must be text of %" G_GINT64_FORMAT
                         " to %" G_GINT64_FORMAT " bytes",
                         field->min, field->max);
}

static bool check_choice(const json_t *value, const char *path,
                         const struct schema_field *field,
                         struct schema_error *error) {
    const char *text = json_string_value(value);
    g_autofree char *choices = g_strjoinv(", ", (char **)field->choices);

    return (text && g_strv_contains(field->choices, text)) ||
           schema_refuse(error, path, field->name, "must be one of %s",
                         choices);
}

static bool check_object(const json_t *value, const char *path,
                         const struct schema_field *field,
                         struct schema_error *error) {
    g_autofree char *inside =
        g_strconcat(path, *path ? "." : "", field->name, NULL);

    return schema_check(value, inside, field->fields, error);
}

static bool check_field(const json_t *value, const char *path,
                        const struct schema_field *field,
                        struct schema_error *error) {
    switch (field->kind) {
    case SCHEMA_NUMBER: return check_number(value, path, field, error);
    case SCHEMA_TEXT: return check_text(value, path, field, error);
    case SCHEMA_CHOICE: return check_choice(value, path, field, error);
    case SCHEMA_OBJECT: return check_object(value, path, field, error);
    case SCHEMA_FLAG:
        return json_is_boolean(value) ||
               schema_refuse(error, path, field->name, "must be true or false");
    case SCHEMA_ANY: break;
    }
    return true;
}

static bool is_known(const char *name,
                     const struct schema_field *const *fields) {
    while (*fields && strcmp((*fields)->name, name) != 0) {
        fields++;
    }
    return *fields != NULL;
}

bool schema_check(const json_t *value, const char *path,
                  const struct schema_field *const *fields,
                  struct schema_error *error) {
    const char *name;
    json_t *each;

    if (!json_is_object(value)) {
        return schema_refuse(error, path, NULL, "must be an object");
    }
    json_object_foreach((json_t *)value, name, each) {
        if (!is_known(name, fields)) {
            return schema_refuse(error, path, name, "is not known");
        }
    }
    for (; *fields; fields++) {
        const json_t *found = json_object_get(value, (*fields)->name);

        if (found && !check_field(found, path, *fields, error)) {
            return false;
        }
        if (!found && (*fields)->required) {
            return schema_refuse(error, path, (*fields)->name, "is missing");
        }
    }
    return true;
}

void schema_refuse_file(struct schema_error *wrong, const char *path,
                        GError **error) {
    g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "%s: %s%s%s", path,
                wrong->path, *wrong->path ? " " : "", wrong->text);
    schema_error_clear(wrong);
}

json_t *schema_load(const char *path, const struct schema_field *const *fields,
                    GError **error) {
    json_error_t reason;
    json_t *json = json_load_file(path, JSON_REJECT_DUPLICATES, &reason);
    struct schema_error wrong;

    if (!json && reason.line < 0) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_FAILED, "%s", reason.text);
    } else if (!json) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "%s:%d: %s",
                    path, reason.line, reason.text);
    } else if (fields && !schema_check(json, "", fields, &wrong)) {
        schema_refuse_file(&wrong, path, error);
        g_clear_pointer(&json, json_decref);
    }
    return json;
}

void schema_fill(json_t *object, const struct schema_field *const *fields) {
    for (; *fields; fields++) {
        if ((*fields)->otherwise && !json_object_get(object, (*fields)->name)) {
            json_object_set_new(
                object, (*fields)->name,
                json_loads((*fields)->otherwise, JSON_DECODE_ANY, NULL));
        }
    }
}

json_t *schema_json(const struct schema_field *field) {
    static const char *const kinds[] = {
        [SCHEMA_ANY] = "any",       [SCHEMA_NUMBER] = "number",
        [SCHEMA_TEXT] = "text",     [SCHEMA_FLAG] = "flag",
        [SCHEMA_CHOICE] = "choice", [SCHEMA_OBJECT] = "object",
    };
    json_t *json =
        json_pack("{s:s, s:s, s:b, s:I, s:I}", "name", field->name, "kind",
                  kinds[field->kind], "required", field->required, "min",
                  (json_int_t)field->min, "max", (json_int_t)field->max);

    if (field->choices) {
        json_t *choices = json_array();

        for (const char *const *each = field->choices; *each; each++) {
            json_array_append_new(choices, json_string(*each));
        }
        json_object_set_new(json, "choices", choices);
    }
    if (field->otherwise) {
        json_object_set_new(
            json, "otherwise",
            json_loads(field->otherwise, JSON_DECODE_ANY, NULL));
    }
    return json;
}
