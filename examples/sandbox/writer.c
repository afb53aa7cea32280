/* Writes numbers, times and JSON. SPDX-License-Identifier: 0BSD */
#include "writer.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define NS_PER_S INT64_C(1000000000)

#define TEXT_SIZE 40 /* of a number or a time */

/* Elements of an array up to which it counts as small. */
#define SMALL_MAX 4

const struct writer writer_plain = {.quirks = 0};

void writer_begin(const struct writer *writer, const char *kind,
                  const char *subject, uint32_t number) {
    const guint32 seeds[] = {writer->seed, g_str_hash(kind),
                             g_str_hash(subject), number};

    if (writer->quirks != 0) {
        g_rand_set_seed_array(writer->random, seeds, G_N_ELEMENTS(seeds));
    }
}

bool writer_chance(const struct writer *writer, enum quirk quirk, int n) {
    return quirk_on(writer->quirks, quirk) &&
           g_rand_int_range(writer->random, 0, n) == 0;
}

/* Removes trailing zeros of the fraction, and the point if no digit remains. */
static void trim_fraction(char *text) {
    size_t len = strlen(text);

    if (!strchr(text, '.')) {
        return;
    }
    while (text[len - 1] == '0') {
        len--;
    }
    if (text[len - 1] == '.') {
        len--;
    }
    text[len] = '\0';
}

static const char *zero_text(const struct writer *writer) {
    static const char *const spellings[] = {"0", "0.00", "0.000", "0E-8"};

    return quirk_on(writer->quirks, QUIRK_ZERO_SPELLINGS)
               ? spellings[g_rand_int_range(writer->random, 0,
                                            G_N_ELEMENTS(spellings))]
               : spellings[0];
}

json_t *writer_decimal(const struct writer *writer, int64_t value,
                       int decimals) {
    int64_t scale = 1;
    char text[TEXT_SIZE];

    if (value == 0) {
        return json_string(zero_text(writer));
    }
    for (int i = 0; i < decimals; i++) {
        scale *= 10;
    }
    g_snprintf(text, sizeof text, "%" PRId64 ".%0*" PRId64, value / scale,
               decimals, value % scale);
    if (writer_chance(writer, QUIRK_TRIMMED_ZEROS, 2)) {
        trim_fraction(text);
    }
    return json_string(text);
}

json_t *writer_time(const struct writer *writer, int64_t time_ns, int digits) {
    time_t seconds = (time_t)(time_ns / NS_PER_S);
    int64_t fraction = time_ns % NS_PER_S;
    struct tm tm;
    char date[TEXT_SIZE / 2];
    char text[TEXT_SIZE];

    if (quirk_on(writer->quirks, QUIRK_MIXED_PRECISION)) {
        digits = g_rand_boolean(writer->random) ? 3 : 9;
    }
    for (int i = digits; i < 9; i++) {
        fraction /= 10;
    }
    gmtime_r(&seconds, &tm);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
    g_snprintf(text, sizeof text, "%s.%0*" PRId64, date, digits, fraction);
    if (writer_chance(writer, QUIRK_TRIMMED_ZEROS, 2)) {
        trim_fraction(text);
    }
    g_strlcat(text, "Z", sizeof text);
    return json_string(text);
}

/* Returns a random value; objects in it have names that are known elsewhere. */
static json_t *unknown_value(const struct writer *writer) {
    switch (g_rand_int_range(writer->random, 0, 5)) {
    case 0: return json_integer(g_rand_int_range(writer->random, -9, 1000));
    case 1: return json_null();
    case 2: return json_string("\xc3\xa9 \"\\ \n");
    case 3: return json_pack("[b, {}, [f, s]]", 1, 1.5e-9, "bids");
    default:
        return json_pack("{s:s, s:[{s:s}], s:s, s:n}", "channel", "x", "bids",
                         "price", "1", "time", "never", "error");
    }
}

static void add_unknown_field(const struct writer *writer, json_t *object) {
    static const char *const names[] = {"venue", "x_flags", "note", "Time"};
    const char *name =
        names[g_rand_int_range(writer->random, 0, G_N_ELEMENTS(names))];

    json_object_set_new(object, name, unknown_value(writer));
}

