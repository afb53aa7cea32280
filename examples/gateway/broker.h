/*
 * The broker: NATS JetStream, in separate threads, so that the session with the
 * service never waits for it. It takes orders and returns reports.
 *
 * One of the gateways with the same prefix holds the lease, a key in a bucket
 * whose entries expire. The key's revision plus the bucket's creation time in
 * ms is the holder's epoch. It is higher than that of any earlier holder.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef BROKER_H
#define BROKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct broker_config {
    const char *url; /* nats:// or tls://, several separated by commas */
    bool tls;        /* send nothing to a broker without TLS */
    const char *user, *password; /* or NULL */
    const char *nkey, *seed;     /* a public key, its seed's file, or NULL */
    const char *credentials;     /* a file with a JWT and a seed, or NULL */
    const char *ca, *certificate, *key; /* PEM files, or NULL */
    const char *prefix, *gateway;
    unsigned lease_ms;     /* a lease expires after this time without renewal */
    unsigned duplicates_s; /* how long the broker remembers identifiers */
    unsigned store_mb;     /* the largest size of the stream of executions */
    unsigned answers;      /* snapshots sent on request per second, at most */
};

/* The streams: books, tops and executions have a subject for each market. */
enum broker_stream {
    BROKER_BOOK,
    BROKER_TOP,
    BROKER_EXECUTION,
    BROKER_NOTE,
    BROKER_STREAMS
};

/* Orders to the broker. Each of the first three kinds always gets a report. */
enum broker_order_kind {
    BROKER_STORE,  /* stores a lane's message if the last one is `after` */
    BROKER_LAST,   /* requests a lane's last message */
    BROKER_KEEP,   /* stores a message once per identifier */
    BROKER_PUT,    /* puts a market's last book in its bucket */
    BROKER_SEEN,   /* stores until when this gateway has missed nothing */
    BROKER_ANSWER, /* answers a request for a snapshot */
};

struct broker_order {
    enum broker_order_kind kind;
    uint64_t number;     /* the caller's number of a lane or message */
    uint64_t tag;        /* the caller's; copied to the report */
    uint64_t after;      /* sequence of the lane's last message, or 0 */
    const char *subject; /* borrowed until the report; for a bucket, a key */
    const char *id;      /* the identifier or the reply's subject, copied */
    const char *head, *body; /* the two parts of the text, copied */
    size_t body_len;
};

enum broker_report_kind {
    BROKER_IS_UP,     /* connected, and all streams exist */
    BROKER_IS_DOWN,   /* disconnected */
    BROKER_HOLDS,     /* this gateway holds the lease, in `epoch` */
    BROKER_HOLDS_NOT, /* it has lost the lease */
    BROKER_STORED,    /* the lane's message is stored as `sequence` */
    BROKER_LAST_IS,   /* the lane's last message is `sequence` of `epoch` */
    BROKER_FAILED,    /* a lane's order; it is unknown what is stored */
    BROKER_KEPT,      /* the message is stored; `again`: it was already */
    BROKER_NOT_KEPT,  /* the message must be sent again */
    BROKER_SEEN_WAS,  /* `epoch` is the time of BROKER_SEEN, Unix ns, or 0 */
    BROKER_ASKED,     /* a snapshot of a market was requested */
};

struct broker_report {
    enum broker_report_kind kind;
    uint64_t number, tag, sequence, epoch;
    bool again;
    char *market, *reply; /* of BROKER_ASKED: token, the reply's subject */
};

/* Counters. */
struct broker_stats {
    uint64_t failures;  /* orders refused or not answered */
    uint64_t conflicts; /* of these: another gateway's message came first */
    uint64_t turned;    /* requests for snapshots above the rate */
    uint64_t opens;     /* connections */
};

struct broker;

/* Starts the threads. The configuration is borrowed; if it is invalid, prints
 * the reason and returns NULL. */
struct broker *broker_begin(const struct broker_config *config);

/* Returns a descriptor that is readable while there are reports. Call
 * broker_awake() before you take them. */
int broker_fd(const struct broker *broker);
void broker_awake(struct broker *broker);

/* Queues an order until broker_flush(). */
void broker_order(struct broker *broker, const struct broker_order *order);
/* Passes all queued orders to the sender. */
void broker_flush(struct broker *broker);
/* Sets whether reports of stored messages make the descriptor readable. If not,
 * they wait for another report or the next broker_report(). */
void broker_set_waiting(struct broker *broker, bool waiting);

/* Takes the next report, for broker_report_free(); false if there is none. */
bool broker_report(struct broker *broker, struct broker_report *report);
void broker_report_free(struct broker_report *report);

void broker_stats(struct broker *broker, struct broker_stats *stats);

/* Sends queued orders for a second at most, drops the rest, gives the lease back
 * and ends the threads. */
void broker_end(struct broker *broker);

#endif
