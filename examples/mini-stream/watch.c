/*
 * `mini-stream watch`: the markets on the whole terminal.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "commands.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "exits.h"
#include "metrics.h"
#include "playback.h"
#include "run.h"
#include "screen.h"
#include "signals.h"
#include "note.h"
#include "view.h"

/* Intervals: drawing; keys and sending; computing the rates. */
#define DRAW_MS 200
#define LOOK_MS 50
#define RATE_MS 1000
#define NS_PER_MS 1000000u

#define TERMINAL_RATE_MIN 100
#define TERMINAL_RATE_MAX 100000000

struct watch {
    struct options options;
    struct run run;
    struct metrics *metrics;
    struct status status;
    unsigned terminal_rate; /* bytes per second, or 0 */
    struct board *board;    /* of the run or the recording */
    struct playback playback;
    struct clients played;    /* only the links of the recording */
    char playing[PATH_MAX];   /* its text in the status bar */
    unsigned speed;           /* thousandths of the recorded pace */
    uint64_t now_ns, real_ns; /* recorded time, and when it was updated */
    uint64_t draw_ms, look_ms;
    /* The start of the current second, and the totals at that time. */
    uint64_t rate_ms, rate_messages, rate_bytes;
};

/* Calls that are replayed without checking for keys. */
#define BURST 1000

#define SPEED_MIN 62
#define SPEED_MAX 1000000

enum { KEY_TERMINAL_RATE = 0x500, KEY_REPLAY, KEY_SPEED };

static const struct argp_option watch_options[] = {
    {0, 0, 0, 0, "Display:", 5},
    {"terminal-rate", KEY_TERMINAL_RATE, "BYTES", 0,
     "Write at most BYTES per second to the terminal (default: 960 without "
     "colours, as on a vt100; else the speed of a serial line, or no limit)",
     0},
    {"replay", KEY_REPLAY, "FILE", 0,
     "Show a recording instead of a stream: `p' pauses it, `<' and `>' change "
     "its speed",
     0},
    {"speed", KEY_SPEED, "FACTOR", 0,
     "Start it at FACTOR times the recorded pace, such as 2 or 0.1", 0},
    {0}};

