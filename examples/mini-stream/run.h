/*
 * A run: network, clients and board from their options, polled until something
 * ends it. Shared by the subcommands that stream.
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
    struct board_market *market; /* of the event at hand, or NULL */
    struct recorder recorder;
    bool records;     /* the recorder is open */
    unsigned count;   /* messages of data taken */
    bool token_told;  /* that the token cannot be kept */
    bool unrecorded;  /* that it cannot go on has been told */
    bool notes;       /* standard error takes lines of what happens */
    bool told;        /* they are in the output, on the same terminal */
    struct note note; /* those about messages */
    /* Told of the trace, or NULL: what a subcommand wants of it. */
    void (*trace)(void *context, const struct mst_trace *trace);
    void *trace_context;
    enum run_phase {
        RUN_ON,
        RUN_ENDING,  /* the next poll asks the clients to close */
        RUN_CLOSING, /* the clients were asked to close */
        RUN_CUT      /* a second signal came */
    } phase;
    bool failed;     /* so it ends: that connections close is not told */
    int result;      /* EXITS_OK as long as nothing has gone wrong */
    int64_t wall_ns; /* the wall clock less the monotonic one, at the start */
    uint64_t start_ns, stats_ns;
    uint64_t stats_messages; /* at stats_ns */
};

/* Prepares everything and catches signals. Returns an exit code, with a line in
 * error unless it is EXITS_OK. run_free() may follow in any case. */
int run_begin(struct run *run, struct options *options,
              char error[SETTINGS_ERROR_LEN]);
/* As mst_poll(), of all clients, at *now_ns: the board has taken the event, and
 * what ends a run was looked at. Negative: it is over. */
int run_poll(struct run *run, struct mst_event *event, uint64_t *now_ns);
/* The sums of the clients' counts. */
void run_sum(const struct run *run, struct mst_stats *stats);
/* Sleeps until there may be something, at most so long. */
void run_wait(struct run *run, uint32_t max_ms);
/* Ends the run from the next poll on, so that what is at hand is shown as it
 * came; with a result unless there is one. */
void run_close(struct run *run);
void run_fail(struct run *run, int result);
/* The exit status of a run that is over. */
int run_end(struct run *run);
void run_free(struct run *run);

#endif
