/*
 * `mini-stream stream`: subscribes markets and shows what comes.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "stream.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "board.h"
#include "exits.h"
#include "network.h"
#include "options.h"
#include "plain.h"
#include "tally.h"
#include "view.h"

#define MESSAGE_LEN 65536
#define AHEAD_LEN 65536

/* Standard output's buffer: it is flushed before each sleep. */
#define OUTPUT_LEN 65536

/* How often the view is drawn and the rate of messages is taken. */
#define DRAW_MS 100
#define RATE_MS 1000

/* The longest sleep: a signal may come just before it. */
#define WAIT_MS 200

struct stream {
    struct options options;
    struct board board;
    struct network network;
    bool live;    /* the terminal is the view's */
    bool log;     /* standard error takes lines */
    bool closing; /* mst_close() was called */
    bool cut;     /* standard output is gone */
    int result;
    enum mst_state state; /* last said */
    uint64_t start_ms, draw_ms, rate_ms;
    uint64_t rate_messages;
    double rate;
};

static struct mst_client client;
MST_MEMORY(memory, MST_RECORD_IN_ANY, MST_RECORD_OUT_FULL, MESSAGE_LEN,
           AHEAD_LEN);

static volatile sig_atomic_t signals;

static void stream_signal(int number) {
    (void)number;
    signals = signals + 1;
}

/* Without SA_RESTART: a signal also ends a write to a pipe that nobody
 * reads. */
static void stream_catch_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = stream_signal};

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
        sigaction(numbers[i], &action, NULL);
    }
    signal(SIGPIPE, SIG_IGN);
}

