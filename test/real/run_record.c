/*
 * Records a stream of BTCUSD and ETHUSD on real sockets, or replays one. Prints
 * the contents of all events.
 *
 *     run_record record FILE EVENTS client|fast|pair|standby
 *     run_record play FILE                                  for e2e_record.py
 *
 * fast: with large buffers. It closes the stream after EVENTS events.
 *
 * SPDX-License-Identifier: 0BSD
 */

#include "played.h"
#include "real.h"

#define DEPTH 100
#define ROTATE_BYTES 30000

MST_MEMORY(memory_0, MST_LENGTHS_USUAL);
MST_MEMORY(memory_1, MST_LENGTHS_USUAL);
MST_MEMORY(fast, MST_LENGTHS_FAST);

static const char *const markets[] = {"BTCUSD", "ETHUSD"};
static struct real real;
static struct recorder recorder;
static struct mst_client client;
static struct mst_pair pair;
static bool paired;
static struct mst_book books[2][2];
static struct mst_level levels[2][2][2 * DEPTH];

static void print(const struct mst_event *event) {
    struct text text = {0};

    played_tell(&text, event);
    fputs(text_get(&text), stdout);
    text_free(&text);
}

static int subscribe(enum mst_channel channel, unsigned market) {
    const struct recorder_books shape = {paired ? 2 : 1, DEPTH, 0};
    const bool book = channel == MST_MARKET_DATA;
    const char *name = channel == MST_HEARTBEAT ? NULL : markets[market];
    struct mst_book *one = book ? &books[0][market] : NULL;
    struct mst_book *other = book ? &books[1][market] : NULL;

    recorder_market(&recorder, RECORDING_SUBSCRIBE, 0, channel, name,
                    book ? &shape : NULL);
    return paired ? mst_pair_subscribe(&pair, channel, name, one, other)
                  : mst_subscribe(&client, channel, name, one);
}

static int start(const char *mode) {
    const struct mst_memory *memory =
        strcmp(mode, "fast") == 0 ? &fast : &memory_0;
    int rc = real_begin(&real);

    paired = strcmp(mode, "pair") == 0 || strcmp(mode, "standby") == 0;
    real.config.flags |= strcmp(mode, "standby") == 0 ? MST_HOT_STANDBY : 0;
    real.config.backoff_max_ms = 3000;
    recorder_configure(&recorder, &real.config);
    if (rc != 0) {
        return rc;
    }
    if (paired) {
        uint32_t rotate_ms = strcmp(mode, "pair") == 0 ? 1000 : 0;
        recorder_object(&recorder, 0, &real.config, rotate_ms, -1, memory,
                        &memory_1);
        rc = mst_pair_init(&pair, &real.config, rotate_ms, &real.port, memory,
                           &memory_1);
    } else {
        recorder_object(&recorder, 0, &real.config, 0, -1, memory, NULL);
        rc = mst_client_init(&client, &real.config, &real.port, memory);
    }
    for (unsigned m = 0; m < 2 && rc == 0; m++) {
        mst_book_init(&books[0][m], levels[0][m], DEPTH);
        mst_book_init(&books[1][m], levels[1][m], DEPTH);
        for (int channel = 0; channel < MST_HEARTBEAT && rc == 0; channel++) {
            rc = subscribe((enum mst_channel)channel, m);
        }
    }
    return rc ? rc : subscribe(MST_HEARTBEAT, 0);
}

static int poll_once(struct mst_event *event) {
    int64_t unix_ns = 0;

    real.port.unix_ns(real.port.context, &unix_ns);
    recorder_poll(&recorder, 0, real.port.now_ns(real.port.context), unix_ns);
    return paired ? mst_pair_poll(&pair, event) : mst_poll(&client, event);
}

static void finish(void) {
    recorder_call(&recorder, RECORDING_CLOSE, 0);
    if (paired) {
        mst_pair_close(&pair);
    } else {
        mst_close(&client);
    }
}

static int run(unsigned long events) {
    const struct mst_link *links[] = {
        paired ? &pair.clients[0].link : &client.link, &pair.clients[1].link};
    struct mst_event event;
    int rc;

    while ((rc = poll_once(&event)) >= 0) {
        if (rc == 0) {
            mst_posix_wait(&real.posix, links, paired ? 2 : 1, 1000);
            continue;
        }
        print(&event);
        if (events > 0 && --events == 0) {
            finish();
        }
    }
    return rc == MST_ERR_CLOSED ? 0 : rc;
}

static int play(const char *path) {
    struct text events = {0};
    char error[600];
    bool cut;
    int rc = played_play(path, &events, &cut, error, sizeof error);

    fputs(text_get(&events), stdout);
    text_free(&events);
    if (rc < 0) {
        fprintf(stderr, "%s\n", error);
    } else if (cut) {
        fputs("cut\n", stderr);
    }
    return rc;
}

static int record(const char *path, unsigned long events, const char *mode) {
    int rc;

    if (recorder_open(&recorder, path, ROTATE_BYTES) != 0) {
        fprintf(stderr, "%s\n", recorder.trouble);
        return -1;
    }
    rc = start(mode);
    rc = rc ? rc : run(events);
    if (rc != 0) {
        fprintf(stderr, "%s\n", mst_posix_strerror(rc));
    }
    if (recorder_close(&recorder) != 0) {
        fprintf(stderr, "%s\n", recorder.trouble);
        rc = -1;
    }
    real_end(&real);
    return rc;
}

int main(int argc, char **argv) {
    int rc = -1;

    if (argc == 3 && strcmp(argv[1], "play") == 0) {
        rc = play(argv[2]);
    } else if (argc == 5 && strcmp(argv[1], "record") == 0) {
        rc = record(argv[2], strtoul(argv[3], NULL, 10), argv[4]);
    }
    return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
