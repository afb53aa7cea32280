/*
 * What it costs to decode a message: a mix of all channels as the service
 * writes them, the same with white space and in other orders, and a large
 * snapshot; beside the time that copying the same bytes takes. All forms of a
 * corpus must give the same values.
 *
 *   decode           runs all, interleaved, and prints the best of all rounds
 *   decode ROW [N]   runs one row once, or N times, for a profiler such as
 *                    valgrind --tool=callgrind --toggle-collect=decode
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mini_stream.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MESSAGES 10000
#define LEVELS_MOST 10 /* of an update */
#define SNAPSHOT_LEVELS 5000

#define ROUNDS 101

/* 2026-01-02T03:04:05Z and what follows within a minute. */
#define TIME_PREFIX "2026-01-02T03:04:"

/* How a message is written. */
enum form {
    FORM_USUAL,
    FORM_SPACED,  /* a space behind each ':' and ',' between values */
    FORM_ORDERED, /* other orders of members that need one pass all the same */
    FORM_SORTED,  /* by name, so that levels come before their market */
    FORMS
};

struct corpus {
    char *text;
    size_t len, size, count;
    size_t ends[MESSAGES];
};

static struct corpus corpora[FORMS], varied, snapshot, varied_snapshot;

static void *copy; /* where the floor copies to */

static uint64_t random_state = 1;

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

/* ---- Messages ---- */

struct quote {
    char price[16], amount[16];
};

