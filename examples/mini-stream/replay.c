/*
 * `mini-stream replay`: shows a recording again, as the stream was shown.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "commands.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "contents.h"
#include "examples/start.h"
#include "exits.h"
#include "out.h"
#include "player.h"

#define NS_PER_S 1000000000u

struct replay_run {
    const char *path;
    bool real_time;
    struct out out;
    struct contents contents;
    struct board board;
    struct player player;
    bool begun;
    bool closing;      /* the run has asked the clients to close */
    uint64_t start_ns; /* monotonic, when the first poll was repeated */
};

enum { KEY_REAL_TIME = 0x500 };

static const struct argp_option replay_options[] = {
    {"real-time", KEY_REAL_TIME, 0, 0,
     "Replay at the recorded pace (default: as fast as possible)", 6},
    {0, 'h', 0, OPTION_HIDDEN, 0, -1},
    {0}};

static error_t replay_key(int key, char *arg, struct argp_state *state) {
    struct replay_run *run = state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &run->out; return 0;
    case KEY_REAL_TIME: run->real_time = true; return 0;
    case 'h': argp_state_help(state, stdout, ARGP_HELP_STD_HELP); return 0;
    case ARGP_KEY_ARG:
        if (run->path) {
            argp_failure(state, EXITS_USAGE, 0,
                         "%s: only one recording at a time; its further files "
                         "are found automatically",
                         arg);
        }
        run->path = arg;
        return 0;
    case ARGP_KEY_END:
        if (!run->path) {
            argp_failure(state, EXITS_USAGE, 0,
                         "no file given: `%s --help' says more", state->name);
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void replay_parse(struct replay_run *run, int argc, char **argv) {
    static const struct argp_child children[] = {{&out_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        .options = replay_options,
        .parser = replay_key,
        .args_doc = "FILE",
        .doc = "Replays a recording: shows the events again as `mini-stream "
               "stream' would have shown them. The library gets the recorded "
               "bytes and times and needs no network. If it behaves "
               "differently than recorded, the replay stops and reports the "
               "first difference.\v" EXITS_HELP,
        .children = children};

    argp_parse(&argp, argc, argv, 0, NULL, run);
}

static struct mst_book *replay_leader(void *context, size_t object,
                                      const char *market) {
    struct replay_run *run = context;

    for (int i = 0; i < (int)RECORDING_NUMBERS; ++i) {
        struct mst_pair *pair = player_pair(&run->player, i);

        if (pair && (size_t)run->contents.links[i] / 2 == object) {
            return mst_pair_book(pair, market);
        }
    }
    return NULL;
}

static void replay_trace(void *context, const struct mst_trace *trace) {
    (void)context;
    if (trace->kind == MST_TRACE_OPEN) {
        text_set_target(trace->link, trace->text, trace->value);
    }
}

/* A board for what the recording is of, whose books are the player's. */
static int replay_board(struct replay_run *run) {
    const struct contents *contents = &run->contents;
    const struct clients_plan plan = {
        .count = contents->link_count > 0
                     ? (contents->link_count + contents->pairs) /
                           (contents->pairs ? 2 : 1)
                     : 1,
        .pairs = contents->pairs};
    int rc = board_init(&run->board, (const char *const *)contents->names,
                        contents->count, contents->channels, 1, &plan);

    for (size_t i = 0; rc == 0 && i < contents->count; ++i) {
        size_t link = (size_t)contents->links[contents->objects[i]];

        run->board.markets[i].object = contents->pairs ? link / 2 : link;
    }
    run->board.leader = replay_leader;
    run->board.leader_context = run;
    return rc;
}

/* Waits until it is as late as it was then. */
static void replay_pace(struct replay_run *run, uint64_t ns) {
    uint64_t due = run->start_ns + (ns - run->contents.first_ns);
    const struct timespec until = {.tv_sec = (time_t)(due / NS_PER_S),
                                   .tv_nsec = (long)(due % NS_PER_S)};

    (void)out_flush(&run->out);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) ==
           EINTR) {}
}

/* Takes an event in as the run did. Where it has failed, what has ended it is
 * told without a next attempt, and what then ends as asked is not told. */
static void replay_take(struct replay_run *run, struct mst_event *event,
                        uint64_t now_ns) {
    const struct replay *replay = &run->player.replay;
    bool ends = event->type == MST_EVENT_CLOSED && run->contents.failed;
    struct board_market *market;

    if (ends && event->as.failure.error != MST_OK && replay->has_next &&
        replay->next.kind == RECORDING_CLOSE) {
        event->as.failure.retry_ms = 0;
    }
    market = board_take(&run->board, event, now_ns);
    if (!ends || event->as.failure.error != MST_OK || !run->closing) {
        out_event(&run->out, event, market);
    }
}

static void replay_show(struct replay_run *run, struct player_step *step) {
    if (!run->begun) {
        run->start_ns = clock_ns();
        run->begun = true;
    }
    if (run->real_time) {
        replay_pace(run, step->monotonic_ns);
    }
    out_tick(&run->out, step->monotonic_ns);
    if (step->has_event) {
        replay_take(run, &step->event, step->monotonic_ns);
    }
}

/* The sums of all that was counted, before it is wiped. */
static void replay_stats(const struct replay_run *run,
                         struct mst_stats *stats) {
    const struct mst_link *links[2 * RECORDING_NUMBERS];
    size_t count = 0;

    for (int i = 0; i < (int)RECORDING_NUMBERS; ++i) {
        struct mst_client *client = player_client(&run->player, i);
        struct mst_pair *pair = player_pair(&run->player, i);

        if (client) {
            links[count++] = &client->link;
        } else if (pair) {
            links[count++] = &pair->clients[0].link;
            links[count++] = &pair->clients[1].link;
        }
    }
    clients_stats(links, count, stats);
}

/* The exit code at the end of a recording: one that was cut is damaged. */
static int replay_over(struct replay_run *run) {
    if (!run->contents.cut) {
        return EXITS_OK;
    }
    fflush(run->out.file);
    fputs("mini-stream: the recording was cut off here\n", stderr);
    run->out.cut = true;
    return EXITS_LOCAL;
}

/* Repeats call after call, up to the end of the run that was recorded, or a
 * difference. Returns an exit code. */
static int replay_play(struct replay_run *run) {
    struct replay *replay = &run->player.replay;
    struct player_step step;
    int rc;

    if (player_open(&run->player, run->path) != 0) {
        text_say(replay->error);
        return EXITS_LOCAL;
    }
    replay->then = replay_trace;
    while ((rc = player_step(&run->player, &step)) == 1 && !run->out.gone) {
        run->closing |= step.call->kind == RECORDING_CLOSE;
        if (step.call->kind == RECORDING_POLL) {
            replay_show(run, &step);
        }
        if (ferror(run->out.file)) {
            break;
        }
        if (replay->has_next && replay->next.kind == RECORDING_WIPE) {
            return replay_over(run); /* the counts are still there */
        }
    }
    if (rc < 0) {
        fflush(run->out.file);
        text_say(replay->error);
        return replay->differs ? EXITS_UNMET : EXITS_LOCAL;
    }
    return rc == 0 ? replay_over(run) : EXITS_OK;
}

static int replay_raw(struct replay_run *run) {
    struct raw raw = {.file = run->out.file,
                      .terminal = isatty(start_fileno(run->out.file)),
                      .links = calloc(RECORDING_NUMBERS, sizeof *raw.links)};
    int result = EXITS_LOCAL;

    if (raw.links) {
        result = contents_read(&run->contents, run->path, &raw);
    }
    free(raw.links);
    return result == EXITS_OK ? replay_over(run) : result;
}

static int replay_events(struct replay_run *run) {
    int result = contents_read(&run->contents, run->path, NULL);

    if (result == EXITS_OK && replay_board(run) != 0) {
        fputs("mini-stream: out of memory\n", stderr);
        result = EXITS_LOCAL;
    }
    return result;
}

/* Whether the output is a file of the recording, which would be lost. */
static bool replay_onto_itself(const struct replay_run *run) {
    struct stat to, from;
    char path[sizeof run->player.replay.recording.path];
    int n = snprintf(path, sizeof path - 24, "%s", run->path);

    if (!run->out.path || stat(run->out.path, &to) != 0 ||
        n >= (int)sizeof path - 24) {
        return false; /* so long a path is refused */
    }
    for (unsigned i = 1; stat(path, &from) == 0; ++i) {
        if (from.st_dev == to.st_dev && from.st_ino == to.st_ino) {
            return true;
        }
        sprintf(path + n, ".%u", i);
    }
    return false;
}

int replay_main(int argc, char **argv) {
    static struct replay_run run;
    struct mst_stats stats;
    int result, error;

    replay_parse(&run, argc, argv);
    if (replay_onto_itself(&run)) {
        fprintf(stderr, "mini-stream: --output %s: it is the recording\n",
                run.out.path);
        return EXITS_USAGE;
    }
    signal(SIGPIPE, SIG_IGN); /* a reader may leave */
    result = run.out.raw ? EXITS_OK : replay_events(&run);
    if (result == EXITS_OK) {
        result = out_begin(&run.out, &run.board, run.contents.wall_ns);
        run.out.now_ns = run.contents.first_ns;
    }
    if (result == EXITS_OK) {
        result = run.out.raw ? replay_raw(&run) : replay_play(&run);
        replay_stats(&run, &stats);
        error =
            out_end(&run.out, result == EXITS_OK ? run.contents.status : result,
                    &stats);
        if (error != 0 && error != EPIPE) {
            fprintf(stderr, "mini-stream: %s: %s\n",
                    run.out.path ? run.out.path : "standard output",
                    strerror(error));
            result = EXITS_LOCAL;
        }
    }
    player_close(&run.player);
    board_free(&run.board);
    contents_free(&run.contents);
    return result;
}
