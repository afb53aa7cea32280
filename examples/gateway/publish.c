/* Publishes the events of a gateway's run. SPDX-License-Identifier: 0BSD */
#include "publish.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exits.h"
#include "subject.h"

#define TICK_NS UINT64_C(1000000000)
#define NS_PER_MS 1000000

#define OWN_ID_LEN (SUBJECT_PREFIX_MAX + 48)

/* Executions from this time before the last message may still be missing: the
 * service reports them up to a second late, and clocks differ. */
#define SLACK_NS INT64_C(2000000000)

/* The longest wait for the broker at the end. */
#define END_MS 5000

static struct out *publish_json(struct publish *publish) {
    return lanes_json(&publish->lanes, 0);
}

/* Writes the identifier of a message that only this gateway sends. */
static void publish_own_id(const struct publish *publish, char id[OWN_ID_LEN]) {
    snprintf(id, OWN_ID_LEN, "%s|%" PRId64 "|%" PRIu64,
             publish->config->broker.gateway, publish->start_us,
             publish->keep.next);
}

/* Queues the last line, as a message that only this gateway sends. */
static bool publish_own(struct publish *publish, const char *subject,
                        uint64_t received_ns) {
    char id[OWN_ID_LEN];
    size_t len;
    const char *line = out_json_line(&publish->lanes.json, &len);

    publish_own_id(publish, id);
    return keep_add(&publish->keep, subject, id, line, len, received_ns, false);
}

static void publish_note(struct publish *publish) {
    publish->notes_lost +=
        !publish_own(publish, publish->note, publish->out->now_ns);
}

static struct publish_market *
publish_market(struct publish *publish, const struct board_market *market) {
    return &publish->markets[market - publish->out->board->markets];
}

/* Records that data from these times found no room. */
static void publish_miss(struct publish_market *market, int64_t from_ns,
                         int64_t to_ns, uint64_t received_ns) {
    if (market->lost++ == 0) {
        market->lost_received_ns = received_ns;
        market->lost_from_ns = from_ns;
        market->lost_to_ns = to_ns;
    }
    market->lost_from_ns = MIN(market->lost_from_ns, from_ns);
    market->lost_to_ns = MAX(market->lost_to_ns, to_ns);
}

/* Queues a `lost` message about executions that found no room. */
static void publish_lost(struct publish *publish,
                         const struct board_market *board_market) {
    struct publish_market *market = publish_market(publish, board_market);
    char from[MST_TIME_TEXT_LEN], to[MST_TIME_TEXT_LEN], now[MST_TIME_TEXT_LEN],
        id[OWN_ID_LEN];
    json_t *object;
    char *line;

    if (market->lost == 0 || !keep_has_room(&publish->keep)) {
        return;
    }
    text_time_ns(market->lost_from_ns, from);
    text_time_ns(market->lost_to_ns, to);
    text_time_ns(out_wall(publish->out, publish->out->now_ns), now);
    object = json_pack("{sisIsssssssssIssss}", "v", OUT_VERSION, "sequence",
                       (json_int_t)publish->out->sequence, "type", "lost",
                       "received", now, "channel",
                       mst_channel_name(MST_EXECUTION_DATA), "market",
                       board_market->name, "count", (json_int_t)market->lost,
                       "from", from, "to", to);
    line = object ? json_dumps(object, JSON_COMPACT) : NULL;
    if (!line) {
        abort(); /* out of memory */
    }
    json_decref(object);
    publish_own_id(publish, id);
    /* The length counts the NUL in place of the line feed. */
    (void)keep_add(&publish->keep, market->subject, id, line, strlen(line) + 1,
                   market->lost_received_ns, false);
    free(line);
    market->lost = 0;
}

/* Returns when another gateway may have received the execution: at its time, if
 * this one read it later. */
static uint64_t publish_since(const struct publish *publish,
                              const struct mst_event *event) {
    int64_t ns = event->as.execution.time_ns - publish->out->wall_ns;

    return ns > 0 ? MIN((uint64_t)ns, event->received_ns) : event->received_ns;
}

static void publish_execution(struct publish *publish,
                              const struct mst_event *event,
                              const struct board_market *board_market) {
    struct publish_market *market = publish_market(publish, board_market);
    int64_t time_ns = event->as.execution.time_ns;
    char id[EXECUTION_ID_LEN];
    const char *line;
    size_t len;

    execution_id(&publish->executions, event, id);
    publish_lost(publish, board_market);
    out_json.data(publish_json(publish), event, board_market);
    line = out_json_line(&publish->lanes.json, &len);
    if (!keep_add(&publish->keep, market->subject, id, line, len,
                  publish_since(publish, event), event->as.execution.repeat)) {
        publish_miss(market, time_ns, time_ns, event->received_ns);
        publish->lost++;
    }
}

static void publish_start(struct out *out) {
    struct publish *publish = out->state;

    out_json.begin(publish_json(publish));
    publish_note(publish);
}

