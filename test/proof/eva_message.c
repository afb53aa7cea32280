/*
 * The decoder: one call, from any state that earlier calls may leave, which is
 * also asserted afterwards. Steps are promised.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva_state.h"
#include "mini_stream.c"

#include "eva_decoder.h"

#define LEN EXACT
#define KEPT 4

/* The current piece may have been moved to the buffer. */
int main(void) {
    static uint8_t piece[LEN + (LEN == 0)], buffer[KEPT];
    static struct mst_decoder d;
    static struct mst_event event;
    unsigned place = any_below(MESSAGE_BETWEEN + 1), what = any_below(3);
    bool in_buffer = any_bool();
    unsigned len = any_below(KEPT + 1);

    //@ split what;
    //@ split place;
    //@ split in_buffer;
    if (!in_buffer) {
        len = LEN;
    }
    //@ split len;
    any_decoder(&d, (enum message_place)place);
    ANY(piece);
    ANY(buffer);
    d.kept.buffer = buffer;
    d.kept.buffer_len = sizeof buffer;
    d.kept.len = any_below(sizeof buffer + 1);
    d.waiting = any_below(sizeof buffer + 1);
    d.behind.data = piece;
    d.behind.len = any_below(LEN + 1);
    d.data = in_buffer ? buffer : piece;
    d.len = len;
    d.at = any_below((int)len + 1);
    //@ assert d.at <= d.len;
    switch (what) {
    case 0:
        mst_decoder_feed(&d, in_buffer ? NULL : piece, in_buffer ? 0 : LEN,
                         any_bool());
        break;
    case 1: (void)mst_decoder_next(&d, &event); break;
    default: (void)mst_decoder_abort(&d, &event); break;
    }
    //@ assert decoded(&d);
    //@ assert scanner(&d.json);
    REACHED();
    return 0;
}
