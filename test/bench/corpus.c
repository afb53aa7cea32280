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

#define LEVELS_MOST 10  /* of an update */
#define REMOVALS 8      /* one of this many levels of an update */
#define DECIMALS_MOST 8 /* of an amount */
#define QUOTE_TEXT 24   /* bytes of a number, with a NUL */

/* Times begin at 2026-01-02T03:00:00Z and stay within the hour. */
#define TIME_PREFIX "2026-01-02T03:"
#define TIME_BASE_NS 1767322800000000000

/* Each market's price, in units of its last decimal, and number of decimals in
 * varied messages. */
static const struct {
    char name[CORPUS_MARKET_LEN + 1];
    unsigned price, decimals;
} listed[CORPUS_MARKETS_MAX] = {
    {"BTCUSD", 5000000, 2}, {"ETHUSD", 2500000, 3}, {"SOLUSD", 1500, 1},
    {"LTCUSD", 90, 0},      {"DOGEUSD", 15000, 5},  {"USDCUSD", 9990, 4},
    {"LINKUSD", 14000, 3},  {"SHIBUSD", 2, 5},      {"1INCHUSD", 3000, 4},
    {"AVAXUSD", 400, 1},
};

static uint64_t random_state;

static unsigned random_below(unsigned n) {
    return (unsigned)(bench_random(&random_state) % n);
}

struct quote {
    char price[QUOTE_TEXT], amount[QUOTE_TEXT];
    uint64_t sum;
};

/* A message's content, in any form. */
struct content {
    enum bench_kind kind;
    unsigned market_number;
    char market[CORPUS_MARKET_LEN + 1];
    char time[CORPUS_TIME_LEN + 1];
    int64_t time_ns;
    struct quote *quotes; /* bids, then asks; an execution has one */
    size_t bids, asks;
};

/* ---- Text ---- */

__attribute__((format(printf, 2, 3))) static void add(struct corpus *corpus,
                                                      const char *format, ...) {
    va_list arguments;

    if (corpus->size - corpus->len < 256) {
        corpus->size = corpus->size * 2 + 65536;
        corpus->text = realloc(corpus->text, corpus->size);
        if (corpus->text == NULL) {
            bench_stop("no memory");
        }
    }
    va_start(arguments, format);
    corpus->len +=
        (size_t)vsnprintf(corpus->text + corpus->len,
                          corpus->size - corpus->len, format, arguments);
    va_end(arguments);
}

/* Adds a comma, except before the first element. */
static void add_comma(struct corpus *corpus, enum corpus_form form) {
    if (strchr("{[", corpus->text[corpus->len - 1]) == NULL) {
        add(corpus, form == CORPUS_SPACED ? ", " : ",");
    }
}

static void add_field(struct corpus *corpus, enum corpus_form form,
                      const char *name, const char *value) {
    add_comma(corpus, form);
    add(corpus, form == CORPUS_SPACED ? "\"%s\": \"%s\"" : "\"%s\":\"%s\"",
        name, value);
}

static void add_levels(struct corpus *corpus, enum corpus_form form,
                       const char *name, const struct quote *quotes,
                       size_t count) {
    bool price_last = form == CORPUS_ORDERED || form == CORPUS_SORTED;

    add_comma(corpus, form);
    add(corpus, form == CORPUS_SPACED ? "\"%s\": [" : "\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        add_comma(corpus, form);
        add(corpus, "{");
        if (price_last) {
            add_field(corpus, form, "amount", quotes[i].amount);
        }
        add_field(corpus, form, "price", quotes[i].price);
        if (!price_last) {
            add_field(corpus, form, "amount", quotes[i].amount);
        }
        add(corpus, "}");
    }
    add(corpus, "]");
}

