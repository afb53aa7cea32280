/*
 * The order book compared with its oracle, in a hostile stream. After every
 * event it shows exactly what a book that keeps all levels has, down to its
 * horizon.
 *
 * ORACLE_EVENTS: the number of events (50,000); ORACLE_SEED: their seed (1).
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "oracle_book.h"
#include "oracle_stream.h"

#define EPISODE_EVENTS 800 /* per book and market */
#define CAPACITY_MAX 1000

/* A book and its oracle, with one stream for both. */
struct bench {
    struct oracle_book book;
    struct stream stream;
};

static size_t bench_below(struct bench *b, size_t bound) {
    return (size_t)(random_next(&b->book.seed) % bound);
}

static void step(struct bench *b) {
    struct stream_event event;

    stream_next(&b->stream, &event);
    b->book.middle = b->stream.middle;
    if (event.is_part) {
        oracle_book_apply(&b->book, &event.part);
    } else {
        oracle_book_stale(&b->book, event.reason);
    }
    if (event.is_part && event.part.last && !b->book.oracle.begun) {
        stream_resubscribe(&b->stream);
    }
}

/* ---- Episodes ---- */

static void bench_open(struct bench *b, uint64_t seed, size_t number) {
    static const size_t capacities[] = {1, 2, 3, 10, 100, CAPACITY_MAX};
    size_t capacity = capacities[number % COUNT(capacities)];
    const size_t thins[] = {0, 1, (capacity + 1) / 2, capacity, capacity + 9};
    struct oracle *o = &b->book.oracle;

    seed += number * 1000003;
    oracle_book_open(&b->book, seed, capacity, thins[seed % COUNT(thins)]);
    if (bench_below(b, 2) == 0) {
        o->price_exponent = (int)bench_below(b, 111) - 64;
        o->amount_exponent = (int)bench_below(b, 107) - 60;
    }
    stream_open(&b->stream, random_next(&b->book.seed));
}

static void bench_close(struct bench *b) {
    oracle_book_close(&b->book);
    stream_close(&b->stream);
}

TEST_CASE(a_book_shows_what_its_oracle_knows) {
    const uint64_t events = setting("ORACLE_EVENTS", 50000);
    const uint64_t seed = setting("ORACLE_SEED", 1);
    uint64_t event = 0, live = 0;

    printf("ORACLE_SEED=%" PRIu64 " ORACLE_EVENTS=%" PRIu64 "\n", seed, events);
    for (size_t number = 0; event < events; number++) {
        struct bench b;

        bench_open(&b, seed, number);
        for (size_t i = 0; i < EPISODE_EVENTS && event < events; i++) {
            step(&b);
            event++;
            live += b.book.oracle.state == MST_BOOK_LIVE;
            if (b.book.text[0] != '\0') {
                expect_failed("event %" PRIu64 ", capacity %zu: %s", event,
                              b.book.oracle.capacity, b.book.text);
                break;
            }
        }
        bench_close(&b);
    }
    printf("%" PRIu64 " events, the book live after %" PRIu64 "\n", event,
           live);
    /* A stream that never lets the book live would prove nothing. */
    assert_true(live > events / 4);
}

RUN_CASES(NULL, NULL)
