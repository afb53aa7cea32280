/*
 * Levels and books for the harnesses of Eva, and a book's side in any of its
 * states; its array, which holds any levels, begins at a known place.
 * SPDX-License-Identifier: 0BSD
 */
#ifndef EVA_LEVEL_H
#define EVA_LEVEL_H

#include "eva.h"
#include "mini_stream.h"

/* The begin of the levels that a side may use. */
#define BEGIN(b, side) ((b)->sides[side].levels - (b)->sides[side].front)

/* Between snapshots a side may have free places before its levels; in a
 * snapshot it has none, and newer levels follow its levels. A side has up to
 * five levels, with a separate case for each number, as Eva analyses each
 * separately. */
/*@ predicate side_front(struct mst_book_side *s, struct mst_level *begin,
        integer most, integer front) =
        s->front == front && front < most && s->levels == begin + front &&
        s->count <= most - front && s->newer <= most && s->cut <= 1 &&
        s->horizon.inexact <= 1;
    predicate side_newer(struct mst_book_side *s, struct mst_level *begin,
        integer most, integer newer) =
        s->newer == newer && s->front == 0 && s->levels == begin &&
        s->count <= most - newer && s->cut <= 1 && s->horizon.inexact <= 1;
 */
#define SIDE(s, begin, most)                                           \
    (side_front(s, begin, most, 0) || side_front(s, begin, most, 1) || \
     side_front(s, begin, most, 2) || side_front(s, begin, most, 3) || \
     side_front(s, begin, most, 4) || side_front(s, begin, most, 5))
#define SIDE_PACKED(s, begin, most) side_front(s, begin, most, 0)
#define SIDE_MERGES(s, begin, most)                                    \
    (side_newer(s, begin, most, 0) || side_newer(s, begin, most, 1) || \
     side_newer(s, begin, most, 2) || side_newer(s, begin, most, 3) || \
     side_newer(s, begin, most, 4) || side_newer(s, begin, most, 5))

/* Preconditions and promises about both sides. */
#define NEEDS(b, is)                                         \
    requires is(&(b)->sides[0], BEGIN(b, 0), (b)->capacity); \
    requires is(&(b)->sides[1], BEGIN(b, 1), (b)->capacity);
#define GIVES(b, is)                                              \
    ensures is(&(b)->sides[0], \old(BEGIN(b, 0)), (b)->capacity); \
    ensures is(&(b)->sides[1], \old(BEGIN(b, 1)), (b)->capacity);

/* What functions may write of them. */
// clang-format off
#define WRITES(b)                                               \
    assigns (b)->sides[0].levels \from (b)->sides[0].levels;    \
    assigns (b)->sides[1].levels \from (b)->sides[1].levels;    \
    assigns (b)->sides[0 .. 1].count, (b)->sides[0 .. 1].newer, \
        (b)->sides[0 .. 1].front, (b)->sides[0 .. 1].unit,       \
        (b)->sides[0 .. 1].cut, (b)->sides[0 .. 1].horizon,     \
        (b)->sides[0 .. 1].cut_ns,                              \
        BEGIN(b, 0)[0 .. (b)->capacity - 1],                    \
        BEGIN(b, 1)[0 .. (b)->capacity - 1]                     \
        \from (b)->sides[0 .. 1].count;
// clang-format on

static inline struct mst_decimal any_decimal(void) {
    struct mst_decimal d;

    d.coefficient = Frama_C_long_long_interval(INT64_MIN, INT64_MAX);
    d.exponent = (int8_t)Frama_C_interval(INT8_MIN, INT8_MAX);
    d.inexact = any_bool();
    return d;
}

static inline struct mst_level any_level(void) {
    struct mst_level level;

    ANY(level);
    level.time_ns = any_time();
    level.side = (uint8_t)any_below(2);
    return level;
}

/* A side whose array of `most` levels begins at `begin`; it has newer levels in
 * a snapshot, otherwise perhaps free places. */
static inline void any_side(struct mst_book_side *s, struct mst_level *begin,
                            unsigned most, unsigned front, unsigned newer) {
    s->front = front;
    s->levels = begin + front;
    s->newer = newer;
    s->count = any_below((int)(most - front - newer) + 1);
    s->unit = (int8_t)Frama_C_interval(INT8_MIN, INT8_MAX);
    s->cut = any_bool();
    s->horizon = any_decimal();
    s->cut_ns = any_time();
    for (unsigned i = 0; i < most; i++) {
        begin[i] = any_level();
    }
}

#endif
