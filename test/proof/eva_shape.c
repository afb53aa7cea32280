/*
 * A number that is expected to have an earlier number's shape, any possible one
 * or none: at least nine bytes of any value, up to the input's end.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "mini_stream.c"

/* A valid shape. */
#define SHAPE(s)                                       \
    (s.len <= 8 && s.shift <= 56 && s.fraction <= 6 && \
     (s.len > 0 || (s.mark == 0 && s.form == 0)))

int main(void) {
    unsigned len = any_below(9);
    struct decimal_shape s = {0};
    int64_t coefficient;
    int8_t exponent;

    //@ split len;
    if (len > 0) {
        ANY(s);
        s.len = (uint8_t)len;
        s.shift = (uint8_t)any_below(57);
        s.fraction = (uint8_t)any_below(7);
    }
    ANY(s.odd);
    input_any();
    (void)decimal_word(input, input + EXACT, &s, &coefficient, &exponent);
    //@ assert SHAPE(s);
    REACHED();
    return 0;
}
