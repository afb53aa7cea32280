/*
 * A decoder in any state between two steps of the scanner, inside of a message;
 * and what is asserted behind each step. It comes behind mini_stream.c.
 * SPDX-License-Identifier: 0BSD
 */
#ifndef EVA_DECODER_H
#define EVA_DECODER_H

/*@ predicate scanner(struct mst_json *j) =
        j->state <= 17 && j->mode <= 2 && j->key_len <= 24 &&
        j->escape <= 6 && j->literal <= 14 && j->low <= 1;
    predicate decoder(struct mst_decoder *d) =
        d->place <= 5 && d->field <= 13 && d->side <= 1 &&
        (d->channel <= 4 || d->channel == 255) &&
        d->snapshot <= 1 && d->parts_out <= 1 && d->there[0] <= 1 &&
        d->there[1] <= 1 && d->final <= 1 && d->strict <= 1 &&
        d->at <= d->len &&
        d->count <= 32 && (d->place != 4 || d->count <= 31) &&
        d->time.minute_s >= 0 && d->time.minute_s <= 9223200000 &&
        d->numbers[0].inexact <= 1 && d->numbers[1].inexact <= 1 &&
        d->said.success <= 1 &&
        d->said.market[31] == 0 && d->said.name[31] == 0 &&
        d->said.text[95] == 0 && d->said.message[95] == 0 &&
        d->kept.held <= d->kept.buffer_len;
 */

/* The end of each word in json_literals but the last is passed over. */
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

/* What the texts say that it keeps ends in their room. */
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
    d->count = any_below(MST_PART_LEVELS + (place != MESSAGE_LEVEL));
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
