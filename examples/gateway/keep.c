/* A queue of messages that must be stored. SPDX-License-Identifier: 0BSD */
#include "keep.h"

#include <glib.h>
#include <inttypes.h>
#include <stdio.h>

/* Messages sent and not answered yet, at most. */
#define UNDER_WAY_MAX 1024

/* Wait before the next attempt after a failure. */
#define RETRY_NS 500000000u

/* A message is marked this much before the broker may forget its identifier, to
 * allow for differing clocks and messages under way. */
#define MARGIN_S 30

struct keep_message {
    const char *subject;
    char *id, *line; /* line: without its first brace and line feed */
    size_t len;
    uint64_t received_ns;
    bool repeat;
    enum { KEEP_WAITS, KEEP_SENT, KEEP_STORED } state;
};

static struct keep_message *keep_at(const struct keep *keep, uint64_t number) {
    return &keep->ring[number % keep->size];
}

void keep_begin(struct keep *keep, struct broker *broker, const char *gateway,
                size_t size, unsigned duplicates_s) {
    *keep = (struct keep){.broker = broker, .gateway = gateway, .size = size};
    keep->ring = g_new0(struct keep_message, size);
    keep->repeat_ns = (uint64_t)(duplicates_s - MARGIN_S) * 1000000000u;
}

static void keep_drop(struct keep_message *message) {
    g_free(message->id);
    g_free(message->line);
}

void keep_end(struct keep *keep) {
    for (uint64_t i = keep->first; i < keep->next; ++i) {
        keep_drop(keep_at(keep, i));
    }
    g_free(keep->ring);
}

bool keep_has_room(const struct keep *keep) {
    return keep->next - keep->first < keep->size;
}

bool keep_add(struct keep *keep, const char *subject, const char *id,
              const char *line, size_t len, uint64_t received_ns, bool repeat) {
    if (!keep_has_room(keep)) {
        return false;
    }
    *keep_at(keep, keep->next++) = (struct keep_message){
        .subject = subject,
        .id = g_strdup(id),
        .line = g_strndup(line + 1, len - 2),
        .len = len - 2,
        .received_ns = received_ns,
        .repeat = repeat,
    };
    return true;
}

static void keep_order(struct keep *keep, uint64_t number, uint64_t now_ns) {
    struct keep_message *message = keep_at(keep, number);
    bool late = now_ns > message->received_ns + keep->repeat_ns;
    char head[128];

    snprintf(head, sizeof head, "{\"gateway\":\"%s\",\"number\":%" PRIu64 ",%s",
             keep->gateway, number,
             late && !message->repeat ? "\"repeat\":true," : "");
    broker_order(keep->broker,
                 &(struct broker_order){.kind = BROKER_KEEP,
                                        .number = number,
                                        .subject = message->subject,
                                        .id = message->id,
                                        .head = head,
                                        .body = message->line,
                                        .body_len = message->len});
    message->state = KEEP_SENT;
    keep->under_way++;
}

/* Makes a message that may not have been stored wait again. */
static void keep_again(struct keep *keep, uint64_t number, uint64_t now_ns) {
    keep_at(keep, number)->state = KEEP_WAITS;
    keep->under_way--;
    keep->retry_ns = now_ns + RETRY_NS;
    keep->send = MIN(keep->send, number);
}

void keep_send(struct keep *keep, uint64_t now_ns) {
    if (!keep->up || now_ns < keep->retry_ns) {
        return;
    }
    while (keep->send < keep->next && keep->under_way < UNDER_WAY_MAX) {
        if (keep_at(keep, keep->send)->state == KEEP_WAITS) {
            keep_order(keep, keep->send, now_ns);
        }
        keep->send++;
    }
}

/* Drops the oldest messages that are stored. */
static void keep_forget(struct keep *keep) {
    while (keep->first < keep->next &&
           keep_at(keep, keep->first)->state == KEEP_STORED) {
        keep_drop(keep_at(keep, keep->first++));
    }
    keep->send = MAX(keep->send, keep->first);
}

void keep_report(struct keep *keep, const struct broker_report *report,
                 uint64_t now_ns) {
    bool known = report->number >= keep->first && report->number < keep->next;
    struct keep_message *message = keep_at(keep, report->number);

    switch (report->kind) {
    case BROKER_IS_UP: keep->up = true; break;
    case BROKER_IS_DOWN: keep->up = false; break;
    case BROKER_KEPT:
        if (known && message->state != KEEP_STORED) {
            keep->under_way -= message->state == KEEP_SENT;
            message->state = KEEP_STORED;
            keep->kept++;
            keep->again += report->again;
            keep_forget(keep);
        }
        break;
    case BROKER_NOT_KEPT:
        if (known && message->state == KEEP_SENT) {
            keep_again(keep, report->number, now_ns);
        }
        break;
    default: break;
    }
}

uint64_t keep_oldest_ns(const struct keep *keep) {
    return keep->first < keep->next ? keep_at(keep, keep->first)->received_ns
                                    : UINT64_MAX;
}

size_t keep_count(const struct keep *keep) {
    return (size_t)(keep->next - keep->first);
}
