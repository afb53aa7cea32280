/*
 * The faults that there are, and how a set of them is written in JSON.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "fault.h"

#include <gio/gio.h>
#include <string.h>

#define FIELDS_MAX 5
#define MS_MAX 86400000 /* a day */
#define S_MAX 31536000  /* a year */
#define TIMES_MAX 1000000
#define BYTES_MAX 1000000000
#define TEXT_MAX 32768
#define REASON_MAX 123 /* RFC 6455, 5.5.1 */

enum kind {
    KIND_NUMBER,     /* whole, from min to max */
    KIND_TEXT,       /* of min to max bytes */
    KIND_FLAG,       /* true or false */
    KIND_PLACE,      /* whose connections: stream, token or all */
    KIND_CLOSE_CODE, /* of RFC 6455, 7.4, or private */
    KIND_ANY,
};

enum field {
    FIELD_NONE,
    FIELD_MS,
    FIELD_RATE,
    FIELD_BYTES,
    FIELD_AFTER,
    FIELD_STATUS,
    FIELD_ERROR,
    FIELD_RETRY,
    FIELD_RETRY_DATE,
    FIELD_VALUE,
    FIELD_CODE,
    FIELD_REASON,
    FIELD_CARRIED_OUT,
    FIELD_TEXT,
    FIELD_AT,
    FIELD_FOR,
    FIELD_DOWN,
    FIELD_COUNT,
};

#define REQUIRED ""

static const struct {
    const char *name;
    enum kind kind;
    int64_t min;
    int64_t max;
    const char *otherwise; /* JSON, where it is absent, or REQUIRED; NULL: it
                              stays absent */
} fields[] = {
    [FIELD_MS] = {"ms", KIND_NUMBER, 1, MS_MAX, REQUIRED},
    [FIELD_RATE] = {"bytes_per_s", KIND_NUMBER, 1, BYTES_MAX, REQUIRED},
    [FIELD_BYTES] = {"bytes", KIND_NUMBER, 1, BYTES_MAX, REQUIRED},
    [FIELD_AFTER] = {"after_bytes", KIND_NUMBER, 0, BYTES_MAX, "0"},
    [FIELD_STATUS] = {"status", KIND_NUMBER, 400, 599, REQUIRED},
    [FIELD_ERROR] = {"error", KIND_TEXT, 1, REASON_MAX, NULL},
    [FIELD_RETRY] = {"retry_after", KIND_NUMBER, 0, S_MAX, NULL},
    [FIELD_RETRY_DATE] = {"retry_after_date", KIND_NUMBER, 0, S_MAX, NULL},
    [FIELD_VALUE] = {"value", KIND_ANY, 0, 0, NULL},
    [FIELD_CODE] = {"code", KIND_CLOSE_CODE, 0, 0, REQUIRED},
    [FIELD_REASON] = {"reason", KIND_TEXT, 0, REASON_MAX, "\"\""},
    [FIELD_CARRIED_OUT] = {"carried_out", KIND_FLAG, 0, 0, "false"},
    [FIELD_TEXT] = {"text", KIND_TEXT, 0, TEXT_MAX, "\"{\\\"channel\\\":\""},
    [FIELD_AT] = {"at", KIND_PLACE, 0, 0, "\"stream\""},
    [FIELD_FOR] = {"for_ms", KIND_NUMBER, 1, MS_MAX, NULL},
    [FIELD_DOWN] = {"for_ms", KIND_NUMBER, 1, MS_MAX, REQUIRED},
    [FIELD_COUNT] = {"count", KIND_NUMBER, 1, TIMES_MAX, "1"},
};

static const struct {
    const char *name;
    enum field fields[FIELDS_MAX]; /* the rest: FIELD_NONE */
} faults[FAULT_COUNT] = {
    [FAULT_LATENCY] = {"latency", {FIELD_MS, FIELD_AT, FIELD_FOR}},
    [FAULT_BANDWIDTH] = {"bandwidth", {FIELD_RATE, FIELD_AT, FIELD_FOR}},
    [FAULT_SLICE] = {"slice", {FIELD_BYTES, FIELD_AT, FIELD_FOR}},
    [FAULT_FREEZE] = {"freeze", {FIELD_AT, FIELD_FOR}},
    [FAULT_RESET] = {"reset", {FIELD_AFTER, FIELD_AT, FIELD_COUNT}},
    [FAULT_HALF_OPEN] = {"half_open", {FIELD_AFTER, FIELD_AT, FIELD_COUNT}},
    [FAULT_RESTART] = {"restart", {FIELD_DOWN}},
    [FAULT_TOKEN] = {"token",
                     {FIELD_STATUS, FIELD_ERROR, FIELD_RETRY, FIELD_RETRY_DATE,
                      FIELD_COUNT}},
    [FAULT_EXPIRES_IN] = {"expires_in", {FIELD_VALUE, FIELD_COUNT}},
    [FAULT_REVOKE] = {"revoke", {FIELD_NONE}},
    [FAULT_UPGRADE] = {"upgrade",
                       {FIELD_STATUS, FIELD_RETRY, FIELD_RETRY_DATE,
                        FIELD_COUNT}},
    [FAULT_CLOSE] = {"close", {FIELD_CODE, FIELD_REASON}},
    [FAULT_NO_ANSWER] = {"no_answer", {FIELD_CARRIED_OUT, FIELD_COUNT}},
    [FAULT_NO_HEARTBEAT] = {"no_heartbeat", {FIELD_FOR}},
    [FAULT_GARBAGE] = {"garbage", {FIELD_TEXT}},
};

const char *fault_name(enum fault fault)
{
    return faults[fault].name;
}

