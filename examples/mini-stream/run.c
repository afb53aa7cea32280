/*
 * A run: see run.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "run.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "exits.h"
#include "line.h"
#include "note.h"
#include "signals.h"

#define NS_PER_MS 1000000u
#define NS_PER_S 1000000000u

static void run_trace(void *context, const struct mst_trace *trace) {
    struct run *run = context;

    text_trace(NULL, trace);
    if (run->options->verbose && !run->options->quiet) {
        note_trace(stderr, &run->note, clock_unix_ns(), trace);
    }
    if (run->trace) {
        run->trace(run->trace_context, trace);
    }
}

int run_begin(struct run *run, struct options *options,
              char error[SETTINGS_ERROR_LEN]) {
    struct clients_plan *plan = &options->plan;
    int rc = 0;

    run->options = options;
    run->notes = !options->quiet;
    if (options->verbose && !options->quiet) {
        line_be_verbose();
    }
    if (!settings_resolve(&options->settings, &plan->config, error) ||
        !network_begin(&run->network, &options->settings, clients_links(plan),
                       error)) {
        return EXITS_CONFIG;
    }
    if (options->token_file) {
        rc = mst_posix_token_file(&run->network.posix, &run->network.port,
                                  options->token_file);
    }
    plan->config.flags |= MST_TRACE_ALL;
    plan->config.trace = run_trace;
    plan->config.trace_context = run;
    signals_catch(); /* before there is a file that a signal would leave */
    if (recorder_open(&run->recorder, options->record,
                      (uint64_t)options->split_mb * 1000000) != 0) {
        snprintf(error, SETTINGS_ERROR_LEN, "%.500s", run->recorder.trouble);
        return EXITS_LOCAL;
    }
    if (options->record) {
        run->records = true;
        recorder_configure(&run->recorder, &plan->config);
    }
    if (rc == 0) {
        rc = clients_begin(&run->clients, plan, &run->network.port,
                           &run->recorder);
    }
    if (rc == 0) {
        rc = board_init(&run->board, options->markets, options->market_count,
                        options->channels, options->levels, plan);
    }
    note_init(&run->note, run->board.market_count * (size_t)BOARD_CHANNELS);
    run->board.leader = clients_leader;
    run->board.leader_context = &run->clients;
    if (rc == 0) {
        rc = board_subscribe(&run->board, &run->clients);
    }
    if (rc != 0) {
        settings_refused(&options->settings, rc, error);
        return exits_code(rc);
    }
    run->start_ns = clock_ns();
    run->wall_ns = clock_unix_ns() - (int64_t)run->start_ns;
    run->stats_ns = run->start_ns;
    return EXITS_OK;
}

void run_sum(const struct run *run, struct mst_stats *stats) {
    clients_stats(run->clients.links, run->clients.link_count, stats);
}

/* Returns the error's exit code if a stream is down, or EXITS_OK. */
static int run_trouble(const struct run *run) {
    for (size_t i = 0; i < run->board.object_count; ++i) {
        if (run->board.objects[i].open == 0) {
            return run->board.error ? exits_code(run->board.error)
                                    : EXITS_NETWORK;
        }
    }
    return EXITS_OK;
}

void run_close(struct run *run) {
    if (run->phase == RUN_ON) {
        run->phase = RUN_ENDING;
    }
}

void run_fail(struct run *run, int result) {
    run->failed |= result != EXITS_OK;
    if (run->result == EXITS_OK) {
        run->result = result;
    }
    run_close(run);
}

/* Reports a refused subscription, the name that may be right, and the reason
 * unless a note has it. */
