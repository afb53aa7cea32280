/*
 * A subject of which the newest state counts: a market's book, or its top. One
 * message is under way at a time, for each says which one it follows: the
 * broker refuses it if another gateway has written in between. What changes
 * meanwhile goes into the next message, so a slow broker gets fewer of them and
 * nothing that is out of date.
 *
 * A book's first message of an epoch is the whole book (a "sample"), and so is
 * the one after a failure, or after more changes than are worth counting; the
 * others have what has changed since the one before.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef LANE_H
#define LANE_H

#include "broker.h"
#include "out.h"

/* Changed levels that are remembered. */
#define LANE_CHANGES 256

struct lane_change {
    struct mst_decimal price;
    enum mst_side side;
};

struct lane {
    struct board_market *market;
    enum mst_channel channel; /* MST_MARKET_DATA or MST_TOP_OF_BOOK */
    char *subject;
    char *key; /* the market's, in a bucket */
    size_t number;
    enum lane_phase {
        LANE_UNKNOWN, /* nobody knows what is stored last */
        LANE_ASKED,   /* the broker was asked for it */
        LANE_READY,   /* the next message may go */
        LANE_SENT     /* one is under way */
    } phase;
    bool midway;       /* parts of a message are in the book, and not all */
    bool due;          /* there is something to say */
    bool beat;         /* though nothing has changed */
    bool waits;        /* for that: counted in lanes->waiting */
    uint64_t since_ns; /* monotonic: when the first of it was received */
    uint64_t tag;     /* of the last order: reports of others are out of date */
    uint64_t sent_ns; /* when the last message was sent */
    uint64_t last;    /* the stream's number of the last message, 0: none */
    uint64_t messages; /* of this epoch: the last one's number */
    uint64_t ever;     /* messages stored */
    /* Of a book. */
    bool whole;                  /* the next message is the whole book */
    bool state;                  /* its state is another one */
    const struct mst_book *book; /* whose changes these are */
    struct lane_change *changes;
    size_t change_count;
    uint64_t put_messages, put_ns; /* the last time it went into the bucket */
};

/* What all lanes share. */
struct lanes {
    struct broker *broker;
    const struct out *out; /* of the run */
    struct out json;       /* makes the lines */
    uint64_t epoch;        /* of the lease; 0: another gateway publishes */
    uint64_t put_every_ns; /* of a market's last book */
    struct lane *all;
    size_t count;
    size_t turn;    /* the one that is looked at next */
    size_t waiting; /* lanes with something to say once a message is stored */
    uint64_t tick_ns;
};

/* Lanes of all markets of the board, as far as the channels are wanted. Names
 * are borrowed. */
void lanes_begin(struct lanes *lanes, struct broker *broker,
                 const struct out *out, const char *prefix,
                 uint64_t put_every_ns);
void lanes_end(struct lanes *lanes);

/* What makes lines, at the moment of the output. depth: levels of a side. */
struct out *lanes_json(struct lanes *lanes, size_t depth);

/* The lane of a market's channel, or NULL. */
struct lane *lanes_find(struct lanes *lanes, const struct board_market *market,
                        enum mst_channel channel);

/* Takes data of the market: a part, a top. */
void lane_data(struct lanes *lanes, struct lane *lane,
               const struct mst_event *event);
/* The state of the book is another one. */
void lane_book(struct lanes *lanes, struct lane *lane);

void lanes_report(struct lanes *lanes, const struct broker_report *report);
/* What is done again after a while, for some of the lanes. */
void lanes_tick(struct lanes *lanes, uint64_t now_ns);

/* Answers a request for a snapshot. */
void lane_answer(struct lanes *lanes, const struct lane *lane,
                 const char *reply);

#endif