static void add_sides(struct corpus *corpus, enum corpus_form form,
                      const struct content *content) {
    const struct quote *asks = content->quotes + content->bids;

    if (form == CORPUS_SORTED) {
        add_levels(corpus, form, "asks", asks, content->asks);
    }
    add_levels(corpus, form, "bids", content->quotes, content->bids);
    if (form != CORPUS_SORTED) {
        add_levels(corpus, form, "asks", asks, content->asks);
    }
}

/* Adds a payload's fields other than levels, in one of two orders. */
static void add_fields(struct corpus *corpus, enum corpus_form form,
                       const struct content *content) {
    static const char *const types[] = {"UPDATE", "SNAPSHOT", "TOP_OF_BOOK", "",
                                        ""};
    static const char *const times[] = {"time", "time", "timestamp",
                                        "executed_at", "timestamp"};
    static const unsigned used[] = {1u | 8u | 16u, 1u | 8u | 16u, 1u | 8u | 16u,
                                    1u | 2u | 4u | 16u, 16u};
    const char *const fields[][2] = {
        {"market", content->market},
        {"price", content->quotes[0].price},
        {"amount", content->quotes[0].amount},
        {"type", types[content->kind]},
        {times[content->kind], content->time},
    };

    for (size_t n = 0; n < 5; n++) {
        size_t i = form == CORPUS_ORDERED || form == CORPUS_SORTED ? 4 - n : n;

        if ((used[content->kind] >> i & 1u) != 0) {
            add_field(corpus, form, fields[i][0], fields[i][1]);
        }
    }
}

static uint64_t content_sum(const struct content *content) {
    uint64_t sum = bench_sum_message(
        content->kind,
        content->kind == BENCH_HEARTBEAT ? "\0\0\0" : content->market,
        content->time_ns);

    for (size_t i = 0; i < content->bids + content->asks; i++) {
        sum += content->quotes[i].sum;
    }
    return sum;
}

static void add_message(struct corpus *corpus, enum corpus_form form,
                        const struct content *content) {
    static const char *const channels[] = {"market_data", "market_data",
                                           "market_data.top_of_book",
                                           "execution_data", "heartbeat"};
    struct corpus_message *message = &corpus->messages[corpus->count++];
    bool sides = content->kind <= BENCH_TOP;

    message->at = corpus->len;
    message->sum = content_sum(content);
    add(corpus, "{");
    add_field(corpus, form, "channel", channels[content->kind]);
    add(corpus, form == CORPUS_SPACED ? ", \"payload\": {" : ",\"payload\":{");
    if (sides && form == CORPUS_SORTED) {
        add_sides(corpus, form, content);
    }
    add_fields(corpus, form, content);
    if (sides && form != CORPUS_SORTED) {
        add_sides(corpus, form, content);
    }
    add(corpus, "}}");
    if (content->kind <= BENCH_SNAPSHOT) {
        corpus->levels += content->bids + content->asks;
    }
    message->len = corpus->len - message->at;
    corpus->bytes += message->len;
    corpus->sum += message->sum;
    add(corpus, "%c", '\0');
}

/* ---- Content ---- */

/* A number as it is written: `decimals` of its digits follow the point. */
struct number {
    unsigned long long digits;
    unsigned decimals;
};

static unsigned ten_to_the(unsigned power) {
    unsigned scale = 1;

    while (power-- > 0) {
        scale *= 10;
    }
    return scale;
}

/* Half of the amounts are below 10, a quarter below 1,000 and a quarter below
 * 100,000. One in four ends with zeros, up to the most decimals. */
static struct number amount_varied(void) {
    static const unsigned units[] = {10, 10, 1000, 100000};
    unsigned decimals = random_below(DECIMALS_MOST + 1);
    unsigned scale = ten_to_the(decimals);
    unsigned zeros = random_below(4) == 0 ? DECIMALS_MOST - decimals : 0;
    unsigned long long digits =
        (unsigned long long)random_below(units[random_below(4)]) * scale;

    digits += random_below(scale);
    digits += digits == 0; /* 0 would be a removal */
    return (struct number){digits * ten_to_the(zeros), decimals + zeros};
}

