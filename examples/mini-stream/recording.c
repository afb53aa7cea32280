/*
 * The items of a recording: see recording.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "recording.h"

#include <string.h>

/* ---- items ---- */

/* Each kind: number of values, a bit for each value that is a difference, if it
 * has data, and its name. */
static const struct {
    uint8_t values, differences;
    bool data;
    const char *name;
} shapes[RECORDING_KINDS] = {
    [RECORDING_END] = {2, 0, false, "item"},
    [RECORDING_NEXT] = {0, 0, false, "item"},
    [RECORDING_FILE] = {3, 0, true, "item"},
    [RECORDING_ACCESS] = {1, 0, false, "access"},
    [RECORDING_CLIENT] = {1, 0, true, "client"},
    [RECORDING_PAIR] = {1, 0, true, "pair"},
    [RECORDING_SUBSCRIBE] = {6, 0, true, "subscribe"},
    [RECORDING_UNSUBSCRIBE] = {2, 0, true, "unsubscribe"},
    [RECORDING_RESYNC] = {2, 0, true, "resync"},
    [RECORDING_LIST] = {1, 0, false, "subscription list"},
    [RECORDING_ROTATE] = {1, 0, false, "rotate"},
    [RECORDING_CLOSE] = {1, 0, false, "close"},
    [RECORDING_WIPE] = {1, 0, false, "wipe"},
    [RECORDING_CREDENTIALS] = {2, 0, false, "credentials"},
    [RECORDING_ANCHORS] = {2, 0, false, "anchors"},
    [RECORDING_POLL] = {3, 6, false, "poll"},
    [RECORDING_STATE] = {3, 0, false, "state"},
    [RECORDING_ERROR] = {6, 0, true, "error"},
    [RECORDING_TOKEN] = {4, 0, false, "token"},
    [RECORDING_REQUEST] = {2, 0, true, "request"},
    [RECORDING_REPAIR] = {2, 0, true, "repair"},
    [RECORDING_OPEN] = {2, 0, true, "open"},
    [RECORDING_OPENED] = {1, 0, false, "opened"},
    [RECORDING_IN] = {1, 0, true, "bytes received"},
    [RECORDING_OUT] = {1, 0, true, "bytes sent"},
    [RECORDING_PORT] = {4, 0, false, "item"},
    [RECORDING_STOP] = {2, 0, false, "end"},
    [RECORDING_CLOCK] = {2, 2, false, "item"},
    [RECORDING_UNIX] = {2, 2, false, "item"},
    [RECORDING_RANDOM] = {1, 0, true, "random bytes"},
    [RECORDING_RECEIVED] = {2, 2, false, "item"},
};

const char *recording_kind_name(enum recording_kind kind) {
    return shapes[kind].name;
}

void recording_trim(struct recording_item *item) {
    for (unsigned i = shapes[item->kind].values; i < RECORDING_VALUES; i++) {
        item->values[i] = 0;
    }
    if (!shapes[item->kind].data) {
        item->data = NULL;
        item->len = 0;
    }
}

bool recording_is_call(enum recording_kind kind) {
    return kind >= RECORDING_ACCESS && kind <= RECORDING_POLL;
}

bool recording_is_market(int64_t channel, const uint8_t *name, size_t len) {
    if (channel < MST_MARKET_DATA || channel > MST_HEARTBEAT ||
        len > MST_MARKET_MAX || (channel == MST_HEARTBEAT) != (len == 0)) {
        return false;
    }
    while (len > 0 && name[len - 1] > ' ' && name[len - 1] <= '~') {
        len--;
    }
    return len == 0;
}

/* A position in what is written or read; bad: input was malformed. */
struct cursor {
    uint8_t *out;
    const uint8_t *in;
    size_t at, len;
    bool bad;
};

static void number_write(struct cursor *c, uint64_t n) {
    while (n >= 0x80) {
        c->out[c->at++] = (uint8_t)(n | 0x80);
        n >>= 7;
    }
    c->out[c->at++] = (uint8_t)n;
}

