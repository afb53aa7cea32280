/*
 * The states of a decoder: in a message, and between two calls.
 * SPDX-License-Identifier: 0BSD
 */
#ifndef EVA_STATE_H
#define EVA_STATE_H

#include "eva.h"
#include "mini_stream.h"

/*@ predicate scanner(struct mst_json *j) =
        j->state <= 17 && j->mode <= 2 && j->key_len <= 24 &&
        j->escape <= 6 && j->literal <= 14 && j->low <= 1;
    predicate decoded(struct mst_decoder *d) =
        d->place <= 8 && d->field <= 13 && d->side <= 1 &&
        (d->channel <= 4 || d->channel == 255) &&
        d->snapshot <= 1 && d->parts_out <= 1 && d->there[0] <= 1 &&
        d->there[1] <= 1 && d->final <= 1 && d->strict <= 1 &&
        d->at <= d->len &&
        d->count <= 32 &&
        d->time.minute_s >= 0 && d->time.minute_s <= 9223200000 &&
        d->numbers[0].inexact <= 1 && d->numbers[1].inexact <= 1 &&
        d->said.success <= 1 &&
        d->said.market[31] == 0 && d->said.name[31] == 0 &&
        d->said.text[95] == 0 && d->said.message[95] == 0 &&
        d->kept.len <= d->kept.buffer_len;
    predicate decoder(struct mst_decoder *d) = d->place <= 5 && decoded(d);
 */

/* What a step may write of a decoder. */
// clang-format off
#define WRITES(d)                                                           \
    assigns (d)->place, (d)->field, (d)->side, (d)->channel, (d)->action,   \
        (d)->snapshot, (d)->parts_out, (d)->there[0 .. 1], (d)->json,       \
        (d)->seen, (d)->taken, (d)->count, (d)->response, (d)->variety,     \
        (d)->kept.len, (d)->kept.item, (d)->time, (d)->numbers[0 .. 1],    \
        (d)->said.success, (d)->said.market[0 .. 31],                       \
        (d)->said.name[0 .. 31], (d)->said.text[0 .. 95],                   \
        (d)->said.message[0 .. 95], (d)->shared                               \
        \from (d)->data[0 .. (d)->len - 1];
// clang-format on

#endif
