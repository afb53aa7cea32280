/*
 * Measures what a live book adds to decoding: realistic messages are decoded
 * without a book, with the library's, and with those of book_std.h, in turns.
 * Shows the least processor time of all rounds. Checks the messages' sums, and
 * the book at the end of each round. Adding and removing levels costs the
 * difference to messages that only change amounts, as often in the same places.
 *
 *   live [ROUNDS]    prints rows: levels a side, 1 if levels come and go or 0,
 *                    ns a message without a book, with the library's, with a
 *                    std::map, with a std::vector
 *
 * For a profile: valgrind --tool=callgrind --toggle-collect=mst_book_apply
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "bench.h"
#include "book_std.h"
#include "follow.h"

#include <stdio.h>
#include <stdlib.h>

#define MESSAGES 10000

#define ROUNDS 101

enum book { BOOK_NONE, BOOK_OURS, BOOK_MAP, BOOK_VECTOR, BOOKS };

struct subject {
    unsigned size;        /* levels a side */
    bool moves;           /* levels come and go */
    struct corpus corpus; /* a snapshot, then MESSAGES */
    struct mst_book book;
    struct mst_level *levels;
    size_t capacity;
    uint64_t book_sum, sum; /* the right ones */
    double least[BOOKS];    /* ns a message with each book */
};

static void subject_init(struct subject *subject) {
    struct corpus *corpus = &subject->corpus;

    subject->book_sum =
        corpus_live(corpus, MESSAGES, subject->size,
                    subject->moves ? CORPUS_MOVES : CORPUS_AMOUNTS);
    subject->sum = corpus->sum - corpus->messages[0].sum;
    subject->capacity = (size_t)subject->size * 3 / 2;
    subject->levels =
        bench_allocate(2 * subject->capacity, sizeof *subject->levels);
}

static void std_apply(void *kind, const struct mst_part *part) {
    book_std_apply(*(enum book_std_kind *)kind, part);
}

static void std_check(void *kind, const struct mst_top *top) {
    book_std_check(*(enum book_std_kind *)kind, top);
}

/* An empty book. */
static struct follow_book book_new(struct subject *subject, enum book kind) {
    static enum book_std_kind kinds[] = {
        [BOOK_MAP] = BOOK_STD_MAP, [BOOK_VECTOR] = BOOK_STD_VECTOR};

    if (kind == BOOK_MAP || kind == BOOK_VECTOR) {
        book_std_init(kinds[kind]);
        return (struct follow_book){&kinds[kind], std_apply, std_check};
    }
    mst_book_init(&subject->book, subject->levels, subject->capacity);
    return follow_book(&subject->book);
}

static uint64_t book_sum(const struct subject *subject, enum book kind) {
    switch (kind) {
    case BOOK_OURS: return follow_book_sum(&subject->book);
    case BOOK_MAP: return book_std_sum(BOOK_STD_MAP);
    case BOOK_VECTOR: return book_std_sum(BOOK_STD_VECTOR);
    default: return subject->book_sum;
    }
}

static void run(struct subject *subject, enum book kind) {
    struct follow_book book = book_new(subject, kind);
    const struct follow_book *followed = kind != BOOK_NONE ? &book : NULL;
    uint64_t sum = 0, begin;
    double ns;

    follow(&subject->corpus, 0, 1, followed, NULL);
    begin = bench_ns(CLOCK_PROCESS_CPUTIME_ID);
    follow(&subject->corpus, 1, MESSAGES, followed, &sum);
    ns = (double)(bench_ns(CLOCK_PROCESS_CPUTIME_ID) - begin) / MESSAGES;
    if (sum != subject->sum || book_sum(subject, kind) != subject->book_sum) {
        bench_stop(sum != subject->sum ? "wrong sum" : "wrong book");
    }
    subject->least[kind] = bench_least(subject->least[kind], ns);
}

int main(int argc, char **argv) {
    static struct subject subjects[] = {
        {.size = 100, .moves = true},
        {.size = 1000, .moves = true},
        {.size = 100},
        {.size = 1000},
    };
    const size_t count = sizeof subjects / sizeof *subjects;
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : ROUNDS;

    for (size_t s = 0; s < count; s++) {
        subject_init(&subjects[s]);
    }
    for (long round = 0; round < rounds; round++) {
        for (size_t s = 0; s < count; s++) {
            for (int kind = 0; kind < BOOKS; kind++) {
                run(&subjects[s], (enum book)kind);
            }
        }
    }
    for (size_t s = 0; s < count; s++) {
        printf("%u\t%d", subjects[s].size, subjects[s].moves);
        for (int kind = 0; kind < BOOKS; kind++) {
            printf("\t%.1f", subjects[s].least[kind]);
        }
        putchar('\n');
    }
    return 0;
}
