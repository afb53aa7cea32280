/*
 * The output of a gateway's run: a format of out.h that publishes what it is
 * told. Books and tops go through lanes, all else is kept until it is stored.
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
    unsigned queue;        /* messages that are kept, at most */
    unsigned last_book_ms; /* between two last books of a market */
};

/* Of a market's executions. */
struct publish_market {
    char *subject;
    /* Executions that found no room and have not been told of: how many, the
     * times of the first and the last one, when the first was received. */
    uint64_t lost;
    int64_t lost_from_ns, lost_to_ns;
    uint64_t lost_received_ns;
    int64_t seen_ns; /* Unix: what came since may be missing, or 0 */
};

struct publish {
    const struct publish_config *config;
    struct broker *broker;
    struct out *out; /* whose state this is */
    struct lanes lanes;
    struct keep keep;
    struct executions executions;
    struct publish_market *markets;
    GHashTable *tokens; /* a market's name in subjects: it, on the board */
    char *note;         /* subject of all else */
    bool seen_known;    /* since when executions may be missing from before, */
    int64_t seen_ns;    /* Unix, what was said before: it is not taken back */
    uint64_t tick_ns;
    int64_t start_us;                   /* Unix */
    uint64_t lost, notes_lost, answers; /* ever */
};

extern const struct out_format publish_format;

/* Begins to publish what the output is told, whose state is this from now on,
 * once the output is open. The configuration is borrowed. Returns an exit code,
 * with a line on standard error unless it is EXITS_OK. */
int publish_begin(struct publish *publish, const struct publish_config *config,
                  struct out *out);
/* Takes what the broker has reported, and does what is due. */
void publish_go_on(struct publish *publish, uint64_t now_ns);
/* Sends out what there is to be sent: before each sleep. */
void publish_flush(struct publish *publish);
/* Waits a little for what is not stored yet, and ends. */
void publish_end(struct publish *publish);

#endif
