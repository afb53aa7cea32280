/*
 * The port of a replay: see replay_port.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE /* memmem() */
#include "replay_port.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- the port ---- */

static int port_resolve(void *context, int link,
                        const struct mst_endpoint *endpoint) {
    struct replay *r = context;
    const struct recording_item *told = replay_peek(r, link, USE_TOLD);

    (void)endpoint;
    if (told != NULL && told->kind == RECORDING_ERROR) {
        r->lines[link].detail = (int)told->values[5];
        return (int)told->values[1];
    }
    return told != NULL && told->kind == RECORDING_STATE &&
           told->values[2] == MST_STATE_CONNECT;
}

/* A handshake reads the clock after each computation: the last reading
 * counts. */
static void handshake_clock(struct replay *r, int link) {
    const struct recording_item *told = replay_peek(r, link, USE_TOLD);
    size_t end = told != NULL ? (size_t)(told - r->items) : r->items_len;
    size_t last = r->items_len;

    for (size_t i = r->clock_at; i < end; i++) {
        if (r->items[i].kind == RECORDING_CLOCK &&
            r->items[i].values[0] == link) {
            last = i;
        }
    }
    r->clock_stands = last == r->items_len;
    r->clock_at = r->clock_stands ? r->clock_at : last;
}

static int port_connect(void *context, int link, int address) {
    struct replay *r = context;
    struct replay_line *line = replay_line_of(r, link);
    const struct recording_item *told = replay_peek(r, link, USE_TOLD);

    (void)address;
    if (line->tls) {
        handshake_clock(r, link);
    }
    if (told == NULL) {
        return 0;
    }
    if (told->kind == RECORDING_ERROR) {
        line->detail = (int)told->values[5];
        return (int)told->values[1];
    }
    if (told->kind == RECORDING_STATE && told->values[2] == MST_STATE_TLS) {
        line->tls = true;
        return MST_PORT_IN_TLS;
    }
    return told->kind == RECORDING_OPENED;
}

/* Keeps the scope in a request for a token. */
static void scope_keep(struct replay *r, const char *form, size_t len) {
    static const char name[] = "&scope=";
    const char *at = memmem(form, len, name, sizeof name - 1);
    size_t n = 0;

    if (at == NULL) {
        return;
    }
    len -= (size_t)(at - form) + sizeof name - 1;
    at += sizeof name - 1;
    while (len > 0 && n + 1 < sizeof r->scope) {
        size_t used = *at == '%' && len >= 3 ? 3 : 1;
        char digits[] = {at[used == 3], at[used - 1], '\0'};
        r->scope[n++] = used == 3 ? (char)strtoul(digits, NULL, 16) : *at;
        at += used;
        len -= used;
    }
    r->scope[n] = '\0';
}

/* The first unused item of a link, starting with this one. */
static const struct recording_item *
first_left(struct replay *r, int link, const struct recording_item *from) {
    const struct recording_item *first = NULL;

    for (unsigned use = 0; use < USES; use++) {
        const struct recording_item *item =
            replay_peek(r, link, (enum replay_use)use);
        if (item != NULL && item >= from && (first == NULL || item < first)) {
            first = item;
        }
    }
    return first;
}

/* If a send took only part of a TLS record, the recording does not say how much
 * was left. So one byte of the record is kept back as long as partial sends
 * follow. Several in a row count as one: there may have been more of them than
 * bytes. */
static int send_record(struct replay *r, int link,
                       const struct recording_item *item, size_t len) {
    const struct recording_item *next = item, *out;

    if (!replay_is_next(r, link, item)) {
        return 0;
    }
    while (next != NULL && next == replay_peek(r, link, USE_SEND) &&
           next->values[1] >= 0) {
        item = next;
        replay_used(r, link, USE_SEND);
        next = first_left(r, link, item);
    }
    out = replay_peek(r, link, USE_OUT);
    if (out != NULL && out == next) {
        return 1; /* the next record follows */
    }
    if (item->values[2] == 0 &&
        (next == NULL || next != replay_peek(r, link, USE_SEND))) {
        /* The next send gets no further, either. */
        r->lines[link].at[USE_SEND] = (size_t)(item - r->items);
        return 0;
    }
    return len > 1;
}

