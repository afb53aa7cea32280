/*
 * `mini-stream replay`: shows a recording as the stream was shown.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "commands.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "examples/start.h"
#include "exits.h"
#include "options.h"
#include "out.h"
#include "playback.h"

#define NS_PER_S 1000000000u
#define SPEED_MAX 1000000 /* thousandths */

struct replay_run {
    const char *path;
    unsigned speed; /* thousandths of the recorded pace; 0: no pauses */
    struct moment {
        bool given, after; /* after: relative to the first poll */
        int64_t ns;        /* Unix */
    } from, to;
    struct out out;
    struct playback playback;
    bool paced;
    uint64_t first_ns; /* monotonic, of the first poll shown, as recorded */
    uint64_t start_ns; /* and when it was repeated */
};

enum { KEY_REAL_TIME = 0x500, KEY_SPEED, KEY_FROM, KEY_TO };

static const struct argp_option replay_options[] = {
    {"real-time", KEY_REAL_TIME, 0, 0,
     "Replay at the recorded pace (default: as fast as possible)", 6},
    {"speed", KEY_SPEED, "FACTOR", 0,
     "Replay at FACTOR times the recorded pace, such as 2 or 0.1", 6},
    {"from", KEY_FROM, "TIME", 0,
     "Leave out what was received before: a time such as "
     "2026-01-02T03:04:05.678Z, or seconds since the start. --depth shows "
     "books as if nothing was left out",
     6},
    {"to", KEY_TO, "TIME", 0, "End before data received later", 6},
    {0}};

static struct moment replay_moment(const struct argp_state *state,
                                   const char *option, const char *text) {
    struct moment moment = {true, false, 0};

    if (mst_time_parse(text, strlen(text), &moment.ns) != 0) {
        if (text[strspn(text, "0123456789.")] != '\0') {
            options_fail(state,
                         "--%s %s: neither seconds nor a time such as "
                         "2026-01-02T03:04:05.678Z",
                         option, text);
        }
        moment.after = true;
        moment.ns =
            (int64_t)options_seconds(state, option, text, 0, MS_MAX) * 1000000;
    }
    return moment;
}

static error_t replay_key(int key, char *arg, struct argp_state *state) {
    struct replay_run *run = state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &run->out; return 0;
    case KEY_REAL_TIME: run->speed = 1000; return 0;
    case KEY_SPEED:
        run->speed =
            (unsigned)options_seconds(state, "speed", arg, 1, SPEED_MAX);
        return 0;
    case KEY_FROM: run->from = replay_moment(state, "from", arg); return 0;
    case KEY_TO: run->to = replay_moment(state, "to", arg); return 0;
    case ARGP_KEY_ARG:
        if (run->path) {
            options_fail(state,
                         "%s: only one recording at a time; its further files "
                         "are found automatically",
                         arg);
        }
        run->path = arg;
        return 0;
    case ARGP_KEY_END:
        if (!run->path) {
            options_fail(state, "no file given: `%s --help' says more",
                         state->name);
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
        .args_doc = "FILE|-",
        .doc = "Replays a recording: shows the events again as `mini-stream "
               "stream' would have shown them. The library gets the recorded "
               "bytes and times and needs no network. If it behaves "
               "differently than recorded, the replay stops and reports the "
               "first difference.\v" EXITS_HELP,
        .children = children};

    options_parse(&argp, argc, argv, run);
    if (run->out.raw && (run->speed > 0 || run->from.given || run->to.given)) {
        fputs("mini-stream: --raw has no --real-time, --speed, --from and "
              "--to\n",
              stderr);
        exit(EXITS_USAGE);
    }
}

/* Waits until as much time has passed as in the recording. */
static void replay_pace(struct replay_run *run, uint64_t ns) {
    uint64_t due, past;
    struct timespec until;

    if (!run->paced) {
        run->paced = true;
        run->start_ns = clock_ns();
        run->first_ns = ns;
    }
    past = ns - run->first_ns;
    due = run->start_ns + past / run->speed * 1000 +
          past % run->speed * 1000 / run->speed;
    until.tv_sec = (time_t)(due / NS_PER_S);
    until.tv_nsec = (long)(due % NS_PER_S);
    (void)out_flush(&run->out);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) ==
           EINTR) {}
}

static int64_t replay_ns(const struct moment *moment, int64_t first_ns) {
    return moment->after ? first_ns + moment->ns : moment->ns;
}

