/*
 * Bytes kept from earlier pieces, and the conversion of an item: a piece of
 * each length up to EXACT + 1, with each number of bytes read, after each
 * number of bytes kept in a buffer of EXACT. The message fits the buffer or
 * not, or its length has wrapped.
 * SPDX-License-Identifier: 0BSD
 */
#include "eva.h"
#include "eva_none.h"
#include "mini_stream.c"

#include "eva_decoder.h"

#define LEN (EXACT + 1)

/* The length of earlier pieces: -1, the largest size, or up to one byte more
 * than the buffer holds. */
static size_t any_before(void) {
    return (size_t)Frama_C_interval(-1, EXACT + 1);
}

int main(void) {
    static uint8_t piece[LEN], buffer[EXACT];
    static struct mst_decoder d;
    static struct mst_event event;
    unsigned what = any_below(4), len = any_below(LEN + 1);
    unsigned kept = any_below(EXACT + 1), at, item;
    int rc;
    const uint8_t *data;
    bool level = any_bool(), root = any_bool();
    size_t before = any_before();

    //@ split what;
    //@ split level;
    //@ split len;
    //@ split kept;
    //@ split before;
    if (kept > before) { /* no more can be kept than came before */
        return 0;
    }
    any_decoder(&d, level       ? MESSAGE_LEVEL
                    : what == 0 ? MESSAGE_ENTRIES
                                : MESSAGE_BEFORE);
    at = what == 0 ? any_below((int)len + 1) : len;
    item = what == 0 || what == 2 ? any_below(EXACT + LEN + 1) : 0;
    //@ split at;
    //@ split item;
    ANY(piece);
    ANY(buffer);
    d.data = data = piece + (LEN - len);
    d.len = len;
    d.at = at;
    d.message_len = before + len;
    d.kept.buffer = buffer;
    d.kept.buffer_len = sizeof buffer;
    d.kept.len = kept;
    d.kept.item = before + at - 1 - item;
    switch (what) {
    case 0: /* its field is a scalar's */
        //@ split root;
        d.field = (uint8_t)(root ? any_below(2) : FIELD_PRICE + any_below(7));
        (void)message_item(&d, &event);
        break;
    case 1: (void)message_again(&d); break;
    case 2:
        if (any_bool()) {
            d.kept.item = 0;
        }
        //@ split d.kept.item;
        message_keep(&d);
        break;
    default:
        //@ split d.channel;
        rc = message_end(&d, &event);
        if (rc == 0) {
            //@ assert d.place == 0;
            //@ assert d.at == 0;
            //@ assert before == 0 ==> d.data == data && d.len == len;
            /*@ assert 0 < before <= EXACT + 1 ==>
                    d.data == (uint8_t *)buffer && d.len <= EXACT; */
        } else {
            //@ assert rc <= 1;
            //@ assert d.place <= 7;
            //@ assert d.at == at;
            //@ assert d.data == data && d.len == len;
            d.place = MESSAGE_BEFORE;
        }
        break;
    }
    //@ assert decoder(&d);
    //@ assert scanner(&d.json);
    REACHED();
    return 0;
}