static void publish_data(struct out *out, const struct mst_event *event,
                         const struct board_market *market) {
    struct publish *publish = out->state;

    switch (event->type) {
    case MST_EVENT_PART:
        lane_data(&publish->lanes,
                  lanes_find(&publish->lanes, market, MST_MARKET_DATA), event);
        break;
    case MST_EVENT_TOP:
        lane_data(&publish->lanes,
                  lanes_find(&publish->lanes, market, MST_TOP_OF_BOOK), event);
        break;
    default: publish_execution(publish, event, market); break;
    }
}

static void publish_other(struct out *out, const struct mst_event *event) {
    struct publish *publish = out->state;

    if (event->type != MST_EVENT_HEARTBEAT) {
        out_json.note(publish_json(publish), event);
        publish_note(publish);
    }
}

static void publish_rest(struct out *out) {
    struct publish *publish = out->state;
    struct out *json = publish_json(publish);

    json->note.left_out = out->note.left_out;
    out_json.rest(json);
    publish_note(publish);
}

static void publish_book(struct out *out, const struct board_market *market) {
    struct publish *publish = out->state;

    lane_book(&publish->lanes,
              lanes_find(&publish->lanes, market, MST_MARKET_DATA));
}

/* Publishes that data may be missing since `ms` before now. */
static void publish_gap(struct out *out,
                        const struct board_market *board_market,
                        enum mst_channel channel, uint64_t ms) {
    struct publish *publish = out->state;
    struct publish_market *market = publish_market(publish, board_market);
    int64_t now_ns = out_wall(out, out->now_ns);
    int64_t since_ns = now_ns - (int64_t)ms * NS_PER_MS - SLACK_NS;

    if (channel != MST_EXECUTION_DATA) {
        out_json.gap(publish_json(publish), board_market, channel, ms);
        publish_note(publish);
        return;
    }
    if (market->seen_ns > 0) { /* since before the start */
        since_ns = market->seen_ns;
        market->seen_ns = 0;
    }
    ms = now_ns > since_ns ? (uint64_t)((now_ns - since_ns) / NS_PER_MS) : 0;
    out_json.gap(publish_json(publish), board_market, channel, ms);
    if (!publish_own(publish, market->subject, out->now_ns)) {
        /* Report it as lost executions later. */
        publish_miss(market, since_ns, now_ns, out->now_ns);
    }
}

static void publish_stop(struct out *out, int status,
                         const struct mst_stats *stats) {
    struct publish *publish = out->state;

    out_json.end(publish_json(publish), status, stats);
    publish_note(publish);
}

const struct out_format publish_format = {
    .name = "publish",
    .begin = publish_start,
    .data = publish_data,
    .note = publish_other,
    .rest = publish_rest,
    .book = publish_book,
    .gap = publish_gap,
    .end = publish_stop,
};

int publish_begin(struct publish *publish, const struct publish_config *config,
                  struct out *out) {
    const struct broker_config *broker = &config->broker;
    struct board *board = out->board;
    char token[SUBJECT_TOKEN_LEN];

    publish->config = config;
    publish->out = out;
    publish->start_us = g_get_real_time();
    publish->broker = broker_begin(broker);
    if (!publish->broker) {
        return EXITS_CONFIG;
    }
    publish->note =
        g_strdup_printf("%s.note.%s", broker->prefix, broker->gateway);
    publish->markets = g_new0(struct publish_market, board->market_count + 1);
    publish->tokens =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (size_t i = 0; i < board->market_count; ++i) {
        subject_encode(board->markets[i].name, token);
        publish->markets[i].subject =
            g_strdup_printf("%s.execution.%s", broker->prefix, token);
        g_hash_table_insert(publish->tokens, g_strdup(token),
                            &board->markets[i]);
    }
    lanes_begin(&publish->lanes, publish->broker, out, broker->prefix,
                (uint64_t)config->last_book_ms * NS_PER_MS);
    keep_begin(&publish->keep, publish->broker, broker->gateway, config->queue,
               broker->duplicates_s);
    executions_begin(&publish->executions);
    return EXITS_OK;
}

/* Takes until when the last run had seen everything. Executions may be missing
 * from then until their subscription. */
static void publish_seen(struct publish *publish, int64_t seen_ns) {
    struct board *board = publish->out->board;

    publish->seen_known = true;
    publish->seen_ns = seen_ns;
    for (size_t i = 0; seen_ns > 0 && i < board->market_count; ++i) {
        struct board_market *market = &board->markets[i];

        publish->markets[i].seen_ns = seen_ns;
        if (market->confirmed[MST_EXECUTION_DATA].ns == 0) {
            market->missing_ns[MST_EXECUTION_DATA] =
                1; /* the gap is published once they are subscribed */
        } else {
            publish_gap(publish->out, market, MST_EXECUTION_DATA, 0);
        }
    }
}