static int port_send(void *context, int link, const void *data, size_t len) {
    struct replay *r = context;
    struct replay_line *line = replay_line_of(r, link);
    const struct recording_item *item = replay_peek(r, link, USE_SEND), *out;

    if (line->token) {
        line->asked = true;
        scope_keep(r, data, len);
    }
    /* earlier partial sends were of TLS bytes only */
    while (item != NULL && (size_t)(item - r->items) < line->told) {
        replay_used(r, link, USE_SEND);
        item = replay_peek(r, link, USE_SEND);
    }
    out = replay_peek(r, link, USE_OUT);
    if (item == NULL || (out != NULL && out < item)) {
        return (int)len;
    }
    if (line->tls && item->values[1] >= 0) {
        return send_record(r, link, item, len);
    }
    if (!replay_is_next(r, link, item)) {
        return (int)len;
    }
    replay_used(r, link, USE_SEND);
    if (item->values[1] < 0) {
        line->detail = (int)item->values[2];
        return (int)item->values[1];
    }
    return (size_t)item->values[2] < len ? (int)item->values[2] : (int)len - 1;
}

/* Delivers the data of one recv(): an item, or several if it was long. */
static int receive(struct replay *r, int link, uint8_t *to, size_t len) {
    struct replay_line *line = replay_line_of(r, link);
    size_t *part = &line->part[USE_IN], got = 0;
    bool more = true;

    while (more && got < len) {
        const struct recording_item *item = replay_peek(r, link, USE_IN);
        size_t n;
        if (item == NULL || !replay_is_next(r, link, item)) {
            break;
        }
        n = item->len - *part < len - got ? item->len - *part : len - got;
        memcpy(to + got, item->data + *part, n);
        got += n;
        *part += n;
        r->now_ns = line->received_ns = item->received_ns;
        more = item->len == RECORDING_DATA;
        if (*part == item->len) {
            replay_used(r, link, USE_IN);
        }
    }
    return (int)got;
}

static int port_recv(void *context, int link, void *data, size_t len) {
    struct replay *r = context;
    struct replay_line *line = replay_line_of(r, link);
    const struct recording_item *ends;
    int n = 0;

    if (line->token && line->asked) {
        replay_reply(r, link);
        if (line->made && r->reply_at < r->reply_len) {
            size_t rest = r->reply_len - r->reply_at;
            rest = rest < len ? rest : len;
            memcpy(data, r->reply + r->reply_at, rest);
            r->reply_at += rest;
            line->received_ns = r->now_ns;
            n = (int)rest;
        }
    } else if (!line->token) {
        n = receive(r, link, data, len);
    }
    /* Requests for tokens are not recorded. The response, and the end of the
     * connection, may have come in the same poll as the request. */
    ends = n == 0 && (!line->token || line->asked)
               ? replay_peek(r, link, USE_ENDS)
               : NULL;
    if (ends != NULL && replay_is_next(r, link, ends)) {
        replay_used(r, link, USE_ENDS);
        line->detail = (int)ends->values[2];
        n = (int)ends->values[1];
    }
    return n;
}

static void port_close(void *context, int link) {
    struct replay *r = context;

    r->lines[link].tls = r->lines[link].token = false;
    r->lines[link].asked = false;
    r->lines[link].detail = 0;
}

static uint32_t port_now_ms(void *context) {
    struct replay *r = context;
    const struct recording_item *item =
        r->clock_stands ? NULL : replay_take(r, &r->clock_at, RECORDING_CLOCK);

    r->clock_stands = false;
    if (item != NULL) {
        r->now_ms = (uint32_t)item->values[1];
    }
    return r->now_ms;
}

static uint64_t port_now_ns(void *context) {
    return ((struct replay *)context)->now_ns;
}

static int port_unix_ns(void *context, int64_t *ns) {
    struct replay *r = context;
    const struct recording_item *item =
        replay_take(r, &r->unix_at, RECORDING_UNIX);
    const struct recording_item *told;

    if (item == NULL) {
        replay_differ(r, "it reads the wall clock");
        return MST_ERR_CLOCK;
    }
    r->trying = (int)item->values[0];
    told = replay_peek(r, r->trying, USE_TOLD);
    /* With a port that is not secure, the library needs the time. */
    r->port->flags = told != NULL && told->kind == RECORDING_ERROR &&
                             told->values[1] == MST_ERR_CLOCK
                         ? 0
                         : MST_PORT_SECURE;
    r->unix_ns = *ns = item->values[1];
    return item->values[1] < 0 ? MST_ERR_CLOCK : 0;
}

static int port_entropy(void *context, void *data, size_t len) {
    struct replay *r = context;
    const struct recording_item *item =
        replay_take(r, &r->random_at, RECORDING_RANDOM);

    if (item == NULL || item->len != len) {
        return MST_ERR_ENTROPY; /* as recorded, or a difference will show up */
    }
    memcpy(data, item->data, len);
    return 0;
}