static uint64_t number_read(struct cursor *c) {
    uint64_t n = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte;
        if (c->at == c->len) {
            break;
        }
        byte = c->in[c->at++];
        if (shift == 63 && byte > 1) {
            break;
        }
        n |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            return n;
        }
    }
    c->bad = true;
    return 0;
}

/* A value has its sign in the lowest bit. */
static void value_write(struct cursor *c, int64_t value) {
    uint64_t n = (uint64_t)value << 1;

    number_write(c, value < 0 ? ~n : n);
}

static int64_t value_read(struct cursor *c) {
    uint64_t n = number_read(c);

    return (int64_t)((n & 1) != 0 ? ~(n >> 1) : n >> 1);
}

static void data_write(struct cursor *c, const void *data, size_t len) {
    number_write(c, len);
    if (len > 0) {
        memcpy(c->out + c->at, data, len);
        c->at += len;
    }
}

static const uint8_t *data_read(struct cursor *c, size_t *len) {
    uint64_t n = number_read(c);
    const uint8_t *data = c->in + c->at;

    if (n > c->len - c->at) {
        c->bad = true;
        n = 0;
    }
    *len = (size_t)n;
    c->at += *len;
    return data;
}

size_t recording_write(struct recording_last *last,
                       const struct recording_item *item, uint8_t *out) {
    struct cursor c = {.out = out};

    out[c.at++] = (uint8_t)item->kind;
    for (unsigned i = 0; i < shapes[item->kind].values; i++) {
        int64_t *before = &last->values[item->kind][i];
        int64_t value = item->values[i];
        if ((shapes[item->kind].differences >> i & 1) != 0) {
            value = (int64_t)((uint64_t)value - (uint64_t)*before);
            *before = item->values[i];
        }
        value_write(&c, value);
    }
    if (shapes[item->kind].data) {
        data_write(&c, item->data, item->len);
    }
    return c.at;
}

/* Checks all ranges, so that readers need not. */
static bool item_is_good(const struct recording_item *item) {
    const int64_t *v = item->values;
    const enum recording_kind kind = item->kind;

    if (kind > RECORDING_FILE && (v[0] < 0 || v[0] >= RECORDING_NUMBERS)) {
        return false; /* the number of a link, object or access */
    }
    switch (kind) {
    case RECORDING_END:
        return v[0] >= 0 && v[0] <= UINT8_MAX && v[1] >= 0 && v[1] <= 1;
    case RECORDING_SUBSCRIBE:
        return v[2] >= 0 && v[2] <= 2 && v[3] >= 0 &&
               v[3] <= RECORDING_CAPACITY && (v[2] > 0) == (v[3] > 0) &&
               v[4] >= 0 && v[4] <= v[3] &&
               recording_is_market(v[1], item->data, item->len);
    case RECORDING_UNSUBSCRIBE:
    case RECORDING_RESYNC:
        return recording_is_market(v[1], item->data, item->len);
    case RECORDING_STATE:
        return v[1] >= MST_STATE_OFF && v[1] <= MST_STATE_CLOSING &&
               v[2] >= MST_STATE_OFF && v[2] <= MST_STATE_CLOSING;
    case RECORDING_ERROR:
        return v[1] < 0 && v[1] > -1000 && v[2] >= MST_STATE_OFF &&
               v[2] <= MST_STATE_CLOSING && v[3] >= 0 && v[3] <= 999 &&
               v[4] >= 0 && v[4] <= UINT32_MAX && v[5] >= INT32_MIN &&
               v[5] <= INT32_MAX && item->len <= MST_TEXT_MAX;
    case RECORDING_TOKEN:
        return v[1] >= TOKEN_OBTAINED && v[1] <= TOKEN_DROPPED && v[2] >= -1 &&
               v[2] <= UINT32_MAX / 1000 && v[3] >= 0 && v[3] <= MST_TOKEN_MAX;
    case RECORDING_PORT:
        return v[1] <= 0 && v[1] > -1000 && v[2] >= INT32_MIN &&
               v[2] <= INT32_MAX && (v[3] == 0 || v[3] == 1) &&
               (v[3] == 1 || v[1] < 0);
    case RECORDING_STOP: return v[1] <= 0 && v[1] > -1000;
    case RECORDING_CLOCK: return v[1] >= 0 && v[1] <= UINT32_MAX;
    case RECORDING_UNIX: return v[1] >= -1; /* -1: none; else 1970 to 2262 */
    case RECORDING_IN:
    case RECORDING_OUT: return item->len > 0;
    case RECORDING_POLL:
        return v[1] >= 0 && v[1] < RECORDING_NS_END &&
               v[2] < RECORDING_NS_END && v[2] >= -v[1];
    case RECORDING_RECEIVED: return v[1] >= 0 && v[1] < RECORDING_NS_END;
    default: return true;
    }
}

