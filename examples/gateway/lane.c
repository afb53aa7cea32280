/* Publishes a subject's latest state. SPDX-License-Identifier: 0BSD */
#include "lane.h"

#include <glib.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "subject.h"

/* Interval of checks, each of a tenth of the lanes. */
#define TICK_NS 100000000u
#define TICKS 10

/* A valid lane has a message at least this often, even without changes. After a
 * longer silence, consumers know that nobody publishes. */
#define BEAT_NS UINT64_C(5000000000)

/* Bytes of the gateway's fields before the line. */
#define HEAD_LEN 256

static const char *const words[] = {
    [MST_MARKET_DATA] = "book", [MST_TOP_OF_BOOK] = "top"};

void lanes_begin(struct lanes *lanes, struct broker *broker,
                 const struct out *out, const char *prefix,
                 uint64_t put_every_ns) {
    struct board *board = out->board;
    char key[SUBJECT_TOKEN_LEN];

    *lanes = (struct lanes){
        .broker = broker, .out = out, .put_every_ns = put_every_ns};
    lanes->json = *out;
    lanes->json.file = NULL;
    if (!out_json.open(&lanes->json)) {
        abort(); /* out of memory */
    }
    lanes->all = g_new0(struct lane, 2 * board->market_count + 1);
    for (int c = MST_MARKET_DATA; c <= MST_TOP_OF_BOOK; ++c) {
        for (size_t i = 0; i < board->market_count; ++i) {
            struct lane *lane = &lanes->all[2 * i + (size_t)c];

            subject_encode(board->markets[i].name, key);
            lane->market = &board->markets[i];
            lane->channel = (enum mst_channel)c;
            lane->subject = g_strdup_printf("%s.%s.%s", prefix, words[c], key);
            lane->key = g_strdup(key);
            lane->number = 2 * i + (size_t)c;
            if (c == MST_MARKET_DATA) {
                lane->changes = g_new(struct lane_change, LANE_CHANGES);
            }
        }
    }
    lanes->count = 2 * board->market_count;
}

void lanes_end(struct lanes *lanes) {
    for (size_t i = 0; i < lanes->count; ++i) {
        g_free(lanes->all[i].subject);
        g_free(lanes->all[i].key);
        g_free(lanes->all[i].changes);
    }
    g_free(lanes->all);
    out_json.free(&lanes->json);
}

struct lane *lanes_find(struct lanes *lanes, const struct board_market *market,
                        enum mst_channel channel) {
    return &lanes->all[2 * (size_t)(market - lanes->out->board->markets) +
                       (size_t)channel];
}

struct out *lanes_json(struct lanes *lanes, size_t depth) {
    lanes->json.sequence = lanes->out->sequence;
    lanes->json.now_ns = lanes->out->now_ns;
    lanes->json.depth = depth;
    return &lanes->json;
}

/* Adds a side's horizon, if it has one: only better prices are known. */
static void head_horizon(char *head, const struct mst_book *book,
                         enum mst_side side, const char *name) {
    struct mst_decimal price;
    char text[MST_DECIMAL_TEXT_LEN];
    size_t len = strlen(head);

    if (mst_book_horizon(book, side, &price)) {
        mst_decimal_format(price, text);
        snprintf(head + len, HEAD_LEN - len, "\"%s_horizon\":\"%s\",", name,
                 text);
    }
}

/* Writes the gateway's fields, which come first in a message. */
static void lane_head(const struct lanes *lanes, const struct lane *lane,
                      bool after, char head[HEAD_LEN]) {
    snprintf(head, HEAD_LEN, "{\"epoch\":%" PRIu64 ",\"number\":%" PRIu64 ",",
             lanes->epoch, lane->messages);
    if (after) {
        size_t len = strlen(head);

        snprintf(head + len, HEAD_LEN - len, "\"after\":%" PRIu64 ",",
                 lane->last);
    }
    if (lane->channel == MST_MARKET_DATA &&
        mst_book_state(lane->market->book) == MST_BOOK_LIVE) {
        head_horizon(head, lane->market->book, MST_BID, "bids");
        head_horizon(head, lane->market->book, MST_ASK, "asks");
    }
}

