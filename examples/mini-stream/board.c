/*
 * The state of the stream: see board.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE /* hsearch_r() */

#include "board.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long an open stream may be silent: at least, if heartbeats come, and if
 * none come. */
#define SILENT_MS 3000
#define QUIET_MS 10000

/* A leader that was silent for this long before it was replaced had lost
 * data. */
#define SILENT_LEADER_NS 1000000000u

/* Prepares the markets and their books. Returns 0 or MST_ERR_MEMORY. */
static int board_markets(struct board *board, const char *const *names,
                         size_t levels, const struct clients_plan *plan) {
    const size_t books = plan->pairs ? 2 : 1;
    const size_t share = (board->market_count + plan->count - 1) / plan->count;

    for (size_t i = 0; i < board->market_count; ++i) {
        struct board_market *market = &board->markets[i];
        ENTRY entry = {.key = (char *)names[i], .data = market}, *found;

        market->name = names[i];
        market->object = i / share;
        market->book = &market->books[0];
        if (!hsearch_r(entry, ENTER, &found, board->names)) {
            return MST_ERR_MEMORY;
        }
        if (!board_wants(board, MST_MARKET_DATA)) {
            continue;
        }
        market->levels = calloc(books * 2 * levels, sizeof *market->levels);
        if (!market->levels) {
            return MST_ERR_MEMORY;
        }
        for (size_t n = 0; n < books; ++n) {
            mst_book_init(&market->books[n], market->levels + n * 2 * levels,
                          levels);
            /* deep enough to be useful, and seldom thin */
            mst_book_set_thin(&market->books[n], levels / 4);
        }
    }
    return 0;
}

int board_init(struct board *board, const char *const *names, size_t count,
               unsigned channels, size_t levels,
               const struct clients_plan *plan) {
    memset(board, 0, sizeof *board);
    board->channels = channels;
    board->pairs = plan->pairs;
    board->markets = calloc(count ? count : 1, sizeof *board->markets);
    board->objects = calloc(plan->count, sizeof *board->objects);
    board->names = calloc(1, sizeof *board->names);
    board->links = calloc(clients_links(plan), sizeof *board->links);
    if (!board->markets || !board->objects || !board->names || !board->links ||
        !hcreate_r(2 * count + 1, board->names)) {
        return MST_ERR_MEMORY;
    }
    board->market_count = count;
    board->object_count = plan->count;
    for (size_t i = 0; i < plan->count; ++i) {
        board->objects[i].leads = (int)(plan->pairs ? 2 * i : i);
    }
    return board_markets(board, names, levels, plan);
}

void board_free(struct board *board) {
    for (size_t i = 0; i < board->market_count; ++i) {
        free(board->markets[i].levels);
    }
    free(board->markets);
    free(board->objects);
    free(board->links);
    if (board->names) {
        hdestroy_r(board->names);
        free(board->names);
    }
    memset(board, 0, sizeof *board);
}

bool board_wants(const struct board *board, enum mst_channel channel) {
    return board->channels >> channel & 1u;
}

int board_subscribe(struct board *board, struct clients *clients) {
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < board->object_count &&
                       board_wants(board, MST_HEARTBEAT);
         ++i) {
        rc = clients_subscribe(clients, i, MST_HEARTBEAT, NULL, NULL, NULL);
    }
    for (size_t i = 0; rc == 0 && i < board->market_count; ++i) {
        struct board_market *market = &board->markets[i];

        for (int c = MST_MARKET_DATA; rc == 0 && c < MST_HEARTBEAT; ++c) {
            enum mst_channel channel = (enum mst_channel)c;
            bool book = channel == MST_MARKET_DATA;

            if (board_wants(board, channel)) {
                rc = clients_subscribe(clients, market->object, channel,
                                       market->name,
                                       book ? &market->books[0] : NULL,
                                       book ? &market->books[1] : NULL);
            }
        }
    }
    return rc;
}

/* The market of this name, or NULL. */
static struct board_market *board_find(struct board *board, const char *name) {
    ENTRY entry = {.key = (char *)name}, *found;

    return name && hsearch_r(entry, FIND, &found, board->names) ? found->data
                                                                : NULL;
}

static void board_count(struct board *board, enum mst_channel channel,
                        struct board_market *market) {
    ++board->messages[channel];
    if (market) {
        ++market->messages[channel];
        market->heard_ms = board->now_ms;
    }
}

