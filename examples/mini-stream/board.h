/*
 * The state of the stream: connections, books, last trades, counts. It is
 * updated from the library's events and read by all output.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef BOARD_H
#define BOARD_H

#include "clients.h"
#include "text.h"

/* Channels that can be subscribed: all before this number. */
#define BOARD_CHANNELS ((int)MST_CHANNEL_OTHER)

/* Trades kept for each market. */
#define BOARD_TRADES 64

struct board_trade {
    int64_t time_ns;
    struct mst_decimal price, amount;
    bool repeat; /* see mst_execution */
};

struct board_market {
    const char *name;                 /* as subscribed; borrowed */
    char written[MST_MARKET_MAX + 1]; /* the service's spelling, if different */
    size_t object;                    /* the object that subscribed it */
    struct mst_book books[2];         /* two if there are pairs */
    struct mst_book *book;            /* the one that is shown */
    struct mst_level *levels;         /* of the books */
    struct mst_top top;
    bool has_top;
    int price_places, amount_places;         /* the most decimals seen so far */
    struct board_trade trades[BOARD_TRADES]; /* a ring */
    uint64_t trade_count;                    /* ever */
    uint64_t messages[MST_CHANNEL_OTHER];    /* by channel */
    char refused[MST_CHANNEL_OTHER][MST_TEXT_MAX + 1]; /* why, or "" */
    /* Monotonic ns since when data may be missing, or 0. */
    uint64_t missing_ns[MST_CHANNEL_OTHER];
    uint64_t heard_ms; /* monotonic time of its last message; 0: none yet */
    bool accepted;     /* a subscription has succeeded */
    struct {
        uint32_t generation;        /* of that connection; 0: none */
        uint64_t ns;                /* monotonic */
    } confirmed[MST_CHANNEL_OTHER]; /* the service's last confirmation */
    /* The book's state as last reported by out.c. */
    enum mst_book_state told_state;
    enum mst_book_reason told_reason;
    unsigned told_flags;
    bool owed; /* the new leader's book has not been shown */
    bool due;  /* in out.c's list of markets to be sampled */
    struct board_market *next_due;
};

/* A link of an object. Its messages come in order, but may be late. How late is
 * measured against the youngest message of the connection, because the two
 * clocks differ. */
struct board_link {
    uint64_t retry_ms; /* monotonic time of the next attempt */
    int64_t least_ns;  /* age of the youngest message */
    uint64_t late_ns;  /* delay of the last message with a time */
    uint64_t whole_ns; /* monotonic: all that was sent before has come */
};

/* A client or a pair. */
struct board_object {
    unsigned open; /* links that are open */
    bool was_open; /* ever */
    int leads;     /* the link whose data is shown */
    /* Monotonic ms of its last message and last heartbeat, and the ms between
     * the last two heartbeats. 0: none yet. */
    uint64_t heard_ms, beat_ms, beat_gap_ms;
};

struct board {
    struct board_market *markets;
    size_t market_count;
    struct hsearch_data *names; /* finds a market by its name */
    struct board_object *objects;
    size_t object_count;
    bool pairs;
    /* Returns a pair's leading book of a market, or NULL. */
    struct mst_book *(*leader)(void *context, size_t object,
                               const char *market);
    void *leader_context;
    unsigned channels; /* wanted channels: bit n is channel n */

    /* The current event's market, if this is the first time that the service
     * spells it differently; else NULL. */
    const struct board_market *renamed;
    uint64_t now_ms;                      /* monotonic, of the current event */
    uint64_t messages[MST_CHANNEL_OTHER]; /* by channel, of all markets */
    uint64_t repeats; /* executions that both links of a pair may deliver */
    char heartbeat_refused[MST_TEXT_MAX + 1];
    uint64_t heartbeat_ms; /* monotonic; 0: none yet */
    size_t bids, asks;     /* in the current market_data message */

    unsigned open;       /* open links */
    uint64_t opened_ms;  /* monotonic, when the first of them opened */
    bool was_open;       /* ever */
    uint32_t generation; /* of the connection opened last */
    uint64_t losses;     /* connections that ended in an error */
    int error;           /* the last mst_error, or MST_OK */
    uint64_t error_ms;   /* monotonic */
    struct board_link *links;
    char error_text[TEXT_FAILURE_LEN];
};

/* Prepares a board for these markets, whose names are borrowed. Their books
 * have this many levels per side. The markets are spread over the objects of
 * the plan. Returns 0 or MST_ERR_MEMORY. */
int board_init(struct board *board, const char *const *names, size_t count,
               unsigned channels, size_t levels,
               const struct clients_plan *plan);

void board_free(struct board *board);
bool board_wants(const struct board *board, enum mst_channel channel);

/* Subscribes all wanted channels. Returns 0 or the first error. */
int board_subscribe(struct board *board, struct clients *clients);

/* Updates the board with an event at monotonic now_ns. Returns the event's
 * market, or NULL if it has none or the market is not subscribed. */
struct board_market *board_take(struct board *board,
                                const struct mst_event *event, uint64_t now_ns);

/* Returns the trade of this age (0: the last), or NULL. */
const struct board_trade *board_trade(const struct board_market *market,
                                      uint64_t age);

/* Returns how long an object with an open link has been silent, or 0 as long as
 * that is normal. */
uint64_t board_silent_ms(const struct board *board, size_t number,
                         uint64_t now_ms);

/* Returns the monotonic time in ns up to which all executions of an object have
 * come, or are known to be missing. */
uint64_t board_whole_ns(const struct board *board, size_t number);

/* The number of subscriptions that are refused. */
size_t board_refused(const struct board *board);

/* True if every subscription was refused. */
bool board_hopeless(const struct board *board);

#endif
