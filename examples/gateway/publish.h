/*
 * The output of a gateway's run: a format of out.h that publishes its events.
 * Books and tops go through lanes; all else is queued until it is stored.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef PUBLISH_H
#define PUBLISH_H

#include "execution.h"
#include "keep.h"
#include "lane.h"

struct publish_config {
    struct broker_config broker;
    unsigned queue;        /* most messages that wait to be stored */
    unsigned last_book_ms; /* least time between two last books of a market */
};

/* The executions of a market. */
struct publish_market {
    char *subject;
    /* Executions without room that are not reported yet: their number, first
     * and last time, and when the first was received. */
    uint64_t lost;
    int64_t lost_from_ns, lost_to_ns;
    uint64_t lost_received_ns;
    int64_t seen_ns; /* Unix: later executions may be missing; or 0 */
};

struct publish {
    const struct publish_config *config;
    struct broker *broker;
    struct out *out; /* its state is this */
    struct lanes lanes;
    struct keep keep;
    struct executions executions;
    struct publish_market *markets;
    GHashTable *tokens; /* name in subjects to market of the board */
    char *note;         /* subject of notes */
    bool seen_known;    /* BROKER_SEEN_WAS has come */
    int64_t seen_ns;    /* Unix: its time; later ones are never lower */
    uint64_t tick_ns;
    int64_t start_us;                   /* Unix */
    uint64_t lost, notes_lost, answers; /* totals */
};

extern const struct out_format publish_format;

/* Starts to publish the events of an open output, whose state becomes this.
 * Borrows the configuration. Returns an exit code; prints the reason unless it
 * is EXITS_OK. */
int publish_begin(struct publish *publish, const struct publish_config *config,
                  struct out *out);
/* Takes the broker's reports, and does all due work. */
void publish_go_on(struct publish *publish, uint64_t now_ns);
/* Sends all queued orders. Call it before each sleep. */
void publish_flush(struct publish *publish);
/* Waits up to 5 s for the broker to store the queue, and ends. */
void publish_end(struct publish *publish);

#endif
