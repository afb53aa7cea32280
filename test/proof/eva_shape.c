/*
 * A number that is expected to look like one before it, in any way that one may
 * look, or like nothing yet: any bytes, where nine or more are at hand, which end
 * where the input does.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "mini_stream.c"

/* What a shape is where its length is not 0, and where it is. */
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
