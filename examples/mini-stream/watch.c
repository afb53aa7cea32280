/*
 * `mini-stream watch`: the markets on a whole screen.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "watch.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exits.h"
#include "metrics.h"
#include "run.h"
#include "tally.h"
#include "view.h"

/* How often the view is drawn and the rate of messages is taken. */
#define DRAW_MS 100
#define RATE_MS 1000
#define NS_PER_MS 1000000u

struct watch {
    struct options options;
    struct run run;
    struct metrics *metrics;
    uint64_t draw_ms, rate_ms, rate_messages;
    double rate;
};

static error_t watch_key(int key, char *arg, struct argp_state *state) {
    struct watch *watch = state->input;

    (void)arg;
    if (key == ARGP_KEY_INIT) {
        state->child_inputs[0] = &watch->options;
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static void watch_parse(struct watch *watch, int argc, char **argv) {
    static const struct argp_child children[] = {{&options_argp, 0, NULL, 0},
                                                 {0}};
    static const struct argp argp = {
        .parser = watch_key,
        .args_doc = "MARKET...",
        .doc = "Shows order books, executions and the state of the stream on "
               "the whole terminal; `?' shows the keys.\v" SETTINGS_HELP
               "\n" EXITS_HELP,
        .children = children};

    options_begin(&watch->options);
    argv[0] = (char *)"mini-stream watch";
    argp_parse(&argp, argc, argv, 0, NULL, watch);
}

/* Takes the rate of messages over the last second. */
static void watch_rate(struct watch *watch, const struct mst_stats *stats,
                       uint64_t now_ms) {
    uint64_t elapsed_ms = now_ms - watch->rate_ms;

    if (elapsed_ms >= RATE_MS) {
        watch->rate = (double)(stats->messages - watch->rate_messages) * 1000 /
                      (double)elapsed_ms;
        watch->rate_messages = stats->messages;
        watch->rate_ms = now_ms;
    }
}

/* Where the stream comes from: the URL without its scheme. */
static const char *watch_service(const struct watch *watch) {
    const char *url = watch->options.settings.options.value[SETTING_WS_URL];
    const char *scheme = strstr(url, "://");

    return scheme ? scheme + strlen("://") : url;
}

static void watch_draw(struct watch *watch, uint64_t now_ms) {
    struct mst_stats stats;
    struct view_status status = {
        .state = clients_state(&watch->run.clients),
        .service = watch_service(watch),
        .now_ms = now_ms,
        .closing = watch->run.phase != RUN_ON,
    };

    run_sum(&watch->run, &stats);
    watch_rate(watch, &stats, now_ms);
    status.messages = stats.messages;
    status.rate = watch->rate;
    view_draw(&watch->run.board, &status);
    watch->draw_ms = now_ms;
}

/* Draws and obeys keys, not more often than ten times a second. */
static void watch_show(struct watch *watch, uint64_t now_ms) {
    if (now_ms - watch->draw_ms < DRAW_MS) {
        return;
    }
    watch_draw(watch, now_ms);
    switch (view_keys(&watch->run.board)) {
    case VIEW_QUIT: run_close(&watch->run); break;
    case VIEW_CHANGED: watch_draw(watch, now_ms); break;
    default: break;
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
            run_wait(&watch->run, DRAW_MS);
        }
    }
}

/* Says how it went, on the terminal as it was before. */
static int watch_end(struct watch *watch) {
    struct mst_stats stats;

    view_close();
    run_sum(&watch->run, &stats);
    tally_print(stdout, &watch->run.board, &stats);
    return run_end(&watch->run);
}

int watch_main(int argc, char **argv) {
    static struct watch watch;
    char error[SETTINGS_ERROR_LEN] = "";
    int result;

    watch_parse(&watch, argc, argv);
    result = run_begin(&watch.run, &watch.options, error);
    if (result == EXITS_OK && (!isatty(STDOUT_FILENO) || !view_open())) {
        snprintf(error, sizeof error,
                 "this is no terminal: `mini-stream stream' writes lines");
        result = EXITS_USAGE;
    }
    if (result != EXITS_OK) {
        fprintf(stderr, "mini-stream: %s\n", error);
    } else {
        watch.run.notes = watch.run.notes && !isatty(STDERR_FILENO);
        result = metrics_begin(&watch.metrics, watch.options.metrics_port);
        if (result == EXITS_OK) {
            watch_run(&watch);
            result = watch_end(&watch);
        }
    }
    view_close();
    metrics_end(watch.metrics);
    run_free(&watch.run);
    options_free(&watch.options);
    return result;
}
