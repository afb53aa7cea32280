/*
 * The decoder: messages of any bytes in any pieces, its calls in any order.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "mini_stream.c"

int main(void) {
    static uint8_t buffer[256];
    static struct mst_decoder d;
    static struct mst_event event;

    (void)mst_decoder_init(&d, buffer, sizeof buffer, any_below(2));
    while (any_bool()) {
        input_any();
        mst_decoder_feed(&d, input, INPUT_LEN, any_bool());
        while (any_bool()) {
            (void)mst_decoder_next(&d, &event);
        }
        if (any_bool()) {
            (void)mst_decoder_abort(&d, &event);
        }
    }
    REACHED();
    return 0;
}
