/*
 * Words of eight bytes, and numbers that are read in them: any bytes, at hand
 * up to where the input ends, before which eight bytes may be read. In an input
 * of more than eight bytes a number is where it begins: one that begins later
 * is that of a shorter input, with more before it.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "mini_stream.c"

/* Nothing behind the end is left in a word. */
static void load(const char *at, const char *end, unsigned left) {
    uint64_t word;

    input_any();
    word = word_load_before(at, end);
    //@ assert left >= 8 || word >> 8 * left == 0;
}

/* What the first byte is decides what is done with the others, so that each is
 * taken by itself. For Eva to know it in a word, what is before it, of which
 * load() shows nothing less, is 0. */
static void number(const char *at, const char *end, unsigned from) {
    unsigned first = any_below(256);
    int64_t coefficient;
    int8_t exponent;

    //@ split first;
    input_any();
    for (unsigned i = 0; i < from; i++) {
        input[i] = 0;
    }
    if (from < EXACT) {
        input[from] = (char)first;
    }
    (void)decimal_any(at, end, &coefficient, &exponent);
}

/* Any bytes, of which any but none are no digits. */
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
    unsigned what = any_below(3), from = any_below(EXACT == 8 ? 9 : 1);
    const char *at, *end = input + EXACT;

    //@ split what;
    //@ split from;
    at = input + from;
    switch (what) {
    case 0: load(at, end, EXACT - from); break;
    case 1: number(at, end, from); break;
    default: shape(); break;
    }
    REACHED();
    return 0;
}
