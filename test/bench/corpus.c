/*
 * See corpus.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "corpus.h"

#include "bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define LEVELS_MOST 10 /* of an update */

/* 2026-01-02T03:04:05Z and what follows within a minute. */
#define TIME_PREFIX "2026-01-02T03:04:"
#define TIME_BASE_NS 1767323040000000000

static uint64_t random_state;

/* SplitMix64, for the same messages in each run. */
static uint64_t random_next(void)
{
    uint64_t z = random_state += 0x9E3779B97F4A7C15u;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static unsigned random_below(unsigned n)
{
    return (unsigned)(random_next() % n);
}

/* What a message says. */
struct content {
    enum bench_kind kind;
    char market[CORPUS_MARKET_LEN + 1];
    char time[CORPUS_TIME_LEN + 1];
    size_t bids, asks; /* an execution is a bid here */
};

__attribute__((format(printf, 2, 3))) static void add(struct corpus *corpus,
                                                      const char *format, ...)
{
    va_list arguments;

    if (corpus->size - corpus->len < 256) {
        corpus->size = corpus->size * 2 + 65536;
        corpus->text = realloc(corpus->text, corpus->size);
        if (corpus->text == NULL) {
            fputs("no memory\n", stderr);
            exit(1);
        }
    }
    va_start(arguments, format);
    corpus->len +=
        (size_t)vsnprintf(corpus->text + corpus->len,
                          corpus->size - corpus->len, format, arguments);
    va_end(arguments);
}

/* Five digits and cents; an amount of four decimals. One level in eight of an
 * update is a removal. Returns its sum. */
static uint64_t add_quote(struct corpus *corpus, const char *format,
                          enum bench_side side, bool removals)
{
    unsigned whole = 50000 + random_below(5000), cents = random_below(100);
    unsigned amount = random_below(100000);
    char text[16] = "0";
    struct bench_number price = {whole * 100 + cents, -2};

    if (removals && random_below(8) == 0) {
        amount = 0;
    } else {
        snprintf(text, sizeof text, "%u.%04u", amount / 10000, amount % 10000);
    }
    add(corpus, format, whole, cents, text);
    return bench_sum_level(side, price, (struct bench_number){amount, -4});
}

static uint64_t add_levels(struct corpus *corpus, const char *name,
                           enum bench_side side, size_t count, bool removals)
{
    uint64_t sum = 0;

    add(corpus, ",\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        sum += add_quote(corpus,
                         i == 0 ? "{\"price\":\"%u.%02u\",\"amount\":\"%s\"}"
                                : ",{\"price\":\"%u.%02u\",\"amount\":\"%s\"}",
                         side, removals);
    }
    add(corpus, "]");
    return sum;
}

static uint64_t add_payload(struct corpus *corpus,
                            const struct content *content)
{
    static const char *const types[] = {"UPDATE", "SNAPSHOT", "TOP_OF_BOOK"};
    bool removals = content->kind == BENCH_UPDATE;
    uint64_t sum;

    switch (content->kind) {
    case BENCH_HEARTBEAT:
        add(corpus, "\"timestamp\":\"%s\"", content->time);
        return 0;
    case BENCH_EXECUTION:
        add(corpus, "\"market\":\"%s\",", content->market);
        sum = add_quote(corpus, "\"price\":\"%u.%02u\",\"amount\":\"%s\",",
                        BENCH_TRADE, false);
        add(corpus, "\"executed_at\":\"%s\"", content->time);
        return sum;
    default:
        add(corpus, "\"market\":\"%s\",\"type\":\"%s\",\"%s\":\"%s\"",
            content->market, types[content->kind],
            content->kind == BENCH_TOP ? "timestamp" : "time", content->time);
        sum = add_levels(corpus, "bids", BENCH_BID, content->bids, removals);
        return sum +
               add_levels(corpus, "asks", BENCH_ASK, content->asks, removals);
    }
}

static void add_message(struct corpus *corpus, const struct content *content,
                        int64_t time_ns)
{
    static const char *const channels[] = {"market_data", "market_data",
                                           "market_data.top_of_book",
                                           "execution_data", "heartbeat"};
    struct corpus_message *message = &corpus->messages[corpus->count++];

    message->at = corpus->len;
    message->sum = bench_sum_message(
        content->kind,
        content->kind == BENCH_HEARTBEAT ? "\0\0\0" : content->market, time_ns);
    add(corpus, "{\"channel\":\"%s\",\"payload\":{", channels[content->kind]);
    message->sum += add_payload(corpus, content);
    add(corpus, "}}");
    message->len = corpus->len - message->at;
    add(corpus, "%c", '\0');
}

static void corpus_init(struct corpus *corpus, size_t count)
{
    *corpus = (struct corpus){
        .messages = calloc(count, sizeof *corpus->messages),
    };
    if (corpus->messages == NULL) {
        fputs("no memory\n", stderr);
        exit(1);
    }
    random_state = 1;
}

static void add_random(struct corpus *corpus, unsigned n, unsigned markets)
{
    unsigned dice = random_below(100), ns = n % 1000 * 1000000;
    struct content content = {
        .kind = dice < 80   ? BENCH_UPDATE
                : dice < 90 ? BENCH_TOP
                : dice < 99 ? BENCH_EXECUTION
                            : BENCH_HEARTBEAT,
        .bids = 1,
        .asks = 1,
    };
    bool millis =
        content.kind == BENCH_UPDATE || content.kind == BENCH_EXECUTION;

    if (content.kind == BENCH_UPDATE) {
        unsigned levels = 1 + random_below(LEVELS_MOST);

        content.bids = random_below(levels + 1);
        content.asks = levels - content.bids;
    }
    corpus_market(random_below(markets), content.market);
    ns += millis ? 0 : random_below(1000000);
    snprintf(content.time, sizeof content.time, TIME_PREFIX "%02u.%0*uZ",
             n / 1000 % 60, millis ? 3 : 9, millis ? ns / 1000000 : ns);
    add_message(corpus, &content,
                TIME_BASE_NS + n / 1000 % 60 * 1000000000LL + ns);
}

void corpus_mixed(struct corpus *corpus, size_t count, unsigned markets)
{
    corpus_init(corpus, count);
    for (size_t n = 0; n < count; n++) {
        add_random(corpus, (unsigned)n, markets);
    }
    add(corpus, "%*s", BENCH_PADDING, "");
}

void corpus_snapshot(struct corpus *corpus, size_t levels)
{
    struct content content = {
        .kind = BENCH_SNAPSHOT,
        .time = TIME_PREFIX "05.678Z",
        .bids = levels,
        .asks = levels,
    };

    corpus_init(corpus, 1);
    corpus_market(0, content.market);
    add_message(corpus, &content, TIME_BASE_NS + 5678000000);
    add(corpus, "%*s", BENCH_PADDING, "");
}

size_t corpus_bytes(const struct corpus *corpus)
{
    size_t bytes = 0;

    for (size_t i = 0; i < corpus->count; i++) {
        bytes += corpus->messages[i].len;
    }
    return bytes;
}

void corpus_free(struct corpus *corpus)
{
    free(corpus->text);
    free(corpus->messages);
}

void corpus_market(unsigned number, char market[CORPUS_MARKET_LEN + 1])
{
    snprintf(market, CORPUS_MARKET_LEN + 1, "%cTCUSD",
             'B' + (int)(number % CORPUS_MARKETS_MAX));
}