/* Raises *places to the decimals of a number. */
static void board_places(int *places, int exponent) {
    if (-exponent > *places) {
        *places = -exponent < TEXT_PLACES_MAX ? -exponent : TEXT_PLACES_MAX;
    }
}

static void board_part(struct board *board, struct board_market *market,
                       const struct mst_event *event) {
    const struct mst_part *part = &event->as.part;

    if (part->first) {
        board->bids = 0;
        board->asks = 0;
    }
    for (size_t i = 0; i < part->count; ++i) {
        const struct mst_level *level = &part->levels[i];

        ++*(level->side == MST_BID ? &board->bids : &board->asks);
        if (market) {
            board_places(&market->price_places, level->price_exponent);
            board_places(&market->amount_places, level->amount_exponent);
        }
    }
    if (part->last && !part->aborted) {
        board_count(board, MST_MARKET_DATA, market);
    }
    if (market && event->book) {
        market->book = event->book;
    }
}

static void board_top(struct board *board, struct board_market *market,
                      const struct mst_top *top) {
    board_count(board, MST_TOP_OF_BOOK, market);
    if (market) {
        market->top = *top;
        market->top.market = market->name;
        market->has_top = true;
        board_places(&market->price_places, top->bid.price_exponent);
        board_places(&market->price_places, top->ask.price_exponent);
        board_places(&market->amount_places, top->bid.amount_exponent);
        board_places(&market->amount_places, top->ask.amount_exponent);
    }
}

const struct board_trade *board_trade(const struct board_market *market,
                                      uint64_t age) {
    if (age >= market->trade_count || age >= BOARD_TRADES) {
        return NULL;
    }
    return &market->trades[(market->trade_count - 1 - age) % BOARD_TRADES];
}

/* True if a pair's other link has delivered this trade. */
static bool board_is_known(const struct board_market *market,
                           const struct mst_execution *execution) {
    const struct board_trade *trade;

    for (uint64_t age = 0; (trade = board_trade(market, age)); ++age) {
        if ((trade->repeat || execution->repeat) &&
            trade->time_ns == execution->time_ns &&
            mst_decimal_cmp(trade->price, execution->price) == 0 &&
            mst_decimal_cmp(trade->amount, execution->amount) == 0) {
            return true;
        }
    }
    return false;
}

static void board_execution(struct board *board, struct board_market *market,
                            const struct mst_execution *execution) {
    board_count(board, MST_EXECUTION_DATA, market);
    board->repeats += execution->repeat;
    if (market) {
        board_places(&market->price_places, execution->price.exponent);
        board_places(&market->amount_places, execution->amount.exponent);
        if (!board->pairs || !board_is_known(market, execution)) {
            market->trades[market->trade_count++ % BOARD_TRADES] =
                (struct board_trade){execution->time_ns, execution->price,
                                     execution->amount, execution->repeat};
        }
    }
}

static void board_failure(struct board *board, const struct mst_event *event,
                          uint64_t now_ms) {
    struct mst_failure failure = event->as.failure;

    board->error = failure.error;
    board->error_ms = now_ms;
    failure.retry_ms = 0; /* the view counts it down */
    text_failure(&failure, event->link, board->error_text);
}

/* Marks data of an object, before this channel, as possibly missing since. */
static void board_lost(struct board *board, size_t number,
                       enum mst_channel before, uint64_t since_ns) {
    for (size_t i = 0; i < board->market_count; ++i) {
        struct board_market *market = &board->markets[i];

        for (int c = MST_MARKET_DATA; c < (int)before; ++c) {
            if (market->object == number && market->accepted &&
                market->missing_ns[c] == 0) {
                market->missing_ns[c] = since_ns;
            }
        }
    }
}

static void board_open(struct board *board, struct board_object *object,
                       const struct mst_event *event, uint64_t now_ms) {
    board->generation = event->generation;
    if (board->open++ == 0) {
        board->opened_ms = now_ms;
    }
    board->was_open = true;
    object->open++;
    object->was_open = true;
    object->beat_ms = object->beat_gap_ms = 0;
}

