/* Reads a market of a script. SPDX-License-Identifier: 0BSD */
#include "script.h"

#include "text.h"

#include <string.h>

#define SYMBOL_MAX 31
#define DIGITS_MAX 15 /* of a price or amount */
#define DECIMALS_MAX 9

/* The largest gap between neighbouring levels, in ticks. It is smaller if all
 * levels would otherwise span more than an eighth of the price. */
#define GAP_MAX 400
#define SPAN_PART 8

static const struct schema_field *const fields[] = {
    SCHEMA_FIELD("symbol", SCHEMA_TEXT, .required = true, .min = 1,
                 .max = SYMBOL_MAX),
    SCHEMA_FIELD("price", SCHEMA_TEXT, .required = true, .min = 1,
                 .max = DIGITS_MAX + 1),
    SCHEMA_FIELD("amount", SCHEMA_TEXT, .min = 1, .max = DIGITS_MAX + 1,
                 .otherwise = "\"2.00000000\""),
    SCHEMA_FIELD("rate", SCHEMA_NUMBER, .max = FEED_RATE_MAX),
    SCHEMA_FIELD("levels", SCHEMA_NUMBER, .min = MARKET_DEPTH_LEAST,
                 .max = MARKET_DEPTH_MOST),
    NULL};

/* Reads text such as 95000.00 as an integer and a number of decimals. */
static bool read_decimal(const char *text, int64_t *value, int *decimals) {
    const char *point = strchr(text, '.');
    size_t fraction = point ? strlen(point + 1) : 0;

    if (!text_is_decimal(text) || fraction > DECIMALS_MAX ||
        strlen(text) - (point ? 1 : 0) > DIGITS_MAX) {
        return false;
    }
    *value = 0;
    *decimals = (int)fraction;
    for (; *text != '\0'; text++) {
        if (*text != '.') {
            *value = *value * 10 + g_ascii_digit_value(*text);
        }
    }
    return *value > 0;
}

static bool read_number(const json_t *json, const char *path, const char *name,
                        int64_t *value, int *decimals,
                        struct schema_error *error) {
    const char *text = json_string_value(json_object_get(json, name));

    return read_decimal(text, value, decimals) ||
           schema_refuse(error, path, name,
                         "must be a decimal such as 95000.00, above 0, of at "
                         "most %d digits, %d of them decimals",
                         DIGITS_MAX, DECIMALS_MAX);
}

/* Returns true for printable ASCII without spaces. */
static bool is_symbol(const char *text) {
    while (g_ascii_isgraph(*text)) {
        text++;
    }
    return *text == '\0';
}

/* Reads prices and amounts. */
static bool read_spec(const json_t *json, const char *path,
                      struct market_spec *spec, guint depth,
                      struct schema_error *error) {
    int64_t most = 0;

    if (!read_number(json, path, "price", &spec->start_price,
                     &spec->price_decimals, error) ||
        !read_number(json, path, "amount", &most, &spec->amount_decimals,
                     error)) {
        return false;
    }
    spec->max_gap =
        (int)MIN(spec->start_price / SPAN_PART / (int64_t)depth, GAP_MAX);
    spec->max_amount = (int)MIN(most, G_MAXINT32 - 1);
    return (spec->max_gap > 0 ||
            schema_refuse(error, path, "price",
                          "has too few ticks for %u levels: write it with "
                          "more digits",
                          depth)) &&
           (most < G_MAXINT32 ||
            schema_refuse(error, path, "amount", "has too many digits"));
}

bool script_market_read(const json_t *json, const char *path,
                        struct feed_market *market,
                        struct schema_error *error) {
    const json_t *given_rate = json_object_get(json, "rate");
    const json_t *given_levels = json_object_get(json, "levels");
    json_auto_t *whole = NULL;

    if (!schema_check(json, path, fields, error)) {
        return false;
    }
    market->spec.symbol =
        g_intern_string(json_string_value(json_object_get(json, "symbol")));
    if (!is_symbol(market->spec.symbol)) {
        return schema_refuse(error, path, "symbol",
                             "must be printable ASCII without spaces");
    }
    if (given_rate) {
        market->rate = (int)json_integer_value(given_rate);
    }
    if (given_levels) {
        market->levels = (guint)json_integer_value(given_levels);
    }
    whole = json_copy((json_t *)json);
    schema_fill(whole, fields);
    return read_spec(whole, path, &market->spec,
                     market->levels > 0 ? market->levels : MARKET_DEPTH_USUAL,
                     error);
}
