/*
 * Functions that pass parts of a message in a piece: a text, a time, a number,
 * a market. The part begins anywhere in the piece, which ends at the array's
 * end.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "eva_none.h"
#include "mini_stream.c"

int main(void) {
    static const char text[] = ",\"bids\":[";
    static struct mst_decoder d;
    const char *at, *end;
    unsigned what = any_below(4), from = any_below(EXACT + 1);
    unsigned len = any_below(sizeof text);
    struct mst_decimal number;
    int64_t ns;

    input_any();
    ANY(d.time.minute);
    d.time.minute_s = Frama_C_long_long_interval(0, INT64_C(9223200000));
    //@ split what;
    //@ split from;
    at = input + from;
    end = input + EXACT;
    switch (what) {
    case 0:
        //@ split len;
        (void)message_pass(at, end, text, len);
        break;
    case 1: (void)message_time(&d, at, end, &ns); break;
    case 2: (void)message_number_pass(at, end, &number); break;
    default: (void)message_fast_market(&d, at, end); break;
    }
    REACHED();
    return 0;
}