static void run_say_refused(const struct run *run) {
    const char *channel = mst_channel_name(MST_HEARTBEAT);
    const char *why = run->board.heartbeat_refused;
    char name[MST_MARKET_MAX + 1] = "", upper[MST_MARKET_MAX + 1] = "";

    for (size_t i = 0; i < run->board.market_count && name[0] == '\0'; ++i) {
        const struct board_market *market = &run->board.markets[i];
        int c = MST_MARKET_DATA;

        while (c < MST_HEARTBEAT && market->refused[c][0] == '\0') {
            ++c;
        }
        if (c < MST_HEARTBEAT) {
            channel = mst_channel_name((enum mst_channel)c);
            why = market->refused[c];
            snprintf(name, sizeof name, "%s", market->name);
        }
    }
    for (size_t i = 0; name[i] != '\0'; ++i) {
        upper[i] = text_upper(name[i]);
    }
    fprintf(stderr, "mini-stream: the service refused %s%s%s%s%s", channel,
            *name ? " of " : "", name, run->notes || run->told ? "" : ": ",
            run->notes || run->told ? "" : why);
    fprintf(stderr, strcmp(name, upper) != 0 ? "; did you mean %s?\n" : "%s\n",
            strcmp(name, upper) != 0 ? upper : "");
}

/* Returns the exit code if an event ends the run, or EXITS_OK. Permanent errors
 * end it unless it was open before; refusals do if everything is refused. */
static int run_verdict(const struct run *run, const struct mst_event *event) {
    const struct mst_failure *failure = &event->as.failure;

    if (event->type == MST_EVENT_CLOSED && failure->error != MST_OK &&
        (run->options->fail_on_disconnect ||
         (failure->permanent && !run->board.was_open))) {
        return exits_code(failure->error);
    }
    if (event->type == MST_EVENT_RESPONSE && board_hopeless(&run->board)) {
        return EXITS_SERVICE;
    }
    return EXITS_OK;
}

/* Reports how many notes about messages were left out. */
static void run_rest(struct run *run) {
    note_rest(stderr, &run->note, clock_unix_ns());
}

/* Counts an event with data. Returns false if it exceeds --count. */
static bool run_count(struct run *run, const struct mst_event *event) {
    const unsigned most = run->options->count;
    const enum mst_event_type type = event->type;
    const bool beats = run->options->channels == 1u << MST_HEARTBEAT;

    if (most == 0 || (type != MST_EVENT_PART && type != MST_EVENT_TOP &&
                      type != MST_EVENT_EXECUTION &&
                      !(beats && type == MST_EVENT_HEARTBEAT))) {
        return true;
    }
    if (run->count >= most && !run->records) { /* a replay would show it */
        return false;
    }
    run->count += type != MST_EVENT_PART ||
                  (event->as.part.last && !event->as.part.aborted);
    if (run->count == most) {
        run_close(run);
    }
    return true;
}

/* Handles an event. Returns false if it is not shown: a connection that closes
 * because the run has failed, or data after the last message. */
static bool run_take(struct run *run, struct mst_event *event,
                     uint64_t now_ns) {
    int verdict = EXITS_OK;

    if (!run_count(run, event)) {
        return false;
    }
    if (run->phase == RUN_ON && event->type == MST_EVENT_CLOSED) {
        verdict = run_verdict(run, event);
        if (verdict != EXITS_OK) {
            event->as.failure.retry_ms = 0;
        }
    }
    run->market = board_take(&run->board, event, now_ns);
    if (event->type == MST_EVENT_CLOSED && event->as.failure.error == MST_OK &&
        run->phase == RUN_CLOSING && run->failed) {
        return false;
    }
    if (run->notes && run->board.renamed) {
        run_rest(run);
        note_renamed(stderr, clock_unix_ns(), run->board.renamed->name,
                     run->board.renamed->written);
    }
    if (run->notes) {
        note_event(stderr, &run->note, clock_unix_ns(), event);
    }
    if (run->phase == RUN_ON && event->type == MST_EVENT_RESPONSE) {
        verdict = run_verdict(run, event);
        if (verdict != EXITS_OK) {
            run_say_refused(run);
        }
    }
    if (verdict != EXITS_OK) {
        run_fail(run, verdict);
    }
    return true;
}

static void run_stats(struct run *run, uint64_t now_ns) {
    struct mst_stats stats;

    run_sum(run, &stats);
    run_rest(run);
    tally_line(stderr, &run->board, &stats, clock_unix_ns(),
               (double)(stats.messages - run->stats_messages) * NS_PER_S /
                   (double)(now_ns - run->stats_ns));
    run->stats_messages = stats.messages;
    run->stats_ns = now_ns;
}

