/*
 * jsmn with parent links; without them it takes quadratic time for a snapshot.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "bench.h"
#include "decoders.h"

#define JSMN_PARENT_LINKS
#define JSMN_STRICT
#define JSMN_STATIC
#include <jsmn.h>

#define TOKENS 65536 /* for a snapshot of 10,000 levels */

static jsmntok_t tokens[TOKENS];

struct reader {
    const char *text;
    int count; /* of tokens */
};

struct fields {
    enum bench_kind kind;
    const char *market;
    int64_t time_ns;
    struct bench_number price, amount;
    uint64_t levels;
};

static bool token_is(const struct reader *reader, int token,
                     const char *literal) {
    const jsmntok_t *t = &tokens[token];

    return bench_is(reader->text + t->start, (size_t)(t->end - t->start),
                    literal);
}

static struct bench_number token_decimal(const struct reader *reader,
                                         int token) {
    const jsmntok_t *t = &tokens[token];

    return bench_decimal(reader->text + t->start, (size_t)(t->end - t->start));
}

/* Returns the first token after this one and all in it. */
static int token_next(const struct reader *reader, int token) {
    int end = tokens[token].end;

    do {
        token++;
    } while (token < reader->count && tokens[token].start < end);
    return token;
}

/* Adds an array's levels to *sum; returns the token after the array. */
static int read_levels(const struct reader *reader, int array,
                       enum bench_side side, uint64_t *sum) {
    int at = array + 1;

    for (int i = 0; i < tokens[array].size; i++) {
        struct bench_number price = {0, BENCH_BAD}, amount = {0, BENCH_BAD};
        int members = tokens[at++].size;

        for (int m = 0; m < members; m++) {
            if (token_is(reader, at, "price")) {
                price = token_decimal(reader, at + 1);
            } else if (token_is(reader, at, "amount")) {
                amount = token_decimal(reader, at + 1);
            }
            at = token_next(reader, at + 1);
        }
        *sum += bench_sum_level(side, price, amount);
    }
    return at;
}

/* Reads one member of the payload; returns the token after it. */
static int read_member(const struct reader *reader, int key,
                       struct fields *fields) {
    const jsmntok_t *value = &tokens[key + 1];

    if (token_is(reader, key, "bids")) {
        return read_levels(reader, key + 1, BENCH_BID, &fields->levels);
    }
    if (token_is(reader, key, "asks")) {
        return read_levels(reader, key + 1, BENCH_ASK, &fields->levels);
    }
    if (token_is(reader, key, "market")) {
        fields->market = reader->text + value->start;
    } else if (token_is(reader, key, "type")) {
        if (token_is(reader, key + 1, "SNAPSHOT")) {
            fields->kind = BENCH_SNAPSHOT;
        }
    } else if (token_is(reader, key, "time") ||
               token_is(reader, key, "timestamp") ||
               token_is(reader, key, "executed_at")) {
        fields->time_ns = bench_time(reader->text + value->start,
                                     (size_t)(value->end - value->start));
    } else if (token_is(reader, key, "price")) {
        fields->price = token_decimal(reader, key + 1);
    } else if (token_is(reader, key, "amount")) {
        fields->amount = token_decimal(reader, key + 1);
    }
    return token_next(reader, key + 1);
}

static enum bench_kind kind_of(const struct reader *reader, int token) {
    return token_is(reader, token, "market_data")               ? BENCH_UPDATE
           : token_is(reader, token, "market_data.top_of_book") ? BENCH_TOP
           : token_is(reader, token, "execution_data") ? BENCH_EXECUTION
                                                       : BENCH_HEARTBEAT;
}

uint64_t decode_jsmn(const char *text, size_t len) {
    struct fields fields = {.kind = BENCH_HEARTBEAT, .market = "\0\0\0"};
    struct reader reader = {.text = text};
    int at = 1;
    jsmn_parser parser;

    jsmn_init(&parser);
    reader.count = jsmn_parse(&parser, text, len, tokens, TOKENS);
    if (reader.count < 1 || tokens[0].type != JSMN_OBJECT) {
        return 0;
    }
    for (int i = 0; i < tokens[0].size; i++) {
        if (token_is(&reader, at, "channel")) {
            fields.kind = kind_of(&reader, at + 1);
            at += 2;
        } else if (token_is(&reader, at, "payload")) {
            int members = tokens[at + 1].size;

            at += 2;
            for (int m = 0; m < members; m++) {
                at = read_member(&reader, at, &fields);
            }
        } else {
            at = token_next(&reader, at + 1);
        }
    }
    if (fields.kind == BENCH_EXECUTION) {
        fields.levels +=
            bench_sum_level(BENCH_TRADE, fields.price, fields.amount);
    }
    return fields.levels +
           bench_sum_message(fields.kind, fields.market, fields.time_ns);
}
