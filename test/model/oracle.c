/*
 * Oracle of the order book: see oracle.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "oracle.h"

/* ---- Lists ---- */

static void list_reserve(struct oracle_list *list) {
    if (list->count == list->size) {
        list->size = 2 * list->size + 64;
        list->levels = realloc(list->levels, list->size * sizeof *list->levels);
        if (list->levels == NULL) {
            abort();
        }
    }
}

void oracle_list_add(struct oracle_list *list,
                     const struct oracle_level *level) {
    list_reserve(list);
    list->levels[list->count++] = *level;
}

static void list_free(struct oracle_list *list) {
    free(list->levels);
    *list = (struct oracle_list){.count = 0};
}

static bool is_better(enum mst_side side, int64_t a, int64_t b) {
    return side == MST_BID ? a > b : a < b;
}

static size_t list_place(const struct oracle_list *list, enum mst_side side,
                         int64_t price) {
    size_t low = 0, high = list->count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (is_better(side, list->levels[middle].price, price)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The level of this price, or NULL. */
static const struct oracle_level *list_find(const struct oracle_list *list,
                                            enum mst_side side, int64_t price) {
    size_t at = list_place(list, side, price);

    return at < list->count && list->levels[at].price == price
               ? &list->levels[at]
               : NULL;
}

/* Sets the level of this price; keeps the newer time. */
static void list_set(struct oracle_list *list,
                     const struct oracle_level *level) {
    const struct oracle_level *known =
        list_find(list, level->side, level->price);
    int64_t known_ns = known != NULL ? known->time_ns : INT64_MIN;
    size_t at = list_place(list, level->side, level->price);

    if (known == NULL) {
        list_reserve(list);
        memmove(list->levels + at + 1, list->levels + at,
                (list->count - at) * sizeof *level);
        list->count++;
    }
    list->levels[at] = *level;
    if (known_ns > level->time_ns) {
        list->levels[at].time_ns = known_ns;
    }
}

static void list_remove(struct oracle_list *list, enum mst_side side,
                        int64_t price) {
    size_t at = list_place(list, side, price);

    if (list_find(list, side, price) != NULL) {
        list->count--;
        memmove(list->levels + at, list->levels + at + 1,
                (list->count - at) * sizeof *list->levels);
    }
}

static int by_rank(const void *a, const void *b) {
    const struct oracle_level *p = a, *q = b;

    return is_better(q->side, q->price, p->price) -
           is_better(p->side, p->price, q->price);
}

/* ---- The book ---- */

void oracle_open(struct oracle *o, size_t capacity, size_t thin) {
    *o = (struct oracle){
        .capacity = capacity,
        .thin =
            thin < capacity - capacity / 64 ? thin : capacity - capacity / 64,
        .state = MST_BOOK_EMPTY,
        .reason = MST_BOOK_NO_SNAPSHOT,
    };
}

void oracle_close(struct oracle *o) {
    list_free(&o->arrivals);
    for (unsigned side = 0; side < 2; side++) {
        list_free(&o->sides[side]);
        list_free(&o->touched[side]);
    }
}

size_t oracle_place(const struct oracle *o, enum mst_side side, int64_t price) {
    return list_place(&o->sides[side], side, price);
}

size_t oracle_depth(const struct oracle *o, enum mst_side side) {
    return o->cut[side] ? oracle_place(o, side, o->horizon[side])
                        : o->sides[side].count;
}

/* If a list has more prices than fit the book, the best one that does not fit
 * is the horizon. */
static void tighten(struct oracle *o, const struct oracle_list *list,
                    enum mst_side side) {
    if (list->count > o->capacity) {
        int64_t price = list->levels[o->capacity].price;

        if (!o->cut[side] || is_better(side, price, o->horizon[side])) {
            o->horizon[side] = price;
            o->cut[side] = true;
        }
    }
}

/* After an update added a level: a full book may drop up to a 64th of its
 * levels at once, all worse than the new one. */
static void tighten_after(struct oracle *o, const struct oracle_list *list,
                          enum mst_side side, int64_t price) {
    size_t room = o->capacity;
    size_t seen =
        o->cut[side] ? list_place(list, side, o->horizon[side]) : list->count;
    size_t worse, drop;

    if (seen <= room) {
        return;
    }
    worse = room - list_place(list, side, price);
    drop = room / 64 + 1 < worse ? room / 64 + 1 : worse;
    o->horizon[side] = list->levels[room + (drop == 0 ? 0 : 1 - drop)].price;
    o->cut[side] = true;
}

static void judge(struct oracle *o) {
    const struct oracle_list *sides = o->sides;
    size_t bids = oracle_depth(o, MST_BID), asks = oracle_depth(o, MST_ASK);
    bool crossed =
        bids > 0 && asks > 0 &&
        sides[MST_BID].levels[0].price >= sides[MST_ASK].levels[0].price;
    bool thin = (o->cut[MST_BID] && bids < o->thin) ||
                (o->cut[MST_ASK] && asks < o->thin);

    o->flags = (crossed ? MST_BOOK_CROSSED : 0) | (thin ? MST_BOOK_THIN : 0) |
               (o->backward ? MST_BOOK_BACKWARD : 0) |
               (o->stepped ? MST_BOOK_TIME_STEP : 0);
    o->state = MST_BOOK_LIVE;
    o->reason = MST_BOOK_OK;
    o->shows = true;
}

/* A book shows nothing while a message is incomplete. */
static void hide(struct oracle *o, enum mst_book_reason reason) {
    o->state = MST_BOOK_BUILDING;
    o->reason = reason;
    o->shows = false;
}

void oracle_stale(struct oracle *o, enum mst_book_reason reason) {
    if (o->state != MST_BOOK_EMPTY) {
        o->state = MST_BOOK_STALE;
    }
    /* Until the first snapshot, the reason is that there is none. */
    if (reason != MST_BOOK_RECONNECT || o->reason != MST_BOOK_NO_SNAPSHOT) {
        o->reason = reason;
    }
    if (reason == MST_BOOK_RECONNECT) {
        o->last_ns = 0;
    }
    o->begun = false;
    o->flags = 0;
}

static void forget(struct oracle *o) {
    o->arrivals.count = 0;
    for (unsigned side = 0; side < 2; side++) {
        o->sides[side].count = 0;
        o->touched[side].count = 0;
        o->cut[side] = false;
    }
}

/* The service's time has gone back. */
static void step_back(struct oracle *o) {
    o->stepped = true;
    o->flags |= MST_BOOK_TIME_STEP;
}

static void begin(struct oracle *o, const struct oracle_part *part) {
    if (!o->begun) {
        o->begun = true;
        o->merged = false;
        o->time_ns = 0;
        forget(o);
    }
    o->ignored = false;
    if (part->snapshot && o->merged && part->time_ns < o->time_ns) {
        oracle_stale(o, MST_BOOK_DISORDER);
    } else if (part->snapshot) {
        o->stepped =
            part->time_ns + ORACLE_LATE_NS < o->last_ns ||
            (!o->merged && part->time_ns + ORACLE_LATE_NS < o->time_ns);
        if (o->merged) {
            forget(o);
        }
        o->merged = false;
        o->backward = false;
        o->flags = o->stepped ? MST_BOOK_TIME_STEP : 0;
        hide(o, MST_BOOK_IN_MESSAGE);
    } else if (!o->merged) {
        hide(o, o->reason);
    } else if (o->snapshot_ns - part->time_ns >= ORACLE_MOMENT_NS) {
        o->ignored = true;
        if (part->received_ns - o->snapshot_received_ns >= ORACLE_LATE_NS) {
            step_back(o);
        }
    } else if (!part->last) {
        hide(o, MST_BOOK_IN_MESSAGE);
    }
}

/* Applies a level of a valid update. */
static void set_level(struct oracle *o, const struct oracle_level *level) {
    const struct oracle_level *known =
        list_find(&o->sides[level->side], level->side, level->price);

    if (known != NULL && known->time_ns - level->time_ns >= ORACLE_MOMENT_NS) {
        return;
    }
    if (level->amount == 0) {
        list_remove(&o->sides[level->side], level->side, level->price);
    } else {
        list_set(&o->sides[level->side], level);
        tighten_after(o, &o->sides[level->side], level->side, level->price);
    }
}

static void take(struct oracle *o, const struct oracle_part *part,
                 const struct oracle_level *level) {
    if (part->snapshot) {
        if (level->amount != 0) {
            oracle_list_add(&o->sides[level->side], level);
        }
    } else if (o->merged) {
        set_level(o, level);
    } else {
        oracle_list_add(&o->arrivals, level);
        list_set(&o->touched[level->side], level);
        tighten_after(o, &o->touched[level->side], level->side, level->price);
    }
}

/* True if a newer update decides a price of the snapshot. */
static bool is_overruled(const struct oracle *o, enum mst_side side,
                         int64_t price) {
    const struct oracle_level *newest =
        list_find(&o->touched[side], side, price);

    return newest != NULL && newest->time_ns > o->snapshot_ns;
}

/* Sorts the levels of the snapshot and joins equal prices. all gets the levels
 * that need space in the book. Notes the best price that the snapshot has twice
 * with different amounts. */
static bool sort_side(struct oracle *o, enum mst_side side,
                      struct oracle_list *all, int64_t *twice) {
    struct oracle_list *list = &o->sides[side];
    bool found = false;
    size_t kept = 0;

    if (list->count > 0) {
        qsort(list->levels, list->count, sizeof *list->levels, by_rank);
    }
    for (size_t i = 0; i < list->count; i++) {
        int64_t price = list->levels[i].price;

        if (!is_overruled(o, side, price)) {
            oracle_list_add(all, &list->levels[i]);
        }
        if (kept > 0 && list->levels[kept - 1].price == price) {
            if (!found && !is_overruled(o, side, price) &&
                list->levels[kept - 1].amount != list->levels[i].amount) {
                *twice = price;
                found = true;
            }
        } else {
            list->levels[kept++] = list->levels[i];
        }
    }
    list->count = kept;
    return found;
}

/* A book needs space to merge a side: for its levels, and for removals newer
 * than the snapshot. */
static void tighten_merged(struct oracle *o, enum mst_side side,
                           struct oracle_list *all) {
    const struct oracle_list *touched = &o->touched[side];

    for (size_t i = 0; i < touched->count; i++) {
        if (touched->levels[i].time_ns > o->snapshot_ns) {
            oracle_list_add(all, &touched->levels[i]);
        }
    }
    if (all->count > 0) {
        qsort(all->levels, all->count, sizeof *all->levels, by_rank);
    }
    tighten(o, all, side);
    list_free(all);
}

/* Only updates newer than the snapshot can have been dropped. If none is at the
 * horizon or beyond, there is no horizon. */
static void widen(struct oracle *o, enum mst_side side) {
    bool missed = false;

    for (size_t i = 0; i < o->arrivals.count; i++) {
        const struct oracle_level *level = &o->arrivals.levels[i];

        missed |= level->side == side && level->time_ns > o->snapshot_ns &&
                  !is_better(side, level->price, o->horizon[side]);
    }
    o->cut[side] &= missed;
}

/* Applies the updates that came before the snapshot. At each price the last
 * update of the newest moment counts, if that is newer than the snapshot. */
static void replay_arrivals(struct oracle *o) {
    for (size_t i = 0; i < o->arrivals.count; i++) {
        struct oracle_level level = o->arrivals.levels[i];
        int64_t newest_ns =
            list_find(&o->touched[level.side], level.side, level.price)
                ->time_ns;

        if (newest_ns <= o->snapshot_ns ||
            newest_ns - level.time_ns >= ORACLE_MOMENT_NS) {
            continue;
        }
        level.time_ns = newest_ns;
        if (level.amount == 0) {
            list_remove(&o->sides[level.side], level.side, level.price);
        } else {
            list_set(&o->sides[level.side], &level);
        }
    }
}

/* Merges a complete snapshot. */
static void merge(struct oracle *o, int64_t time_ns) {
    struct oracle_list all[2] = {{.count = 0}};
    bool found[2], twice = false;
    int64_t price[2] = {0, 0};

    o->snapshot_ns = time_ns;
    for (enum mst_side side = MST_BID; side <= MST_ASK; side++) {
        found[side] = sort_side(o, side, &all[side], &price[side]);
    }
    replay_arrivals(o);
    for (enum mst_side side = MST_BID; side <= MST_ASK; side++) {
        widen(o, side);
        tighten_merged(o, side, &all[side]);
        twice |= found[side] && (!o->cut[side] || is_better(side, price[side],
                                                            o->horizon[side]));
    }
    if (twice) {
        oracle_stale(o, MST_BOOK_DISORDER);
    } else {
        o->merged = true;
        judge(o);
    }
}

void oracle_apply(struct oracle *o, const struct oracle_part *part) {
    if (part->aborted) {
        oracle_stale(o, MST_BOOK_ABORTED);
        return;
    }
    if (part->first) {
        begin(o, part);
    }
    if (!o->begun) {
        return;
    }
    if (part->last && !part->snapshot) {
        o->last_ns = part->time_ns;
    }
    if (o->ignored) {
        return;
    }
    for (size_t i = 0; i < part->count; i++) {
        take(o, part, &part->levels[i]);
    }
    if (part->last && o->time_ns - part->time_ns >= ORACLE_MOMENT_NS) {
        o->backward |= o->merged;
    }
    if (part->last && part->time_ns > o->time_ns) {
        o->time_ns = part->time_ns;
    }
    if (part->last && part->snapshot) {
        o->snapshot_received_ns = part->received_ns;
        merge(o, part->time_ns);
    } else if (part->last && o->merged) {
        judge(o);
    }
}

struct mst_decimal oracle_decimal(int64_t units, int exponent) {
    struct mst_decimal value = {0, 0, false};

    if (units != 0) {
        for (; units % 10 == 0; units /= 10) {
            exponent++;
        }
        value.coefficient = units;
        value.exponent = (int8_t)exponent;
    }
    return value;
}