/* Reports once that recording has stopped; `record` then ends. */
static void run_check_recording(struct run *run) {
    if (run->records && run->recorder.trouble[0] != '\0' && !run->unrecorded) {
        run->unrecorded = true;
        fprintf(stderr, "mini-stream: recording: %s\n", run->recorder.trouble);
        run->result = run->result == EXITS_OK ? EXITS_LOCAL : run->result;
        if (run->options->only_records) {
            run_fail(run, EXITS_LOCAL);
        }
    }
}

/* Reports once that the token is not kept. */
static void run_check_token(struct run *run) {
    const struct mst_posix *posix = &run->network.posix;

    if (posix->token_error != 0 && !run->token_told) {
        run->token_told = true;
        fprintf(stderr, "mini-stream: --token-file %s: %s%s%s\n",
                run->options->token_file,
                mst_posix_strerror(posix->token_error),
                posix->token_detail != 0 ? ": " : "",
                posix->token_detail != 0 ? strerror(posix->token_detail) : "");
    }
}

/* Handles signals, deadlines and periodic tasks. */
static void run_check(struct run *run, uint64_t now_ns) {
    const struct options *options = run->options;

    if (options->stats_ms > 0 &&
        now_ns - run->stats_ns >= (uint64_t)options->stats_ms * NS_PER_MS) {
        run_stats(run, now_ns);
    }
    run_check_recording(run);
    run_check_token(run);
    if (run->note.lines > 0 && note_is_over(&run->note, clock_unix_ns())) {
        run_rest(run);
        note_renew(&run->note);
    }
    if (signals_count() > 1) {
        run->phase = RUN_CUT;
        run->result = EXITS_CUT;
    } else if (signals_count() > 0) {
        run_close(run);
    }
    if (options->end_ms > 0 && run->phase == RUN_ON &&
        now_ns - run->start_ns >= options->end_ms * NS_PER_MS) {
        run_fail(run, run_trouble(run));
    }
}

int run_poll(struct run *run, struct mst_event *event, uint64_t *now_ns) {
    int rc;

    do {
        *now_ns = clock_ns();
        run_check(run, *now_ns);
        if (run->phase == RUN_CUT) {
            return MST_ERR_CLOSED;
        }
        if (run->phase == RUN_ENDING) {
            run->phase = RUN_CLOSING;
            clients_close(&run->clients);
        }
        rc = clients_poll(&run->clients, event, *now_ns,
                          run->wall_ns + (int64_t)*now_ns);
    } while (rc > 0 && !run_take(run, event, *now_ns));
    return rc;
}

void run_wait(struct run *run, uint32_t max_ms) {
    uint32_t ms = max_ms < NETWORK_WAIT_MS ? max_ms : NETWORK_WAIT_MS;

    mst_posix_wait(&run->network.posix, run->clients.links,
                   run->clients.link_count, ms);
}

/* Ends the recording: its last block may fail. The file of a `record` that did
 * not connect is removed, so that it can be repeated. */
static void run_end_recording(struct run *run) {
    run->recorder.status = run->result;
    run->recorder.failed = run->failed;
    if (run->records && recorder_close(&run->recorder) != 0) {
        run_check_recording(run);
    }
    if (run->options->only_records && !run->board.was_open &&
        run->recorder.number == 0) {
        unlink(run->options->record);
    }
    run->records = false;
}

int run_end(struct run *run) {
    struct mst_stats stats;

    run_sum(run, &stats);
    run_rest(run);
    if (run->result == EXITS_OK && board_refused(&run->board) > 0) {
        run->result = EXITS_SERVICE;
    }
    if (run->options->expect_all && !tally_met(stderr, &run->board, &stats) &&
        run->result == EXITS_OK) {
        run->result = EXITS_UNMET;
    }
    clients_free(&run->clients);
    run_end_recording(run);
    return run->result;
}

void run_free(struct run *run) {
    clients_free(&run->clients);
    if (run->records) { /* the run did not begin: remove the file */
        (void)recorder_close(&run->recorder);
        unlink(run->options->record);
    }
    network_end(&run->network);
    board_free(&run->board);
}