__attribute__((format(printf, 2, 3))) static bool
refuse(GError **error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    g_propagate_error(error,
                      g_error_new_valist(G_IO_ERROR, G_IO_ERROR_INVALID_DATA,
                                         format, arguments));
    va_end(arguments);
    return false;
}

static bool number_fits(const json_t *given, int64_t min, int64_t max)
{
    return json_is_integer(given) && json_integer_value(given) >= min &&
           json_integer_value(given) <= max;
}

static bool text_fits(const json_t *given, int64_t min, int64_t max)
{
    int64_t len = (int64_t)json_string_length(given);

    return json_is_string(given) && len >= min && len <= max;
}

static bool is_place(const char *name)
{
    return name && (strcmp(name, "stream") == 0 || strcmp(name, "token") == 0 ||
                    strcmp(name, "all") == 0);
}

/* Those that libsoup sends: not what only an endpoint may see, and of those
 * that were registered later none. */
static bool is_close_code(const json_t *given)
{
    return number_fits(given, 1000, 1003) || number_fits(given, 1007, 1009) ||
           number_fits(given, 1011, 1011) || number_fits(given, 3000, 4999);
}

/* What the field must be, for g_free; NULL: the value is that. */
static char *field_wants(enum field field, const json_t *given)
{
    int64_t min = fields[field].min;
    int64_t max = fields[field].max;
    char *wants = NULL;

    switch (fields[field].kind) {
    case KIND_NUMBER:
        if (!number_fits(given, min, max)) {
            wants = g_strdup_printf("a whole number from %" G_GINT64_FORMAT
                                    " to %" G_GINT64_FORMAT,
                                    min, max);
        }
        break;
    case KIND_TEXT:
        if (!text_fits(given, min, max)) {
            wants = g_strdup_printf("text of %" G_GINT64_FORMAT
                                    " to %" G_GINT64_FORMAT " bytes",
                                    min, max);
        }
        break;
    case KIND_FLAG:
        wants = json_is_boolean(given) ? NULL : g_strdup("true or false");
        break;
    case KIND_PLACE:
        wants = is_place(json_string_value(given))
                    ? NULL
                    : g_strdup("stream, token or all");
        break;
    case KIND_CLOSE_CODE:
        wants = is_close_code(given)
                    ? NULL
                    : g_strdup("1000 to 1003, 1007 to 1009, 1011 or 3000 to "
                               "4999");
        break;
    case KIND_ANY: break;
    }
    return wants;
}

/* Adds the field to the parameters: what was given, or the default. */
static bool read_field(enum fault fault, enum field field, const json_t *given,
                       json_t *parameters, GError **error)
{
    const char *name = fields[field].name;
    const char *otherwise = fields[field].otherwise;
    json_t *found = json_object_get(given, name);
    char *wants = found ? field_wants(field, found) : NULL;

    if (wants) {
        refuse(error, "%s.%s: must be %s", faults[fault].name, name, wants);
        g_free(wants);
        return false;
    }
    if (found) {
        json_object_set(parameters, name, found);
    } else if (otherwise && *otherwise == '\0') {
        return refuse(error, "%s.%s: is missing", faults[fault].name, name);
    } else if (otherwise) {
        json_object_set_new(parameters, name,
                            json_loads(otherwise, JSON_DECODE_ANY, NULL));
    }
    return true;
}

/* What no single field shows. */
static bool check_fault(enum fault fault, const json_t *given,
                        const json_t *parameters, GError **error)
{
    const char *name;
    json_t *each;

    json_object_foreach((json_t *)given, name, each)
    {
        if (!json_object_get(parameters, name)) {
            return refuse(error, "%s.%s: there is no such field",
                          faults[fault].name, name);
        }
    }
    if (json_object_get(given, "retry_after") &&
        json_object_get(given, "retry_after_date")) {
        return refuse(error, "%s.retry_after_date: not beside retry_after",
                      faults[fault].name);
    }
    return true;
}

static bool read_fault(struct fault_set *set, enum fault fault,
                       const json_t *given, GError **error)
{
    json_t *parameters;

    if (!json_is_object(given)) {
        return refuse(error, "%s: must be an object", faults[fault].name);
    }
    parameters = set->parameters[fault] = json_object();
    for (int i = 0; i < FIELDS_MAX; i++) {
        enum field field = faults[fault].fields[i];

        if (field != FIELD_NONE &&
            !read_field(fault, field, given, parameters, error)) {
            return false;
        }
    }
    return check_fault(fault, given, parameters, error);
}

static bool read_member(struct fault_set *set, const char *name,
                        const json_t *given, GError **error)
{
    for (int i = 0; i < FAULT_COUNT; i++) {
        if (strcmp(faults[i].name, name) == 0) {
            return read_fault(set, (enum fault)i, given, error);
        }
    }
    return refuse(error, "%s: there is no such fault", name);
}

bool fault_set_read(struct fault_set *set, const json_t *json, GError **error)
{
    const json_t *clear = json_object_get(json, "clear");
    bool ok = true;
    const char *name;
    json_t *given;

    *set = (struct fault_set){.parameters = {NULL}};
    if (!json_is_object(json)) {
        return refuse(error, "the faults must be an object");
    }
    if (clear) {
        return (json_is_true(clear) && json_object_size(json) == 1) ||
               refuse(error, "clear: must be true, and stand alone");
    }
    json_object_foreach((json_t *)json, name, given)
    {
        ok = ok && read_member(set, name, given, error);
    }
    if (!ok) {
        fault_set_clear(set);
    }
    return ok;
}

void fault_set_clear(struct fault_set *set)
{
    for (int i = 0; i < FAULT_COUNT; i++) {
        g_clear_pointer(&set->parameters[i], json_decref);
    }
}
