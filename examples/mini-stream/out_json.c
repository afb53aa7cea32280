/*
 * The output as JSON lines, an object for each item. stream.schema.json defines
 * the fields.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_gen.h>

#include "out.h"

static void json_string(yajl_gen json, const char *text) {
    yajl_gen_string(json, (const unsigned char *)text, strlen(text));
}

static void json_number(yajl_gen json, const char *name, int64_t value) {
    json_string(json, name);
    yajl_gen_integer(json, value);
}

static void json_bool(yajl_gen json, const char *name, bool value) {
    json_string(json, name);
    yajl_gen_bool(json, value);
}

static void json_word(yajl_gen json, const char *name, const char *text) {
    json_string(json, name);
    json_string(json, text);
}

/* Adds a member with text from anybody, unless it is empty. */
static void json_text(yajl_gen json, const char *name, const char *text) {
    char clean[MST_TEXT_MAX + 1];

    if (text && text[0] != '\0') {
        json_word(json, name, text_clean(text, clean, sizeof clean));
    }
}

static void json_time(yajl_gen json, const char *name, int64_t ns) {
    char text[MST_TIME_TEXT_LEN];

    text_time_ns(ns, text);
    json_word(json, name, text);
}

static yajl_gen json_typed(const struct out *out, const char *type) {
    yajl_gen json = out->state;

    yajl_gen_clear(json);
    yajl_gen_map_open(json);
    json_number(json, "v", OUT_VERSION);
    json_number(json, "sequence", (int64_t)out->sequence);
    json_word(json, "type", type);
    return json;
}

/* Starts an object that no received bytes caused, with the current time if it
 * is known. */
static yajl_gen json_begin(const struct out *out, const char *type) {
    yajl_gen json = json_typed(out, type);

    if (out->now_ns > 0) {
        json_time(json, "received", out_wall(out, out->now_ns));
    }
    return json;
}

const char *out_json_line(const struct out *out, size_t *len) {
    const unsigned char *line;

    yajl_gen_get_buf(out->state, &line, len);
    return (const char *)line;
}

/* Ends an object and writes it as a line. */
static void json_end(const struct out *out, yajl_gen json) {
    size_t len;

    yajl_gen_map_close(json);
    yajl_gen_reset(json, "\n");
    if (out->file) {
        const char *line = out_json_line(out, &len);

        fwrite(line, 1, len, out->file);
    }
}

static void json_decimal(yajl_gen json, struct mst_decimal value, int places) {
    char text[TEXT_DECIMAL_LEN];

    text_decimal(value, places, text);
    json_string(json, text);
}

/* [price, amount], and true if the amount was cut. */
static void json_level(yajl_gen json, const struct mst_level *level,
                       const struct board_market *market) {
    yajl_gen_array_open(json);
    json_decimal(json, mst_level_price(level), market->price_places);
    json_decimal(json, mst_level_amount(level), market->amount_places);
    if ((level->flags & MST_LEVEL_INEXACT) != 0) {
        yajl_gen_bool(json, true);
    }
    yajl_gen_array_close(json);
}

static const char *const sides[] = {[MST_BID] = "bids", [MST_ASK] = "asks"};

static void json_part(yajl_gen json, const struct mst_part *part,
                      const struct board_market *market) {
    json_time(json, "time", part->time_ns);
    if (!part->first) {
        json_bool(json, "first", false);
    }
    if (!part->last) {
        json_bool(json, "last", false);
    }
    for (unsigned side = MST_BID; side <= MST_ASK; ++side) {
        json_string(json, sides[side]);
        yajl_gen_array_open(json);
        for (size_t i = 0; i < part->count; ++i) {
            if (part->levels[i].side == side) {
                json_level(json, &part->levels[i], market);
            }
        }
        yajl_gen_array_close(json);
    }
}

static void json_levels(yajl_gen json, const struct board_market *market,
                        size_t depth) {
    for (unsigned side = MST_BID; side <= MST_ASK; ++side) {
        const struct mst_level *level;

        json_string(json, sides[side]);
        yajl_gen_array_open(json);
        for (size_t i = 0;
             i < depth &&
             (level = mst_book_level(market->book, (enum mst_side)side, i));
             ++i) {
            json_level(json, level, market);
        }
        yajl_gen_array_close(json);
    }
}

static void json_doubts(yajl_gen json, unsigned flags) {
    json_string(json, "doubts");
    yajl_gen_array_open(json);
    for (unsigned flag = 1; flag <= MST_BOOK_TIME_STEP; flag <<= 1) {
        if ((flags & flag) != 0) {
            json_string(json, text_doubt(flag));
        }
    }
    yajl_gen_array_close(json);
}

static void json_best(yajl_gen json, const char *name, bool has,
                      const struct mst_level *level,
                      const struct board_market *market) {
    json_string(json, name);
    if (has) {
        json_level(json, level, market);
    } else {
        yajl_gen_null(json);
    }
}

static void json_top(yajl_gen json, const struct mst_top *top,
                     const struct board_market *market) {
    json_time(json, "time", top->time_ns);
    json_best(json, "bid", top->has_bid, &top->bid, market);
    json_best(json, "ask", top->has_ask, &top->ask, market);
}

static void json_execution(yajl_gen json, const struct mst_execution *execution,
                           const struct board_market *market) {
    json_time(json, "time", execution->time_ns);
    json_string(json, "price");
    json_decimal(json, execution->price, market->price_places);
    json_string(json, "amount");
    json_decimal(json, execution->amount, market->amount_places);
    if (execution->amount.inexact) {
        json_bool(json, "inexact", true);
    }
    if (execution->repeat) {
        json_bool(json, "repeat", true);
    }
}

