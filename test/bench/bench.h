/*
 * Shared by all contenders: reads exact numbers and times, and sums up what was
 * decoded. For C and C++.
 *
 * A message's sum does not depend on the order of its levels or on how numbers
 * are written. Each contender does the same work for it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum bench_kind {
    BENCH_UPDATE,
    BENCH_SNAPSHOT,
    BENCH_TOP,
    BENCH_EXECUTION,
    BENCH_HEARTBEAT
};

enum bench_side { BENCH_BID, BENCH_ASK, BENCH_TRADE };

/* coefficient * 10^exponent. */
struct bench_number {
    int64_t coefficient;
    int exponent;
};

/* Readable bytes after a message; the first of them is 0. */
#define BENCH_PADDING 64

static inline uint64_t bench_ns(clockid_t clock) {
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* SplitMix64: the same state gives the same numbers in each run. */
static inline uint64_t bench_random(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15u;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* The lesser of a time and the least so far, which is 0 at first. */
static inline double bench_least(double least, double ns) {
    return least == 0 || ns < least ? ns : least;
}

/* Prints the reason and ends the program. */
static inline void bench_stop(const char *why) {
    fprintf(stderr, "%s\n", why);
    exit(1);
}

/* Returns zeroed memory, or ends the program. */
static inline void *bench_allocate(size_t count, size_t size) {
    void *memory = calloc(count, size);

    if (memory == NULL) {
        bench_stop("no memory");
    }
    return memory;
}

/* The longest header of a server's frame. */
#define BENCH_FRAME_HEADER 10

/* Writes a frame as a server does; returns its length. */
static inline size_t bench_frame(uint8_t *out, unsigned first, const void *data,
                                 size_t len) {
    size_t header = len < 126 ? 2 : len < 65536 ? 4 : BENCH_FRAME_HEADER;

    out[0] = (uint8_t)first;
    out[1] = (uint8_t)(header == 2 ? len : header == 4 ? 126 : 127);
    for (size_t i = 2; i < header; i++) {
        out[i] = (uint8_t)((uint64_t)len >> 8 * (header - 1 - i));
    }
    memcpy(out + header, data, len);
    return header + len;
}

/* ---- Texts ---- */

static inline bool bench_is(const char *text, size_t len, const char *literal) {
    return len == strlen(literal) && memcmp(text, literal, len) == 0;
}

/* The exponent of an invalid number: it makes the sum wrong. */
#define BENCH_BAD 127

/* Reads plain notation of up to 18 digits, all that the service writes. */
static inline struct bench_number bench_decimal(const char *text, size_t len) {
    struct bench_number number = {0, 0};
    size_t point = len;

    for (size_t i = 0; i < len; i++) {
        unsigned digit = (unsigned)(unsigned char)text[i] - '0';

        if (digit <= 9) {
            number.coefficient = number.coefficient * 10 + (int64_t)digit;
        } else if (text[i] == '.' && point == len) {
            point = i;
        } else {
            number.exponent = BENCH_BAD;
            return number;
        }
    }
    number.exponent =
        len == 0 || len > 19 ? BENCH_BAD : -(int)(len - point) + (point < len);
    return number;
}

static inline int64_t bench_digits(const char *text, size_t len) {
    int64_t value = 0;

    for (size_t i = 0; i < len; i++) {
        value = value * 10 + (text[i] - '0');
    }
    return value;
}

/* Converts RFC 3339 in UTC with 0 to 9 fraction digits to Unix ns; -1 if the
 * text is no such time. */
static inline int64_t bench_time(const char *text, size_t len) {
    int64_t year, month, days, seconds, fraction = 0;

    if (len < 20 || len > 30 || len == 21 || text[len - 1] != 'Z' ||
        text[4] != '-' || text[10] != 'T' || text[13] != ':') {
        return -1;
    }
    /* Days since 0000-03-01, so that a leap day is the last of its year. */
    year = bench_digits(text, 4);
    month = bench_digits(text + 5, 2);
    year -= month <= 2;
    month += month <= 2 ? 9 : -3;
    days = year * 365 + year / 4 - year / 100 + year / 400 +
           (month * 153 + 2) / 5 + bench_digits(text + 8, 2) - 1;
    seconds = (days - 719468) * 86400 + bench_digits(text + 11, 2) * 3600 +
              bench_digits(text + 14, 2) * 60 + bench_digits(text + 17, 2);
    if (len > 21) {
        fraction = bench_digits(text + 20, len - 21);
        for (size_t i = len - 21; i < 9; i++) {
            fraction *= 10;
        }
    }
    return seconds * 1000000000 + fraction;
}

/* ---- The sum ---- */

/* A number in units of 10^-8: the same for any notation of it. */
static inline uint64_t bench_scaled(struct bench_number number) {
    static const uint64_t powers[] = {1u,
                                      10u,
                                      100u,
                                      1000u,
                                      10000u,
                                      100000u,
                                      1000000u,
                                      10000000u,
                                      100000000u,
                                      1000000000u,
                                      10000000000u,
                                      100000000000u,
                                      1000000000000u,
                                      10000000000000u,
                                      100000000000000u};
    unsigned power = (unsigned)(number.exponent + 8);

    return power < sizeof powers / sizeof *powers
               ? (uint64_t)number.coefficient * powers[power]
               : UINT64_MAX;
}

/* A level, or the price and amount of an execution. */
static inline uint64_t bench_sum_level(enum bench_side side,
                                       struct bench_number price,
                                       struct bench_number amount) {
    return (bench_scaled(price) + (uint64_t)side * 0x9E3779B97F4A7C15u) *
           (bench_scaled(amount) * 2 + 0xD1B54A32D192ED03u);
}

/* Sums all of a message except its levels. market has at least 4 bytes, even if
 * the message has no market. */
static inline uint64_t bench_sum_message(enum bench_kind kind,
                                         const char *market, int64_t time_ns) {
    uint32_t symbol;

    memcpy(&symbol, market, sizeof symbol);
    return ((uint64_t)symbol << 3 | (uint64_t)kind) * 0x94D049BB133111EBu +
           (uint64_t)time_ns * 3;
}

#endif