static int port_token_load(void *context, const uint8_t key[MST_TOKEN_KEY_LEN],
                           char *token, size_t cap, int64_t *until_s) {
    struct replay *r = context;
    const struct recording_item *told = replay_peek(r, r->trying, USE_TOLD);

    (void)key;
    if (told == NULL || told->kind != RECORDING_TOKEN ||
        told->values[1] != TOKEN_LOADED || (size_t)told->values[3] > cap) {
        return 0;
    }
    memset(token, '*', (size_t)told->values[3]);
    *until_s = r->unix_ns / 1000000000 + told->values[2];
    return (int)told->values[3];
}

static int port_detail(void *context, int link) {
    return ((struct replay *)context)->lines[link].detail;
}

/* ---- the trace ---- */

static void told_check(struct replay *r, int link,
                       const struct recording_item *now) {
    const struct recording_item *then = replay_peek(r, link, USE_TOLD);
    char here[200], there[200] = "nothing";

    if (then != NULL && then->kind == now->kind &&
        memcmp(then->values, now->values, sizeof now->values) == 0 &&
        then->len == now->len &&
        (now->len == 0 || memcmp(then->data, now->data, now->len) == 0)) {
        replay_used(r, link, USE_TOLD);
        return;
    }
    replay_item_name(here, now);
    if (then != NULL) {
        replay_item_name(there, then);
    }
    replay_differ(r, "link %d: %s, recorded: %s", link, here, there);
}

static void out_check(struct replay *r, int link, const uint8_t *data,
                      size_t len) {
    struct replay_line *line = replay_line_of(r, link);

    while (len > 0) {
        const struct recording_item *item = replay_peek(r, link, USE_OUT);
        size_t *part = &line->part[USE_OUT], n;
        if (item == NULL) {
            replay_differ(r, "link %d sends %zu bytes more than recorded", link,
                          len);
            return;
        }
        n = item->len - *part < len ? item->len - *part : len;
        if (memcmp(item->data + *part, data, n) != 0) {
            replay_differ(r, "link %d sends other bytes than recorded", link);
            return;
        }
        data += n;
        len -= n;
        *part += n;
        if (*part == item->len) {
            replay_used(r, link, USE_OUT);
        }
    }
}

static void on_trace(void *context, const struct mst_trace *t) {
    struct replay *r = context;
    struct recording_item item;

    if (r->then != NULL) {
        r->then(r->then_context, t);
    }
    if (t->link < 0 || t->link >= (int)RECORDING_NUMBERS) {
        return;
    }
    recording_of_trace(t, &item);
    if (replay_is_told(item.kind)) {
        recording_trim(&item);
        told_check(r, t->link, &item);
    } else if (item.kind == RECORDING_OUT) {
        out_check(r, t->link, item.data, item.len);
    }
    if (item.kind == RECORDING_STATE) {
        r->lines[t->link].token = t->state == MST_STATE_TOKEN;
    }
}

void replay_configure(struct replay *r, struct recording_setup *setup) {
    struct mst_config *config = &setup->config;

    config->client_id = config->client_secret = "replay";
    config->flags |= MST_TRACE_ALL | MST_NO_BURST;
    config->trace = on_trace;
    config->trace_context = r;
    /* Timeouts come as recorded errors: after an address that timed out,
     * another one may have followed. */
    config->resolve_ms = config->connect_ms = config->tls_ms = 24u * 86400000u;
}

/* ---- begin and end ---- */

int replay_open(struct replay *r, const char *path, struct mst_port *port) {
    void *room;

    memset(r, 0, sizeof *r);
    r->port = port;
    if (recording_open(&r->recording, path) != 0) {
        return replay_read_fail(r);
    }
    room = mmap(NULL, REPLAY_ROOM, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* costs what is used */
    if (room == MAP_FAILED) {
        snprintf(r->error, sizeof r->error, "%s: no memory", path);
        return -1;
    }
    r->items = room;
    r->data = (uint8_t *)(r->items + REPLAY_ITEMS);
    *port = (struct mst_port){.context = r,
                              .flags = MST_PORT_SECURE,
                              .resolve = port_resolve,
                              .connect = port_connect,
                              .send = port_send,
                              .recv = port_recv,
                              .close = port_close,
                              .now_ms = port_now_ms,
                              .unix_ns = port_unix_ns,
                              .entropy = port_entropy,
                              .now_ns = port_now_ns,
                              .token_load = port_token_load,
                              .detail = port_detail};
    /* Items before the first call belong to no call. */
    return replay_call_read(r);
}

void replay_close(struct replay *r) {
    recording_close(&r->recording);
    if (r->items != NULL) {
        munmap(r->items, REPLAY_ROOM);
    }
    r->items = NULL;
}
