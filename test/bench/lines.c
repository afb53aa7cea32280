/*
 * Prints a live book's messages, one per line: a snapshot, then mixed ones.
 *
 *   lines MESSAGES LEVELS
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "corpus.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    struct corpus corpus;

    if (argc != 3) {
        fputs("usage: lines MESSAGES LEVELS\n", stderr);
        return 2;
    }
    corpus_live(&corpus, strtoul(argv[1], NULL, 10),
                (unsigned)strtoul(argv[2], NULL, 10), CORPUS_MOVES);
    for (size_t i = 0; i < corpus.count; i++) {
        puts(corpus.text + corpus.messages[i].at);
    }
    corpus_free(&corpus);
    return 0;
}