/* Adds a field to one object in n on average; in arrays, to one in 8. */
static void add_unknown_fields(const struct writer *writer, json_t *json,
                               int n) {
    const char *key;
    json_t *value;
    size_t i;

    json_object_foreach(json, key, value) {
        add_unknown_fields(writer, value, n);
    }
    json_array_foreach(json, i, value) {
        add_unknown_fields(writer, value, 8);
    }
    if (json_is_object(json) &&
        writer_chance(writer, QUIRK_UNKNOWN_FIELDS, n)) {
        add_unknown_field(writer, json);
    }
}

static bool has_large_array(const json_t *json) {
    const char *key;
    json_t *value;

    /* jansson's iterators need a non-const object, but do not change it. */
    json_object_foreach((json_t *)json, key, value) {
        if (has_large_array(value)) {
            return true;
        }
    }
    return json_array_size(json) > SMALL_MAX;
}

static GPtrArray *shuffled_keys(const struct writer *writer, json_t *object) {
    GPtrArray *keys = g_ptr_array_new();
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value) {
        guint to =
            (guint)g_rand_int_range(writer->random, 0, (int)keys->len + 1);

        g_ptr_array_insert(keys, (int)to, (gpointer)key);
    }
    return keys;
}

static json_t *reorder(const struct writer *writer, json_t *json);

/* In an object with a large array, arrays and objects come last: a client need
 * not buffer many levels until it knows their market. */
static json_t *reorder_object(const struct writer *writer, json_t *object) {
    bool large = has_large_array(object);
    GPtrArray *keys = shuffled_keys(writer, object);
    json_t *result = json_object();

    for (int late = 0; late <= (large ? 1 : 0); late++) {
        for (guint i = 0; i < keys->len; i++) {
            const char *key = g_ptr_array_index(keys, i);
            json_t *value = json_object_get(object, key);

            if (!large ||
                (json_is_object(value) || json_is_array(value)) == late) {
                json_object_set_new(result, key, reorder(writer, value));
            }
        }
    }
    g_ptr_array_unref(keys);
    return result;
}

/* Returns a copy with the keys of each object in random order. */
static json_t *reorder(const struct writer *writer, json_t *json) {
    json_t *result;
    json_t *value;
    size_t i;

    if (json_is_object(json)) {
        return reorder_object(writer, json);
    }
    if (!json_is_array(json)) {
        return json_incref(json);
    }
    result = json_array();
    json_array_foreach(json, i, value) {
        json_array_append_new(result, reorder(writer, value));
    }
    return result;
}

static void append_white_space(const struct writer *writer, GString *text) {
    if (g_rand_int_range(writer->random, 0, 8) == 0) {
        g_string_append_c(text,
                          " \t\n\r"[g_rand_int_range(writer->random, 0, 4)]);
    }
}

static char *spread_out(const struct writer *writer, const char *compact) {
    GString *text = g_string_new(NULL);
    bool in_string = false;

    for (const char *c = compact; *c != '\0'; c++) {
        bool token = !in_string && strchr("{}[],:", *c);

        if (token) {
            append_white_space(writer, text);
        }
        g_string_append_c(text, *c);
        if (token) {
            append_white_space(writer, text);
        }
        if (in_string && *c == '\\') {
            g_string_append_c(text, *++c);
        } else if (*c == '"') {
            in_string = !in_string;
        }
    }
    return g_string_free(text, FALSE);
}

char *writer_text(const struct writer *writer, json_t *json) {
    char *text;

    if (quirk_on(writer->quirks, QUIRK_UNKNOWN_FIELDS)) {
        add_unknown_fields(writer, json, 2);
    }
    if (quirk_on(writer->quirks, QUIRK_KEY_ORDER)) {
        json_t *ordered = reorder(writer, json);

        json_decref(json);
        json = ordered;
    }
    text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    if (quirk_on(writer->quirks, QUIRK_WHITE_SPACE)) {
        g_autofree char *compact = text;

        text = spread_out(writer, compact);
    }
    return text;
}