static struct number amount_usual(void) {
    unsigned units = random_below(10);

    return (struct number){units * 10000 + 1 + random_below(9999), 4};
}

/* One in `removals` amounts is 0, a removal; none if that is 0. */
static struct number amount_random(enum corpus_form form, unsigned removals) {
    bool varied = form == CORPUS_VARIED;
    struct number amount = varied ? amount_varied() : amount_usual();

    if (removals > 0 && random_below(removals) == 0) {
        amount.digits = 0;
        amount.decimals = varied && random_below(4) == 0 ? DECIMALS_MOST : 0;
    }
    return amount;
}

static struct number price_random(enum corpus_form form, unsigned market) {
    unsigned cents, price = listed[market].price;

    if (form == CORPUS_VARIED) {
        return (struct number){price + random_below(price / 10 + 10),
                               listed[market].decimals};
    }
    cents = (50000 + random_below(5000)) * 100;
    return (struct number){cents + random_below(100), 2};
}

static struct bench_number number_write(char text[QUOTE_TEXT],
                                        struct number number) {
    unsigned scale = ten_to_the(number.decimals);

    if (number.decimals == 0) {
        snprintf(text, QUOTE_TEXT, "%llu", number.digits);
    } else {
        snprintf(text, QUOTE_TEXT, "%llu.%0*llu", number.digits / scale,
                 (int)number.decimals, number.digits % scale);
    }
    return (struct bench_number){(int64_t)number.digits, -(int)number.decimals};
}

static void quote_write(struct quote *quote, enum bench_side side,
                        struct number price, struct number amount) {
    struct bench_number written = number_write(quote->price, price);

    quote->sum =
        bench_sum_level(side, written, number_write(quote->amount, amount));
}

static void content_quotes(struct content *content, enum corpus_form form) {
    for (size_t i = 0; i < content->bids + content->asks; i++) {
        struct number price = price_random(form, content->market_number);

        quote_write(
            &content->quotes[i],
            content->kind == BENCH_EXECUTION ? BENCH_TRADE
            : i < content->bids              ? BENCH_BID
                                             : BENCH_ASK,
            price,
            amount_random(form, content->kind == BENCH_UPDATE ? REMOVALS : 0));
    }
}

static void content_market(struct content *content, unsigned number) {
    content->market_number = number;
    corpus_market(number, content->market);
}

static void content_kind(struct content *content) {
    unsigned dice = random_below(100);

    content->kind = dice < 80   ? BENCH_UPDATE
                    : dice < 90 ? BENCH_TOP
                    : dice < 99 ? BENCH_EXECUTION
                                : BENCH_HEARTBEAT;
    content->bids = content->kind != BENCH_HEARTBEAT;
    content->asks = content->kind == BENCH_TOP;
    if (content->kind == BENCH_UPDATE) {
        unsigned levels = 1 + random_below(LEVELS_MOST);

        content->bids = random_below(levels + 1);
        content->asks = levels - content->bids;
    }
}

/* Gives the n-th message the n-th millisecond. */
static void content_time(struct content *content, unsigned n,
                         enum corpus_form form) {
    unsigned second = n / 1000 % 3600, ns = n % 1000 * 1000000;
    bool millis = form == CORPUS_VARIED ? random_below(2) == 0
                                        : content->kind == BENCH_UPDATE ||
                                              content->kind == BENCH_EXECUTION;

    ns += millis ? 0 : random_below(1000000);
    snprintf(content->time, sizeof content->time, TIME_PREFIX "%02u:%02u.%0*uZ",
             second / 60, second % 60, millis ? 3 : 9,
             millis ? ns / 1000000 : ns);
    content->time_ns = TIME_BASE_NS + second * 1000000000LL + ns;
}

/* ---- A book that changes ---- */

#define STEP 19         /* most cents between levels, and beyond the best */
#define LEVELS_LEAST 50 /* of a side */