static uint64_t stream_now_ms(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Where the stream comes from: the URL without its scheme. */
static const char *stream_service(const struct stream *stream) {
    const char *url = stream->options.settings.options.value[SETTING_WS_URL];

    return url + strlen("wss://");
}

static void stream_draw(struct stream *stream, uint64_t now_ms) {
    struct view_status status = {
        .state = mst_link_state(&client.link),
        .service = stream_service(stream),
        .now_ms = now_ms,
        .messages = mst_link_stats(&client.link)->messages,
        .rate = stream->rate,
        .closing = stream->closing,
    };

    view_draw(&stream->board, &status);
    stream->draw_ms = now_ms;
}

/* Takes the rate of messages over the last second. */
static void stream_rate(struct stream *stream, uint64_t now_ms) {
    uint64_t messages = mst_link_stats(&client.link)->messages;
    uint64_t elapsed_ms = now_ms - stream->rate_ms;

    if (elapsed_ms >= RATE_MS) {
        stream->rate = (double)(messages - stream->rate_messages) * 1000 /
                       (double)elapsed_ms;
        stream->rate_messages = messages;
        stream->rate_ms = now_ms;
    }
}

static void stream_close(struct stream *stream) {
    if (!stream->closing) {
        stream->closing = true;
        mst_close(&client);
    }
}

/* Ends the stream with a result, unless it has a worse one. */
static void stream_fail(struct stream *stream, int result) {
    if (stream->result == EXITS_OK) {
        stream->result = result;
    }
    stream_close(stream);
}

/* Notices that standard output takes no more: a reader that has left is no
 * error, a full disk is. */
static void stream_check_output(struct stream *stream) {
    int reason = errno;

    if (stream->cut || !ferror(stdout)) {
        return;
    }
    stream->cut = true;
    if (reason != EPIPE && reason != EINTR) {
        fprintf(stderr, "mini-stream: standard output: %s\n", strerror(reason));
        stream_fail(stream, EXITS_LOCAL);
    }
}

static void stream_event(struct stream *stream, const struct mst_event *event,
                         uint64_t now_ms) {
    struct board *board = &stream->board;

    board_take(board, event, now_ms);
    if (!stream->live) {
        plain_data(board, event, stream->options.depth);
        stream_check_output(stream);
    }
    if (stream->log) {
        plain_log(event);
    }
    if (stream->closing) {
        return;
    }
    /* What will not mend by itself is no reason to wait, unless it has worked
     * before; nor are refusals, where there is nothing else. */
    if (event->type == MST_EVENT_CLOSED && event->as.failure.permanent &&
        !board->was_open) {
        stream_fail(stream, exits_code(event->as.failure.error));
    }
    if (event->type == MST_EVENT_RESPONSE &&
        board_refused(board) == board_wanted(board)) {
        stream_fail(stream, EXITS_SERVICE);
    }
}

static void stream_say_state(struct stream *stream) {
    enum mst_state state = mst_link_state(&client.link);

    if (state != stream->state && stream->log) {
        plain_state(state);
    }
    stream->state = state;
}

/* Looks at everything that can end the stream from outside. */
static void stream_check(struct stream *stream, uint64_t now_ms) {
    const struct options *options = &stream->options;

    if (signals > 0 || stream->cut) {
        stream_close(stream);
    }
    if (options->end_ms > 0 && !stream->closing &&
        now_ms - stream->start_ms >= options->end_ms) {
        if (!stream->board.was_open) {
            stream->result = stream->board.error
                                 ? exits_code(stream->board.error)
                                 : EXITS_NETWORK;
        }
        stream_close(stream);
    }
}

/* Draws and obeys keys, not more often than ten times a second. */
static void stream_show(struct stream *stream, uint64_t now_ms) {
    stream_rate(stream, now_ms);
    if (now_ms - stream->draw_ms < DRAW_MS) {
        return;
    }
    stream_draw(stream, now_ms);
    switch (view_keys(&stream->board)) {
    case VIEW_QUIT: stream_close(stream); break;
    case VIEW_CHANGED: stream_draw(stream, now_ms); break;
    default: break;
    }
}

/* Sends out what was printed, before a sleep: whoever reads the lines sees
 * whole ones, and not late. */
static void stream_flush(struct stream *stream) {
    if (!stream->live && !stream->cut) {
        fflush(stdout);
        stream_check_output(stream);
    }
}

static void stream_run(struct stream *stream) {
    const struct mst_link *link = &client.link;

    stream->start_ms = stream_now_ms();
    stream->rate_ms = stream->start_ms;
    for (;;) {
        struct mst_event event;
        int rc = mst_poll(&client, &event);
        uint64_t now_ms = stream_now_ms();

        if (rc < 0) {
            break;
        }
        stream_say_state(stream);
        if (rc > 0) {
            stream_event(stream, &event, now_ms);
        }
        stream_check(stream, now_ms);
        if (signals > 1) {
            stream->result = EXITS_CUT;
            break;
        }
        if (stream->live) {
            stream_show(stream, now_ms);
        }
        if (rc == 0) {
            stream_flush(stream);
            mst_posix_wait(&stream->network.posix, &link, 1,
                           stream->live ? DRAW_MS : WAIT_MS);
        }
    }
}

static int stream_init(struct stream *stream, char *error) {
    struct options *options = &stream->options;
    struct mst_config config = {.flags = 0};
    int rc;

    if (!settings_resolve(&options->settings, &config, error) ||
        !network_begin(&stream->network, &options->settings, error)) {
        return EXITS_CONFIG;
    }
    rc = mst_client_init(&client, &config, &stream->network.port, &memory);
    if (rc == 0) {
        rc = board_init(&stream->board, options->markets, options->market_count,
                        options->channels, options->levels);
    }
    if (rc == 0) {
        rc = board_subscribe(&stream->board, &client);
    }
    if (rc != 0) {
        snprintf(error, SETTINGS_ERROR_LEN, "%s (%s, %s)", mst_strerror(rc),
                 config.ws_url, config.auth_url);
    }
    return exits_code(rc);
}

/* Says how it went, on the terminal as it was before. Returns the exit
 * code. */
static int stream_end(struct stream *stream) {
    const struct mst_stats *stats = mst_link_stats(&client.link);
    int result;

    if (stream->live) {
        view_close();
    }
    if (!stream->cut) {
        tally_print(stdout, &stream->board, stats);
        fflush(stdout);
        stream_check_output(stream);
    }
    result = stream->result;
    if (result == EXITS_OK && board_refused(&stream->board) > 0) {
        result = EXITS_SERVICE;
    }
    if (stream->options.expect_all &&
        !tally_met(stderr, &stream->board, stats) && result == EXITS_OK) {
        result = EXITS_UNMET;
    }
    return result;
}

int stream_main(int argc, char **argv) {
    static struct stream stream;
    char error[SETTINGS_ERROR_LEN] = "";
    const char *term = getenv("TERM");
    int result;

    options_parse(&stream.options, "mini-stream stream", argc, argv);
    result = stream_init(&stream, error);
    if (result != EXITS_OK) {
        fprintf(stderr, "mini-stream: %s\n", error);
    } else {
        stream.live = !stream.options.plain && isatty(STDOUT_FILENO) && term &&
                      strcmp(term, "dumb") != 0;
        setvbuf(stdout, NULL, _IOFBF, OUTPUT_LEN);
        stream_catch_signals();
        stream.live = stream.live && view_open();
        stream.log = !stream.live || !isatty(STDERR_FILENO);
        stream_run(&stream);
        result = stream_end(&stream);
        mst_client_wipe(&client);
    }
    network_end(&stream.network);
    board_free(&stream.board);
    settings_free(&stream.options.settings);
    return result;
}
