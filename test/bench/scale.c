/*
 * Measures mini_stream's cost for a unit of work, at sizes from small to large.
 * If it stays the same or falls, the cost grows no faster than the work. The
 * sizes take turns; shows the least processor time of all rounds.
 *
 *   scale     prints rows: what, unit, size, ns a unit
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "bench.h"
#include "corpus.h"
#include "parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 5
#define UNITS 100000 /* timed together, at least */

static uint64_t random_state = 1;

static size_t random_below(size_t n) /* at most 2^32 */
{
    return (size_t)(bench_random(&random_state) >> 32) * n >> 32;
}

/* ---- Decoder ---- */

/* Decodes a message repeatedly; returns ns for one. */
static double decode(const char *text, size_t len, size_t times) {
    static struct mst_decoder decoder;
    static unsigned char buffer[2048];
    struct mst_event event;
    uint64_t begin;

    mst_decoder_init(&decoder, buffer, sizeof buffer, 0);
    begin = bench_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (size_t i = 0; i < times; i++) {
        mst_decoder_feed(&decoder, text, len, true);
        while (mst_decoder_next(&decoder, &event) == 1) {
            if (event.type == MST_EVENT_ERROR) {
                bench_stop(mst_strerror(event.as.failure.error));
            }
        }
    }
    return (double)(bench_ns(CLOCK_PROCESS_CPUTIME_ID) - begin) / (double)times;
}

static double decode_snapshot(size_t levels) {
    struct corpus corpus;
    double ns;

    corpus_snapshot(&corpus, levels, CORPUS_USUAL);
    ns = decode(corpus.text, corpus.messages[0].len, 1 + UNITS / levels);
    corpus_free(&corpus);
    return ns / (double)(2 * levels);
}

/* Measures a heartbeat with `len` bytes that the decoder skips. */
static double decode_filled(const char *before, char fill, const char *behind,
                            size_t len) {
    size_t head = strlen(before), tail = strlen(behind);
    char *text = bench_allocate(1, head + len + tail);
    double ns;

    memcpy(text, before, head);
    memset(text + head, fill, len);
    memcpy(text + head + len, behind, tail);
    ns = decode(text, head + len + tail, 1 + 10 * UNITS / len);
    free(text);
    return ns / (double)len;
}

#define HEARTBEAT                                            \
    "{\"channel\":\"heartbeat\",\"payload\":{\"timestamp\":" \
    "\"2026-01-02T03:04:05.678901234Z\""

static double decode_text(size_t len) {
    return decode_filled(HEARTBEAT ",\"note\":\"", 'n', "\"}}", len);
}

static double decode_space(size_t len) {
    return decode_filled(HEARTBEAT, ' ', "}}", len);
}

/* ---- WebSocket ---- */

static double read_frame(size_t len, const char *character) {
    uint8_t *frame = bench_allocate(1, len + BENCH_FRAME_HEADER);
    char *text = bench_allocate(1, len);
    size_t bytes = strlen(character), used;
    struct mst_ws_piece piece;
    struct mst_ws ws;
    size_t times = 1 + 100 * UNITS / len;
    uint64_t begin;

    for (size_t i = 0; i < len; i++) {
        text[i] = character[i % bytes];
    }
    len = bench_frame(frame, 0x81, text, len);
    mst_ws_init(&ws);
    begin = bench_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (size_t i = 0; i < times; i++) {
        if (mst_ws_read(&ws, frame, len, &used, &piece) != 1 || !piece.last) {
            bench_stop("a frame was not read");
        }
    }
    begin = bench_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
    free(frame);
    free(text);
    return (double)begin / (double)times / (double)piece.len;
}

static double read_ascii(size_t len) {
    return read_frame(len, "a");
}

static double read_utf8(size_t len) {
    return read_frame(len, "\303\244"); /* an even length is whole */
}

/* ---- Book ---- */

struct subject {
    struct mst_book book;
    struct mst_level *levels, *came;
    int64_t time_ns;
};

/* The level of a slot: 0 is the best; bids below, asks above. */
static struct mst_level level_of(unsigned side, size_t slot, int64_t amount) {
    int64_t away = side == MST_BID ? -(int64_t)slot : (int64_t)slot;