/* One side, best first: a plain array, as its speed does not matter. */
struct ladder {
    enum bench_side side;
    unsigned count, levels; /* of levels: current number, and average */
    bool moves;             /* levels come and go */
    struct rung {
        unsigned cents;
        struct quote quote;
    } * rungs;
};

static struct number in_cents(unsigned cents) {
    return (struct number){cents, 2};
}

static void ladder_init(struct ladder *ladder, enum bench_side side,
                        unsigned levels, bool moves) {
    *ladder = (struct ladder){
        .side = side,
        .count = levels,
        .levels = levels,
        .moves = moves,
        .rungs = bench_allocate(2 * levels, sizeof *ladder->rungs),
    };
    for (unsigned i = 0, away = 0; i < levels; i++) {
        struct rung *rung = &ladder->rungs[i];

        away += 1 + random_below(STEP);
        rung->cents = side == BENCH_BID ? 5245000 - away : 5255000 + away;
        quote_write(&rung->quote, side, in_cents(rung->cents),
                    amount_random(CORPUS_USUAL, 0));
    }
}

/* A price between a level and the next better one; the level's own price if
 * none fits between them. */
static unsigned ladder_between(const struct ladder *ladder, size_t rank) {
    unsigned cents = ladder->rungs[rank].cents, gap = STEP + 1, better;

    if (rank > 0) {
        better = ladder->rungs[rank - 1].cents;
        gap = better > cents ? better - cents : cents - better;
    }
    better = gap > 1 ? 1 + random_below(gap - 1) : 0;
    return ladder->side == BENCH_BID ? cents + better : cents - better;
}

static void ladder_remove(struct ladder *ladder, size_t rank) {
    struct rung *rung = &ladder->rungs[rank];

    ladder->count--;
    memmove(rung, rung + 1, (ladder->count - rank) * sizeof *rung);
}

static void ladder_insert(struct ladder *ladder, size_t rank, unsigned cents) {
    struct rung *rung = &ladder->rungs[rank];

    memmove(rung + 1, rung, (ladder->count - rank) * sizeof *rung);
    ladder->count++;
    rung->cents = cents;
}

/* Half within 10 levels of the best, 90% within 100, the rest anywhere. */
static unsigned ladder_rank(const struct ladder *ladder, unsigned dice) {
    unsigned rank = dice < 5   ? random_below(10)
                    : dice < 9 ? 10 + random_below(90)
                               : random_below(ladder->count);

    return rank < ladder->count ? rank : ladder->count - 1;
}

static bool is_among(const unsigned *named, size_t count, unsigned cents) {
    for (size_t i = 0; i < count; i++) {
        if (named[i] == cents) {
            return true;
        }
    }
    return false;
}

/* A level gets another amount, or goes, or a better one comes next to it. */
struct change {
    unsigned cents;
    size_t rank;
    bool comes, goes;
};

/* Picks a change whose price is not in the message yet, and adds the price to
 * those named. */
static struct change ladder_pick(const struct ladder *ladder, unsigned *named,
                                 size_t count) {
    unsigned dice = random_below(10);
    struct change change;

    do {
        bool moves = ladder->moves && random_below(REMOVALS / 2) == 0;

        change.rank = ladder_rank(ladder, dice);
        change.goes = moves && ladder->count > LEVELS_LEAST &&
                      random_below(2 * ladder->levels) < ladder->count;
        change.comes = moves && !change.goes;
        change.cents = change.comes ? ladder_between(ladder, change.rank)
                                    : ladder->rungs[change.rank].cents;
    } while (
        is_among(named, count, change.cents) ||
        (change.comes && change.cents == ladder->rungs[change.rank].cents));
    named[count] = change.cents;
    return change;
}

