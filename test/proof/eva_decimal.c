/*
 * Decimals: any text, any two decimals.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva_level.h"
#include "mini_stream.c"

static void parse(void) {
    struct mst_decimal d = any_decimal();
    uint32_t count;
    size_t len = some_len();

    //@ split len;
    input_any();
    (void)mst_decimal_parse(input, len, &d);
    (void)decimal_count(input, len, &count);
    (void)decimal_whole(any_text(), any_below(100000000));
}

#ifndef EXACT
static void parse_large(void) {
    static char text[1000001];
    struct mst_decimal d = any_decimal();

    (void)mst_decimal_parse(text, sizeof text, &d);
}

static void calculate(void) {
    struct mst_decimal a = any_decimal(), b = any_decimal();
    char text[MST_DECIMAL_TEXT_LEN];
    int64_t scaled;

    (void)mst_decimal_add(a, b);
    (void)mst_decimal_sub(a, b);
    (void)mst_decimal_cmp(a, b);
    (void)decimal_half(a);
    (void)mst_decimal_to_scaled(a, Frama_C_interval(INT32_MIN, INT32_MAX),
                                &scaled);
    (void)mst_decimal_format(a, text);
}
#endif

int main(void) {
    parse();
#ifndef EXACT
    parse_large();
    calculate();
#endif
    REACHED();
    return 0;
}