bool recording_read(struct recording_last *last, const uint8_t *in, size_t len,
                    struct recording_item *item, size_t *used) {
    struct cursor c = {.in = in, .len = len};

    memset(item, 0, sizeof *item);
    if (len == 0 || in[0] >= RECORDING_KINDS) {
        return false;
    }
    item->kind = (enum recording_kind)in[c.at++];
    for (unsigned i = 0; i < shapes[item->kind].values; i++) {
        int64_t *before = &last->values[item->kind][i];
        int64_t value = value_read(&c);
        if ((shapes[item->kind].differences >> i & 1) != 0) {
            value = (int64_t)((uint64_t)value + (uint64_t)*before);
            *before = value;
        }
        item->values[i] = value;
    }
    if (shapes[item->kind].data) {
        item->data = data_read(&c, &item->len);
    }
    *used = c.at;
    return !c.bad && item->len <= RECORDING_DATA && item_is_good(item);
}

/* ---- the trace ---- */

static void error_of_trace(const struct mst_trace *t,
                           struct recording_item *item) {
    const struct mst_failure *f = t->failure;

    item->kind = RECORDING_ERROR;
    item->values[1] = f->error;
    item->values[2] = f->stage;
    item->values[3] = f->http_status;
    item->values[4] = t->value;
    item->values[5] = f->detail;
    item->data = (const uint8_t *)f->text;
    item->len = strlen(f->text);
}

static enum recording_token token_how(const char *text) {
    return strcmp(text, "obtained") == 0 ? TOKEN_OBTAINED
           : strcmp(text, "loaded") == 0 ? TOKEN_LOADED
                                         : TOKEN_DROPPED;
}

void recording_of_trace(const struct mst_trace *t,
                        struct recording_item *item) {
    static const enum recording_kind kinds[] = {
        [MST_TRACE_REQUEST] = RECORDING_REQUEST,
        [MST_TRACE_REPAIR] = RECORDING_REPAIR,
        [MST_TRACE_OPEN] = RECORDING_OPEN,
        [MST_TRACE_OPENED] = RECORDING_OPENED,
        [MST_TRACE_READ] = RECORDING_IN,
        [MST_TRACE_OUT] = RECORDING_OUT,
        [MST_TRACE_CLOCK] = RECORDING_CLOCK,
        [MST_TRACE_RANDOM] = RECORDING_RANDOM};

    *item = (struct recording_item){.values = {t->link, t->value}};
    switch (t->kind) {
    case MST_TRACE_STATE:
        item->kind = RECORDING_STATE;
        item->values[1] = t->from;
        item->values[2] = t->state;
        return;
    case MST_TRACE_ERROR: error_of_trace(t, item); return;
    case MST_TRACE_TOKEN:
        item->kind = RECORDING_TOKEN;
        item->values[1] = token_how(t->text);
        item->values[2] = t->value;
        item->values[3] = t->value2;
        return;
    case MST_TRACE_PORT:
        item->kind = RECORDING_PORT;
        item->values[1] = t->error;
        item->values[2] = t->value;
        item->values[3] = t->value2;
        return;
    case MST_TRACE_END:
        item->kind = RECORDING_STOP;
        item->values[1] = t->error;
        return;
    default: break;
    }
    item->kind = kinds[t->kind];
    if (t->kind == MST_TRACE_CLOCK && t->value2 != 0) {
        item->kind = RECORDING_UNIX;
    }
    item->data = t->text != NULL ? (const uint8_t *)t->text : t->data;
    item->len = t->text != NULL ? strlen(t->text) : t->len;
}

