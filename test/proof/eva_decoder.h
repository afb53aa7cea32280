/*
 * A decoder in any of its states: see eva_state.h. Include it after
 * mini_stream.c.
 * SPDX-License-Identifier: 0BSD
 */
#ifndef EVA_DECODER_H
#define EVA_DECODER_H

#include "eva_state.h"

/* The scanner passes the end of each word in json_literals except the last. */
#define LITERAL_MAX (sizeof json_literals - 2)

static inline void any_scanner(struct mst_json *j) {
    ANY(*j);
    j->state = (uint8_t)any_below(JSON_NUMBER_EXPONENT + 1);
    j->mode = (uint8_t)any_below(JSON_SKIP + 1);
    j->key_len = (uint8_t)any_below(JSON_KEY_OTHER + 1);
    j->escape = (uint8_t)any_below(7);
    j->literal = (uint8_t)any_below(LITERAL_MAX + 1);
    j->low = any_bool();
}

/* The texts that it keeps end within their arrays. */
static inline void any_decoder(struct mst_decoder *d,
                               enum message_place place) {
    ANY(*d);
    any_scanner(&d->json);
    d->place = (uint8_t)place;
    d->field = (uint8_t)any_below(FIELD_NONE);
    d->side = (uint8_t)any_below(2);
    d->channel = (uint8_t)(any_bool() ? any_below(5) : MESSAGE_NONE);
    d->action = (uint8_t)(any_bool() ? any_below(5) : MESSAGE_NONE);
    d->snapshot = any_bool();
    d->parts_out = any_bool();
    d->there[MST_BID] = any_bool();
    d->there[MST_ASK] = any_bool();
    d->final = any_bool();
    d->strict = any_bool();
    d->count = any_below(MST_PART_LEVELS + 1);
    d->time.minute_s = Frama_C_long_long_interval(0, INT64_C(9223200000));
    d->numbers[0].inexact = any_bool();
    d->numbers[1].inexact = any_bool();
    d->said.success = any_bool();
    d->said.market[sizeof d->said.market - 1] = '\0';
    d->said.name[sizeof d->said.name - 1] = '\0';
    d->said.text[sizeof d->said.text - 1] = '\0';
    d->said.message[sizeof d->said.message - 1] = '\0';
}

#endif
