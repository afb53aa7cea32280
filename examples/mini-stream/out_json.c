/*
 * The output as JSON lines: one object a thing. stream.schema.json beside this
 * file has the fields.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "out.h"

/* Of an object, with room for the longest one; it grows where it must. */
#define LINE_LEN 4096

struct json_out {
    char *line;
    size_t len, size;
};

static void json_number(json_t *object, const char *name, uint64_t value) {
    json_object_set_new_nocheck(object, name, json_integer((json_int_t)value));
}

/* A text of our own, which is ASCII. */
static void json_word(json_t *object, const char *name, const char *text) {
    json_object_set_new_nocheck(object, name, json_string_nocheck(text));
}

/* A text of somebody else's, or nothing where it is empty. */
static void json_text(json_t *object, const char *name, const char *text) {
    char clean[MST_TEXT_MAX + 1];

    if (text && text[0] != '\0') {
        json_object_set_new_nocheck(
            object, name, json_string(text_clean(text, clean, sizeof clean)));
    }
}

static void json_time(json_t *object, const char *name, int64_t ns) {
    char text[MST_TIME_TEXT_LEN];

    text_time_ns(ns, text);
    json_word(object, name, text);
}

/* What every object begins with. */
static json_t *json_begin(const struct out *out, const char *type) {
    json_t *object = json_object();

    json_number(object, "v", OUT_VERSION);
    json_number(object, "sequence", out->sequence);
    json_word(object, "type", type);
    return object;
}

/* When it was seen, for what did not come by itself. */
static void json_seen(const struct out *out, json_t *object) {
    json_time(object, "received", out_wall(out, out->now_ns));
}

static int json_add(const char *text, size_t len, void *context) {
    struct json_out *json = context;

    if (json->len + len > json->size) {
        size_t size = 2 * (json->len + len);
        char *line = realloc(json->line, size);

        if (!line) {
            return -1;
        }
        json->line = line;
        json->size = size;
    }
    memcpy(json->line + json->len, text, len);
    json->len += len;
    return 0;
}

/* Writes an object as a line, and frees it. */
static void json_end(const struct out *out, json_t *object) {
    struct json_out *json = out->state;

    json->len = 0;
    if (!object ||
        json_dump_callback(object, json_add, json, JSON_COMPACT) != 0 ||
        json_add("\n", 1, json) != 0) {
        abort(); /* out of memory */
    }
    if (out->file) {
        fwrite(json->line, 1, json->len, out->file);
    }
    json_decref(object);
}

const char *out_json_line(const struct out *out, size_t *len) {
    const struct json_out *json = out->state;

    *len = json->len;
    return json->line;
}

static json_t *json_decimal(struct mst_decimal value, int places) {
    char text[TEXT_DECIMAL_LEN];

    text_decimal(value, places, text);
    return json_string_nocheck(text);
}

/* [price, amount], and true where the amount was cut. */
static json_t *json_level(const struct mst_level *level,
                          const struct board_market *market) {
    json_t *array = json_array();

    json_array_append_new(
        array, json_decimal(mst_level_price(level), market->price_places));
    json_array_append_new(
        array, json_decimal(mst_level_amount(level), market->amount_places));
    if ((level->flags & MST_LEVEL_INEXACT) != 0) {
        json_array_append_new(array, json_true());
    }
    return array;
}

static void json_part(json_t *object, const struct mst_part *part,
                      const struct board_market *market) {
    json_t *sides[2] = {json_array(), json_array()};

    json_time(object, "time", part->time_ns);
    if (!part->first) {
        json_object_set_new_nocheck(object, "first", json_false());
    }
    if (!part->last) {
        json_object_set_new_nocheck(object, "last", json_false());
    }
    for (size_t i = 0; i < part->count; ++i) {
        json_array_append_new(sides[part->levels[i].side],
                              json_level(&part->levels[i], market));
    }
    json_object_set_new_nocheck(object, "bids", sides[MST_BID]);
    json_object_set_new_nocheck(object, "asks", sides[MST_ASK]);
}

