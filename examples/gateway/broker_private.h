/*
 * What the parts of the broker share: the connection and its objects.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef BROKER_PRIVATE_H
#define BROKER_PRIVATE_H

#include <glib.h>
#include <nats/nats.h>

#include "broker.h"
#include "subject.h"

/* Time for the broker to answer. */
#define BROKER_ANSWER_MS 3000

/* The key of the lease in its bucket. */
#define BROKER_LEASE_KEY "holder"

/* Followed by the prefix, the inbox of gateways, which consumers do not use. */
#define BROKER_INBOX "_INBOX_"

/* Bytes of a reason for a failure, including the NUL. */
#define BROKER_WHY_LEN 512

/* Two threads: the keeper connects and renews the lease, with calls that wait
 * for the broker. The sender is an event loop and never waits. */
struct broker {
    struct broker_config config;
    GThread *keeper, *sender;
    GRWLock use; /* of the next members: written by keeper, read by sender */
    bool up;
    natsConnection *connection;
    jsCtx *js;
    natsSubscription *requests, *answers;
    char *inbox; /* prefix of answers' subjects; the order's key follows */
    GHashTable *under; /* orders without an answer yet, by key */
    /* Used by the keeper only. */
    kvStore *lease, *gateways;
    uint64_t epoch_base; /* added to the lease's revision */
    bool holds;
    uint64_t revision; /* of this gateway's lease entry, or 0 */
    int64_t renewed_ms, tried_ms;
    bool seen_told;
    char *complaint; /* the last one printed, or NULL */
    /* Used by the sender only. */
    uint64_t key;                 /* of the last order */
    GPtrArray *done;              /* messages to be destroyed */
    int64_t look_ms;              /* time of the next search for old orders */
    uint64_t answers_s, answered; /* requests answered in this second */
    /* Used by all threads. */
    GAsyncQueue *orders, *reports;
    GQueue held;                /* orders until broker_flush() */
    gint waiting;               /* atomic: broker_set_waiting() */
    int wake;                   /* an eventfd, for the loop */
    gint socket, reads, writes; /* atomic: what the loop watches */
    int fd;      /* an eventfd, readable while there are reports */
    GMutex lock; /* of the next members */
    struct broker_stats stats;
    char *trouble;      /* the last refusal printed, or NULL */
    int64_t trouble_ms; /* its time */
    gint gone;          /* atomic: a stream or bucket does not answer */
    bool made;          /* the keeper has created one of them */
    gint ending;        /* atomic: the keeper must end */
    gint unmoved; /* atomic: the keeper has ended, so the sender must end */
};

int64_t broker_now_ms(void);

/* Prints a line on standard error. why may be NULL. */
void broker_say(const struct broker *broker, const char *what, const char *why);

/* Prints a refusal by the broker, unless it was printed lately. */
void broker_refused(struct broker *broker, const char *why);

/* Queues a report, which takes over what it points to. */
void broker_tell(struct broker *broker, const struct broker_report *report);
void broker_tell_kind(struct broker *broker, enum broker_report_kind kind,
                      uint64_t epoch);

/* Adds one to a counter of broker->stats. */
void broker_count(struct broker *broker, uint64_t *count);

/* broker_setup.c: options of the connection, streams and buckets */

/* Writes and returns the library's reason for this thread's last failure. */
const char *broker_why(natsStatus status, char why[BROKER_WHY_LEN]);

/* Returns options of a connection, or NULL with the reason. They forbid the
 * library to reconnect: it would send queued messages late, as repeats without
 * a mark. */
natsOptions *broker_options(const struct broker_config *config,
                            natsErrHandler error, void *context,
                            char why[BROKER_WHY_LEN]);

/* Creates missing streams and buckets, and adds their names to `why`, which is
 * "". Existing ones stay unchanged; if one does not fit, this fails. Opens the
 * buckets. On failure, returns false with the reason. */
bool broker_setup(struct broker *broker, char why[BROKER_WHY_LEN]);

/* Reads when the lease's bucket was created. Fails if its entries expire after
 * another time than the configuration's. */
bool broker_setup_epoch(struct broker *broker, char why[BROKER_WHY_LEN]);

/* broker_loop.c */

/* Wakes the loop for new orders or changed flags. */
void broker_wake(struct broker *broker);
/* Makes connections with these options use the loop. */
natsStatus loop_options(struct broker *broker, natsOptions *options);
/* The sender's thread function; context is the broker. */
gpointer loop_run(gpointer context);

/* broker_order.c: orders, from the caller to their reports. */

struct order;

/* Carries out an order, which it takes over. */
void order_do(struct broker *broker, struct order *order);
void order_free(struct order *order);
/* Takes answers and requests for snapshots. Fails overdue orders. */
void orders_go_on(struct broker *broker);
/* Fails the orders that were sent at this time or before. Call it with the
 * lock. */
void orders_fail(struct broker *broker, int64_t until_ms);

#endif
