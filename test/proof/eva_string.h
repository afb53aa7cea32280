/*
 * The inside of a string that the scanner has passed: plain characters, escapes
 * and pairs of surrogates in any order, of an exact length. Eva analyses each
 * order separately, with all values of a byte at once; it needs "-eva-ilevel
 * 256", because these values are no interval.
 * SPDX-License-Identifier: 0BSD
 */
#ifndef EVA_STRING_H
#define EVA_STRING_H

#include "eva.h"

/* A plain character: no control character, quote or backslash. */
static inline char any_plain(void) {
    int c = Frama_C_interval(0x20, 0xFF);

    while (c == '"' || c == '\\') {
        c = 'x';
    }
    return (char)c;
}

/* A character after a backslash, except 'u'. */
static inline char any_letter(void) {
    static const char letters[] = "\"\\/bfnrt";

    return letters[any_below(sizeof letters - 1)];
}

/* A hexadecimal digit in this interval, in either case. */
static inline char any_digit(int from, int to) {
    static const char digits[2][17] = {"0123456789abcdef", "0123456789ABCDEF"};

    return digits[any_below(2)][Frama_C_interval(from, to)];
}

/* An escape whose first two digits are in these intervals. */
static inline void any_code(char *to, int first, int end, int second,
                            int second_end) {
    to[0] = '\\';
    to[1] = 'u';
    to[2] = any_digit(first, end);
    to[3] = any_digit(second, second_end);
    to[4] = any_digit(0, 15);
    to[5] = any_digit(0, 15);
}

/* A pair of surrogates. */
static inline void any_pair(char *to) {
    any_code(to, 0xD, 0xD, 0x8, 0xB);
    any_code(to + 6, 0xD, 0xD, 0xC, 0xF);
}

/* Makes each string inside of this length; calls then() with each. */
static inline void each_string(char *at, const char *end, void (*then)(void)) {
    while (at < end) {
        unsigned unit = any_below(6);
        const unsigned sizes[] = {1, 2, 6, 6, 6, 12};

        //@ split unit;
        if (sizes[unit] > (size_t)(end - at)) {
            return; /* it does not fit */
        }
        switch (unit) {
        case 0: *at = any_plain(); break;
        case 1:
            at[0] = '\\';
            at[1] = any_letter();
            break;
        /* No surrogate, D8 to DF. */
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