/* Returns true if a price is at the horizon or beyond it. */
static bool beyond(const struct mst_book *book,
                   const struct lane_change *change) {
    struct mst_decimal horizon;

    if (!mst_book_horizon(book, change->side, &horizon)) {
        return false;
    }
    return change->side == MST_BID
               ? mst_decimal_cmp(change->price, horizon) <= 0
               : mst_decimal_cmp(change->price, horizon) >= 0;
}

/* Writes the current state of the changed levels. Returns their number. */
static size_t lane_levels(const struct lane *lane, struct mst_level *levels) {
    const struct mst_book *book = lane->market->book;
    size_t count = 0;

    for (size_t i = 0; i < lane->change_count; ++i) {
        const struct lane_change *change = &lane->changes[i];
        const struct mst_level *level =
            mst_book_find(book, change->side, change->price);

        if (level) {
            levels[count++] = *level;
        } else if (!beyond(book, change)) {
            levels[count++] = (struct mst_level){
                .price_coefficient = change->price.coefficient,
                .price_exponent = change->price.exponent,
                .side = (uint8_t)change->side};
        }
    }
    return count;
}

static struct mst_event lane_event(const struct lanes *lanes,
                                   const struct lane *lane,
                                   enum mst_event_type type) {
    return (struct mst_event){.type = type,
                              .link = (int)lane->market->object,
                              .generation = lanes->out->board->generation,
                              .received_ns = lane->since_ns,
                              .market = lane->market->name};
}

/* Makes the line of a book's next message. Returns false if there is none. */
static bool lane_make_book(struct lanes *lanes, struct lane *lane) {
    const struct board_market *market = lane->market;
    struct mst_level levels[LANE_CHANGES];
    struct mst_event event = lane_event(lanes, lane, MST_EVENT_PART);
    bool live = mst_book_state(market->book) == MST_BOOK_LIVE;

    lane->whole |= lane->book != market->book; /* another link leads */
    if (live && lane->whole) {
        out_json.sample(lanes_json(lanes, SIZE_MAX), market);
        lane->whole = lane->state = false;
        lane->change_count = 0;
        lane->book = market->book;
    } else if (lane->state) {
        out_json.book(lanes_json(lanes, 0), market);
        lane->state = false;
        lane->whole |= !live;
        lane->change_count = live ? lane->change_count : 0;
    } else if (live) {
        event.as.part = (struct mst_part){
            .market = market->name,
            .time_ns = mst_book_time(market->book),
            .levels = levels,
            .count = lane_levels(lane, levels),
            .first = true,
            .last = true,
        };
        lane->change_count = 0;
        if (event.as.part.count == 0 && !lane->beat) {
            return false;
        }
        out_json.data(lanes_json(lanes, 0), &event, market);
    } else {
        return false;
    }
    return true;
}

static bool lane_make_top(struct lanes *lanes, const struct lane *lane) {
    struct mst_event event = lane_event(lanes, lane, MST_EVENT_TOP);

    if (!lane->market->has_top ||
        lane->market->missing_ns[MST_TOP_OF_BOOK] > 0) {
        return false;
    }
    event.as.top = lane->market->top;
    out_json.data(lanes_json(lanes, 0), &event, lane->market);
    return true;
}

/* Sends the last line. */
static void lane_send(struct lanes *lanes, struct lane *lane) {
    char head[HEAD_LEN];
    size_t len;
    const char *line = out_json_line(&lanes->json, &len);

    lane->messages++;
    lane->beat = false;
    lane->phase = LANE_SENT;
    lane->sent_ns = lanes->out->now_ns;
    lane_head(lanes, lane, false, head);
    broker_order(lanes->broker, &(struct broker_order){.kind = BROKER_STORE,
                                                       .number = lane->number,
                                                       .tag = ++lane->tag,
                                                       .after = lane->last,
                                                       .subject = lane->subject,
                                                       .head = head,
                                                       .body = line + 1,
                                                       .body_len = len - 2});
}

