/*
 * Functions of a build for speed, included before each harness that is analysed
 * with WORDS. About a word's first bit, Frama-C knows only that it exists and
 * is one of 64. Its contract for comparing requires a byte, also to compare no
 * bytes at an array's end.
 * SPDX-License-Identifier: 0BSD
 */
#ifndef EVA_SPEED_H
#define EVA_SPEED_H

#include "eva_none.h"

/* The first bit is not after a bit that is set, and is after bits that are all
 * 0: for the bits that the code asks about, at each byte's begin and end. */
#define BITS_UP_TO(bit) (0xFFFFFFFFFFFFFFFF >> (63 - (bit)))
#define FIRST_UP_TO(x, first, bit) \
    ((BITS_UP_TO(bit) & (x)) == 0 || (first) <= (bit))
#define FIRST_BEHIND(x, first, bit) \
    ((BITS_UP_TO(bit) & (x)) != 0 || (first) > (bit))
#define FIRST_BY_BYTE(x, first, byte)         \
    (FIRST_UP_TO(x, first, 8 * (byte)) &&     \
     FIRST_UP_TO(x, first, 8 * (byte) + 7) && \
     FIRST_BEHIND(x, first, 8 * (byte) + 7))

/*@ requires x != 0;
    assigns \result \from (indirect: x);
    ensures 0 <= \result <= 63;
    ensures FIRST_BY_BYTE(x, \result, 0) && FIRST_BY_BYTE(x, \result, 1);
    ensures FIRST_BY_BYTE(x, \result, 2) && FIRST_BY_BYTE(x, \result, 3);
    ensures FIRST_BY_BYTE(x, \result, 4) && FIRST_BY_BYTE(x, \result, 5);
    ensures FIRST_BY_BYTE(x, \result, 6) && FIRST_BY_BYTE(x, \result, 7); */
int __builtin_ctzll(unsigned long long x);

/*@ requires \object_pointer((char *)a) && \object_pointer((char *)b);
    assigns \result \from \nothing;
    ensures \result == 0; */
int compare_none(const void *a, const void *b);

#define memcmp(a, b, len) ((len) == 0 ? compare_none(a, b) : memcmp(a, b, len))

#endif
