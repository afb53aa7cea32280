/*
 * A fuzz target: parts of messages for a book and its oracle
 * (test/model/oracle.h). An input is a byte that selects the book, one for the
 * spelling of numbers, and a few bytes for each part.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "fuzz.h"
#include "oracle_book.h"

/* A part's first byte: what it is, if it ends its message (or, for the caller's
 * mst_book_stale(), if the current message ends), and its number of levels. */
enum { COMES_UPDATE, COMES_SNAPSHOT, COMES_STALE, COMES_ABORT, COMES = 3 };
enum { PART_LAST = 4, LEVELS_SHIFT = 3 };

struct script {
    const uint8_t *at, *end;
    int64_t tick_ns; /* distances of times are multiples of it */
    bool open;       /* a message has begun */
    struct oracle_part part;
    struct oracle_level levels[MST_PART_LEVELS];
};

static unsigned take(struct script *s) {
    return s->at < s->end ? *s->at++ : 0;
}

/* Amounts of more than 18 digits are marked as inexact. */
static void take_level(struct script *s, struct oracle_level *level) {
    unsigned price = take(s), amount = take(s);

    *level = (struct oracle_level){
        .price = 1 + (int64_t)(price % 128),
        .amount = amount,
        .time_ns = s->part.time_ns,
        .side = price < 128 ? MST_BID : MST_ASK,
    };
    if (amount >= 0xF0) {
        level->amount = INT64_C(100000000000000000) + amount;
        level->inexact = (amount & 1) != 0;
    }
}

/* Takes a message's time, before or after the last one's, and its arrival. */
static void take_time(struct script *s) {
    static const uint64_t later_ns[] = {1000000, 1000000, 900000000,
                                        ORACLE_LATE_NS};
    unsigned time = take(s);

    s->part.time_ns += ((int)(time % 64) - 24) * s->tick_ns;
    s->part.time_ns = s->part.time_ns > 0 ? s->part.time_ns : 1;
    s->part.received_ns += later_ns[time / 64];
}

static void take_part(struct script *s, unsigned how, struct oracle_book *b) {
    s->part.first = !s->open;
    s->part.last = (how & PART_LAST) != 0;
    if (!s->open) {
        s->part.snapshot = (how & COMES) == COMES_SNAPSHOT;
        take_time(s);
    }
    s->part.count = how >> LEVELS_SHIFT;
    s->part.levels = s->levels;
    for (size_t i = 0; i < s->part.count; i++) {
        take_level(s, &s->levels[i]);
    }
    s->open = !s->part.last;
    oracle_book_apply(b, &s->part);
}

static void take_word(struct script *s, unsigned how, struct oracle_book *b) {
    static const enum mst_book_reason reasons[] = {
        MST_BOOK_RECONNECT, MST_BOOK_RESYNC, MST_BOOK_BAD_MESSAGE,
        MST_BOOK_NUMBER};

    s->open = s->open && (how & PART_LAST) == 0;
    oracle_book_stale(b, reasons[(how >> LEVELS_SHIFT) % COUNT(reasons)]);
}

/* The current message turns out to be malformed. */
static void take_abort(struct script *s, struct oracle_book *b) {
    const struct oracle_part part = {.time_ns = s->part.time_ns,
                                     .received_ns = s->part.received_ns,
                                     .snapshot = s->part.snapshot,
                                     .aborted = true};

    if (s->open) {
        s->open = false;
        oracle_book_apply(b, &part);
    }
}

static void step(struct script *s, struct oracle_book *b) {
    unsigned how = take(s);

    switch (how & COMES) {
    case COMES_STALE: take_word(s, how, b); break;
    case COMES_ABORT: take_abort(s, b); break;
    default: take_part(s, how, b);
    }
    if (b->text[0] != '\0') {
        printf("%s\n", b->text);
    }
    FUZZ_EXPECT(b->text[0] == '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    static const size_t capacities[] = {1, 2, 3, 8, 30, 64, 70, 100};
    static const int64_t ticks_ns[] = {1, 500000, 999999, 1000000, 100000000};
    struct script s = {.part = {.time_ns = 4000000000}};
    struct oracle_book b;
    size_t capacity;

    if (len < 2) {
        return 0;
    }
    s.at = data + 2;
    s.end = data + len;
    s.tick_ns = ticks_ns[data[0] / 16 % COUNT(ticks_ns)];
    capacity = capacities[data[0] % COUNT(capacities)];
    oracle_book_open(&b, data[1], capacity, data[1] % (capacity + 2));
    while (s.at < s.end) {
        step(&s, &b);
    }
    oracle_book_close(&b);
    return 0;
}