static void lane_set_waits(struct lanes *lanes, struct lane *lane, bool waits) {
    lanes->waiting += (size_t)waits - (size_t)lane->waits;
    lane->waits = waits;
}

/* Sends the next message, if one is due and possible. */
static void lane_go_on(struct lanes *lanes, struct lane *lane) {
    bool made;

    if (lanes->epoch == 0 || !lane->due) {
        lane_set_waits(lanes, lane, false);
        return;
    }
    if (lane->phase == LANE_UNKNOWN) {
        lane->phase = LANE_ASKED;
        lane->whole = true;
        broker_order(lanes->broker,
                     &(struct broker_order){.kind = BROKER_LAST,
                                            .number = lane->number,
                                            .tag = ++lane->tag,
                                            .subject = lane->subject,
                                            .body = ""});
    } else if (lane->phase == LANE_READY && !lane->midway) {
        made = lane->channel == MST_MARKET_DATA ? lane_make_book(lanes, lane)
                                                : lane_make_top(lanes, lane);
        lane->due = lane->state || lane->change_count > 0;
        if (made) {
            lane_send(lanes, lane);
        }
    }
    lane_set_waits(lanes, lane, lane->due && lane->phase == LANE_SENT);
}

static void lane_note_change(struct lane *lane, const struct mst_level *level) {
    struct lane_change change = {mst_level_price(level),
                                 (enum mst_side)level->side};

    for (size_t i = 0; i < lane->change_count; ++i) {
        const struct lane_change *known = &lane->changes[i];

        if (known->side == change.side &&
            known->price.coefficient == change.price.coefficient &&
            known->price.exponent == change.price.exponent) {
            return;
        }
    }
    if (lane->change_count == LANE_CHANGES) {
        lane->whole = true;
    } else {
        lane->changes[lane->change_count++] = change;
    }
}

void lane_data(struct lanes *lanes, struct lane *lane,
               const struct mst_event *event) {
    const struct mst_part *part = &event->as.part;

    if (event->type == MST_EVENT_PART) {
        lane->midway = !part->last && !part->aborted;
    }
    if (lanes->epoch == 0) {
        return; /* a new epoch starts with the whole book */
    }
    if (!lane->due) {
        lane->since_ns = event->received_ns;
    }
    if (event->type == MST_EVENT_PART) {
        lane->whole |= part->snapshot || lane->book != lane->market->book;
        for (size_t i = 0; i < part->count && !lane->whole; ++i) {
            lane_note_change(lane, &part->levels[i]);
        }
        if (!part->last) {
            return;
        }
    }
    lane->due = true;
    lane_go_on(lanes, lane);
}

void lane_book(struct lanes *lanes, struct lane *lane) {
    lane->state = true;
    lane->midway &= mst_book_state(lane->market->book) == MST_BOOK_LIVE;
    lane->whole |= lane->book != lane->market->book ||
                   lane->market->told_state != MST_BOOK_LIVE;
    lane->due = true;
    lane_go_on(lanes, lane);
}

/* Orders a line of the whole current book. It includes the messages up to
 * `number`; those after the sequence `after` come next. */
static void lane_snapshot(struct lanes *lanes, const struct lane *lane,
                          struct broker_order order) {
    char head[HEAD_LEN];
    size_t len;

    out_json.sample(lanes_json(lanes, SIZE_MAX), lane->market);
    lane_head(lanes, lane, true, head);
    order.head = head;
    order.body = out_json_line(&lanes->json, &len) + 1;
    order.body_len = len - 2;
    broker_order(lanes->broker, &order);
}

/* Returns true if the book matches the published messages. */
static bool lane_has_snapshot(const struct lanes *lanes,
                              const struct lane *lane) {
    return lanes->epoch != 0 && lane->messages > 0 && !lane->whole &&
           lane->book == lane->market->book && !lane->midway &&
           lane->phase >= LANE_READY &&
           mst_book_state(lane->market->book) == MST_BOOK_LIVE;
}