    return (struct mst_level){
        .price_coefficient =
            (side == MST_BID ? 100000001 : 200000001) + away * 10,
        .price_exponent = -2,
        .amount_coefficient = amount,
        .side = (uint8_t)side,
    };
}

/* Makes `count` levels of each side, best first or in no order. */
static void subject_init(struct subject *subject, size_t count, bool in_order) {
    subject->levels = bench_allocate(2 * count, sizeof *subject->levels);
    subject->came = bench_allocate(2 * count, sizeof *subject->came);
    subject->time_ns = 1;
    for (size_t slot = 0; slot < count; slot++) {
        subject->came[slot] = level_of(MST_BID, slot, 100);
        subject->came[count + slot] = level_of(MST_ASK, slot, 100);
    }
    for (size_t i = 2 * count; i > 1 && !in_order; i--) {
        size_t other = random_below(i);
        struct mst_level level = subject->came[i - 1];

        subject->came[i - 1] = subject->came[other];
        subject->came[other] = level;
    }
}

static void subject_free(struct subject *subject) {
    free(subject->levels);
    free(subject->came);
}

/* Builds the book from a snapshot. */
static void subject_build(struct subject *subject, size_t count) {
    mst_book_init(&subject->book, subject->levels, count);
    parts_apply(&subject->book, subject->came, 2 * count, subject->time_ns,
                true);
}

/* ns a level. */
static double build(size_t count, bool in_order) {
    size_t times = 1 + UNITS / (2 * count);
    struct subject subject;
    uint64_t begin;

    subject_init(&subject, count, in_order);
    begin = bench_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (size_t i = 0; i < times; i++) {
        subject_build(&subject, count);
    }
    begin = bench_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
    subject_free(&subject);
    return (double)begin / (double)times / (double)(2 * count);
}

static double build_ordered(size_t count) {
    return build(count, true);
}

static double build_unordered(size_t count) {
    return build(count, false) / log2((double)count);
}

/* ns for an update of one level; one in four removes it. */
static double update(size_t count, size_t within) {
    struct subject subject;
    uint64_t begin;

    subject_init(&subject, count, true);
    subject_build(&subject, count);
    begin = bench_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (size_t i = 0; i < UNITS; i++) {
        size_t slot = random_below(within);
        struct mst_level level =
            level_of(i % 2, slot, (int64_t)random_below(4));
        const struct mst_part part = {
            .market = "",
            .time_ns = ++subject.time_ns,
            .levels = &level,
            .count = 1,
            .first = true,
            .last = true,
        };

        level.time_ns = subject.time_ns;
        mst_book_apply(&subject.book, &part, 0);
    }
    begin = bench_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
    subject_free(&subject);
    return (double)begin / UNITS;
}

static double update_near(size_t count) {
    return update(count, 10) / log2((double)count);
}

static double update_anywhere(size_t count) {
    return update(count, count);
}

/* ---- */

#define SIZES 5

static const struct row {
    const char *what, *unit;
    size_t smallest;                /* each size is ten times the one before */
    double (*measure)(size_t size); /* returns ns a unit */
} rows[] = {
    {"decode a snapshot", "level, by levels a side", 10, decode_snapshot},
    {"book from a snapshot, in order", "level, by levels a side", 10,
     build_ordered},
    {"book from a snapshot, in no order", "level and log2 n, by levels a side",
     10, build_unordered},
    {"update near the best price", "update and log2 n, by levels a side", 10,
     update_near},
    {"update anywhere", "update, by levels a side", 10, update_anywhere},
    {"decode an unknown text", "byte, by bytes", 1000, decode_text},
    {"decode white space", "byte, by bytes", 1000, decode_space},
    {"read a frame, ASCII", "byte, by bytes", 1000, read_ascii},
    {"read a frame, two bytes a character", "byte, by bytes", 1000, read_utf8},
};

int main(void) {
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        double best[SIZES] = {0};
        size_t size;

        for (int round = 0; round < ROUNDS; round++) {
            size = rows[r].smallest;
            for (int s = 0; s < SIZES; s++, size *= 10) {
                best[s] = bench_least(best[s], rows[r].measure(size));
            }
        }
        size = rows[r].smallest;
        for (int s = 0; s < SIZES; s++, size *= 10) {
            printf("%s\t%s\t%zu\t%.3f\n", rows[r].what, rows[r].unit, size,
                   best[s]);
        }
    }
    return 0;
}
