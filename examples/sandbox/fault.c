/* The kinds of faults, and JSON sets of them. SPDX-License-Identifier: 0BSD */
#include "fault.h"

#include <string.h>

#define MS_MAX 86400000      /* a day */
#define SECONDS_MAX 31536000 /* a year */
#define TIMES_MAX 1000000
#define BYTES_MAX 1000000000
#define TEXT_MAX 32768
#define REASON_MAX 123 /* RFC 6455, 5.5.1 */
#define FIELDS_MAX 6

static const char *const places[] = {"stream", "token", "all", NULL};

#define FIELD(variable, ...) \
    static const struct schema_field variable = {#variable, __VA_ARGS__}

FIELD(ms, SCHEMA_NUMBER, .required = true, .min = 1, .max = MS_MAX);
FIELD(bytes_per_s, SCHEMA_NUMBER, .required = true, .min = 1, .max = BYTES_MAX);
FIELD(bytes, SCHEMA_NUMBER, .required = true, .min = 1, .max = BYTES_MAX);
FIELD(after_bytes, SCHEMA_NUMBER, .max = BYTES_MAX, .otherwise = "0");
FIELD(status, SCHEMA_NUMBER, .required = true, .min = 400, .max = 599);
FIELD(retry_after, SCHEMA_NUMBER, .max = SECONDS_MAX);
FIELD(retry_after_date, SCHEMA_NUMBER, .max = SECONDS_MAX);
FIELD(value, .kind = SCHEMA_ANY);
FIELD(token_type, SCHEMA_TEXT, .min = 1, .max = REASON_MAX,
      .otherwise = "\"bearer\"");
FIELD(scope, SCHEMA_TEXT, .max = TEXT_MAX);
FIELD(code, SCHEMA_NUMBER, .required = true, .min = 1000, .max = 4999);
FIELD(reason, SCHEMA_TEXT, .max = REASON_MAX, .otherwise = "\"\"");
FIELD(carried_out, SCHEMA_FLAG, .otherwise = "false");
FIELD(text, SCHEMA_TEXT, .max = TEXT_MAX, .otherwise = "\"{\\\"channel\\\":\"");
FIELD(at, SCHEMA_CHOICE, .choices = places, .otherwise = "\"stream\"");
FIELD(for_ms, SCHEMA_NUMBER, .min = 1, .max = MS_MAX);
FIELD(count, SCHEMA_NUMBER, .min = 1, .max = TIMES_MAX, .otherwise = "1");

static const struct schema_field error_code = {"error", SCHEMA_TEXT, .min = 1,
                                               .max = REASON_MAX};
static const struct schema_field down_ms = {
    "for_ms", SCHEMA_NUMBER, .required = true, .min = 1, .max = MS_MAX};

static const struct {
    const char *name;
    const struct schema_field *fields[FIELDS_MAX]; /* ends with NULL */
} faults[FAULT_COUNT] = {
    [FAULT_LATENCY] = {"latency", {&ms, &at, &for_ms}},
    [FAULT_BANDWIDTH] = {"bandwidth", {&bytes_per_s, &at, &for_ms}},
    [FAULT_SLICE] = {"slice", {&bytes, &at, &for_ms}},
    [FAULT_FREEZE] = {"freeze", {&at, &for_ms}},
    [FAULT_RESET] = {"reset", {&after_bytes, &at, &count}},
    [FAULT_HALF_OPEN] = {"half_open", {&after_bytes, &at, &count}},
    [FAULT_RESTART] = {"restart", {&down_ms}},
    [FAULT_TOKEN] = {"token",
                     {&status, &error_code, &retry_after, &retry_after_date,
                      &count}},
    [FAULT_EXPIRES_IN] = {"expires_in", {&value, &count}},
    [FAULT_GRANTED] = {"granted", {&token_type, &scope, &count}},
    [FAULT_REVOKE] = {"revoke", {NULL}},
    [FAULT_UPGRADE] = {"upgrade",
                       {&status, &retry_after, &retry_after_date, &count}},
    [FAULT_CLOSE] = {"close", {&code, &reason}},
    [FAULT_NO_ANSWER] = {"no_answer", {&carried_out, &count}},
    [FAULT_INTERNAL_ERROR] = {"internal_error", {&count}},
    [FAULT_NO_HEARTBEAT] = {"no_heartbeat", {&for_ms}},
    [FAULT_GARBAGE] = {"garbage", {&text}},
    [FAULT_ADDRESS] = {"address",
                       {&status, &retry_after, &retry_after_date, &count}},
    [FAULT_ADDRESS_LOST] = {"address_lost", {&count}},
};

const char *fault_name(enum fault fault) {
    return faults[fault].name;
}

json_t *fault_fields(void) {
    json_t *all = json_object();

    for (int i = 0; i < FAULT_COUNT; i++) {
        json_t *fields = json_array();

        for (int n = 0; n < FIELDS_MAX && faults[i].fields[n]; n++) {
            json_array_append_new(fields, schema_json(faults[i].fields[n]));
        }
        json_object_set_new(all, faults[i].name, fields);
    }
    return all;
}

/* Returns true if libsoup sends this close code. It sends neither reserved
 * codes nor those registered after RFC 6455. */
static bool is_sent(json_int_t number) {
    return number <= 1003 || (number >= 1007 && number <= 1009) ||
           number == 1011 || number >= 3000;
}

/* Checks what concerns more than one field, and the close code. */
static bool check_whole(const json_t *parameters, const char *name,
                        struct schema_error *error) {
    const json_t *given = json_object_get(parameters, "code");

    if (given && !is_sent(json_integer_value(given))) {
        return schema_refuse(
            error, name, "code",
            "must be 1000 to 1003, 1007 to 1009, 1011 or 3000 to 4999");
    }
    if (json_object_get(parameters, "retry_after") &&
        json_object_get(parameters, "retry_after_date")) {
        return schema_refuse(error, name, "retry_after_date",
                             "excludes retry_after");
    }
    return true;
}

/* Adds a fault with its defaults to the set. */
static bool read_fault(json_t *set, const char *name, const json_t *given,
                       struct schema_error *error) {
    int fault = 0;
    json_t *parameters;

    while (fault < FAULT_COUNT && strcmp(faults[fault].name, name) != 0) {
        fault++;
    }
    if (fault == FAULT_COUNT) {
        return schema_refuse(error, "", name, "is not a fault");
    }
    if (!schema_check(given, name, faults[fault].fields, error) ||
        !check_whole(given, name, error)) {
        return false;
    }
    parameters = json_copy((json_t *)given);
    schema_fill(parameters, faults[fault].fields);
    json_object_set_new(set, name, parameters);
    return true;
}

json_t *fault_set_read(const json_t *json, struct schema_error *error) {
    const json_t *clear = json_object_get(json, "clear");
    json_t *set = json_object();
    bool ok = true;
    const char *name;
    json_t *given;

    if (!json_is_object(json)) {
        ok = schema_refuse(error, "", NULL, "the faults must be an object");
    } else if (clear) {
        ok = (json_is_true(clear) && json_object_size(json) == 1) ||
             schema_refuse(error, "", "clear", "must be true, and alone");
    } else {
        json_object_foreach((json_t *)json, name, given) {
            ok = ok && read_fault(set, name, given, error);
        }
    }
    if (!ok) {
        g_clear_pointer(&set, json_decref);
    }
    return set;
}
