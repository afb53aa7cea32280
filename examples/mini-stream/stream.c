/*
 * `mini-stream stream`: subscribes and writes the stream. `mini-stream record`:
 * records it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "examples/start.h"
#include "exits.h"
#include "metrics.h"
#include "out.h"
#include "run.h"
#include "signals.h"

struct stream {
    struct options options;
    struct run run;
    struct out out;
    struct raw raw;
    struct metrics *metrics;
};

static error_t stream_key(int key, char *arg, struct argp_state *state) {
    struct stream *stream = state->input;

    (void)arg;
    if (key == ARGP_KEY_INIT) {
        state->child_inputs[0] = &stream->options;
        state->child_inputs[1] = &stream->out;
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static void stream_parse(struct stream *stream, int argc, char **argv) {
    static const struct argp_child children[] = {
        {&options_argp, 0, NULL, 0}, {&out_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        .parser = stream_key,
        .args_doc = "MARKET...",
        .doc = "Streams order books, best prices, executions and heartbeats as "
               "lines. The output also reports lost connections, stale books "
               "and gaps. Connection messages go to standard error, unless "
               "that is the same file.\v" SETTINGS_HELP "\n" EXITS_HELP,
        .children = children};

    options_parse(&argp, argc, argv, stream);
    out_check_depth(&stream->out, stream->options.levels, "--levels");
}

static const struct argp_option record_options[] = {
    {0, 0, 0, 0, "Recording:", 5},
    {"output", 'o', "FILE", 0, "The recording: a new file", 0},
    {"format", 'f', "FORMAT", 0,
     "Also write the stream to standard output: text, json or csv", 0},
    {0}};

static error_t record_key(int key, char *arg, struct argp_state *state) {
    struct stream *stream = state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &stream->options; return 0;
    case 'o': stream->options.record = arg; return 0;
    case 'f': stream->out.format = out_format(state, arg); return 0;
    case ARGP_KEY_END:
        if (!stream->options.record) {
            options_fail(state, "no --output FILE given: `%s --help' says more",
                         state->name);
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void record_parse(struct stream *stream, int argc, char **argv) {
    static const struct argp argp = {
        .options = record_options,
        .parser = record_key,
        .args_doc = "-o FILE MARKET...",
        .doc = "Records a stream in FILE: all data sent and received, without "
               "secrets. `mini-stream replay' shows it again, event by event. "
               "If the recording ends unexpectedly, it can be replayed up to "
               "there.\v" SETTINGS_HELP "\n" EXITS_HELP,
        .children = options_children};

    stream->options.only_records = true;
    options_parse(&argp, argc, argv, stream);
    if (!stream->out.format) {
        stream->out.format = &out_text;
        stream->out.gone = true; /* nothing is written */
    }
}

/* Ends the run if the output accepts no more data. A reader that has left is no
 * error; a full disk is. */
static void stream_gone(struct stream *stream, int error) {
    if (error == 0) {
        return;
    }
    stream->run.trace = NULL; /* raw messages cannot be written, either */
    if (error != EPIPE && (error != EINTR || signals_count() == 0)) {
        fprintf(stderr, "mini-stream: %s: %s\n",
                stream->out.path ? stream->out.path : "standard output",
                error == EINTR ? "not read until the end of --seconds"
                               : strerror(error));
        run_fail(&stream->run, EXITS_LOCAL);
    } else {
        run_close(&stream->run);
    }
}

/* True if notes would be in the output as well. */
static bool stream_is_stderr(const struct out *out) {
    struct stat output, error;

    return out->format == &out_text &&
           fstat(start_fileno(out->file), &output) == 0 &&
           fstat(STDERR_FILENO, &error) == 0 && output.st_dev == error.st_dev &&
           output.st_ino == error.st_ino;
}

/* Returns the time until the next sample. */
static uint32_t stream_rest_ms(const struct stream *stream, uint64_t now_ns) {
    uint64_t due_ns = out_due_ns(&stream->out);
    uint64_t ms = due_ns > now_ns ? (due_ns - now_ns) / 1000000 + 1 : 0;

    return ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
}

static void stream_run(struct stream *stream) {
    struct run *run = &stream->run;
    struct mst_event event;
    uint64_t now_ns;
    int rc;

    do {
        rc = run_poll(run, &event, &now_ns);
        metrics_update(stream->metrics, run, now_ns);
        out_tick(&stream->out, now_ns);
        if (rc > 0) {
            out_event(&stream->out, &event, run->market);
        }
        if (rc == 0 || ferror(stream->out.file)) {
            stream_gone(stream, out_flush(&stream->out));
        }
        if (rc == 0) {
            run_wait(run, stream_rest_ms(stream, now_ns));
        }
    } while (rc >= 0);
}

/* Opens metrics and output. Returns an exit code. */
static int stream_begin(struct stream *stream) {
    struct run *run = &stream->run;
    struct raw *raw = &stream->raw;
    int result = metrics_begin(&stream->metrics, stream->options.metrics_port);

    if (stream->options.end_ms > 0) {
        start_limit(
            (int64_t)(run->start_ns / 1000000 + stream->options.end_ms));
    }
    if (result == EXITS_OK && stream->options.record &&
        out_is(&stream->out, stream->options.record)) {
        fprintf(stderr, "mini-stream: --output %s: it is the recording\n",
                stream->out.path);
        result = EXITS_USAGE;
    }
    if (result == EXITS_OK) { /* last, because it empties a file */
        result = out_begin(&stream->out, &run->board, run->wall_ns);
    }
    if (result != EXITS_OK) {
        return result;
    }
    if (stream->out.raw) {
        raw->links = calloc(run->clients.link_count, sizeof *raw->links);
        if (!raw->links) {
            return EXITS_LOCAL;
        }
        raw->file = stream->out.file;
        raw->terminal = isatty(start_fileno(raw->file));
        run->trace = raw_trace;
        run->trace_context = raw;
    } else if (!stream->out.gone && stream_is_stderr(&stream->out)) {
        run->notes = false;
        run->told = true;
    }
    return EXITS_OK;
}

static int stream_end(struct stream *stream) {
    struct run *run = &stream->run;
    struct mst_stats stats;
    int result;

    run_sum(run, &stats);
    result = run_end(run);
    stream_gone(stream, out_end(&stream->out, result, &stats));
    return run->result;
}

static int stream_with(void (*parse)(struct stream *, int, char **), int argc,
                       char **argv) {
    static struct stream stream;
    char error[SETTINGS_ERROR_LEN] = "";
    int result;

    parse(&stream, argc, argv);
    result = run_begin(&stream.run, &stream.options, error);
    if (result != EXITS_OK) {
        fprintf(stderr, "mini-stream: %s\n", error);
    } else {
        result = stream_begin(&stream);
        if (result == EXITS_OK) {
            stream_run(&stream);
            result = stream_end(&stream);
        }
    }
    metrics_end(stream.metrics);
    run_free(&stream.run);
    free(stream.raw.links);
    options_free(&stream.options);
    return result;
}

int stream_main(int argc, char **argv) {
    return stream_with(stream_parse, argc, argv);
}

int record_main(int argc, char **argv) {
    return stream_with(record_parse, argc, argv);
}