/* The best levels of a book. */
static void json_levels(json_t *object, const struct board_market *market,
                        size_t depth) {
    static const char *const names[] = {"bids", "asks"};

    for (int side = MST_BID; side <= MST_ASK; ++side) {
        json_t *array = json_array();
        const struct mst_level *level;

        for (size_t i = 0;
             i < depth &&
             (level = mst_book_level(market->book, (enum mst_side)side, i));
             ++i) {
            json_array_append_new(array, json_level(level, market));
        }
        json_object_set_new_nocheck(object, names[side], array);
    }
}

static void json_doubts(json_t *object, unsigned flags) {
    json_t *array = json_array();

    for (unsigned flag = 1; flag <= MST_BOOK_TIME_STEP; flag <<= 1) {
        if ((flags & flag) != 0) {
            json_array_append_new(array, json_string_nocheck(text_doubt(flag)));
        }
    }
    json_object_set_new_nocheck(object, "doubts", array);
}

static void json_top(json_t *object, const struct mst_top *top,
                     const struct board_market *market) {
    json_time(object, "time", top->time_ns);
    json_object_set_new_nocheck(object, "bid",
                                top->has_bid ? json_level(&top->bid, market)
                                             : json_null());
    json_object_set_new_nocheck(object, "ask",
                                top->has_ask ? json_level(&top->ask, market)
                                             : json_null());
}

static void json_execution(json_t *object,
                           const struct mst_execution *execution,
                           const struct board_market *market) {
    json_time(object, "time", execution->time_ns);
    json_object_set_new_nocheck(
        object, "price", json_decimal(execution->price, market->price_places));
    json_object_set_new_nocheck(
        object, "amount",
        json_decimal(execution->amount, market->amount_places));
    if (execution->amount.inexact) {
        json_object_set_new_nocheck(object, "inexact", json_true());
    }
    if (execution->repeat) {
        json_object_set_new_nocheck(object, "repeat", json_true());
    }
}

static void json_failure(json_t *object, const struct mst_failure *failure,
                         int link) {
    char server[MST_HOST_MAX + sizeof "[]:65535"];

    json_object_set_new_nocheck(object, "error", json_integer(failure->error));
    if (failure->error != MST_OK) {
        json_word(object, "reason", mst_strerror(failure->error));
        json_word(object, "stage", mst_state_name(failure->stage));
        if (text_target(link)[0] != '\0') {
            text_clean(text_target(link), server, sizeof server);
            json_object_set_new_nocheck(object, "server", json_string(server));
        }
        json_object_set_new_nocheck(object, "permanent",
                                    json_boolean(failure->permanent));
        json_number(object, "retry_ms", failure->retry_ms);
    }
    if (failure->detail) {
        json_object_set_new_nocheck(object, "detail",
                                    json_integer(failure->detail));
    }
    if (failure->http_status) {
        json_number(object, "http_status", (uint64_t)failure->http_status);
    }
    if (failure->ws_code) {
        json_number(object, "close_code", (uint64_t)failure->ws_code);
    }
    json_text(object, "market", failure->market);
    json_text(object, "text", failure->text);
}

static void json_entry(json_t *object, const struct mst_entry *entry) {
    json_word(object, "action", text_action(entry->action));
    json_text(object, "market", entry->market);
    json_text(object, "text", entry->text);
}

/* What every event begins with. */
static json_t *json_event(const struct out *out,
                          const struct mst_event *event) {
    json_t *object = json_begin(out, text_event(event));

    json_number(object, "link", (uint64_t)event->link);
    json_number(object, "generation", event->generation);
    json_time(object, "received", out_wall(out, out_received_ns(out, event)));
    json_text(object, "channel", text_event_channel(event));
    return object;
}

