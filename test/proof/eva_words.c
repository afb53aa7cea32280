/*
 * Numbers of any bytes, read in words of eight bytes.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "mini_stream.c"

/* The first byte decides how the others are read, so that each value of it is
 * analysed separately. */
static void number(void) {
    unsigned first = any_below(256);
    int64_t coefficient;
    int8_t exponent;

    //@ split first;
    input_any();
    input[0] = (char)first;
    (void)decimal_parts(input, &coefficient, &exponent);
}

/* Any bytes, at least one of which is no digit. */
static void shape(void) {
    unsigned which = 1 + any_below(255);
    struct decimal_shape s = {0};
    uint64_t others = 0;

    //@ split which;
    for (int i = 0; i < 8; i++) {
        others |= (uint64_t)(which >> i & 1) << (8 * i + 7);
    }
    (void)decimal_shape(&s, any_size(), others);
}

int main(void) {
    unsigned what = any_below(2);

    //@ split what;
    if (what == 0) {
        number();
    } else {
        shape();
    }
    REACHED();
    return 0;
}
