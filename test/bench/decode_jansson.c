/*
 * jansson.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "bench.h"
#include "decoders.h"

#include <jansson.h>

static bool member_is(const json_t *object, const char *key,
                      const char *literal) {
    const json_t *value = json_object_get(object, key);

    return json_is_string(value) &&
           bench_is(json_string_value(value), json_string_length(value),
                    literal);
}

static struct bench_number decimal_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);

    return bench_decimal(json_string_value(value), json_string_length(value));
}

static uint64_t sum_levels(const json_t *payload, const char *key,
                           enum bench_side side) {
    const json_t *levels = json_object_get(payload, key);
    const json_t *level;
    uint64_t sum = 0;
    size_t i;

    json_array_foreach(levels, i, level) {
        sum += bench_sum_level(side, decimal_of(level, "price"),
                               decimal_of(level, "amount"));
    }
    return sum;
}

static uint64_t sum_message(enum bench_kind kind, const json_t *payload,
                            const char *time_key) {
    const json_t *time = json_object_get(payload, time_key);
    const char *market = json_string_value(json_object_get(payload, "market"));

    return bench_sum_message(
        kind, market != NULL ? market : "\0\0\0",
        bench_time(json_string_value(time), json_string_length(time)));
}

static uint64_t sum_sides(const json_t *payload) {
    return sum_levels(payload, "bids", BENCH_BID) +
           sum_levels(payload, "asks", BENCH_ASK);
}

uint64_t decode_jansson(const char *text, size_t len) {
    json_t *root = json_loadb(text, len, 0, NULL);
    const json_t *payload = json_object_get(root, "payload");
    uint64_t sum;

    if (member_is(root, "channel", "market_data")) {
        bool snapshot = member_is(payload, "type", "SNAPSHOT");

        sum = sum_message(snapshot ? BENCH_SNAPSHOT : BENCH_UPDATE, payload,
                          "time") +
              sum_sides(payload);
    } else if (member_is(root, "channel", "market_data.top_of_book")) {
        sum = sum_message(BENCH_TOP, payload, "timestamp") + sum_sides(payload);
    } else if (member_is(root, "channel", "execution_data")) {
        sum = sum_message(BENCH_EXECUTION, payload, "executed_at") +
              bench_sum_level(BENCH_TRADE, decimal_of(payload, "price"),
                              decimal_of(payload, "amount"));
    } else {
        sum = sum_message(BENCH_HEARTBEAT, payload, "timestamp");
    }
    json_decref(root);
    return sum;
}
