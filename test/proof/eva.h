/*
 * Shared by the harnesses of Eva: an input of any bytes, and values with known
 * bounds only. Without EXACT the input has any length up to 4,096 (INPUT_LEN),
 * or one of seven if the distance to both ends must be known (some_len():
 * numbers, times, UTF-8 and writers' windows). With EXACT it has that length,
 * and the array ends after its last byte, so that reading one more is an alarm.
 * SPDX-License-Identifier: 0BSD
 */
#ifndef EVA_H
#define EVA_H

#include <__fc_builtin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef EXACT
#define INPUT_MAX 16384
#define INPUT_LEN ((size_t)Frama_C_interval(0, 4096))
#define TEXT_MAX 4096
#else
#define INPUT_MAX EXACT
#define INPUT_LEN ((size_t)EXACT)
#define TEXT_MAX EXACT
#endif

/* C has no empty arrays: the end of an array of one byte replaces it. */
static char input_bytes[INPUT_MAX + (INPUT_MAX == 0)];
static char *const input = input_bytes + (INPUT_MAX == 0);

/* One of these lengths; the caller analyses each separately, with "split". For
 * an interval of lengths Eva does not know that a place in the input is before
 * its end, and gives alarms that cannot happen. */
static size_t some_len(void) {
#ifdef EXACT
    return EXACT;
#else
    static const size_t lengths[] = {25, 31, 40, 64, 257, 1000, 4096};

    return lengths[Frama_C_interval(0, 6)];
#endif
}

/* Fills the input with any bytes. */
static void input_any(void) {
    Frama_C_make_unknown(input_bytes, sizeof input_bytes);
}

/* Any text that ends at the array's end or before. */
static char text_bytes[TEXT_MAX + 1];

static const char *any_text(void) {
    Frama_C_make_unknown(text_bytes, sizeof text_bytes);
    text_bytes[TEXT_MAX] = '\0';
    return text_bytes;
}

/* True or false. */
static bool any_bool(void) {
    return Frama_C_interval(0, 1) != 0;
}

/* A number below this one. */
static unsigned any_below(int end) {
    return (unsigned)Frama_C_interval(0, end - 1);
}

/* Any number, any time. */
static uint64_t any_size(void) {
    return Frama_C_unsigned_long_long_interval(0, UINT64_MAX);
}

static int64_t any_time(void) {
    return Frama_C_long_long_interval(0, INT64_MAX);
}

/* Any value that the object's type has. */
#define ANY(object) Frama_C_make_unknown((char *)&(object), sizeof(object))

/* The end of a harness: a proof that does not get here proves nothing. */
#define REACHED() Frama_C_show_each_reached(1)

#endif
