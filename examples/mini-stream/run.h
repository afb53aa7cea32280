/*
 * A run: network, clients and board, made from options and polled until
 * something ends it. Shared by the subcommands that stream.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef RUN_H
#define RUN_H

#include "board.h"
#include "network.h"
#include "note.h"
#include "options.h"

struct run {
    const struct options *options;
    struct network network;
    struct clients clients;
    struct board board;
    struct board_market *market; /* of the current event, or NULL */
    struct recorder recorder;
    bool records;     /* the recorder is open */
    unsigned count;   /* messages of data so far */
    bool token_told;  /* reported that the token cannot be kept */
    bool unrecorded;  /* reported that recording has stopped */
    bool notes;       /* write notes to standard error */
    bool told;        /* the output on the same terminal has them */
    struct note note; /* limits those about messages */
    /* A subcommand's function for the trace, or NULL. */
    void (*trace)(void *context, const struct mst_trace *trace);
    void *trace_context;
    enum run_phase {
        RUN_ON,
        RUN_ENDING,  /* the next poll asks the clients to close */
        RUN_CLOSING, /* the clients were asked to close */
        RUN_CUT      /* a second signal came */
    } phase;
    bool failed;     /* ends by an error: closing is not shown */
    int result;      /* EXITS_OK until something fails */
    int64_t wall_ns; /* wall clock minus monotonic clock, at start */
    uint64_t start_ns, stats_ns;
    uint64_t stats_messages; /* at stats_ns */
};

/* Prepares everything and catches signals. Returns an exit code, with a line in
 * error unless it is EXITS_OK. run_free() may follow in either case. */
int run_begin(struct run *run, struct options *options,
              char error[SETTINGS_ERROR_LEN]);
/* Polls all clients at *now_ns and updates the board. Returns as mst_poll();
 * negative: the run is over. */
int run_poll(struct run *run, struct mst_event *event, uint64_t *now_ns);
void run_sum(const struct run *run, struct mst_stats *stats);
/* Sleeps until there may be an event, max_ms at most. */
void run_wait(struct run *run, uint32_t max_ms);
/* Ends the run at the next poll, so that the current events are still shown;
 * with a result unless there is one. */
void run_close(struct run *run);
void run_fail(struct run *run, int result);
/* Ends the recording and the notes. Returns the exit status. */
int run_end(struct run *run);
void run_free(struct run *run);

#endif
