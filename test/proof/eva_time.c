/*
 * Times: any text, any time that can be written.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "mini_stream.c"

static void parse(void) {
    size_t len = some_len();
    int64_t ns;

    //@ split len;
    input_any();
    (void)mst_time_parse(input, len, &ns);
}

#ifndef EXACT
/* Analyses intervals of 366 days, each separately. */
static void format(void) {
    const int64_t span = INT64_C(366) * 86400 * 1000000000;
    const int64_t last = INT64_MAX / span;
    char text[MST_TIME_TEXT_LEN];
    int64_t from = Frama_C_long_long_interval(0, last), ns;

    //@ split from;
    ns = from * span;
    ns +=
        Frama_C_long_long_interval(0, from == last ? INT64_MAX - ns : span - 1);
    (void)mst_time_format(ns, text);
}
#endif

int main(void) {
    parse();
#ifndef EXACT
    format();
#endif
    REACHED();
    return 0;
}
