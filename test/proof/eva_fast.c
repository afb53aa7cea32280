/*
 * The fast lane: a piece of any bytes, from any state of the decoder, which is
 * also asserted afterwards. Functions that pass parts of a message are
 * promised.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "mini_stream.c"

#include "eva_decoder.h"

#define LEN EXACT

int main(void) {
    static uint8_t piece[LEN + (LEN == 0)], buffer[256];
    static struct mst_decoder d;
    unsigned place = any_below(MESSAGE_FAILED), at = any_below(LEN + 1);

    //@ split place;
    any_decoder(&d, (enum message_place)place);
    ANY(piece);
    d.kept.buffer = buffer;
    d.kept.buffer_len = sizeof buffer;
    d.kept.len = any_below(sizeof buffer + 1);
    d.data = piece;
    d.len = LEN;
    d.at = at;
    message_fast(&d);
    //@ assert decoder(&d);
    //@ assert scanner(&d.json);
    REACHED();
    return 0;
}
