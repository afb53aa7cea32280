/*
 * `mini-stream watch`: the markets on a whole screen.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exits.h"
#include "metrics.h"
#include "run.h"
#include "screen.h"
#include "tally.h"
#include "view.h"

/* How often the picture is drawn, keys are looked at and bytes are sent, and
 * the rate of messages is taken. */
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
    struct view *view;
    struct status status;
    unsigned terminal_rate; /* bytes a second, or 0 */
    uint64_t draw_ms, look_ms;
    /* The rates, and where they were counted from. */
    uint64_t rate_ms, rate_messages, rate_bytes;
};

enum { KEY_TERMINAL_RATE = 0x500 };

static const struct argp_option watch_options[] = {
    {0, 0, 0, 0, "How it is shown:", 5},
    {"terminal-rate", KEY_TERMINAL_RATE, "BYTES", 0,
     "Write at most so many bytes a second to the terminal, and draw as often "
     "as that allows (default: 960 to one without colours, such as a vt100; "
     "else what a serial line says it takes, or any number)",
     0},
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
    case ARGP_KEY_END:
        if ((options->verbose || options->stats_ms > 0) &&
            isatty(STDERR_FILENO)) {
            argp_failure(state, EXITS_USAGE, 0,
                         "--%s writes to standard error: send that to a file, "
                         "2>FILE",
                         options->verbose ? "verbose" : "stats");
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void watch_parse(struct watch *watch, int argc, char **argv) {
    static const struct argp argp = {
        .options = watch_options,
        .parser = watch_key,
        .args_doc = "MARKET...",
        .doc = "Shows order books, executions and the state of the stream on "
               "the whole terminal; `?' shows the keys. Lag is how much later "
               "a message came than the quickest one of its connection: clocks "
               "that differ do not count. NO_COLOR, where it is not empty, "
               "switches colours off.\v" SETTINGS_HELP "\n" EXITS_HELP,
        .children = options_children};

    argp_parse(&argp, argc, argv, 0, NULL, watch);
}

/* Takes the rates over the last second. */
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

/* Where the stream comes from: the URL without its scheme. */
static const char *watch_service(const struct watch *watch) {
    const char *url = watch->options.settings.shown[SETTING_WS_URL];
    const char *scheme = strstr(url, "://");

    return scheme ? scheme + strlen("://") : url;
}

static void watch_draw(struct watch *watch, uint64_t now_ms) {
    struct status *status = &watch->status;

    run_sum(&watch->run, &status->stats);
    watch_rate(watch, now_ms);
    status->now_ms = now_ms;
    status->closing = watch->run.phase != RUN_ON;
    view_draw(watch->view, status);
    watch->draw_ms = now_ms;
}

/* Obeys keys, and draws where the last picture has been sent. */
static void watch_show(struct watch *watch, uint64_t now_ms) {
    if (now_ms - watch->look_ms < LOOK_MS) {
        return;
    }
    watch->look_ms = now_ms;
    if (screen_stop() || screen_resize()) {
        watch->draw_ms = 0;
    }
    switch (view_keys(watch->view, now_ms)) {
    case VIEW_QUIT: run_close(&watch->run); break;
    case VIEW_CHANGED: watch->draw_ms = 0; break;
    default: break;
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

/* Says how it went, on the terminal as it was before. */
static int watch_end(struct watch *watch) {
    struct mst_stats stats;

    screen_close();
    run_sum(&watch->run, &stats);
    tally_print(stdout, &watch->run.board, &stats);
    return run_end(&watch->run);
}

/* Takes the terminal, and what is shown on it. */
static int watch_begin(struct watch *watch) {
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
    watch->status.service = watch_service(watch);
    watch->view = view_new(&watch->run.board);
    return watch->view ? EXITS_OK : EXITS_LOCAL;
}

int watch_main(int argc, char **argv) {
    static struct watch watch;
    char error[SETTINGS_ERROR_LEN] = "";
    int result;

    watch_parse(&watch, argc, argv);
    result = run_begin(&watch.run, &watch.options, error);
    if (result != EXITS_OK) {
        fprintf(stderr, "mini-stream: %s\n", error);
    } else {
        result = watch_begin(&watch);
        if (result == EXITS_OK) {
            watch_run(&watch);
            result = watch_end(&watch);
        }
    }
    view_free(watch.view);
    screen_close();
    metrics_end(watch.metrics);
    run_free(&watch.run);
    options_free(&watch.options);
    return result;
}
