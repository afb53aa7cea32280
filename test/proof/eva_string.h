/*
 * The inside of a string that the scanner has passed: characters that stand for
 * themselves, escapes, pairs of surrogates, in any order, to the byte. Eva
 * takes each order by itself, and of each character all bytes at once, for
 * which it needs "-eva-ilevel 256": so many bytes are not a span.
 * SPDX-License-Identifier: 0BSD
 */
#ifndef EVA_STRING_H
#define EVA_STRING_H

#include "eva.h"

/* What stands for itself: no control character, quote or backslash. */
static inline char any_plain(void) {
    int c = Frama_C_interval(0x20, 0xFF);

    while (c == '"' || c == '\\') {
        c = 'x';
    }
    return (char)c;
}

/* What stands behind a backslash, but for 'u'. */
static inline char any_letter(void) {
    static const char letters[] = "\"\\/bfnrt";

    return letters[any_below(sizeof letters - 1)];
}

/* A digit of so much, in any case. */
static inline char any_digit(int from, int to) {
    static const char digits[2][17] = {"0123456789abcdef", "0123456789ABCDEF"};

    return digits[any_below(2)][Frama_C_interval(from, to)];
}

/* An escape whose first two digits are in these spans. */
static inline void any_code(char *to, int first, int end, int second,
                            int second_end) {
    to[0] = '\\';
    to[1] = 'u';
    to[2] = any_digit(first, end);
    to[3] = any_digit(second, second_end);
    to[4] = any_digit(0, 15);
    to[5] = any_digit(0, 15);
}

/* Two halves of one character. */
static inline void any_pair(char *to) {
    any_code(to, 0xD, 0xD, 0x8, 0xB);
    any_code(to + 6, 0xD, 0xD, 0xC, 0xF);
}

/* Each string whose inside is from here to the end; calls this with each. */
static inline void each_string(char *at, const char *end, void (*then)(void)) {
    while (at < end) {
        unsigned unit = any_below(6);
        const unsigned sizes[] = {1, 2, 6, 6, 6, 12};

        //@ split unit;
        if (sizes[unit] > (size_t)(end - at)) {
            return; /* is there only where it has room */
        }
        switch (unit) {
        case 0: *at = any_plain(); break;
        case 1:
            at[0] = '\\';
            at[1] = any_letter();
            break;
        /* No half of a pair, which is D8 to DF. */
        case 2: any_code(at, 0x0, 0xC, 0x0, 0xF); break;
        case 3: any_code(at, 0xD, 0xD, 0x0, 0x7); break;
        case 4: any_code(at, 0xE, 0xF, 0x0, 0xF); break;
        default: any_pair(at); break;
        }
        at += sizes[unit];
    }
    then();
}

#endif
