/*
 * `mini-stream stream`: subscribes markets and puts out what comes.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exits.h"
#include "metrics.h"
#include "out.h"
#include "raw.h"
#include "run.h"
#include "tally.h"

#define DEPTH_MAX 100000
#define EVERY_MAX_MS 86400000

/* Levels of a sampled book where --depth says nothing. */
#define DEPTH_DEFAULT 10

struct stream {
    struct options options;
    struct run run;
    struct out out;
    struct raw raw;
    struct metrics *metrics;
    bool is_raw;
};

enum { KEY_BOOK_EVERY = 0x400, KEY_RAW };

static const struct argp_option stream_options[] = {
    {0, 0, 0, 0, "What is put out:", 5},
    {"format", 'f', "FORMAT", 0,
     "text (default), json (an object a line) or csv (RFC 4180)", 0},
    {"output", 'o', "FILE", 0, "To FILE instead of standard output", 0},
    {"depth", 'd', "N", 0,
     "With each update also the N best levels of each side of a live book, and "
     "the book's time (default 0: none)",
     0},
    {"book-every", KEY_BOOK_EVERY, "MS", 0,
     "Instead of updates the best levels of each book that has changed, each "
     "MS milliseconds; --depth says how many (default 10)",
     0},
    {"raw", KEY_RAW, 0, 0, "Messages as they were received, and nothing else",
     0},
    {0}};

static const struct out_format *const formats[] = {&out_text, &out_json,
                                                   &out_csv};
#define FORMATS (sizeof formats / sizeof(void *))

static const struct out_format *stream_format(const struct argp_state *state,
                                              const char *name) {
    for (size_t i = 0; i < FORMATS; ++i) {
        if (strcmp(formats[i]->name, name) == 0) {
            return formats[i];
        }
    }
    argp_failure(state, EXITS_USAGE, 0,
                 "--format %s: none of text, json and csv", name);
    return NULL;
}

static error_t stream_key(int key, char *arg, struct argp_state *state) {
    struct stream *stream = state->input;
    struct out *out = &stream->out;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &stream->options; return 0;
    case 'f': out->format = stream_format(state, arg); return 0;
    case 'o': out->path = arg; return 0;
    case 'd':
        out->depth = options_number(state, "depth", arg, 0, DEPTH_MAX);
        return 0;
    case KEY_BOOK_EVERY:
        out->every_ns =
            1000000 *
            (uint64_t)options_number(state, "book-every", arg, 1, EVERY_MAX_MS);
        return 0;
    case KEY_RAW: stream->is_raw = true; return 0;
    case ARGP_KEY_END:
        if (stream->is_raw && out->format != &out_text) {
            argp_failure(state, EXITS_USAGE, 0,
                         "--raw has no --format: messages are as they came");
        }
        if (out->every_ns > 0 && out->depth == 0) {
            out->depth = DEPTH_DEFAULT;
        }
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void stream_parse(struct stream *stream, int argc, char **argv) {
    static const struct argp_child children[] = {{&options_argp, 0, NULL, 0},
                                                 {0}};
    static const struct argp argp = {
        .options = stream_options,
        .parser = stream_key,
        .args_doc = "MARKET...",
        .doc = "Streams order books, best prices, executions and heartbeats as "
               "lines. The data tell everything: also that a connection was "
               "lost, that a book is stale and since when data are missing. "
               "Standard error has what happens to the connections, unless it "
               "is the same file.\v" SETTINGS_HELP "\n" EXITS_HELP,
        .children = children};

    options_begin(&stream->options);
    stream->out.format = &out_text;
    argv[0] = (char *)"mini-stream stream";
    argp_parse(&argp, argc, argv, 0, NULL, stream);
}

/* Notices that the output takes no more: a reader that has left is no error, a
 * full disk is. */
static void stream_gone(struct stream *stream, int error) {
    if (error == 0) {
        return;
    }
    if (error != EPIPE && error != EINTR) {
        fprintf(stderr, "mini-stream: %s: %s\n",
                stream->out.path ? stream->out.path : "standard output",
                strerror(error));
        run_fail(&stream->run, EXITS_LOCAL);
    } else {
        run_close(&stream->run);
    }
}

/* Whether lines for people would stand in the output as well. */
static bool stream_is_stderr(const struct out *out) {
    struct stat output, error;

    return out->format == &out_text && fstat(fileno(out->file), &output) == 0 &&
           fstat(STDERR_FILENO, &error) == 0 && output.st_dev == error.st_dev &&
           output.st_ino == error.st_ino;
}

/* How long there is nothing to put out. */
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

    while ((rc = run_poll(run, &event, &now_ns)) >= 0) {
        metrics_update(stream->metrics, run, now_ns);
        if (rc > 0 && !stream->is_raw) {
            out_event(&stream->out, &run->board, &event, now_ns);
        }
        if (rc > 0) {
            if (ferror(stream->out.file)) {
                stream_gone(stream, out_flush(&stream->out));
            }
            continue;
        }
        out_tick(&stream->out, now_ns);
        stream_gone(stream, out_flush(&stream->out));
        run_wait(run, stream_rest_ms(stream, now_ns));
    }
}

/* Opens what the output goes to, and what looks on. */
static int stream_begin(struct stream *stream) {
    struct run *run = &stream->run;
    struct raw *raw = &stream->raw;
    int result = out_begin(&stream->out, &run->board, run->start_ns);

    if (result != EXITS_OK) {
        return result;
    }
    if (stream->is_raw) {
        raw->links = calloc(run->clients.link_count, sizeof *raw->links);
        if (!raw->links) {
            return EXITS_LOCAL;
        }
        raw->file = stream->out.file;
        raw->terminal = isatty(fileno(raw->file));
        run->trace = raw_trace;
        run->trace_context = raw;
    } else if (stream_is_stderr(&stream->out)) {
        run->notes = false;
    }
    return metrics_begin(&stream->metrics, stream->options.metrics_port);
}

static int stream_end(struct stream *stream) {
    struct run *run = &stream->run;
    struct mst_stats stats;
    int result;

    clients_stats(&run->clients, &stats);
    if (stream->out.format == &out_text && !stream->is_raw &&
        !stream->out.gone) {
        tally_print(stream->out.file, &run->board, &stats);
        stream_gone(stream, out_flush(&stream->out));
    }
    result = run_end(run);
    stream_gone(stream, out_end(&stream->out, result, run_now_ns()));
    return run->result;
}

int stream_main(int argc, char **argv) {
    static struct stream stream;
    char error[SETTINGS_ERROR_LEN] = "";
    int result;

    stream_parse(&stream, argc, argv);
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
