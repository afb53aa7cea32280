/*
 * cJSON.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "bench.h"
#include "decoders.h"

#include <cjson/cJSON.h>

static const char *text_of(const cJSON *object, const char *key) {
    const char *text =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

    return text != NULL ? text : "\0\0\0";
}

static struct bench_number decimal_of(const cJSON *object, const char *key) {
    const char *text = text_of(object, key);

    return bench_decimal(text, strlen(text));
}

static uint64_t sum_levels(const cJSON *payload, const char *key,
                           enum bench_side side) {
    const cJSON *level;
    uint64_t sum = 0;

    cJSON_ArrayForEach(level, cJSON_GetObjectItemCaseSensitive(payload, key)) {
        sum += bench_sum_level(side, decimal_of(level, "price"),
                               decimal_of(level, "amount"));
    }
    return sum;
}

static uint64_t sum_message(enum bench_kind kind, const cJSON *payload,
                            const char *time_key) {
    const char *time = text_of(payload, time_key);

    return bench_sum_message(
        kind, kind == BENCH_HEARTBEAT ? "\0\0\0" : text_of(payload, "market"),
        bench_time(time, strlen(time)));
}

static uint64_t sum_sides(const cJSON *payload) {
    return sum_levels(payload, "bids", BENCH_BID) +
           sum_levels(payload, "asks", BENCH_ASK);
}

uint64_t decode_cjson(const char *text, size_t len) {
    cJSON *root = cJSON_ParseWithLength(text, len);
    const char *channel = text_of(root, "channel");
    const cJSON *payload = cJSON_GetObjectItemCaseSensitive(root, "payload");
    uint64_t sum;

    if (strcmp(channel, "market_data") == 0) {
        bool snapshot = strcmp(text_of(payload, "type"), "SNAPSHOT") == 0;

        sum = sum_message(snapshot ? BENCH_SNAPSHOT : BENCH_UPDATE, payload,
                          "time") +
              sum_sides(payload);
    } else if (strcmp(channel, "market_data.top_of_book") == 0) {
        sum = sum_message(BENCH_TOP, payload, "timestamp") + sum_sides(payload);
    } else if (strcmp(channel, "execution_data") == 0) {
        sum = sum_message(BENCH_EXECUTION, payload, "executed_at") +
              bench_sum_level(BENCH_TRADE, decimal_of(payload, "price"),
                              decimal_of(payload, "amount"));
    } else {
        sum = sum_message(BENCH_HEARTBEAT, payload, "timestamp");
    }
    cJSON_Delete(root);
    return sum;
}
