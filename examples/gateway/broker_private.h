/*
 * What the parts of the broker share: the connection and what stands on it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef BROKER_PRIVATE_H
#define BROKER_PRIVATE_H

#include <glib.h>
#include <nats/nats.h>

#include "broker.h"

/* How long the broker has for an answer. */
#define BROKER_ANSWER_MS 3000

/* Two threads: the keeper has the connection and the lease, with calls that
 * wait for the broker; the sender, a loop, waits for nobody. */
struct broker {
    struct broker_config config;
    GThread *keeper, *sender;
    GRWLock use; /* of what follows: the keeper changes it, the sender reads */
    bool up;
    natsConnection *connection;
    jsCtx *js;
    natsSubscription *requests, *answers;
    char *inbox;       /* of answers: an order's has its key behind it */
    GHashTable *under; /* the orders sent and not answered, by their keys */
    /* The keeper's alone. */
    kvStore *lease, *gateways;
    uint64_t epoch_base; /* epochs are this and the lease's revision */
    bool holds;
    uint64_t revision; /* of the lease's entry, 0: not ours */
    int64_t renewed_ms, tried_ms;
    bool seen_told;
    char *complaint; /* said last of why it cannot go on, or NULL */
    /* The sender's alone. */
    uint64_t key;                 /* of the last order */
    GPtrArray *done;              /* messages to be destroyed */
    int64_t look_ms;              /* when old orders are looked for */
    uint64_t answers_s, answered; /* requests answered in this second */
    /* Everybody's. */
    GAsyncQueue *orders, *reports;
    GQueue held;                /* orders of the caller, not in the queue yet */
    gint waiting;               /* atomic: broker_set_waiting() */
    int wake;                   /* an eventfd, for the loop */
    gint socket, reads, writes; /* atomic: what the loop looks at */
    int fd;      /* an eventfd, readable while there are reports */
    GMutex lock; /* of what follows */
    struct broker_stats stats;
    char *trouble;      /* said last of what the broker has refused, or NULL */
    int64_t trouble_ms; /* and when */
    gint ending;        /* atomic: the keeper is to end */
    gint unmoved;       /* atomic: it has ended, and nothing need be moved */
};

int64_t broker_now_ms(void);

/* Says something on standard error. why: or NULL. */
void broker_say(const struct broker *broker, const char *what, const char *why);

/* Says what was refused, unless it was the last thing that was. */
void broker_refused(struct broker *broker, const char *why);

/* Reports; what a report points to goes with it. */
void broker_tell(struct broker *broker, const struct broker_report *report);
void broker_tell_kind(struct broker *broker, enum broker_report_kind kind,
                      uint64_t epoch);

/* Adds one to a count of broker->stats. */
void broker_count(struct broker *broker, uint64_t *count);

/* broker_loop.c */

/* Wakes the loop: there are orders, or something else to look at. */
void broker_wake(struct broker *broker);
/* Makes a connection use the loop. */
natsStatus loop_options(struct broker *broker, natsOptions *options);
/* The thread; its context is the broker. */
gpointer loop_run(gpointer context);

/* broker_order.c: an order, from the caller up to its report. */

struct order;

/* Carries an order out, and frees it sooner or later. */
void order_do(struct broker *broker, struct order *order);
void order_free(struct order *order);
/* Takes the answers that have come, gives orders up that have none in time, and
 * takes requests for snapshots. */
void orders_go_on(struct broker *broker);
/* Reports that nobody knows what came of the orders that are under way. The
 * sender uses nothing meanwhile. */
void orders_give_up(struct broker *broker);

#endif
