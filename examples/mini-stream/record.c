/*
 * `mini-stream record`: records a stream.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "commands.h"

#include <inttypes.h>
#include <stdio.h>

#include "exits.h"
#include "metrics.h"
#include "run.h"

static error_t record_key(int key, char *arg, struct argp_state *state) {
    struct options *options = state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = options; return 0;
    case ARGP_KEY_ARG:
        if (options->record) {
            return ARGP_ERR_UNKNOWN; /* a market */
        }
        options->record = arg;
        return 0;
    case ARGP_KEY_END:
        if (!options->record) {
            argp_failure(state, EXITS_USAGE, 0,
                         "no file given: `%s --help' says more", state->name);
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void record_parse(struct options *options, int argc, char **argv) {
    static const struct argp argp = {
        .parser = record_key,
        .args_doc = "FILE MARKET...",
        .doc =
            "Records a stream in FILE, which must not be there yet: all that "
            "is sent and received, without a secret, so that `mini-stream "
            "replay' shows it again, event by event. What was recorded "
            "before a crash can be replayed.\v" SETTINGS_HELP "\n" EXITS_HELP,
        .children = options_children};

    options->only_records = true;
    argp_parse(&argp, argc, argv, 0, NULL, options);
}

int record_main(int argc, char **argv) {
    static struct options options;
    static struct run run;
    struct metrics *metrics = NULL;
    char error[SETTINGS_ERROR_LEN] = "";
    int result;

    record_parse(&options, argc, argv);
    result = run_begin(&run, &options, error);
    if (result != EXITS_OK) {
        fprintf(stderr, "mini-stream: %s\n", error);
    } else {
        result = metrics_begin(&metrics, options.metrics_port);
    }
    if (result == EXITS_OK) {
        struct mst_event event;
        uint64_t now_ns;
        int rc;

        while ((rc = run_poll(&run, &event, &now_ns)) >= 0) {
            metrics_update(metrics, &run, now_ns);
            if (rc == 0) {
                run_wait(&run, UINT32_MAX);
            }
        }
        result = run_end(&run);
    }
    metrics_end(metrics);
    run_free(&run);
    options_free(&options);
    return result;
}
