/*
 * Measures units of work for a small machine: in instructions under
 * `make count`, elsewhere in ns. Sums are checked outside of the measured part.
 *
 *   count     prints rows: what, its cost
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "count.h"

#include "bench.h"
#include "follow.h"

#include <stdio.h>
#include <stdlib.h>

#define LONG_MESSAGES 500
#define SNAPSHOT_LEVELS 500

uint64_t count_now(void) {
    return bench_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void count_row(const char *what, uint64_t cost, size_t units) {
    printf("%s\t%.1f\n", what, (double)cost / (double)units);
}

/* ---- Decoding ---- */

/* The cost of decoding all messages after the first `skipped`. */
static uint64_t decode(const struct corpus *corpus, size_t skipped) {
    uint64_t begin, sum = 0;

    follow(corpus, 0, corpus->count, NULL, &sum);
    if (sum != corpus->sum) {
        bench_stop("wrong sum");
    }
    begin = count_now();
    follow(corpus, skipped, corpus->count - skipped, NULL, NULL);
    return count_now() - begin;
}

static void count_mixed(const char *what, enum corpus_form form) {
    struct corpus corpus;

    corpus_mixed(&corpus, COUNT_MESSAGES, 1, form);
    count_row(what, decode(&corpus, 0), COUNT_MESSAGES);
    corpus_free(&corpus);
}

static void count_snapshot(void) {
    struct corpus corpus;

    corpus_snapshot(&corpus, SNAPSHOT_LEVELS, CORPUS_USUAL);
    count_row("decode a level of a snapshot", decode(&corpus, 0),
              corpus.levels);
    corpus_free(&corpus);
}

/* ---- Frames ---- */

/* The cost of reading frames, which must give these messages and bytes. */
static uint64_t read_frames(const uint8_t *data, size_t len, size_t messages,
                            size_t bytes) {
    uint64_t begin = count_now();
    struct mst_ws_piece piece;
    struct mst_ws ws;
    size_t used;

    mst_ws_init(&ws);
    while (mst_ws_read(&ws, data, len, &used, &piece) == 1) {
        data += used;
        len -= used;
        bytes -= piece.len;
        messages -= piece.last;
    }
    begin = count_now() - begin;
    if (bytes != 0 || messages != 0) {
        bench_stop("wrong frames");
    }
    return begin;
}

uint8_t *count_frame(struct corpus *corpus, size_t *len) {
    uint8_t *frames = bench_allocate(
        1, corpus->len + (size_t)BENCH_FRAME_HEADER * corpus->count);

    *len = 0;
    for (size_t i = 0; i < corpus->count; i++) {
        struct corpus_message *m = &corpus->messages[i];

        m->len = bench_frame(frames + *len, COUNT_TEXT_FRAME,
                             corpus->text + m->at, m->len);
        m->at = *len;
        *len += m->len;
    }
    return frames;
}

static void count_frames(void) {
    struct corpus corpus;
    uint8_t *frames;
    size_t len;

    corpus_mixed(&corpus, COUNT_MESSAGES, 1, CORPUS_USUAL);
    frames = count_frame(&corpus, &len);
    count_row("read a message's frame and check its UTF-8",
              read_frames(frames, len, COUNT_MESSAGES, corpus.bytes),
              COUNT_MESSAGES);
    free(frames);
    corpus_free(&corpus);
}

/* Reads a frame filled with this character. */
static void count_characters(const char *what, const char *character) {
    static char text[30000];
    static uint8_t frame[sizeof text + BENCH_FRAME_HEADER];
    size_t len = strlen(character);

    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = character[i % len];
    }
    len = bench_frame(frame, COUNT_TEXT_FRAME, text, sizeof text);
    count_row(what, read_frames(frame, len, 1, sizeof text), sizeof text);
}

/* ---- Book ---- */

static void count_book(void) {
    static struct mst_level levels[2 * COUNT_BOOK_ROOM];
    struct mst_book book;
    struct follow_book followed = follow_book(&book);
    struct corpus corpus;
    uint64_t sum, begin, without;

    sum = corpus_live(&corpus, COUNT_MESSAGES, COUNT_BOOK_LEVELS, CORPUS_MOVES);
    without = decode(&corpus, 1);
    mst_book_init(&book, levels, COUNT_BOOK_ROOM);
    follow(&corpus, 0, 1, &followed, NULL);
    begin = count_now();
    follow(&corpus, 1, COUNT_MESSAGES, &followed, NULL);
    begin = count_now() - begin;
    if (follow_book_sum(&book) != sum) {
        bench_stop("wrong book");
    }
    count_row("change a level in a live book of 100 a side", begin - without,
              corpus.levels - (size_t)2 * COUNT_BOOK_LEVELS);
    corpus_free(&corpus);
}

/* ---- All of them ---- */

/* Reads, decodes and applies frames. Returns the cost of all except the first,
 * a snapshot. */
static uint64_t read_updates(const uint8_t *data, size_t len,
                             struct mst_book *book) {
    static unsigned char buffer[2048];
    static struct mst_decoder decoder;
    uint64_t begin = 0;
    struct mst_ws_piece piece;
    struct mst_event event;
    struct mst_ws ws;
    size_t used;

    mst_ws_init(&ws);
    mst_decoder_init(&decoder, buffer, sizeof buffer, 0);
    while (mst_ws_read(&ws, data, len, &used, &piece) == 1) {
        data += used;
        len -= used;
        mst_decoder_feed(&decoder, piece.data, piece.len, piece.last);
        while (mst_decoder_next(&decoder, &event) == 1) {
            if (event.type == MST_EVENT_PART) {
                mst_book_apply(book, &event.as.part, 0);
            }
        }
        begin = begin == 0 ? count_now() : begin;
    }
    return count_now() - begin;
}

static void count_long(void) {
    static struct mst_level levels[2 * COUNT_BOOK_ROOM];
    struct mst_book book;
    struct corpus corpus;
    uint8_t *frames;
    uint64_t sum, cost;
    size_t len;

    sum = corpus_live(&corpus, LONG_MESSAGES, COUNT_BOOK_LEVELS, CORPUS_LONG);
    for (size_t i = 1; i < corpus.count; i++) {
        if (corpus.messages[i].len != CORPUS_LONG_BYTES) {
            bench_stop("wrong length");
        }
    }
    frames = count_frame(&corpus, &len);
    mst_book_init(&book, levels, COUNT_BOOK_ROOM);
    cost = read_updates(frames, len, &book);
    if (follow_book_sum(&book) != sum) {
        bench_stop("wrong book");
    }
    count_row("an update of 1,024 bytes, 21 levels: frame, decoding, book",
              cost, LONG_MESSAGES);
    free(frames);
    corpus_free(&corpus);
}

int main(void) {
    count_mixed("decode a message", CORPUS_USUAL);
    count_mixed("decode one with keys in another order", CORPUS_ORDERED);
    count_mixed("decode one with white space", CORPUS_SPACED);
    count_snapshot();
    count_frames();
    count_characters("UTF-8, a byte of ASCII", "a");
    count_characters("UTF-8, a byte of characters of two", "\303\244");
    count_book();
    count_long();
    count_client();
    return 0;
}
