/*
 * What it costs to decode a message: a mix of all channels as the service
 * writes them, with plain and with varied numbers, the same with white space
 * and in other orders, and a large snapshot; beside the time that copying the
 * same bytes takes. Each sum is checked.
 *
 *   decode           runs all, interleaved, and prints the best of all rounds
 *   decode ROW [N]   runs one row once, or N times, for a profiler such as
 *                    valgrind --tool=callgrind --toggle-collect=decode
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "bench.h"
#include "corpus.h"
#include "event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGES 10000
#define MARKETS 4
#define SNAPSHOT_LEVELS 5000

#define ROUNDS 101

static struct corpus corpora[CORPUS_VARIED + 1], snapshots[CORPUS_VARIED + 1];

static char *copy; /* where the floor copies to */

/* A corpus as a row names it, made when it is first asked for. */
static const struct corpus *corpus_of(enum corpus_form form, bool snapshot) {
    struct corpus *corpus = &(snapshot ? snapshots : corpora)[form];

    if (corpus->count > 0) {
        return corpus;
    }
    if (snapshot) {
        corpus_snapshot(corpus, SNAPSHOT_LEVELS, form);
    } else if (form == CORPUS_VARIED) {
        corpus_mixed(corpus, CORPUS_VARIED_MESSAGES, CORPUS_VARIED_MARKETS,
                     form);
    } else {
        corpus_mixed(corpus, MESSAGES, MARKETS, form);
    }
    copy = realloc(copy, corpus->len);
    if (copy == NULL) {
        fputs("no memory\n", stderr);
        exit(1);
    }
    return corpus;
}

/* ---- Decoding ---- */

/* Decodes a corpus in pieces of this size. */
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

static void copy_only(const struct corpus *corpus) {
    for (size_t i = 0; i < corpus->count; i++) {
        memcpy(copy, corpus->text + corpus->messages[i].at,
               corpus->messages[i].len);
        __asm__ volatile("" : : "r"(copy) : "memory");
    }
}

/* ---- Rows ---- */

static const struct row {
    const char *name;
    enum corpus_form form;
    bool snapshot;
    size_t piece;    /* 0: not decoded but copied */
    double bar, aim; /* ns a message; 0: none */
} rows[] = {
    {"copied", CORPUS_USUAL, false, 0, 0, 0},
    {"usual", CORPUS_USUAL, false, SIZE_MAX, 120, 90},
    {"varied", CORPUS_VARIED, false, SIZE_MAX, 0, 0},
    {"spaced", CORPUS_SPACED, false, SIZE_MAX, 900, 450},
    {"ordered", CORPUS_ORDERED, false, SIZE_MAX, 900, 450},
    {"sorted", CORPUS_SORTED, false, SIZE_MAX, 900, 450},
    {"pieces", CORPUS_USUAL, false, 100, 0, 0},
    {"snapshot-copied", CORPUS_USUAL, true, 0, 0, 0},
    {"snapshot", CORPUS_USUAL, true, SIZE_MAX, 150000, 115000},
    {"snapshot-varied", CORPUS_VARIED, true, SIZE_MAX, 0, 0},
};

#define ROWS (sizeof rows / sizeof *rows)

/* Runs a row once; returns ns a message. */
static double run(const struct row *row) {
    const struct corpus *corpus = corpus_of(row->form, row->snapshot);
    uint64_t right = corpus_sum(corpus), begin, sum = right;

    begin = bench_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (row->piece > 0) {
        sum = decode(corpus, row->piece);
    } else {
        copy_only(corpus);
    }
    begin = bench_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
    if (sum != right) {
        fprintf(stderr, "%s: wrong sum\n", row->name);
        exit(1);
    }
    return (double)begin / (double)corpus->count;
}

static void print_row(const struct row *row, double ns) {
    const struct corpus *corpus = corpus_of(row->form, row->snapshot);

    printf("%-16s %9.0f %12.1f", row->name,
           (double)corpus_bytes(corpus) / (double)corpus->count, ns);
    if (row->bar > 0) {
        printf(" %10.0f %10.0f  %s", row->bar, row->aim,
               ns <= row->aim   ? "aim"
               : ns <= row->bar ? "bar"
                                : "beyond");
    }
    putchar('\n');
}

static void run_all(void) {
    static double best[ROWS];

    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < ROWS; i++) {
            double ns = run(&rows[i]);

            if (round == 0 || ns < best[i]) {
                best[i] = ns;
            }
        }
    }
    printf("%-16s %9s %12s %10s %10s  %s\n", "messages", "bytes", "ns each",
           "bar", "aim", "within");
    for (size_t i = 0; i < ROWS; i++) {
        print_row(&rows[i], best[i]);
    }
}

int main(int argc, char **argv) {
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
            printf("%s: %zu messages, %.1f ns each\n", rows[i].name,
                   corpus_of(rows[i].form, rows[i].snapshot)->count,
                   run(&rows[i]));
            return 0;
        }
    }
    fprintf(stderr, "no such row: %s\n", argv[1]);
    return 2;
}
