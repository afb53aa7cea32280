/*
 * What is known of the stream: connections, books, last trades, counts. Filled
 * from the library's events, read by whatever shows it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef BOARD_H
#define BOARD_H

#include "clients.h"
#include "text.h"

/* Channels that can be subscribed. */
#define BOARD_CHANNELS ((int)MST_CHANNEL_OTHER)

/* Trades kept of each market. */
#define BOARD_TRADES 64

struct board_trade {
    int64_t time_ns;
    struct mst_decimal price, amount;
    bool repeat; /* as in mst_execution */
};

struct board_market {
    const char *name;                 /* as it is subscribed; borrowed */
    char written[MST_MARKET_MAX + 1]; /* by the service, if differently */
    size_t object;                    /* that it is subscribed with */
    struct mst_book books[2];         /* the second one is for pairs */
    struct mst_book *book;            /* that is shown: one of them */
    struct mst_level *levels;         /* the books' */
    struct mst_top top;
    bool has_top;
    int price_places, amount_places;         /* the most decimals that came */
    struct board_trade trades[BOARD_TRADES]; /* a ring */
    uint64_t trade_count;                    /* ever */
    uint64_t messages[MST_CHANNEL_OTHER];    /* by channel */
    char refused[MST_CHANNEL_OTHER][MST_TEXT_MAX + 1]; /* why, or "" */
    /* Since when data may be missing, monotonic ns, or 0: nothing is. */
    uint64_t missing_ns[MST_CHANNEL_OTHER];
    uint64_t heard_ms; /* monotonic, of its last message; 0: none yet */
    bool accepted;     /* a subscription of it, ever */
    struct {
        uint32_t generation;        /* of the connection, 0: none */
        uint64_t ns;                /* monotonic */
    } confirmed[MST_CHANNEL_OTHER]; /* when the service last said so */
    /* What out.c has said of the book. */
    enum mst_book_state told_state;
    enum mst_book_reason told_reason;
    unsigned told_flags;
    bool owed; /* another link leads, whose book has not been shown */
    bool due;  /* in its list of markets to be sampled */
    struct board_market *next_due;
};

/* A link of an object. What it brings comes in order, but may come late: as
 * late as a message is older than the connection's youngest, since the clocks
 * differ. */
struct board_link {
    uint64_t retry_ms; /* monotonic: when it is tried again */
    int64_t least_ns;  /* age of the youngest */
    uint64_t late_ns;  /* of the last message that has a time */
    uint64_t whole_ns; /* monotonic: what was sent before that has come */
};

/* An object of the library. */
struct board_object {
    unsigned open; /* of its links */
    bool was_open; /* ever */
    int leads;     /* the link whose data are shown */
    /* Monotonic ms: its last message, its last heartbeat, and how long after
     * the one before that came; 0: none yet. */
    uint64_t heard_ms, beat_ms, beat_gap_ms;
};

struct board {
    struct board_market *markets;
    size_t market_count;
    struct hsearch_data *names; /* of them */
    struct board_object *objects;
    size_t object_count;
    bool pairs;
    /* A pair's leading book of a market, or NULL. */
    struct mst_book *(*leader)(void *context, size_t object,
                               const char *market);
    void *leader_context;
    unsigned channels; /* wanted: bit n is channel n */

    /* The event's market, if it is the first that the service spells
     * differently; or NULL. */
    const struct board_market *renamed;
    uint64_t now_ms;                      /* monotonic, of the event at hand */
    uint64_t messages[MST_CHANNEL_OTHER]; /* by channel, of any market */
    uint64_t repeats; /* executions that a pair's other connection may have */
    char heartbeat_refused[MST_TEXT_MAX + 1];
    uint64_t heartbeat_ms; /* monotonic, of the last one; 0: none yet */
    size_t bids, asks;     /* in the market_data message at hand */

    unsigned open;       /* links */
    uint64_t opened_ms;  /* monotonic, when the first of these opened */
    bool was_open;       /* ever */
    uint32_t generation; /* of the connection opened last */
    uint64_t losses;     /* connections that ended in an error */
    int error;           /* the last mst_error, or MST_OK */
    uint64_t error_ms;   /* monotonic */
    struct board_link *links;
    char error_text[TEXT_FAILURE_LEN];
};

/* Prepares a board for these markets, whose names are borrowed, with books of
 * so many levels a side, spread over the objects of a plan. Returns 0, or
 * MST_ERR_MEMORY. */
int board_init(struct board *board, const char *const *names, size_t count,
               unsigned channels, size_t levels,
               const struct clients_plan *plan);

void board_free(struct board *board);

/* Whether a channel is wanted. */
bool board_wants(const struct board *board, enum mst_channel channel);

/* Subscribes everything wanted. Returns 0 or the first error. */
int board_subscribe(struct board *board, struct clients *clients);

/* Takes an event in; now_ns is the monotonic time. Returns its market, or NULL
 * where it has none, or one that nobody asked for. */
struct board_market *board_take(struct board *board,
                                const struct mst_event *event, uint64_t now_ns);

/* The trade of this age, 0 being the last, or NULL. */
const struct board_trade *board_trade(const struct board_market *market,
                                      uint64_t age);

/* For how long the object of a market is silent though a link of it is open: 0
 * as long as that may be as it should. */
uint64_t board_silent_ms(const struct board *board, size_t number,
                         uint64_t now_ms);

/* Up to when all executions that an object has subscribed have come by one of
 * its links, or are known to be missing: monotonic ns. */
uint64_t board_whole_ns(const struct board *board, size_t number);

/* How many subscriptions stand refused. */
size_t board_refused(const struct board *board);

/* Whether all that was asked for a market was refused, of every market. */
bool board_hopeless(const struct board *board);

#endif
