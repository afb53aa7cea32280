/*
 * What a live book adds to decoding: the mix of messages whose changes are
 * where changes are, decoded with and without a book that follows them. Both
 * take turns, time is the processor's, the best of all rounds is shown. The
 * sums of the messages are checked, and the book at the end of each round.
 * What the levels that come and go cost is the difference to messages that
 * only change amounts, as often in the same places.
 *
 *   live [ROUNDS]    prints rows: levels a side, whether levels move (1) or not
 *                    (0), ns a message without a book, with one
 *
 * For a profile: valgrind --tool=callgrind --toggle-collect=mst_book_apply
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "bench.h"
#include "follow.h"

#include <stdio.h>
#include <stdlib.h>

#define MESSAGES 10000

#define ROUNDS 101

struct subject {
    unsigned size;        /* levels a side */
    bool moves;           /* levels come and go */
    struct corpus corpus; /* a snapshot, then MESSAGES */
    struct mst_book book;
    struct mst_level *levels;
    size_t capacity;
    uint64_t book_sum, sum; /* that are right */
    double least[2];        /* ns a message, without and with the book */
};

static void subject_init(struct subject *subject)
{
    struct corpus *corpus = &subject->corpus;

    subject->book_sum =
        corpus_live(corpus, MESSAGES, subject->size, subject->moves);
    subject->sum = corpus_sum(corpus) - corpus->messages[0].sum;
    subject->capacity = (size_t)subject->size * 3 / 2;
    subject->levels = calloc(2 * subject->capacity, sizeof *subject->levels);
    if (subject->levels == NULL) {
        fputs("no memory\n", stderr);
        exit(1);
    }
}

static void run(struct subject *subject, bool with_book)
{
    struct mst_book *book = with_book ? &subject->book : NULL;
    uint64_t sum = 0, begin;
    double ns;

    mst_book_init(&subject->book, subject->levels, subject->capacity);
    follow(&subject->corpus, 0, 1, book, NULL);
    begin = bench_ns(CLOCK_PROCESS_CPUTIME_ID);
    follow(&subject->corpus, 1, MESSAGES, book, &sum);
    ns = (double)(bench_ns(CLOCK_PROCESS_CPUTIME_ID) - begin) / MESSAGES;
    if (sum != subject->sum ||
        (with_book && follow_book_sum(book) != subject->book_sum)) {
        fputs(with_book ? "wrong book\n" : "wrong sum\n", stderr);
        exit(1);
    }
    if (subject->least[with_book] == 0 || ns < subject->least[with_book]) {
        subject->least[with_book] = ns;
    }
}

int main(int argc, char **argv)
{
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
            run(&subjects[s], false);
            run(&subjects[s], true);
        }
    }
    for (size_t s = 0; s < count; s++) {
        printf("%u\t%d\t%.1f\t%.1f\n", subjects[s].size, subjects[s].moves,
               subjects[s].least[false], subjects[s].least[true]);
    }
    return 0;
}