/* Shows the result of a poll. Returns false after the last moment. */
static bool replay_show(struct replay_run *run, struct player_step *step) {
    const struct contents *contents = &run->playback.contents;
    const int64_t first_ns = contents->wall_ns + (int64_t)contents->first_ns;
    struct board_market *market;
    int64_t wall_ns;
    bool shown;

    run->out.now_ns = step->monotonic_ns;
    wall_ns =
        run->out.wall_ns +
        (int64_t)(step->has_event ? out_received_ns(&run->out, &step->event)
                                  : step->monotonic_ns);
    if (run->to.given && wall_ns > replay_ns(&run->to, first_ns)) {
        return false;
    }
    shown = !run->from.given || wall_ns >= replay_ns(&run->from, first_ns);
    if (shown && run->speed > 0) {
        replay_pace(run, step->monotonic_ns);
    }
    if (shown) {
        out_tick(&run->out, step->monotonic_ns);
    }
    if (step->has_event &&
        playback_take(&run->playback, &step->event, step->monotonic_ns,
                      &market) &&
        shown) {
        out_event(&run->out, &step->event, market);
    }
    return true;
}

/* Returns the exit code after playback_step() returned rc. */
static int replay_result(struct replay_run *run, int rc) {
    fflush(run->out.file);
    run->out.cut = rc == 0 && run->playback.contents.cut;
    return playback_result(&run->playback, rc);
}

/* Repeats all calls, up to the end of the recorded run or a difference. Returns
 * an exit code. */
static int replay_play(struct replay_run *run) {
    struct player_step step;
    int rc = playback_open(&run->playback);

    if (rc != EXITS_OK) {
        return rc;
    }
    while ((rc = playback_step(&run->playback, &step)) == 1 && !run->out.gone &&
           replay_show(run, &step) && !ferror(run->out.file)) {}
    return replay_result(run, rc);
}

static int replay_raw(struct replay_run *run) {
    struct raw raw = {.file = run->out.file,
                      .terminal = isatty(start_fileno(run->out.file)),
                      .links = calloc(RECORDING_NUMBERS, sizeof *raw.links)};
    int result = EXITS_LOCAL;

    if (raw.links) {
        result = contents_read(&run->playback.contents, run->path, &raw);
    }
    free(raw.links);
    return result == EXITS_OK ? replay_result(run, 0) : result;
}

/* True if the output is a file of the recording, which would be lost. */
static bool replay_onto_itself(const struct replay_run *run) {
    char path[sizeof run->playback.player.replay.recording.path];
    int n = snprintf(path, sizeof path - 24, "%s", run->path);

    if (n >= (int)sizeof path - 24) {
        return false; /* recording_open() refuses it */
    }
    for (unsigned i = 1; access(path, F_OK) == 0; ++i) {
        if (out_is(&run->out, path)) {
            return true;
        }
        sprintf(path + n, ".%u", i);
    }
    return false;
}

int replay_main(int argc, char **argv) {
    static struct replay_run run;
    static const struct mst_link *links[PLAYBACK_LINKS];
    struct playback *playback = &run.playback;
    struct mst_stats stats;
    int result, error;

    replay_parse(&run, argc, argv);
    result = playback_prepare(playback, run.path);
    if (result != EXITS_OK) {
        return result;
    }
    run.path = playback->path;
    if (replay_onto_itself(&run)) {
        fprintf(stderr, "mini-stream: --output %s: it is the recording\n",
                run.out.path);
        return EXITS_USAGE;
    }
    signal(SIGPIPE, SIG_IGN); /* a reader may leave */
    result = run.out.raw ? EXITS_OK : playback_begin(playback);
    if (result == EXITS_OK && playback->contents.levels > 0) {
        out_check_depth(&run.out, playback->contents.levels, NULL);
    }
    if (result == EXITS_OK) {
        result =
            out_begin(&run.out, &playback->board, playback->contents.wall_ns);
        run.out.now_ns = playback->contents.first_ns;
    }
    if (result == EXITS_OK) {
        result = run.out.raw ? replay_raw(&run) : replay_play(&run);
        clients_stats(links, playback_links(playback, links), &stats);
        error = out_end(&run.out,
                        result == EXITS_OK ? playback->contents.status : result,
                        &stats);
        if (error != 0 && error != EPIPE) {
            fprintf(stderr, "mini-stream: %s: %s\n",
                    run.out.path ? run.out.path : "standard output",
                    strerror(error));
            result = EXITS_LOCAL;
        }
    }
    playback_end(playback);
    return result;
}
