/*
 * The handling of a value, of a scalar's text and of an end, from any state of
 * the decoder, which is also asserted afterwards: at any place in a piece of
 * any bytes.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "mini_stream.c"

#include "eva_decoder.h"

#define LEN EXACT

/* A scalar's text begins and ends anywhere in the piece. */
static void scalar(struct mst_decoder *d, const char *piece, unsigned from,
                   unsigned len) {
    bool root = any_bool();
    struct json_text t = {piece + from, len, any_bool(), any_bool()};

    //@ split root;
    d->field = (uint8_t)(root ? any_below(2) : FIELD_PRICE + any_below(7));
    if (len == 0) {
        t.string = true;
    }
    (void)message_scalar(d, &t);
}

int main(void) {
    static uint8_t piece[LEN], buffer[256];
    static struct mst_decoder d;
    static struct mst_event event;
    unsigned place = any_below(MESSAGE_FAILED), at = any_below(LEN);
    unsigned what = any_below(3), len = any_below(LEN + 1);

    //@ split what;
    //@ split place;
    //@ split at;
    any_decoder(&d, (enum message_place)place);
    ANY(piece);
    d.kept.buffer = buffer;
    d.kept.buffer_len = sizeof buffer;
    d.kept.len = any_below(sizeof buffer + 1);
    d.data = piece;
    d.len = LEN;
    d.at = at;
    switch (what) {
    case 0: (void)message_value(&d, &event); break;
    case 1: (void)message_close(&d); break;
    default:
        //@ split len;
        if (len <= LEN - at) {
            scalar(&d, (const char *)piece, at, len);
        }
        break;
    }
    //@ assert decoder(&d);
    //@ assert scanner(&d.json);
    REACHED();
    return 0;
}