/* A connection or an attempt ended. */
static void board_closed(struct board *board, size_t number,
                         const struct mst_event *event, uint64_t now_ns) {
    struct board_object *object = &board->objects[number];
    const struct mst_failure *failure = &event->as.failure;
    bool was_open =
        failure->stage == MST_STATE_OPEN || failure->stage == MST_STATE_CLOSING;

    if (was_open && object->open > 0) {
        board->open--;
        object->open--;
        board->losses += failure->error != MST_OK;
        if (object->open == 0) {
            board_lost(board, number, MST_HEARTBEAT,
                       board_whole_ns(board, number));
        } else if (event->link == object->leads) {
            /* the other link delivers executions as well */
            board_lost(board, number, MST_EXECUTION_DATA,
                       board->links[event->link].whole_ns);
        }
    }
    if (board->open == 0) {
        board->opened_ms = 0;
    }
    board->links[event->link].retry_ms = now_ns / 1000000 + failure->retry_ms;
    if (failure->error != MST_OK) {
        board_failure(board, event, now_ns / 1000000);
    }
}

/* Another link leads from now on, with its books. */
static void board_leader(struct board *board, size_t number, int link,
                         uint64_t now_ns) {
    struct board_object *object = &board->objects[number];
    uint64_t whole_ns = board->links[object->leads].whole_ns;

    /* The old leader was silent, and data of the other link was not shown
     * meanwhile. Executions of both links are always shown. */
    if (whole_ns > 0 && now_ns > whole_ns + SILENT_LEADER_NS) {
        board_lost(board, number, MST_EXECUTION_DATA, whole_ns);
    }
    object->leads = link;
    for (size_t i = 0; i < board->market_count; ++i) {
        struct board_market *market = &board->markets[i];
        struct mst_book *book =
            market->object == number
                ? board->leader(board->leader_context, number, market->name)
                : NULL;

        if (book) {
            market->book = book;
        }
    }
}

static void board_heartbeat(struct board *board, struct board_object *object) {
    ++board->messages[MST_HEARTBEAT];
    if (object->beat_ms > 0) {
        object->beat_gap_ms = board->now_ms - object->beat_ms;
    }
    object->beat_ms = board->heartbeat_ms = board->now_ms;
}

/* Keeps the reason of a refused subscription until it succeeds. */
static void board_entry(struct board *board, struct board_market *market,
                        const struct mst_entry *entry) {
    char *refused = NULL;

    if (entry->action != MST_SUBSCRIBE) {
        return;
    }
    if (entry->channel == MST_HEARTBEAT) {
        refused = board->heartbeat_refused;
    } else if (market && entry->channel < MST_HEARTBEAT) {
        refused = market->refused[entry->channel];
    }
    /* "no effect": it was already subscribed */
    if (refused &&
        (entry->success || entry->code == MST_CODE_NO_EFFECT_ACTION)) {
        refused[0] = '\0';
        if (market) {
            market->accepted = true;
        }
    } else if (refused) {
        text_clean(entry->text[0] != '\0' ? entry->text : "refused", refused,
                   MST_TEXT_MAX + 1);
    }
}

/* The time at which the service sent this, by its clock, or 0 if unknown:
 * snapshots and executions may have older times. */
static int64_t board_sent_ns(const struct mst_event *event) {
    switch (event->type) {
    case MST_EVENT_PART:
        return event->as.part.snapshot ? 0 : event->as.part.time_ns;
    case MST_EVENT_TOP: return event->as.top.time_ns;
    case MST_EVENT_HEARTBEAT: return event->as.heartbeat.time_ns;
    default: return 0;
    }
}

/* Updates a link's times after an event. */
static void board_heard(struct board_link *link, const struct mst_event *event,
                        uint64_t now_ns) {
    int64_t sent_ns = board_sent_ns(event);
    int64_t age_ns = (int64_t)event->received_ns - sent_ns;
    /* these two have no time of receipt */
    uint64_t at_ns =
        event->type == MST_EVENT_OPEN || event->type == MST_EVENT_LEADER
            ? now_ns
            : event->received_ns;

    if (event->type == MST_EVENT_OPEN) {
        link->least_ns = INT64_MAX;
        link->late_ns = 0;
    } else if (sent_ns != 0) {
        link->least_ns = age_ns < link->least_ns ? age_ns : link->least_ns;
        link->late_ns = (uint64_t)(age_ns - link->least_ns);
    }
    link->whole_ns = at_ns > link->late_ns ? at_ns - link->late_ns : 1;
}