/* ---- the configuration of an object ---- */

#define SETUP_FLAGS                                              \
    (MST_STRICT_AMOUNTS | MST_ALLOW_PLAIN | MST_RESYNC_CROSSED | \
     MST_TRACE_ALL | MST_HOT_STANDBY | MST_NO_BURST)

/* The numbers of a configuration, from the first time to min_rate. */
#define SETUP_FIRST offsetof(struct mst_config, resolve_ms)
#define SETUP_NUMBERS                                        \
    ((offsetof(struct mst_config, min_rate) - SETUP_FIRST) / \
         sizeof(uint32_t) +                                  \
     1)

static uint32_t *setup_numbers(struct recording_setup *setup) {
    return (uint32_t *)(void *)((char *)&setup->config + SETUP_FIRST);
}

static const char **setup_text(struct recording_setup *setup, unsigned i) {
    const char **const texts[] = {
        &setup->config.ws_url, &setup->config.auth_url, &setup->config.base_url,
        &setup->config.scope};

    return texts[i];
}

size_t recording_setup_write(const struct recording_setup *setup,
                             uint8_t out[RECORDING_SETUP]) {
    struct recording_setup copy = *setup;
    struct cursor c = {.out = out};

    number_write(&c, setup->config.flags);
    value_write(&c, setup->config.link);
    value_write(&c, setup->access);
    number_write(&c, setup->rotate_ms);
    number_write(&c, SETUP_NUMBERS);
    for (size_t i = 0; i < SETUP_NUMBERS; i++) {
        number_write(&c, setup_numbers(&copy)[i]);
    }
    for (size_t i = 0; i < 8; i++) {
        number_write(&c, setup->lengths[i / 4][i % 4]);
    }
    for (unsigned i = 0; i < 4; i++) {
        const char *text = *setup_text(&copy, i);
        number_write(&c, text != NULL);
        data_write(&c, text,
                   text != NULL ? strnlen(text, RECORDING_TEXT - 1) : 0);
    }
    return c.at;
}

bool recording_setup_read(const uint8_t *in, size_t len,
                          struct recording_setup *setup) {
    struct cursor c = {.in = in, .len = len};
    int64_t link;

    memset(setup, 0, sizeof *setup);
    setup->config.flags = (unsigned)number_read(&c) & SETUP_FLAGS;
    link = value_read(&c);
    c.bad |= link < 0 || link >= RECORDING_NUMBERS - 1;
    setup->config.link = (int)link;
    link = value_read(&c);
    c.bad |= link < -1 || link >= RECORDING_NUMBERS;
    setup->access = (int)link;
    setup->rotate_ms = (uint32_t)number_read(&c);
    c.bad |= number_read(&c) != SETUP_NUMBERS;
    for (size_t i = 0; i < SETUP_NUMBERS; i++) {
        setup_numbers(setup)[i] = (uint32_t)number_read(&c);
    }
    for (size_t i = 0; i < 8; i++) {
        uint64_t n = number_read(&c);
        c.bad |= n > RECORDING_MEMORY;
        setup->lengths[i / 4][i % 4] = (size_t)n;
    }
    for (unsigned i = 0; i < 4 && !c.bad; i++) {
        uint64_t there = number_read(&c);
        size_t n;
        const uint8_t *text = data_read(&c, &n);
        if (there != 0 && n < sizeof setup->texts[i] &&
            memchr(text, '\0', n) == NULL) {
            memcpy(setup->texts[i], text, n);
            *setup_text(setup, i) = setup->texts[i];
        } else {
            c.bad |= there != 0;
        }
    }
    return !c.bad && c.at == c.len;
}