static void publish_asked(struct publish *publish,
                          const struct broker_report *report) {
    const struct board_market *market =
        g_hash_table_lookup(publish->tokens, report->market);

    if (market && publish->lanes.epoch != 0) {
        publish->answers++;
        lane_answer(&publish->lanes,
                    lanes_find(&publish->lanes, market, MST_MARKET_DATA),
                    report->reply);
    }
}

/* Returns until when (Unix ns) all executions are stored or reported
 * missing. */
static int64_t publish_seen_of(const struct publish *publish, size_t i) {
    const struct board_market *market = &publish->out->board->markets[i];
    const struct publish_market *mine = &publish->markets[i];
    uint64_t missing_ns = market->missing_ns[MST_EXECUTION_DATA];
    uint64_t since_ns = board_whole_ns(publish->out->board, market->object);

    if (market->refused[MST_EXECUTION_DATA][0] != '\0') {
        return INT64_MAX;
    }
    if (mine->seen_ns > 0) {
        return mine->seen_ns;
    }
    if (market->confirmed[MST_EXECUTION_DATA].ns == 0) {
        return publish->start_us * 1000;
    }
    if (mine->lost > 0) {
        since_ns = MIN(since_ns, mine->lost_received_ns);
    }
    if (missing_ns > 0) {
        since_ns = MIN(since_ns, missing_ns);
    }
    return out_wall(publish->out, since_ns);
}

/* Stores this time, of all markets, for the next start. */
static void publish_say_seen(struct publish *publish) {
    struct board *board = publish->out->board;
    uint64_t oldest_ns = keep_oldest_ns(&publish->keep);
    int64_t seen_ns =
        out_wall(publish->out, MIN(oldest_ns, publish->out->now_ns));
    char text[32];

    if (!publish->seen_known || !board_wants(board, MST_EXECUTION_DATA)) {
        return;
    }
    for (size_t i = 0; i < board->market_count; ++i) {
        int64_t market_ns = publish_seen_of(publish, i);

        seen_ns = MIN(seen_ns, market_ns);
    }
    snprintf(text, sizeof text, "%" PRId64,
             MAX(seen_ns - SLACK_NS, publish->seen_ns));
    broker_order(publish->broker,
                 &(struct broker_order){.kind = BROKER_SEEN,
                                        .body = text,
                                        .body_len = strlen(text)});
}

static void publish_report(struct publish *publish,
                           const struct broker_report *report) {
    switch (report->kind) {
    case BROKER_SEEN_WAS: publish_seen(publish, (int64_t)report->epoch); break;
    case BROKER_ASKED: publish_asked(publish, report); break;
    case BROKER_KEPT:
    case BROKER_NOT_KEPT:
        keep_report(&publish->keep, report, publish->out->now_ns);
        break;
    case BROKER_IS_UP:
    case BROKER_IS_DOWN:
        keep_report(&publish->keep, report, publish->out->now_ns);
        lanes_report(&publish->lanes, report);
        break;
    default: lanes_report(&publish->lanes, report); break;
    }
}

void publish_go_on(struct publish *publish, uint64_t now_ns) {
    struct broker_report report = {.kind = BROKER_IS_UP};

    while (broker_report(publish->broker, &report)) {
        publish_report(publish, &report);
        broker_report_free(&report);
    }
    keep_send(&publish->keep, now_ns);
    lanes_tick(&publish->lanes, now_ns);
    if (now_ns >= publish->tick_ns) {
        publish->tick_ns = now_ns + TICK_NS;
        for (size_t i = 0; i < publish->out->board->market_count; ++i) {
            publish_lost(publish, &publish->out->board->markets[i]);
        }
        publish_say_seen(publish);
    }
}

void publish_flush(struct publish *publish) {
    bool full =
        publish->keep.under_way > 0 && publish->keep.send < publish->keep.next;

    broker_flush(publish->broker);
    broker_set_waiting(publish->broker, publish->lanes.waiting > 0 || full);
}

void publish_end(struct publish *publish) {
    if (!publish->broker) {
        return;
    }
    for (int ms = 0;
         ms < END_MS && keep_count(&publish->keep) > 0 && publish->keep.up;
         ms += 10) {
        publish_go_on(publish, publish->out->now_ns);
        publish_flush(publish);
        usleep(10000);
        publish->out->now_ns +=
            10 * NS_PER_MS; /* the run does not update it any more */
    }
    if (keep_count(&publish->keep) > 0) {
        fprintf(stderr,
                "gateway %s: %zu messages were not stored: the next start "
                "reports the gap\n",
                publish->config->broker.gateway, keep_count(&publish->keep));
    }
    publish_say_seen(publish);
    broker_end(publish->broker);
    lanes_end(&publish->lanes);
    keep_end(&publish->keep);
    executions_end(&publish->executions);
    g_hash_table_destroy(publish->tokens);
    for (size_t i = 0; i < publish->out->board->market_count; ++i) {
        g_free(publish->markets[i].subject);
    }
    g_free(publish->markets);
    g_free(publish->note);
}