uint64_t board_whole_ns(const struct board *board, size_t number) {
    size_t first = number * (board->pairs ? 2 : 1);
    uint64_t ns = board->links[first].whole_ns;

    if (board->pairs && board->links[first + 1].whole_ns > ns) {
        ns = board->links[first + 1].whole_ns;
    }
    return ns;
}

/* The market's name as the service wrote it, or NULL. */
static const char *board_written(const struct mst_event *event) {
    switch (event->type) {
    case MST_EVENT_PART: return event->as.part.market;
    case MST_EVENT_TOP: return event->as.top.market;
    case MST_EVENT_EXECUTION: return event->as.execution.market;
    case MST_EVENT_ENTRY: return event->as.entry.market;
    default: return NULL;
    }
}

/* Sets board->renamed the first time that the service spells a market
 * differently. */
static void board_rename(struct board *board, struct board_market *market,
                         const struct mst_event *event) {
    const char *written = board_written(event);

    board->renamed = NULL;
    if (market && written && market->written[0] == '\0' &&
        strcmp(written, market->name) != 0) {
        snprintf(market->written, sizeof market->written, "%s", written);
        board->renamed = market;
    }
}

struct board_market *board_take(struct board *board,
                                const struct mst_event *event,
                                uint64_t now_ns) {
    struct board_market *market = board_find(board, event->market);
    const size_t number = (size_t)event->link / (board->pairs ? 2 : 1);
    const uint64_t now_ms = now_ns / 1000000;

    board->now_ms = now_ms;
    board_rename(board, market, event);
    if (event->type != MST_EVENT_CLOSED) {
        board->objects[number].heard_ms = now_ms;
    }
    if (event->type != MST_EVENT_CLOSED && event->type != MST_EVENT_ERROR) {
        board_heard(&board->links[event->link], event, now_ns);
    }
    switch (event->type) {
    case MST_EVENT_OPEN:
        board_open(board, &board->objects[number], event, now_ms);
        break;
    case MST_EVENT_CLOSED: board_closed(board, number, event, now_ns); break;
    case MST_EVENT_ERROR: board_failure(board, event, now_ms); break;
    case MST_EVENT_LEADER:
        board_leader(board, number, event->link, now_ns);
        break;
    case MST_EVENT_PART: board_part(board, market, event); break;
    case MST_EVENT_TOP: board_top(board, market, &event->as.top); break;
    case MST_EVENT_EXECUTION:
        board_execution(board, market, &event->as.execution);
        break;
    case MST_EVENT_HEARTBEAT:
        board_heartbeat(board, &board->objects[number]);
        break;
    case MST_EVENT_ENTRY: board_entry(board, market, &event->as.entry); break;
    default: break;
    }
    return market;
}

uint64_t board_silent_ms(const struct board *board, size_t number,
                         uint64_t now_ms) {
    const struct board_object *object = &board->objects[number];
    uint64_t ms = now_ms - object->heard_ms;
    uint64_t limit_ms = object->beat_gap_ms == 0 ? QUIET_MS
                        : 3 * object->beat_gap_ms > SILENT_MS
                            ? 3 * object->beat_gap_ms
                            : SILENT_MS;

    return object->open > 0 && ms >= limit_ms ? ms : 0;
}

size_t board_refused(const struct board *board) {
    size_t refused = board->heartbeat_refused[0] != '\0';

    for (size_t i = 0; i < board->market_count; ++i) {
        for (int c = MST_MARKET_DATA; c < MST_HEARTBEAT; ++c) {
            refused += board->markets[i].refused[c][0] != '\0';
        }
    }
    return refused;
}

static size_t board_wanted(const struct board *board) {
    size_t wanted = board_wants(board, MST_HEARTBEAT);

    for (int c = MST_MARKET_DATA; c < MST_HEARTBEAT; ++c) {
        wanted += board_wants(board, (enum mst_channel)c) * board->market_count;
    }
    return wanted;
}

bool board_hopeless(const struct board *board) {
    size_t refused = board_refused(board);

    for (size_t i = 0; i < board->market_count; ++i) {
        if (board->markets[i].accepted) {
            return false;
        }
    }
    return refused > 0 && refused + (board_wants(board, MST_HEARTBEAT) &&
                                     board->heartbeat_refused[0] == '\0') ==
                              board_wanted(board);
}
