/*
 * What a build for speed calls, for Eva: it is there before each harness that
 * is analysed with WORDS. Of where a word's first bit is, Frama-C knows only
 * that there must be one, and that it is one of 64; and to compare no bytes,
 * which may stand where an array ends, its contract asks for a byte.
 * SPDX-License-Identifier: 0BSD
 */
#ifndef EVA_SPEED_H
#define EVA_SPEED_H

#include "eva_none.h"

/* The first bit is not behind one that is set, nor before that one where the
 * others up to it are 0: as far as it is asked for, by where a byte begins or
 * ends, and where its lowest bit does. */
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