static void json_data(struct out *out, const struct mst_event *event,
                      const struct board_market *market) {
    const struct mst_part *part = &event->as.part;
    json_t *object = json_event(out, event);

    json_text(object, "market", market->name);
    switch (event->type) {
    case MST_EVENT_PART:
        json_part(object, part, market);
        if (out->depth > 0 && part->last &&
            mst_book_state(market->book) == MST_BOOK_LIVE) {
            json_t *book = json_object();

            json_time(book, "time", mst_book_time(market->book));
            json_levels(book, market, out->depth);
            json_object_set_new_nocheck(object, "book", book);
        }
        break;
    case MST_EVENT_TOP: json_top(object, &event->as.top, market); break;
    default: json_execution(object, &event->as.execution, market); break;
    }
    json_end(out, object);
}

static void json_note(struct out *out, const struct mst_event *event) {
    json_t *object = json_event(out, event);

    switch (event->type) {
    case MST_EVENT_HEARTBEAT:
        json_time(object, "time", event->as.heartbeat.time_ns);
        break;
    case MST_EVENT_CLOSED:
    case MST_EVENT_ERROR:
        json_failure(object, &event->as.failure, event->link);
        break;
    case MST_EVENT_ENTRY: json_entry(object, &event->as.entry); break;
    case MST_EVENT_SERVICE_ERROR:
        json_text(object, "code", event->as.service_error.code_text);
        json_text(object, "text", event->as.service_error.message);
        break;
    case MST_EVENT_UNKNOWN:
        json_number(object, "bytes", event->as.unknown.len);
        break;
    default: break;
    }
    json_end(out, object);
}

static void json_book(struct out *out, const struct board_market *market) {
    json_t *object = json_begin(out, "book");

    json_seen(out, object);
    json_text(object, "market", market->name);
    json_word(object, "state", mst_book_state_name(market->told_state));
    json_word(object, "reason", mst_book_reason_name(market->told_reason));
    json_doubts(object, market->told_flags);
    json_end(out, object);
}

static void json_gap(struct out *out, const struct board_market *market,
                     enum mst_channel channel, uint64_t ms) {
    json_t *object = json_begin(out, "gap");

    json_seen(out, object);
    json_text(object, "market", market->name);
    json_word(object, "channel", mst_channel_name(channel));
    json_number(object, "ms", ms);
    json_end(out, object);
}

static void json_sample(struct out *out, const struct board_market *market) {
    json_t *object = json_begin(out, "sample");

    json_seen(out, object);
    json_text(object, "market", market->name);
    json_time(object, "time", mst_book_time(market->book));
    json_doubts(object, mst_book_flags(market->book));
    json_levels(object, market, out->depth);
    json_end(out, object);
}

static bool json_open(struct out *out) {
    struct json_out *json = calloc(1, sizeof *json);

    if (!json || !(json->line = malloc(LINE_LEN))) {
        free(json);
        return false;
    }
    json->size = LINE_LEN;
    out->state = json;
    return true;
}

static void json_start(struct out *out) {
    json_t *object = json_begin(out, "start");

    json_seen(out, object);
    json_word(object, "clock", "monotonic");
    json_word(object, "version", MST_VERSION);
    json_end(out, object);
}

static void json_stop(struct out *out, int status,
                      const struct mst_stats *stats) {
    json_t *object = json_begin(out, "end");

    (void)stats;
    json_seen(out, object);
    json_object_set_new_nocheck(object, "status", json_integer(status));
    json_end(out, object);
}

static void json_free(struct out *out) {
    struct json_out *json = out->state;

    if (json) {
        free(json->line);
        free(json);
        out->state = NULL;
    }
}

const struct out_format out_json = {
    .name = "json",
    .open = json_open,
    .begin = json_start,
    .data = json_data,
    .note = json_note,
    .book = json_book,
    .gap = json_gap,
    .sample = json_sample,
    .end = json_stop,
    .free = json_free,
};
