/*
 * Measures decoding by the form of messages: as the service writes them, with
 * white space, in other orders, and in pieces. The forms take turns; shows the
 * least processor time of all rounds. Each sum is checked.
 *
 * For a profile: valgrind --tool=callgrind --toggle-collect=decode
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "bench.h"
#include "corpus.h"
#include "event.h"

#define MESSAGES 10000
#define MARKETS 4

#define ROUNDS 101

static struct row {
    const char *name;
    enum corpus_form form;
    size_t piece;    /* bytes that come at once */
    double bar, aim; /* ns a message; 0: none */
    struct corpus corpus;
    double best; /* ns a message */
} rows[] = {
    {"usual", CORPUS_USUAL, SIZE_MAX, 120, 90, {0}, 0},
    {"spaced", CORPUS_SPACED, SIZE_MAX, 900, 450, {0}, 0},
    {"ordered", CORPUS_ORDERED, SIZE_MAX, 900, 450, {0}, 0},
    {"sorted", CORPUS_SORTED, SIZE_MAX, 900, 450, {0}, 0},
    {"pieces", CORPUS_USUAL, 100, 0, 0, {0}, 0},
};

#define ROWS (sizeof rows / sizeof *rows)

__attribute__((noinline)) static uint64_t decode(const struct corpus *corpus,
                                                 size_t piece) {
    static unsigned char buffer[2048];
    static struct mst_decoder decoder;
    struct mst_event event;
    uint64_t sum = 0;

    mst_decoder_init(&decoder, buffer, sizeof buffer, 0);
    for (size_t i = 0; i < corpus->count; i++) {
        const char *text = corpus->text + corpus->messages[i].at;
        size_t left = corpus->messages[i].len;

        while (left > 0) {
            size_t len = left < piece ? left : piece;

            mst_decoder_feed(&decoder, text, len, len == left);
            while (mst_decoder_next(&decoder, &event) == 1) {
                event_sum(&event, &sum);
            }
            text += len;
            left -= len;
        }
    }
    return sum;
}

static void run(struct row *row) {
    uint64_t begin = bench_ns(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t sum = decode(&row->corpus, row->piece);
    double ns = (double)(bench_ns(CLOCK_PROCESS_CPUTIME_ID) - begin) / MESSAGES;

    if (sum != row->corpus.sum) {
        bench_stop("wrong sum");
    }
    row->best = bench_least(row->best, ns);
}

int main(void) {
    for (size_t i = 0; i < ROWS; i++) {
        corpus_mixed(&rows[i].corpus, MESSAGES, MARKETS, rows[i].form);
    }
    for (size_t n = 0; n < ROUNDS * ROWS; n++) {
        run(&rows[n % ROWS]);
    }
    puts("messages     bytes    ns each        bar        aim  within");
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];

        printf("%-8s %9zu %10.1f %10.0f %10.0f  %s\n", row->name,
               row->corpus.bytes / MESSAGES, row->best, row->bar, row->aim,
               row->bar == 0           ? "-"
               : row->best <= row->aim ? "aim"
               : row->best <= row->bar ? "bar"
                                       : "beyond");
    }
    return 0;
}