/* What a message says, whatever its form. */
struct content {
    enum mst_channel channel;
    bool snapshot;
    char time[40];
    struct quote *quotes; /* bids, then asks; an execution is one */
    size_t count, bids;
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

static void add_levels(struct corpus *corpus, enum form form, const char *name,
                       const struct quote *quotes, size_t count)
{
    add(corpus, form == FORM_SPACED ? "\"%s\": [" : "\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        const char *price = quotes[i].price, *amount = quotes[i].amount;

        if (i > 0) {
            add(corpus, form == FORM_SPACED ? ", " : ",");
        }
        if (form == FORM_USUAL) {
            add(corpus, "{\"price\":\"%s\",\"amount\":\"%s\"}", price, amount);
        } else if (form == FORM_SPACED) {
            add(corpus, "{\"price\": \"%s\", \"amount\": \"%s\"}", price,
                amount);
        } else {
            add(corpus, "{\"amount\":\"%s\",\"price\":\"%s\"}", amount, price);
        }
    }
    add(corpus, "]");
}

static void add_field(struct corpus *corpus, enum form form, const char *name,
                      const char *value)
{
    add(corpus, form == FORM_SPACED ? "\"%s\": \"%s\"" : "\"%s\":\"%s\"", name,
        value);
}

static void add_comma(struct corpus *corpus, enum form form)
{
    add(corpus, form == FORM_SPACED ? ", " : ",");
}

/* The fields that a payload has beside levels, in one of two orders. */
static void add_fields(struct corpus *corpus, enum form form,
                       const struct content *content)
{
    static const char *const times[] = {"time", "timestamp", "executed_at",
                                        "timestamp"};
    const char *const fields[][2] = {
        {"market", "BTCUSD"},
        {"price", content->quotes[0].price},
        {"amount", content->quotes[0].amount},
        {"type", content->channel == MST_TOP_OF_BOOK ? "TOP_OF_BOOK"
                 : content->snapshot                 ? "SNAPSHOT"
                                                     : "UPDATE"},
        {times[content->channel], content->time},
    };
    static const unsigned used[] = {1u | 8u | 16u, 1u | 8u | 16u,
                                    1u | 2u | 4u | 16u, 16u};
    bool first = true;

    for (size_t n = 0; n < 5; n++) {
        size_t i = form == FORM_ORDERED || form == FORM_SORTED ? 4 - n : n;

        if ((used[content->channel] >> i & 1u) != 0) {
            if (!first) {
                add_comma(corpus, form);
            }
            add_field(corpus, form, fields[i][0], fields[i][1]);
            first = false;
        }
    }
}

static void add_sides(struct corpus *corpus, enum form form,
                      const struct content *content)
{
    const struct quote *asks = content->quotes + content->bids;
    size_t count = content->count - content->bids;

    if (form == FORM_SORTED) {
        add_levels(corpus, form, "asks", asks, count);
        add_comma(corpus, form);
    }
    add_levels(corpus, form, "bids", content->quotes, content->bids);
    if (form != FORM_SORTED) {
        add_comma(corpus, form);
        add_levels(corpus, form, "asks", asks, count);
    }
}

static void add_message(struct corpus *corpus, enum form form,
                        const struct content *content)
{
    bool sides = content->channel == MST_MARKET_DATA ||
                 content->channel == MST_TOP_OF_BOOK;

    add(corpus, "{");
    add_field(corpus, form, "channel", mst_channel_name(content->channel));
    add(corpus, form == FORM_SPACED ? ", \"payload\": {" : ",\"payload\":{");
    if (sides && form == FORM_SORTED) {
        add_sides(corpus, form, content);
        add_comma(corpus, form);
    }
    add_fields(corpus, form, content);
    if (sides && form != FORM_SORTED) {
        add_comma(corpus, form);
        add_sides(corpus, form, content);
    }
    add(corpus, "}}");
    corpus->ends[corpus->count++] = corpus->len;
}

/* Five digits and cents; an amount of four decimals, or of one to eight. */
static void quote_random(struct quote *quote, bool varies)
{
    unsigned decimals = varies ? 1 + random_below(8) : 4, scale = 1;

    for (unsigned i = 0; i < decimals; i++) {
        scale *= 10;
    }
    snprintf(quote->price, sizeof quote->price, "%u.%02u",
             50000 + random_below(5000), random_below(100));
    snprintf(quote->amount, sizeof quote->amount, "%u.%0*u",
             random_below(varies ? 20 : 10), (int)decimals,
             random_below(scale));
}

/* 80% updates of 1 to 10 levels, 10% top of book, 9% executions, 1%
 * heartbeats. One level in eight is a removal. */
static void content_random(struct content *content, unsigned n, bool varies)
{
    unsigned dice = random_below(100);
    bool sides = dice < 90, millis;

    content->channel = dice < 80   ? MST_MARKET_DATA
                       : dice < 90 ? MST_TOP_OF_BOOK
                       : dice < 99 ? MST_EXECUTION_DATA
                                   : MST_HEARTBEAT;
    content->count = content->channel == MST_MARKET_DATA
                         ? 1 + random_below(LEVELS_MOST)
                     : content->channel == MST_TOP_OF_BOOK ? 2
                                                           : 1;
    content->bids = content->channel == MST_MARKET_DATA
                        ? random_below((unsigned)content->count + 1)
                        : 1;
    for (size_t i = 0; i < content->count; i++) {
        quote_random(&content->quotes[i], varies);
        if (sides && random_below(8) == 0) {
            strcpy(content->quotes[i].amount, "0");
        }
    }
    millis = content->channel == MST_MARKET_DATA ||
             content->channel == MST_EXECUTION_DATA;
    snprintf(content->time, sizeof content->time,
             millis ? TIME_PREFIX "%02u.%03uZ" : TIME_PREFIX "%02u.%03u%06uZ",
             n / 1000 % 60, n % 1000, random_below(1000000));
}

static void make_snapshot(struct corpus *corpus, bool varies)
{
    static struct quote quotes[2 * SNAPSHOT_LEVELS];
    struct content content = {
        .channel = MST_MARKET_DATA,
        .snapshot = true,
        .time = TIME_PREFIX "05.678Z",
        .quotes = quotes,
        .count = 2 * SNAPSHOT_LEVELS,
        .bids = SNAPSHOT_LEVELS,
    };

    for (size_t i = 0; i < content.count; i++) {
        quote_random(&quotes[i], varies);
    }
    add_message(corpus, FORM_USUAL, &content);
}

static void make_corpora(void)
{
    struct quote quotes[LEVELS_MOST];
    struct content content = {.quotes = quotes};

    for (unsigned n = 0; n < MESSAGES; n++) {
        content_random(&content, n, false);
        for (int form = 0; form < FORMS; form++) {
            add_message(&corpora[form], (enum form)form, &content);
        }
        content_random(&content, n, true);
        add_message(&varied, FORM_USUAL, &content);
    }
    make_snapshot(&snapshot, false);
    make_snapshot(&varied_snapshot, true);
    copy = malloc(corpora[FORM_USUAL].len + snapshot.len);
    if (copy == NULL) {
        fputs("no memory\n", stderr);
        exit(1);
    }
}

/* ---- Decoding ---- */

static uint64_t sum_level(const struct mst_level *level)
{
    uint32_t rest;

    memcpy(&rest, &level->price_exponent, sizeof rest); /* to the flags */
    return (uint64_t)level->price_coefficient * 3 +
           (uint64_t)level->amount_coefficient * 5 + rest;
}

/* All that was decoded in one number, in whatever order the sides came. */
static uint64_t sum_event(const struct mst_event *event)
{
    uint64_t sum = 0;

    switch (event->type) {
    case MST_EVENT_PART:
        for (size_t i = 0; i < event->as.part.count; i++) {
            sum += sum_level(&event->as.part.levels[i]);
        }
        return sum + (uint64_t)event->as.part.time_ns +
               (uint8_t)event->as.part.market[0] + event->as.part.snapshot;
    case MST_EVENT_TOP:
        return sum_level(&event->as.top.bid) + sum_level(&event->as.top.ask) +
               (uint64_t)event->as.top.time_ns +
               (uint8_t)event->as.top.market[0];
    case MST_EVENT_EXECUTION:
        return (uint64_t)event->as.execution.price.coefficient * 3 +
               (uint64_t)event->as.execution.amount.coefficient * 5 +
               (uint64_t)event->as.execution.time_ns +
               (uint8_t)event->as.execution.market[0];
    case MST_EVENT_HEARTBEAT: return (uint64_t)event->as.heartbeat.time_ns;
    default:
        fprintf(stderr, "a message was not understood: %s\n",
                mst_strerror(event->as.failure.error));
        exit(1);
    }
}

/* Decodes a corpus in pieces of this size. */
__attribute__((noinline)) static uint64_t decode(const struct corpus *corpus,
                                                 size_t piece)
{
    static unsigned char buffer[2048];
    static struct mst_decoder decoder;
    struct mst_event event;
    uint64_t sum = 0;
    size_t at = 0;

    mst_decoder_init(&decoder, buffer, sizeof buffer, 0);
    for (size_t i = 0; i < corpus->count; i++) {
        do {
            size_t left = corpus->ends[i] - at;
            size_t len = left < piece ? left : piece;

            mst_decoder_feed(&decoder, corpus->text + at, len, len == left);
            while (mst_decoder_next(&decoder, &event) == 1) {
                sum += sum_event(&event);
            }
            at += len;
        } while (at < corpus->ends[i]);
    }
    return sum;
}

static uint64_t copy_only(const struct corpus *corpus)
{
    size_t at = 0;

    for (size_t i = 0; i < corpus->count; i++) {
        memcpy((char *)copy + at, corpus->text + at, corpus->ends[i] - at);
        at = corpus->ends[i];
    }
    return *(volatile char *)copy != '\0' ? 0 : 1;
}

/* ---- Rows ---- */

static const struct row {
    const char *name;
    const struct corpus *corpus;
    const struct corpus *same_as; /* that must give the same values */
    size_t piece;                 /* 0: not decoded but copied */
    double bar, aim;              /* ns a message; 0: none */
} rows[] = {
    {"copied", &corpora[FORM_USUAL], NULL, 0, 0, 0},
    {"usual", &corpora[FORM_USUAL], NULL, SIZE_MAX, 120, 90},
    {"varied", &varied, NULL, SIZE_MAX, 0, 0},
    {"spaced", &corpora[FORM_SPACED], &corpora[FORM_USUAL], SIZE_MAX, 900, 450},
    {"ordered", &corpora[FORM_ORDERED], &corpora[FORM_USUAL], SIZE_MAX, 900,
     450},
    {"sorted", &corpora[FORM_SORTED], &corpora[FORM_USUAL], SIZE_MAX, 900, 450},
    {"pieces", &corpora[FORM_USUAL], &corpora[FORM_USUAL], 64, 0, 0},
    {"snapshot-copied", &snapshot, NULL, 0, 0, 0},
    {"snapshot", &snapshot, NULL, SIZE_MAX, 150000, 115000},
    {"snapshot-varied", &varied_snapshot, NULL, SIZE_MAX, 0, 0},
};

#define ROWS (sizeof rows / sizeof *rows)

static uint64_t run(const struct row *row)
{
    return row->piece > 0 ? decode(row->corpus, row->piece)
                          : copy_only(row->corpus);
}

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void print_row(const struct row *row, double ns, uint64_t sum)
{
    printf("%-16s %9zu %12.1f", row->name,
           row->corpus->len / row->corpus->count, ns);
    if (row->bar > 0) {
        printf(" %10.0f %10.0f  %-6s", row->bar, row->aim,
               ns <= row->aim   ? "aim"
               : ns <= row->bar ? "bar"
                                : "beyond");
    }
    if (row->piece > 0) {
        printf("%*s%016" PRIx64, row->bar > 0 ? 2 : 32, "", sum);
    }
    putchar('\n');
}

static void run_all(void)
{
    static double best[ROWS];
    static uint64_t sums[ROWS];

    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < ROWS; i++) {
            double begin = now_ns(), ns;

            sums[i] = run(&rows[i]);
            ns = (now_ns() - begin) / (double)rows[i].corpus->count;
            if (round == 0 || ns < best[i]) {
                best[i] = ns;
            }
        }
    }
    printf("%-16s %9s %12s %10s %10s  %-6s  %s\n", "messages", "bytes",
           "ns each", "bar", "aim", "within", "checksum");
    for (size_t i = 0; i < ROWS; i++) {
        print_row(&rows[i], best[i], sums[i]);
        if (rows[i].same_as != NULL && sums[i] != sums[1]) {
            fputs("checksums differ\n", stderr);
            exit(1);
        }
    }
}

int main(int argc, char **argv)
{
    make_corpora();
    if (argc < 2) {
        run_all();
        return 0;
    }
    for (size_t i = 0; i < ROWS; i++) {
        if (strcmp(argv[1], rows[i].name) == 0) {
            for (long n = argc > 2 ? strtol(argv[2], NULL, 10) : 1; n > 1;
                 n--) {
                run(&rows[i]);
            }
            printf("%s: %zu messages, checksum %016" PRIx64 "\n", rows[i].name,
                   rows[i].corpus->count, run(&rows[i]));
            return 0;
        }
    }
    fprintf(stderr, "no such row: %s\n", argv[1]);
    return 2;
}