static error_t watch_key(int key, char *arg, struct argp_state *state) {
    struct watch *watch = state->input;
    struct options *options = &watch->options;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = options; return 0;
    case KEY_TERMINAL_RATE:
        watch->terminal_rate = options_number(
            state, "terminal-rate", arg, TERMINAL_RATE_MIN, TERMINAL_RATE_MAX);
        return 0;
    case KEY_REPLAY:
        options->replay = arg;
        watch->speed = watch->speed > 0 ? watch->speed : 1000;
        return 0;
    case KEY_SPEED:
        watch->speed = (unsigned)options_seconds(state, "speed", arg, SPEED_MIN,
                                                 SPEED_MAX);
        return 0;
    case ARGP_KEY_END:
        if (watch->speed > 0 && !options->replay) {
            options_fail(state, "--speed needs --replay");
        }
        if ((options->verbose || options->stats_ms > 0) &&
            isatty(STDERR_FILENO)) {
            options_fail(state,
                         "--%s writes to standard error: redirect that to a "
                         "file, 2>FILE",
                         options->verbose ? "verbose" : "stats");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void watch_rate(struct watch *watch, uint64_t now_ms) {
    struct status *status = &watch->status;
    const struct mst_stats *stats = &status->stats;
    double elapsed_s = (double)(now_ms - watch->rate_ms) / 1000;

    if (now_ms - watch->rate_ms >= RATE_MS) {
        status->rate =
            (double)(stats->messages - watch->rate_messages) / elapsed_s;
        status->bytes_rate =
            (double)(stats->bytes_in - watch->rate_bytes) / elapsed_s;
        watch->rate_messages = stats->messages;
        watch->rate_bytes = stats->bytes_in;
        watch->rate_ms = now_ms;
    }
}

/* Sums the counts of the stream, or of the recording so far. */
static void watch_sum(struct watch *watch, struct mst_stats *stats) {
    if (watch->options.replay) {
        static const struct mst_link none;

        watch->played.links[0] = &none; /* if there is none yet */
        watch->played.link_count =
            playback_links(&watch->playback, watch->played.links);
        clients_stats(watch->played.links, watch->played.link_count, stats);
        watch->played.link_count += watch->played.link_count == 0;
    } else {
        run_sum(&watch->run, stats);
    }
}

static void watch_playing(struct watch *watch) {
    const char *path = watch->options.replay;
    const char *name = strrchr(path, '/');
    char time[TEXT_TIME_LEN];

    text_time(watch->run.wall_ns + (int64_t)watch->now_ns, time);
    snprintf(watch->playing, sizeof watch->playing, "%s  %s  x%g",
             name ? name + 1 : path, time, watch->speed / 1000.0);
}

static void watch_draw(struct watch *watch, uint64_t now_ms) {
    struct status *status = &watch->status;

    watch_sum(watch, &status->stats);
    status->now_ms = now_ms;
    if (watch->options.replay) {
        watch_playing(watch);
        status->now_ms = watch->now_ns / NS_PER_MS;
    }
    watch_rate(watch, status->now_ms);
    status->closing = watch->run.phase != RUN_ON;
    view_draw(status);
    watch->draw_ms = now_ms;
}

/* Handles keys, and draws once the last picture has been sent. */
static void watch_show(struct watch *watch, uint64_t now_ms) {
    enum view_key key;

    if (now_ms - watch->look_ms < LOOK_MS) {
        return;
    }
    watch->look_ms = now_ms;
    if (screen_stop() || screen_resize()) {
        watch->draw_ms = 0;
    }
    key = view_keys(now_ms);
    if (key == VIEW_QUIT) {
        run_close(&watch->run);
    } else if (key != VIEW_NOTHING) {
        watch->status.stopped ^= key == VIEW_PAUSE;
        if (key == VIEW_SLOWER && watch->speed / 2 >= SPEED_MIN) {
            watch->speed /= 2;
        } else if (key == VIEW_FASTER && watch->speed * 2 <= SPEED_MAX) {
            watch->speed *= 2;
        }
        watch->draw_ms = 0;
    }
    if (screen_is_idle() && now_ms - watch->draw_ms >= DRAW_MS) {
        watch_draw(watch, now_ms);
    }
    if (!screen_send(now_ms)) {
        run_close(&watch->run);
    }
}

static void watch_run(struct watch *watch) {
    struct mst_event event;
    uint64_t now_ns;
    int rc;

    watch->rate_ms = watch->run.start_ns / NS_PER_MS;
    while ((rc = run_poll(&watch->run, &event, &now_ns)) >= 0) {
        metrics_update(watch->metrics, &watch->run, now_ns);
        watch_show(watch, now_ns / NS_PER_MS);
        if (rc == 0) {
            run_wait(&watch->run, LOOK_MS);
        }
    }
}

/* Replays up to the current recorded time. Returns as playback_step(), but 0
 * before connections are closed, so that the last picture shows them open. */
static int watch_play(struct watch *watch) {
    const struct replay *replay = &watch->playback.player.replay;
    struct board_market *market;
    struct player_step step;
    uint64_t due_ns;
    int rc = 1;

    for (int i = 0; rc == 1 && i < BURST; ++i) {
        if (playback_due_ns(&watch->playback, &due_ns) &&
            due_ns > watch->now_ns && watch->now_ns > 0) {
            break;
        }
        if (replay->has_next && replay->next.kind == RECORDING_CLOSE) {
            return 0;
        }
        rc = playback_step(&watch->playback, &step);
        if (rc == 1 && watch->now_ns == 0) { /* the first poll */
            watch->now_ns = step.monotonic_ns;
            watch->run.wall_ns = step.unix_ns - (int64_t)step.monotonic_ns;
            watch->rate_ms = watch->now_ns / NS_PER_MS;
        }
        if (rc == 1 && step.has_event) {
            (void)playback_take(&watch->playback, &step.event,
                                step.monotonic_ns, &market);
        }
    }
    return rc;
}

/* Shows a recording until the user quits, or a difference. */
static int watch_replay(struct watch *watch) {
    int rc = playback_open(&watch->playback);

    if (rc != EXITS_OK) {
        return rc;
    }
    rc = 1;
    watch->real_ns = clock_ns();
    while (rc >= 0 && watch->run.phase == RUN_ON && signals_count() == 0) {
        const struct timespec nap = {.tv_nsec = LOOK_MS / 5 * NS_PER_MS};
        const uint64_t real_ns = clock_ns();

        if (!watch->status.stopped && !watch->status.ended &&
            watch->now_ns > 0) {
            watch->now_ns += (real_ns - watch->real_ns) * watch->speed / 1000;
        }
        watch->real_ns = real_ns;
        rc = watch->status.ended || watch->status.stopped ? rc
                                                          : watch_play(watch);
        watch->status.ended = rc == 0;
        watch_show(watch, real_ns / NS_PER_MS);
        nanosleep(&nap, NULL);
    }
    screen_close();
    return playback_result(&watch->playback, rc);
}

/* Prints the summary, on the terminal's normal screen. */
static int watch_end(struct watch *watch) {
    struct mst_stats stats;

    screen_close();
    watch_sum(watch, &stats);
    tally_print(stdout, watch->board, &stats);
    return run_end(&watch->run);
}

/* Takes over the terminal and prepares the view. */
static int watch_begin(struct watch *watch) {
    const char *url, *scheme;
    char error[SETTINGS_ERROR_LEN] = "";
    int result = metrics_begin(&watch->metrics, watch->options.metrics_port);

    if (result != EXITS_OK) {
        return result;
    }
    watch->run.notes = watch->run.notes && !isatty(STDERR_FILENO);
    if (!screen_open(watch->terminal_rate, error, sizeof error)) {
        fprintf(stderr, "mini-stream: %s\n", error);
        return EXITS_USAGE;
    }
    watch->status.clients = &watch->run.clients;
    watch->board = &watch->run.board;
    if (watch->options.replay) {
        watch->status.clients = &watch->played;
        watch->status.service = watch->playing;
        watch->board = &watch->playback.board;
    } else {
        url = watch->options.settings.shown[SETTING_WS_URL];
        scheme = strstr(url, "://");
        watch->status.service = scheme ? scheme + strlen("://") : url;
    }
    return view_open(watch->board, watch->options.replay != NULL) ? EXITS_OK
                                                                  : EXITS_LOCAL;
}

/* Finds the markets of a recording. This needs no network and no settings. */
static int watch_prepare(struct watch *watch) {
    int result;

    if (strcmp(watch->options.replay, "-") == 0) {
        fputs("mini-stream: --replay needs a file: standard input is for "
              "keys\n",
              stderr);
        return EXITS_USAGE;
    }
    watch->played.links =
        text_must(calloc(PLAYBACK_LINKS, sizeof(const struct mst_link *)));
    signals_catch();
    result = playback_prepare(&watch->playback, watch->options.replay);
    return result == EXITS_OK ? playback_begin(&watch->playback) : result;
}

int watch_main(int argc, char **argv) {
    static const struct argp argp = {
        .options = watch_options,
        .parser = watch_key,
        .args_doc = "MARKET...\n--replay=FILE",
        .doc =
            "Shows order books, executions and the state of the stream on "
            "the whole terminal; `?' shows the keys. Lag is a message's delay "
            "compared with the fastest one of its connection, so that a "
            "difference between the clocks does not count. A non-empty "
            "NO_COLOR switches colours off.\v" SETTINGS_HELP "\n" EXITS_HELP,
        .children = options_children};
    static struct watch watch;
    char error[SETTINGS_ERROR_LEN] = "";
    int result;

    options_parse(&argp, argc, argv, &watch);
    if (watch.options.replay) {
        result = watch_prepare(&watch);
    } else {
        result = run_begin(&watch.run, &watch.options, error);
        if (result != EXITS_OK) {
            fprintf(stderr, "mini-stream: %s\n", error);
        }
    }
    if (result == EXITS_OK) {
        result = watch_begin(&watch);
        if (result == EXITS_OK && watch.options.replay) {
            result = watch_replay(&watch);
        } else if (result == EXITS_OK) {
            watch_run(&watch);
            result = watch_end(&watch);
        }
    }
    view_close();
    screen_close();
    metrics_end(watch.metrics);
    playback_end(&watch.playback);
    free(watch.played.links);
    run_free(&watch.run);
    options_free(&watch.options);
    return result;
}