/* Puts a changed book in its bucket, at most once per put_every_ns. */
static void lane_put(struct lanes *lanes, struct lane *lane) {
    if (lane->channel != MST_MARKET_DATA || !lane_has_snapshot(lanes, lane) ||
        lane->put_messages == lane->messages ||
        lanes->out->now_ns - lane->put_ns < lanes->put_every_ns) {
        return;
    }
    lane->put_messages = lane->messages;
    lane->put_ns = lanes->out->now_ns;
    lane_snapshot(
        lanes, lane,
        (struct broker_order){.kind = BROKER_PUT, .subject = lane->key});
}

void lane_answer(struct lanes *lanes, const struct lane *lane,
                 const char *reply) {
    struct broker_order order = {.kind = BROKER_ANSWER, .id = reply};

    if (lane_has_snapshot(lanes, lane)) {
        lane_snapshot(lanes, lane, order);
    } else if (lanes->epoch != 0) {
        order.body = "{\"type\":\"stale\"}";
        order.body_len = strlen(order.body);
        broker_order(lanes->broker, &order);
    }
}

/* Starts an epoch: every lane sends its whole state first. */
static void lanes_epoch(struct lanes *lanes, uint64_t epoch) {
    lanes->epoch = epoch;
    for (size_t i = 0; i < lanes->count; ++i) {
        struct lane *lane = &lanes->all[i];

        lane->phase = LANE_UNKNOWN;
        lane->messages = lane->put_messages = 0;
        lane->whole = lane->due = true;
        lane->change_count = 0;
        lane->state = lane->channel == MST_MARKET_DATA &&
                      mst_book_state(lane->market->book) != MST_BOOK_LIVE;
        lane_go_on(lanes, lane);
    }
}

/* Takes a report about the lane's last order. */
static void lane_report(struct lanes *lanes, struct lane *lane,
                        const struct broker_report *report) {
    if (report->kind == BROKER_FAILED) {
        /* The last stored message is unknown: request it at the next tick. */
        lane->phase = LANE_UNKNOWN;
        lane->due = lane->whole = true;
        lane_set_waits(lanes, lane, false);
        return;
    }
    if (report->epoch > lanes->epoch) {
        lane->phase = LANE_UNKNOWN; /* another gateway took the lease */
        return;
    }
    lane->phase = LANE_READY;
    lane->last = report->sequence;
    if (report->kind == BROKER_STORED) {
        lane->ever++;
        lane_put(lanes, lane);
    }
    lane_go_on(lanes, lane);
}

void lanes_report(struct lanes *lanes, const struct broker_report *report) {
    struct lane *lane;

    switch (report->kind) {
    case BROKER_HOLDS: lanes_epoch(lanes, report->epoch); break;
    case BROKER_HOLDS_NOT:
    case BROKER_IS_DOWN: lanes->epoch = 0; break;
    default:
        if (report->number >= lanes->count) {
            break; /* unknown: others may be able to write to the inbox */
        }
        lane = &lanes->all[report->number];
        if (report->tag == lane->tag &&
            (lane->phase == LANE_ASKED || lane->phase == LANE_SENT)) {
            lane_report(lanes, lane, report);
        }
        break;
    }
}

void lanes_tick(struct lanes *lanes, uint64_t now_ns) {
    if (lanes->epoch == 0 || now_ns < lanes->tick_ns) {
        return;
    }
    lanes->tick_ns = now_ns + TICK_NS;
    for (size_t i = 0; i < lanes->count / TICKS + 1 && i < lanes->count; ++i) {
        struct lane *lane = &lanes->all[lanes->turn];

        lanes->turn = (lanes->turn + 1) % lanes->count;
        if (lane->phase == LANE_READY && now_ns > lane->sent_ns + BEAT_NS) {
            lane->beat = lane->due = true;
            lane->since_ns = now_ns;
        }
        lane_go_on(lanes, lane);
        lane_put(lanes, lane);
    }
}
