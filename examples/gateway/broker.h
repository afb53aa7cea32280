/*
 * The broker: NATS JetStream, spoken to by threads of its own, so that the
 * session with the service never waits for it. Orders go there, reports come
 * back; neither waits for the other.
 *
 * One gateway of those with the same prefix holds the lease: a key of a bucket
 * whose entries expire. Its revision, counted on from when the bucket was made,
 * is the holder's epoch, higher than that of any holder before.
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
    bool tls;        /* nothing goes to a broker without it */
    const char *user, *password; /* or NULL */
    const char *nkey, *seed;     /* the public key, a file, or NULL */
    const char *credentials;     /* a file with a JWT and a seed, or NULL */
    const char *ca, *certificate, *key; /* PEM files, or NULL */
    const char *prefix, *gateway;
    unsigned lease_ms;     /* a lease that is not renewed ends after it */
    unsigned duplicates_s; /* for so long a message identifier is remembered */
    unsigned store_mb;     /* that the stream of executions may take */
    unsigned answers;      /* to requests for snapshots, a second */
};

/* The streams: books, tops and executions have a subject for each market. */
enum broker_stream {
    BROKER_BOOK,
    BROKER_TOP,
    BROKER_EXECUTION,
    BROKER_NOTE,
    BROKER_STREAMS
};

/* What is asked of the broker. What came of the first three is always
 * reported. */
enum broker_order_kind {
    BROKER_STORE,  /* a lane's message, if the last one there is `after` */
    BROKER_LAST,   /* which message of a lane is the last? */
    BROKER_KEEP,   /* a message that the identifier says once */
    BROKER_PUT,    /* a market's last book, in the bucket for these */
    BROKER_SEEN,   /* until when this gateway has missed nothing */
    BROKER_ANSWER, /* to a request for a snapshot */
};

struct broker_order {
    enum broker_order_kind kind;
    uint64_t number;     /* the caller's: of a lane, or of a message to keep */
    uint64_t tag;        /* the caller's: its report has it as well */
    uint64_t after;      /* the stream's number of the last one, 0: none */
    const char *subject; /* borrowed, up to the report; of the bucket: a key */
    const char *id;      /* the identifier, copied */
    const char *head, *body; /* the text, copied: one after the other */
    size_t body_len;
};

enum broker_report_kind {
    BROKER_IS_UP,     /* connected, all streams are there */
    BROKER_IS_DOWN,   /* nothing goes out */
    BROKER_HOLDS,     /* the lease, in this epoch */
    BROKER_HOLDS_NOT, /* any more */
    BROKER_STORED,    /* the lane's message is number `sequence` */
    BROKER_LAST_IS,   /* the lane's last one: `sequence`, of `epoch` */
    BROKER_FAILED,    /* the lane's order: what is stored there is not known */
    BROKER_KEPT,      /* the message; `again`: it was there before */
    BROKER_NOT_KEPT,  /* the message: to be tried again */
    BROKER_SEEN_WAS,  /* `epoch` is the time, Unix ns, or 0: never */
    BROKER_ASKED,     /* for a snapshot of a market, to be answered */
};

struct broker_report {
    enum broker_report_kind kind;
    uint64_t number, tag, sequence, epoch;
    bool again;
    char *market, *reply; /* of BROKER_ASKED: token and subject */
};

/* Counts, each read at any time. */
struct broker_stats {
    uint64_t failures;  /* orders that the broker refused or did not answer */
    uint64_t conflicts; /* of these: another has written to the lane */
    uint64_t turned;    /* requests for snapshots beyond the rate */
    uint64_t opens;     /* connections */
};

struct broker;

/* Begins the thread; the configuration is borrowed. Returns NULL with a line on
 * standard error where it cannot be right. */
struct broker *broker_begin(const struct broker_config *config);

/* Readable when there are reports, until broker_awake(), which comes before
 * they are taken. */
int broker_fd(const struct broker *broker);
void broker_awake(struct broker *broker);

/* Gives an order, which waits for broker_flush(). */
void broker_order(struct broker *broker, const struct broker_order *order);
/* Sends the thread to work, once for many orders. */
void broker_flush(struct broker *broker);
/* Whether reports of what is stored are waited for: if not, they come with the
 * next one that wakes, or when they are asked for. */
void broker_set_waiting(struct broker *broker, bool waiting);

/* Takes the next report; false: there is none. broker_report_free() may
 * follow. */
bool broker_report(struct broker *broker, struct broker_report *report);
void broker_report_free(struct broker_report *report);

void broker_stats(struct broker *broker, struct broker_stats *stats);

/* Gives the lease back and ends the thread, what was ordered before included as
 * far as it goes within a second. */
void broker_end(struct broker *broker);

#endif
