/*
 * A lane publishes the latest state of a subject: a market's book or its top.
 * Each message names the one that it follows, and the broker rejects it if
 * another gateway has written in between. So one message is under way at a
 * time. Changes meanwhile go into the next message: a slow broker gets fewer
 * messages, and never outdated ones.
 *
 * A book's first message of an epoch is the whole book (a "sample"), as is the
 * one after a failure or after more than LANE_CHANGES changes. The others have
 * the changes since the message before.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef LANE_H
#define LANE_H

#include "broker.h"
#include "out.h"

/* Changed levels that fit in a message. */
#define LANE_CHANGES 256

struct lane_change {
    struct mst_decimal price;
    enum mst_side side;
};

struct lane {
    struct board_market *market;
    enum mst_channel channel; /* MST_MARKET_DATA or MST_TOP_OF_BOOK */
    char *subject;
    char *key; /* the market's key in the bucket */
    size_t number;
    enum lane_phase {
        LANE_UNKNOWN, /* the last stored message is unknown */
        LANE_ASKED,   /* it was requested */
        LANE_READY,   /* the next message may be sent */
        LANE_SENT     /* a message is under way */
    } phase;
    bool midway;       /* the book has only some parts of a message */
    bool due;          /* a message is to be sent */
    bool beat;         /* even without changes */
    bool waits;        /* due, but one is under way: see lanes->waiting */
    uint64_t since_ns; /* monotonic: when the first change was received */
    uint64_t tag;      /* of the last order; other reports are outdated */
    uint64_t sent_ns;  /* when the last message was sent */
    uint64_t last;     /* sequence of the last message in the stream, or 0 */
    uint64_t messages; /* sent in this epoch; the last one's number */
    uint64_t ever;     /* messages stored, in all */
    /* For books only. */
    bool whole;                  /* the next message is the whole book */
    bool state;                  /* its state has changed */
    const struct mst_book *book; /* the book that the changes belong to */
    struct lane_change *changes;
    size_t change_count;
    uint64_t put_messages, put_ns; /* at the last put */
};

/* What all lanes share. */
struct lanes {
    struct broker *broker;
    const struct out *out; /* of the run */
    struct out json;       /* makes the lines */
    uint64_t epoch;        /* of the lease; 0 if this gateway has none */
    uint64_t put_every_ns; /* least time between puts of a market */
    struct lane *all;
    size_t count;
    size_t turn;    /* the next lane to check */
    size_t waiting; /* lanes with a message due once one is stored */
    uint64_t tick_ns;
};

/* Creates the lanes of all markets of the board. Borrows the broker and out. */
void lanes_begin(struct lanes *lanes, struct broker *broker,
                 const struct out *out, const char *prefix,
                 uint64_t put_every_ns);
void lanes_end(struct lanes *lanes);

/* Returns the output that makes lines, set to the current time and depth. */
struct out *lanes_json(struct lanes *lanes, size_t depth);

/* Returns the lane of a market's channel. */
struct lane *lanes_find(struct lanes *lanes, const struct board_market *market,
                        enum mst_channel channel);

/* Takes a part or a top of the market. */
void lane_data(struct lanes *lanes, struct lane *lane,
               const struct mst_event *event);
/* Takes a change of the book's state. */
void lane_book(struct lanes *lanes, struct lane *lane);

void lanes_report(struct lanes *lanes, const struct broker_report *report);
/* Checks some of the lanes for work that is due by time. */
void lanes_tick(struct lanes *lanes, uint64_t now_ns);

/* Answers a request for a snapshot. */
void lane_answer(struct lanes *lanes, const struct lane *lane,
                 const char *reply);

#endif