static void ladder_change(struct ladder *ladder, const struct change *change,
                          struct quote *quote, struct number amount) {
    quote_write(quote, ladder->side, in_cents(change->cents), amount);
    if (change->goes) {
        ladder_remove(ladder, change->rank);
        return;
    }
    if (change->comes) {
        ladder_insert(ladder, change->rank, change->cents);
    }
    ladder->rungs[change->rank].quote = *quote;
}

static uint64_t ladder_sum(const struct ladder *ladder) {
    uint64_t sum = 0;

    for (size_t i = 0; i < ladder->count; i++) {
        sum += ladder->rungs[i].quote.sum;
    }
    return sum;
}

/* Fills in what a message says about the book of these ladders. */
static void content_book(struct content *content, struct ladder ladders[2]) {
    unsigned named[LEVELS_MOST];

    if (content->kind != BENCH_UPDATE && content->kind != BENCH_TOP) {
        content_quotes(content, CORPUS_USUAL);
        return;
    }
    for (size_t i = 0; i < content->bids + content->asks; i++) {
        struct ladder *ladder = &ladders[i < content->bids ? 0 : 1];

        if (content->kind == BENCH_TOP) {
            content->quotes[i] = ladder->rungs[0].quote;
        } else {
            struct change change = ladder_pick(ladder, named, i);

            ladder_change(ladder, &change, &content->quotes[i],
                          amount_random(CORPUS_USUAL, change.goes ? 1 : 0));
        }
    }
}

/* The bytes that a long message has for its amounts; a side has one comma less
 * than levels. */
#define LONG_ENVELOPE                                                  \
    "{\"channel\":\"market_data\",\"payload\":{\"market\":\"BTCUSD\"," \
    "\"type\":\"UPDATE\",\"time\":\"2026-01-02T03:00:00.000Z\","       \
    "\"bids\":[],\"asks\":[]}}"
#define LONG_LEVEL "{\"price\":\"52450.00\",\"amount\":\"\"},"
#define LONG_AMOUNTS                             \
    (CORPUS_LONG_BYTES - strlen(LONG_ENVELOPE) - \
     CORPUS_LONG_LEVELS * strlen(LONG_LEVEL) + 2)

/* An amount of this length. */
static struct number amount_long(size_t len) {
    unsigned decimals = DECIMALS_MOST, scale, units, least;

    if (len < decimals + 2) {
        decimals = (unsigned)len - 2;
    }
    scale = ten_to_the(decimals);
    units = ten_to_the((unsigned)len - 1 - decimals);
    least = units == 10 ? 0 : units / 10;
    return (struct number){
        (unsigned long long)(least + random_below(units - least)) * scale + 1 +
            random_below(scale - 1),
        decimals};
}

/* Changes the amount of an existing level. */
static void ladder_set(struct ladder *ladder, unsigned cents,
                       struct quote *quote, struct number amount) {
    size_t rank = 0;

    while (ladder->rungs[rank].cents != cents) {
        rank++;
    }
    quote_write(quote, ladder->side, in_cents(cents), amount);
    ladder->rungs[rank].quote = *quote;
}

/* First picks the levels, then the amounts of those that stay, which share the
 * remaining bytes. */
static void content_long(struct content *content, struct ladder ladders[2]) {
    unsigned named[CORPUS_LONG_LEVELS];
    bool goes[CORPUS_LONG_LEVELS];
    size_t room = LONG_AMOUNTS, stay = CORPUS_LONG_LEVELS;

    content->kind = BENCH_UPDATE;
    content->bids = 1 + random_below(CORPUS_LONG_LEVELS - 1);
    content->asks = CORPUS_LONG_LEVELS - content->bids;
    for (size_t i = 0; i < CORPUS_LONG_LEVELS; i++) {
        struct ladder *ladder = &ladders[i < content->bids ? 0 : 1];
        struct change change = ladder_pick(ladder, named, i);

        ladder_change(ladder, &change, &content->quotes[i],
                      (struct number){0, 0});
        goes[i] = change.goes;
        room -= change.goes;
        stay -= change.goes;
    }
    for (size_t i = 0; i < CORPUS_LONG_LEVELS; i++) {
        struct ladder *ladder = &ladders[i < content->bids ? 0 : 1];
        size_t len = room;

        if (goes[i]) {
            continue;
        }
        if (stay > 1) {
            len = (room + stay / 2) / stay - 1 + random_below(3);
        }
        ladder_set(ladder, named[i], &content->quotes[i], amount_long(len));
        room -= len;
        stay--;
    }
}

