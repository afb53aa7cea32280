/*
 * Measures mini_stream's decoder and others on the same messages. They take
 * turns, so that whatever slows the machine slows all of them. Shows the least
 * processor time of all rounds. Each sum is checked.
 *
 *   peers     prints rows: corpus, decoder, ns a message
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "bench.h"
#include "corpus.h"
#include "decoders.h"

#include <stdio.h>
#include <stdlib.h>

#define MESSAGES CORPUS_VARIED_MESSAGES
#define MARKETS 4
#define SNAPSHOT_LEVELS 5000 /* of each side */

#define ROUNDS 21

static const struct decoder {
    const char *name;
    uint64_t (*decode)(const char *text, size_t len);
} decoders[] = {
    {"mini_stream", decode_mini_stream},
    {"mini_stream, MST_NO_FAST_LANE", decode_mini_stream_no_fast_lane},
    {"simdjson, raw tokens", decode_simdjson},
    {"simdjson, strings", decode_simdjson_strings},
    {"jsmn", decode_jsmn},
    {"RapidJSON SAX", decode_rapidjson},
    {"cJSON", decode_cjson},
};

#define DECODERS (sizeof decoders / sizeof *decoders)

/* ns a message. */
static double time_round(const struct corpus *corpus,
                         const struct decoder *decoder) {
    uint64_t begin = bench_ns(CLOCK_PROCESS_CPUTIME_ID), sum = 0;

    for (size_t i = 0; i < corpus->count; i++) {
        sum += decoder->decode(corpus->text + corpus->messages[i].at,
                               corpus->messages[i].len);
    }
    begin = bench_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
    if (sum != corpus->sum) {
        fputs(decoder->name, stderr);
        bench_stop(": wrong sum");
    }
    return (double)begin / (double)corpus->count;
}

static void compare(const char *name, struct corpus *corpus) {
    double best[DECODERS] = {0};

    for (int round = 0; round < ROUNDS; round++) {
        for (size_t d = 0; d < DECODERS; d++) {
            best[d] = bench_least(best[d], time_round(corpus, &decoders[d]));
        }
    }
    printf("%s\tbytes\t%.0f\n", name,
           (double)corpus->bytes / (double)corpus->count);
    for (size_t d = 0; d < DECODERS; d++) {
        printf("%s\t%s\t%.1f\n", name, decoders[d].name, best[d]);
    }
    corpus_free(corpus);
}

int main(void) {
    struct corpus corpus;

    corpus_mixed(&corpus, MESSAGES, MARKETS, CORPUS_USUAL);
    compare("mixed", &corpus);
    corpus_mixed(&corpus, MESSAGES, MARKETS, CORPUS_SPACED);
    compare("spaced", &corpus);
    corpus_mixed(&corpus, CORPUS_VARIED_MESSAGES, CORPUS_VARIED_MARKETS,
                 CORPUS_VARIED);
    compare("varied", &corpus);
    corpus_snapshot(&corpus, SNAPSHOT_LEVELS, CORPUS_USUAL);
    compare("snapshot", &corpus);
    return 0;
}
