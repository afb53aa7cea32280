/*
 * Generator of a hostile stream of market_data, for the oracle of the order
 * book: seeded, cut into parts as the decoder would cut it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef ORACLE_STREAM_H
#define ORACLE_STREAM_H

#include "oracle.h"

#define STREAM_RECENT 512

struct stream {
    uint64_t seed;
    /* The market. */
    int64_t middle, drift, width, step;
    size_t snapshot_most;             /* levels a side */
    int64_t recent[2][STREAM_RECENT]; /* prices named before, 0: none */
    /* The subscription. */
    bool subscribed;
    size_t before_snapshot; /* updates that are still to come before it */
    int64_t now_ns, snapshot_ns, oldest_ns;
    int64_t tick_ns; /* times differ by this, or by a multiple */
    uint64_t received_ns;
    /* The current message. */
    struct oracle_list message;
    struct oracle_part part;
    bool open;
    size_t next, sent; /* level; parts */
    size_t break_at;   /* 0: comes whole; n: breaks off after n parts */
};

struct stream_event {
    bool is_part;
    struct oracle_part part;
    enum mst_book_reason reason; /* otherwise: makes the book stale for this */
};

/* Starts a stream; each seed gives another market. */
void stream_open(struct stream *s, uint64_t seed);
void stream_close(struct stream *s);

/* The event's pointers are valid until the next call. */
void stream_next(struct stream *s, struct stream_event *event);

/* Starts the subscription again, as for a book that refused a snapshot. */
void stream_resubscribe(struct stream *s);

/*
 * Writes units * 10^exponent as a JSON number in one of many spellings, with or
 * without exponent and trailing zeros. inexact: the units have 18 digits, and
 * more digits follow. text has STREAM_NUMBER_LEN bytes. Returns the length.
 */
#define STREAM_NUMBER_LEN 64
size_t stream_spell(uint64_t *seed, int64_t units, int exponent, bool inexact,
                    char *text);

#endif