/* ---- Corpora ---- */

static void corpus_init(struct corpus *corpus, size_t count) {
    *corpus = (struct corpus){
        .messages = bench_allocate(count, sizeof *corpus->messages),
    };
    random_state = 1;
}

void corpus_mixed(struct corpus *corpus, size_t count, unsigned markets,
                  enum corpus_form form) {
    struct quote quotes[LEVELS_MOST] = {{.sum = 0}};
    struct content content = {.quotes = quotes};

    corpus_init(corpus, count);
    for (size_t n = 0; n < count; n++) {
        content_kind(&content);
        content_market(&content, random_below(markets));
        content_quotes(&content, form);
        content_time(&content, (unsigned)n, form);
        add_message(corpus, form, &content);
    }
    add(corpus, "%*s", BENCH_PADDING, "");
}

void corpus_snapshot(struct corpus *corpus, size_t levels,
                     enum corpus_form form) {
    struct content content = {
        .kind = BENCH_SNAPSHOT,
        .time = TIME_PREFIX "04:05.678Z",
        .time_ns = TIME_BASE_NS + 245678000000,
        .quotes = bench_allocate(2 * levels, sizeof *content.quotes),
        .bids = levels,
        .asks = levels,
    };

    corpus_init(corpus, 1);
    content_market(&content, 0);
    content_quotes(&content, form);
    add_message(corpus, form, &content);
    add(corpus, "%*s", BENCH_PADDING, "");
    free(content.quotes);
}

uint64_t corpus_live(struct corpus *corpus, size_t count, unsigned levels,
                     enum corpus_changes changes) {
    struct content content = {
        .kind = BENCH_SNAPSHOT,
        .quotes = bench_allocate(2 * levels, sizeof *content.quotes),
        .bids = levels,
        .asks = levels,
    };
    struct ladder ladders[2];
    uint64_t sum;

    if (levels <= LEVELS_LEAST) {
        bench_stop("too few levels");
    }
    corpus_init(corpus, 1 + count);
    content_market(&content, 0);
    for (size_t side = 0; side < 2; side++) {
        ladder_init(&ladders[side], side == 0 ? BENCH_BID : BENCH_ASK, levels,
                    changes != CORPUS_AMOUNTS);
        for (size_t i = 0; i < levels; i++) {
            content.quotes[side * levels + i] = ladders[side].rungs[i].quote;
        }
    }
    content_time(&content, 0, CORPUS_USUAL);
    add_message(corpus, CORPUS_USUAL, &content);
    for (size_t n = 1; n <= count; n++) {
        if (changes == CORPUS_LONG) {
            content_long(&content, ladders);
        } else {
            content_kind(&content);
            content_book(&content, ladders);
        }
        content_time(&content, (unsigned)n, CORPUS_USUAL);
        add_message(corpus, CORPUS_USUAL, &content);
    }
    add(corpus, "%*s", BENCH_PADDING, "");
    sum = ladder_sum(&ladders[0]) + ladder_sum(&ladders[1]);
    free(ladders[0].rungs);
    free(ladders[1].rungs);
    free(content.quotes);
    return sum;
}

void corpus_free(struct corpus *corpus) {
    free(corpus->text);
    free(corpus->messages);
}

void corpus_market(unsigned number, char market[CORPUS_MARKET_LEN + 1]) {
    snprintf(market, CORPUS_MARKET_LEN + 1, "%s",
             listed[number % CORPUS_MARKETS_MAX].name);
}
