/*
 * Records, replays and compares: see played.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "played.h"
#include "session.h"

#include <unistd.h>

struct played played;

static void book_tell(struct text *text, const struct mst_book *book) {
    text_add(text, "  book %d %d %u %" PRId64 ":", mst_book_state(book),
             mst_book_reason(book), mst_book_flags(book), mst_book_time(book));
    for (int side = 0; side < 2; side++) {
        const struct mst_level *level =
            mst_book_level(book, (enum mst_side)side, 0);
        text_add(text, " %zu", mst_book_depth(book, (enum mst_side)side));
        if (level != NULL) {
            text_add(text, " ");
            record_decimal(text, mst_level_price(level));
            text_add(text, " ");
            record_decimal(text, mst_level_amount(level));
        }
    }
    text_add(text, "\n");
}

void played_tell(struct text *text, const struct mst_event *event) {
    const struct mst_failure *f = &event->as.failure;

    text_add(text, "%d link %d, %u at %" PRIu64 " %s: ", event->type,
             event->link, event->generation, event->received_ns,
             event->market != NULL ? event->market : "-");
    switch (event->type) {
    case MST_EVENT_OPEN: text_add(text, "open\n"); break;
    case MST_EVENT_CLOSED:
    case MST_EVENT_ERROR:
        text_add(text,
                 "%s in %s, %d, again in %u ms, detail %d, http %d, ws %d, "
                 "clock %" PRId64 ", %s \"%s\"\n",
                 error_name(f->error), mst_state_name(f->stage), f->permanent,
                 f->retry_ms, f->detail, f->http_status, f->ws_code, f->clock_s,
                 f->market, f->text);
        break;
    case MST_EVENT_EXECUTION:
        text_add(text, "%d ", event->as.execution.repeat);
        record_event(text, event);
        break;
    default: record_event(text, event);
    }
    if (event->book != NULL) {
        book_tell(text, event->book);
    }
}

void played_begin(struct mst_mock *mock, uint64_t rotate_bytes) {
    memset(&played, 0, sizeof played);
    played.mock = mock;
    snprintf(played.folder, sizeof played.folder, "%s/mst-played-XXXXXX",
             temporary());
    assert_non_null(mkdtemp(played.folder));
    snprintf(played.path, sizeof played.path, "%s/stream.rec", played.folder);
    if (recorder_open(&played.recorder, played.path, rotate_bytes) != 0) {
        fail_msg("%s", played.recorder.trouble);
    }
}

void played_start(void) {
    recorder_object(&played.recorder, 0, &session.config, 0, -1,
                    &session.lengths, NULL);
    session_start();
    played.objects[0].client = &session.client;
    played.count = 1;
}

void played_start_pair(uint32_t rotate_ms) {
    session.other_lengths = session.lengths;
    recorder_object(&played.recorder, 0, &session.config, rotate_ms, -1,
                    &session.lengths, &session.other_lengths);
    session_start_pair(rotate_ms);
    played.objects[0].pair = &session.pair;
    played.count = 1;
}

void played_wish(enum mst_channel channel, const char *market) {
    const struct recorder_books books = {session.has_pair ? 2 : 1,
                                         SESSION_LEVELS, 0};

    recorder_market(&played.recorder, RECORDING_SUBSCRIBE, 0, channel, market,
                    channel == MST_MARKET_DATA ? &books : NULL);
    assert_int_equal(session_wish(channel, market), 0);
}

void played_close(void) {
    recorder_call(&played.recorder, RECORDING_CLOSE, 0);
    mst_close(&session.client);
}

static int poll_object(void *object, struct mst_event *event) {
    const struct played_object *o = object;
    uint64_t ns = mst_mock_elapsed(played.mock) * 1000000;
    int rc;

    recorder_poll(&played.recorder, (int)(o - played.objects), ns,
                  mst_mock_wall(played.mock));
    rc = o->client != NULL ? mst_poll(o->client, event)
                           : mst_pair_poll(o->pair, event);
    if (rc == 1) {
        played.counts[event->type]++;
        played_tell(&played.events, event);
    }
    return rc;
}

static bool on_event(void *context, const struct mst_event *event) {
    (void)context;
    if (played.on_event != NULL) {
        played.on_event(event);
    }
    return true;
}

void played_run(uint32_t ms) {
    struct mst_mock_object objects[PLAYED_OBJECTS];

    for (int i = 0; i < played.count; i++) {
        struct played_object *o = &played.objects[i];
        objects[i] = (struct mst_mock_object){.poll = poll_object, .object = o};
        objects[i].links[0] =
            o->client != NULL ? &o->client->link : &o->pair->clients[0].link;
        objects[i].links[1] =
            o->client != NULL ? NULL : &o->pair->clients[1].link;
    }
    mst_mock_run_objects(played.mock, objects, (size_t)played.count, ms,
                         on_event, NULL);
}

int played_play(const char *path, struct text *events, bool *cut, char *error,
                size_t error_len) {
    static struct player player;
    struct player_step step;
    int rc = player_open(&player, path);

    while (rc >= 0 && (rc = player_step(&player, &step)) == 1) {
        if (step.has_event) {
            played_tell(events, &step.event);
        }
    }
    *cut = player.replay.recording.cut;
    snprintf(error, error_len, "%s", player.replay.error);
    player_close(&player);
    return rc;
}

void played_compare(const char *name) {
    struct text events = {0};
    char error[600];
    bool cut;

    if (recorder_close(&played.recorder) != 0) {
        fail_msg("%s", played.recorder.trouble);
    }
    if (played_play(played.path, &events, &cut, error, sizeof error) != 0) {
        expect_failed("%s: %s", name, error);
    }
    expect_int("cut", 0, cut);
    expect_text(name, text_get(&played.events), text_get(&events));
    text_free(&events);
}

void played_end(void) {
    char path[sizeof played.path + 24];

    unlink(played.path);
    for (int i = 1; i < 1000; i++) {
        snprintf(path, sizeof path, "%s.%d", played.path, i);
        if (unlink(path) != 0) {
            break;
        }
    }
    rmdir(played.folder);
    text_free(&played.events);
}
