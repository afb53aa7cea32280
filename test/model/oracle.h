/*
 * Oracle of the order book: follows the same messages, drops nothing, and says
 * what a book of a certain capacity must show. It counts in whole units of
 * price and amount, so it shares no arithmetic with the library.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef ORACLE_H
#define ORACLE_H

#include "support.h"

struct oracle_level {
    int64_t price, amount; /* in units; amount 0: the level is removed */
    int64_t time_ns;
    enum mst_side side;
    bool inexact; /* the amount is written with more than 18 digits */
};

/* Times have a resolution of a millisecond or finer. Messages of the same
 * millisecond count in the order of arrival. */
#define ORACLE_MOMENT_NS 1000000

/* Messages sent before a snapshot, or at its time, arrive within this time. */
#define ORACLE_LATE_NS 2000000000

/* A part of a message, as in struct mst_part. */
struct oracle_part {
    int64_t time_ns;
    uint64_t received_ns;
    const struct oracle_level *levels;
    size_t count;
    bool snapshot, first, last, aborted;
};

struct oracle_list {
    struct oracle_level *levels;
    size_t count, size;
};

void oracle_list_add(struct oracle_list *list,
                     const struct oracle_level *level);

struct oracle {
    /* The book's settings. */
    size_t capacity, thin;
    int price_exponent, amount_exponent; /* a unit is 10 to this power */
    /* What the book must report. */
    enum mst_book_state state;
    enum mst_book_reason reason;
    unsigned flags;
    bool shows;      /* if not live, it shows its last live levels */
    int64_t time_ns; /* if it is live */
    bool cut[2];
    int64_t horizon[2];
    /* The true state. */
    struct oracle_list sides[2];   /* best first; nothing is ever dropped */
    struct oracle_list arrivals;   /* every update before the snapshot */
    struct oracle_list touched[2]; /* the prices in these, with their times */
    bool begun, merged, ignored, backward, stepped;
    int64_t snapshot_ns;
    int64_t last_ns; /* of the connection's last update */
    uint64_t snapshot_received_ns;
};

void oracle_open(struct oracle *o, size_t capacity, size_t thin);
void oracle_close(struct oracle *o);

void oracle_apply(struct oracle *o, const struct oracle_part *part);
void oracle_stale(struct oracle *o, enum mst_book_reason reason);

/* The number of levels that a live book shows: those better than its
 * horizon. */
size_t oracle_depth(const struct oracle *o, enum mst_side side);

/* The index of a side's first level that is not better than a price. */
size_t oracle_place(const struct oracle *o, enum mst_side side, int64_t price);

/* units * 10^exponent as the library represents it. */
struct mst_decimal oracle_decimal(int64_t units, int exponent);

#endif
