/*
 * mini_stream's decoder.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "decoders.h"
#include "event.h"

uint64_t decode_mini_stream(const char *text, size_t len) {
    static struct mst_decoder decoder;
    static unsigned char buffer[2048];
    static bool prepared;
    struct mst_event event;
    uint64_t sum = 0;

    if (!prepared) {
        mst_decoder_init(&decoder, buffer, sizeof buffer, 0);
        prepared = true;
    }
    mst_decoder_feed(&decoder, text, len, true);
    while (mst_decoder_next(&decoder, &event) == 1) {
        event_sum(&event, &sum);
    }
    return sum;
}
