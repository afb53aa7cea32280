/*
 * The items of a call, and which of them are used up: see replay_port.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "replay_port.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- what differs ---- */

void replay_differ(struct replay *r, const char *format, ...) {
    va_list args;
    int n;

    if (r->error[0] != '\0') {
        return;
    }
    r->differs = true;
    n = snprintf(r->error, sizeof r->error,
                 "%s: the replay differs at call %" PRIu64 " (%s of %" PRId64
                 "): ",
                 r->recording.path, r->calls, recording_kind_name(r->call.kind),
                 r->call.values[0]);
    va_start(args, format);
    vsnprintf(r->error + n, sizeof r->error - (size_t)n, format, args);
    va_end(args);
}

void replay_item_name(char out[200], const struct recording_item *item) {
    const int64_t *values = item->values;
    const char *data = (const char *)item->data;
    const int text = item->kind == RECORDING_IN || item->kind == RECORDING_OUT
                         ? 0
                     : item->len < 100 ? (int)item->len
                                       : 100;

    switch (item->kind) {
    case RECORDING_STATE:
        snprintf(out, 200, "state %s to %s",
                 mst_state_name((enum mst_state)values[1]),
                 mst_state_name((enum mst_state)values[2]));
        break;
    case RECORDING_ERROR:
        snprintf(out, 200,
                 "error %" PRId64 " in %s (HTTP %" PRId64 ", wait %" PRId64
                 " ms, detail %" PRId64 ") \"%.*s\"",
                 values[1], mst_state_name((enum mst_state)values[2]),
                 values[3], values[4], values[5], text, data);
        break;
    default:
        snprintf(out, 200, "%s %" PRId64 " %" PRId64 " %" PRId64 " \"%.*s\"",
                 recording_kind_name(item->kind), values[1], values[2],
                 values[3], text, data);
    }
}

/* ---- the items of a call ---- */

bool replay_is_told(enum recording_kind kind) {
    return kind == RECORDING_STATE || kind == RECORDING_ERROR ||
           kind == RECORDING_TOKEN || kind == RECORDING_REQUEST ||
           kind == RECORDING_REPAIR || kind == RECORDING_OPEN ||
           kind == RECORDING_OPENED || kind == RECORDING_STOP;
}

static bool is_for(const struct recording_item *item, enum replay_use use) {
    switch (use) {
    case USE_TOLD: return replay_is_told(item->kind);
    case USE_OUT: return item->kind == RECORDING_OUT;
    case USE_IN: return item->kind == RECORDING_IN;
    case USE_ENDS: return item->kind == RECORDING_PORT && item->values[3] == 0;
    default: return item->kind == RECORDING_PORT && item->values[3] == 1;
    }
}

struct replay_line *replay_line_of(struct replay *r, int link) {
    struct replay_line *line = &r->lines[link];

    if (line->call != r->calls) {
        line->call = r->calls;
        memset(line->at, 0, sizeof line->at);
        memset(line->part, 0, sizeof line->part);
        line->told = 0;
        line->made = false;
    }
    return line;
}

struct recording_item *replay_peek(struct replay *r, int link,
                                   enum replay_use use) {
    size_t *at = &replay_line_of(r, link)->at[use];

    while (*at < r->items_len &&
           !(r->items[*at].values[0] == link && is_for(&r->items[*at], use))) {
        (*at)++;
    }
    return *at < r->items_len ? &r->items[*at] : NULL;
}

void replay_used(struct replay *r, int link, enum replay_use use) {
    struct replay_line *line = replay_line_of(r, link);

    line->at[use]++;
    line->part[use] = 0;
    if (use == USE_TOLD || use == USE_OUT) {
        size_t at = line->at[use];
        line->told = at > line->told ? at : line->told;
    }
}

bool replay_is_next(struct replay *r, int link,
                    const struct recording_item *item) {
    const struct recording_item *told = replay_peek(r, link, USE_TOLD);
    const struct recording_item *out = replay_peek(r, link, USE_OUT);

    return (told == NULL || told > item) && (out == NULL || out > item);
}

const struct recording_item *replay_take(struct replay *r, size_t *at,
                                         enum recording_kind kind) {
    while (*at < r->items_len && r->items[*at].kind != kind) {
        (*at)++;
    }
    return *at < r->items_len ? &r->items[(*at)++] : NULL;
}

/* ---- calls ---- */

int replay_read_fail(struct replay *r) {
    snprintf(r->error, sizeof r->error, "%s", r->recording.error);
    return -1;
}

static void item_copy(struct recording_item *to, uint8_t *data,
                      const struct recording_item *from) {
    *to = *from;
    to->data = data;
    if (from->len > 0) {
        memcpy(data, from->data, from->len);
    }
}

/* Keeps an item of the call. Returns 0 or -1. */
static int item_add(struct replay *r, const struct recording_item *item) {
    struct recording_item *to = &r->items[r->items_len];

    if (r->items_len == REPLAY_ITEMS ||
        item->len > REPLAY_BYTES - r->data_len) {
        snprintf(r->error, sizeof r->error, "%s: a call is too large",
                 r->recording.path);
        return -1;
    }
    item_copy(to, r->data + r->data_len, item);
    to->received_ns = r->received_ns[item->values[0]];
    r->items_len++;
    r->data_len += item->len;
    return 0;
}

int replay_call_read(struct replay *r) {
    struct recording_item item;
    int rc;

    r->items_len = r->data_len = 0;
    r->clock_at = r->unix_at = r->random_at = 0;
    while ((rc = recording_next(&r->recording, &item)) == 1 &&
           !recording_is_call(item.kind)) {
        if (item.kind == RECORDING_RECEIVED) {
            r->received_ns[item.values[0]] = (uint64_t)item.values[1];
        } else if (item.kind <= RECORDING_POLL) {
            snprintf(r->error, sizeof r->error, "%s: an item out of its place",
                     r->recording.path);
            return -1;
        } else if (item_add(r, &item) != 0) {
            return -1;
        }
    }
    if (rc < 0) {
        return replay_read_fail(r);
    }
    r->has_next = rc == 1;
    if (r->has_next) {
        item_copy(&r->next, r->next_data, &item);
    }
    return 0;
}

/* Checks that everything recorded for the call has happened. */
static void call_check(struct replay *r) {
    for (size_t i = 0; i < r->items_len && r->error[0] == '\0'; i++) {
        const struct recording_item *item = &r->items[i];
        enum replay_use use = item->kind == RECORDING_OUT  ? USE_OUT
                              : item->kind == RECORDING_IN ? USE_IN
                                                           : USE_TOLD;
        int link = (int)item->values[0];
        if (is_for(item, use) && replay_peek(r, link, use) == item) {
            char name[200];
            replay_item_name(name, item);
            replay_differ(r, "link %d: nothing more, recorded: %s", link, name);
        }
    }
    if (r->error[0] == '\0' &&
        replay_take(r, &r->random_at, RECORDING_RANDOM) != NULL) {
        replay_differ(r, "it draws fewer random bytes than recorded");
    }
}

int replay_next(struct replay *r, const struct recording_item **call) {
    if (r->calls > 0) {
        call_check(r);
    }
    if (r->error[0] != '\0') {
        return -1;
    }
    if (!r->has_next) {
        return 0;
    }
    item_copy(&r->call, r->call_data, &r->next);
    r->calls++;
    if (replay_call_read(r) != 0) {
        return -1;
    }
    if (!r->has_next && r->recording.cut) {
        return 0; /* the call may be incomplete */
    }
    r->port->flags = MST_PORT_SECURE;
    *call = &r->call;
    return 1;
}