static void json_failure(yajl_gen json, const struct mst_failure *failure,
                         int link) {
    char server[MST_HOST_MAX + sizeof "[]:65535"];

    json_number(json, "error", failure->error);
    if (failure->error != MST_OK) {
        json_word(json, "reason", mst_strerror(failure->error));
        json_word(json, "stage", mst_state_name(failure->stage));
        if (text_target(link)[0] != '\0') {
            text_clean(text_target(link), server, sizeof server);
            json_word(json, "server", server);
        }
        json_bool(json, "permanent", failure->permanent);
        json_number(json, "retry_ms", failure->retry_ms);
    }
    if (failure->detail) {
        json_number(json, "detail", failure->detail);
    }
    if (failure->http_status) {
        json_number(json, "http_status", failure->http_status);
    }
    if (failure->ws_code) {
        json_number(json, "close_code", failure->ws_code);
    }
    json_text(json, "market", failure->market);
    json_text(json, "text", failure->text);
}

static void json_entry(yajl_gen json, const struct mst_event *event) {
    json_word(json, "action", text_action(event->as.entry.action));
    json_text(json, "market", event->market);
    json_text(json, "text", event->as.entry.text);
}

static yajl_gen json_event(const struct out *out,
                           const struct mst_event *event) {
    yajl_gen json = json_typed(out, text_event(event));

    json_number(json, "link", event->link);
    json_number(json, "generation", event->generation);
    json_time(json, "received", out_wall(out, out_received_ns(out, event)));
    json_text(json, "channel", text_event_channel(event));
    return json;
}

static void json_data(struct out *out, const struct mst_event *event,
                      const struct board_market *market) {
    const struct mst_part *part = &event->as.part;
    yajl_gen json = json_event(out, event);

    json_text(json, "market", market->name);
    switch (event->type) {
    case MST_EVENT_PART:
        json_part(json, part, market);
        if (out->depth > 0 && part->last &&
            mst_book_state(market->book) == MST_BOOK_LIVE) {
            json_string(json, "book");
            yajl_gen_map_open(json);
            json_time(json, "time", mst_book_time(market->book));
            json_levels(json, market, out->depth);
            yajl_gen_map_close(json);
        }
        break;
    case MST_EVENT_TOP: json_top(json, &event->as.top, market); break;
    default: json_execution(json, &event->as.execution, market); break;
    }
    json_end(out, json);
}

static void json_note(struct out *out, const struct mst_event *event) {
    yajl_gen json = json_event(out, event);

    switch (event->type) {
    case MST_EVENT_HEARTBEAT:
        json_time(json, "time", event->as.heartbeat.time_ns);
        break;
    case MST_EVENT_CLOSED:
    case MST_EVENT_ERROR:
        json_failure(json, &event->as.failure, event->link);
        break;
    case MST_EVENT_ENTRY: json_entry(json, event); break;
    case MST_EVENT_SERVICE_ERROR:
        json_text(json, "code", event->as.service_error.code_text);
        json_text(json, "text", event->as.service_error.message);
        break;
    case MST_EVENT_UNKNOWN:
        json_number(json, "bytes", (int64_t)event->as.unknown.len);
        break;
    default: break;
    }
    json_end(out, json);
}

static void json_rest(struct out *out) {
    yajl_gen json = json_begin(out, "left_out");

    json_number(json, "count", (int64_t)out->note.left_out);
    json_end(out, json);
}

static void json_book(struct out *out, const struct board_market *market) {
    yajl_gen json = json_begin(out, "book");

    json_text(json, "market", market->name);
    json_word(json, "state", mst_book_state_name(market->told_state));
    json_word(json, "reason", mst_book_reason_name(market->told_reason));
    json_doubts(json, market->told_flags);
    json_end(out, json);
}

static void json_gap(struct out *out, const struct board_market *market,
                     enum mst_channel channel, uint64_t ms) {
    yajl_gen json = json_begin(out, "gap");

    json_text(json, "market", market->name);
    json_word(json, "channel", mst_channel_name(channel));
    json_number(json, "ms", (int64_t)ms);
    json_end(out, json);
}

static void json_sample(struct out *out, const struct board_market *market) {
    yajl_gen json = json_begin(out, "sample");

    json_text(json, "market", market->name);
    json_time(json, "time", mst_book_time(market->book));
    json_doubts(json, mst_book_flags(market->book));
    json_levels(json, market, out->depth);
    json_end(out, json);
}

static bool json_open(struct out *out) {
    out->state = yajl_gen_alloc(NULL);
    return out->state != NULL;
}

static void json_start(struct out *out) {
    yajl_gen json = json_begin(out, "start");

    json_word(json, "clock", "monotonic");
    json_word(json, "version", MST_VERSION);
    json_end(out, json);
}

static void json_stop(struct out *out, int status,
                      const struct mst_stats *stats) {
    yajl_gen json = json_begin(out, "end");

    (void)stats;
    json_number(json, "status", status);
    if (out->cut) {
        json_bool(json, "cut", true);
    }
    json_end(out, json);
}

static void json_free(struct out *out) {
    if (out->state) {
        yajl_gen_free(out->state);
        out->state = NULL;
    }
}

const struct out_format out_json = {
    .name = "json",
    .header = "{\"v\":1,\"sequence\":1,\"type\":\"start\",",
    .open = json_open,
    .begin = json_start,
    .data = json_data,
    .note = json_note,
    .rest = json_rest,
    .book = json_book,
    .gap = json_gap,
    .sample = json_sample,
    .end = json_stop,
    .free = json_free,
};
