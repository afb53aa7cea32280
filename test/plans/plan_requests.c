/*
 * The answers of a service that acts on a plan: see plan.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "plan_private.h"

#include <ctype.h>
#include <jansson.h>

#define ENTRIES (4 * PLAN_MARKETS + 16)
#define ANSWER_LATE_MS 12000
#define BEHIND_MS 1000 /* that a caller takes for earlier messages */

enum { SUBSCRIBE, UNSUBSCRIBE, LIST, ACTIONS };

static const char *const actions[ACTIONS] = {"subscribe", "unsubscribe",
                                             "subscription_list"};

/* Error codes: those of the specification, an unknown one, and an empty one.
 * The first PASSING are temporary; others may be untrue, which an audit
 * shows. */
#define PASSING 3
static const char *const codes[] = {"INTERNAL_SERVER_ERROR",
                                    "TEAPOT",
                                    "",
                                    "UNKNOWN_ACTION",
                                    "MALFORMED_REQUEST",
                                    "NO_EFFECT_ACTION",
                                    "UNKNOWN_CHANNEL",
                                    "UNKNOWN_CHANNEL_PARAMS_CONFIGURATION"};

static const char *code_draw(struct exchange *x) {
    uint32_t at = exchange_pick(x, COUNT(codes));

    if (at >= PASSING) {
        exchange_waits(x, x->plan->config.audit_ms);
    }
    return codes[at];
}

struct entry {
    char channel[32], market[64];
    bool success, said; /* said: the entry has "success" */
    bool odd;           /* of any form */
    const char *code;   /* or NULL */
};

struct answer {
    unsigned action;
    struct entry entries[ENTRIES];
    size_t len;
    bool fresh[PLAN_MARKETS]; /* a snapshot follows */
};

static void entry_add(struct answer *a, const char *channel,
                      const char *market) {
    struct entry *e = &a->entries[a->len];

    if (a->len == ENTRIES) {
        return;
    }
    a->len++;
    snprintf(e->channel, sizeof e->channel, "%s", channel);
    snprintf(e->market, sizeof e->market, "%s", market);
    e->success = true;
    e->said = a->action != LIST;
    e->odd = false;
    e->code = NULL;
}

/* Returns the flag of the subscription that an entry names, or NULL. */
static bool *entry_find(const struct exchange *x, const struct entry *e,
                        bool flags[MST_HEARTBEAT + 1][PLAN_MARKETS],
                        unsigned *market) {
    *market = 0;
    if (strcmp(e->channel, "heartbeat") == 0 && e->market[0] == '\0') {
        return &flags[MST_HEARTBEAT][0];
    }
    for (unsigned channel = 0; channel < MST_HEARTBEAT; channel++) {
        for (unsigned m = 0; m < x->plan->markets; m++) {
            if (strcmp(e->channel,
                       mst_channel_name((enum mst_channel)channel)) == 0 &&
                strcmp(e->market, plan_markets[m]) == 0) {
                *market = m;
                return &flags[channel][m];
            }
        }
    }
    return NULL;
}

/* The client requests a confirmed subscription again only after ending it. */
static void entry_ask(struct exchange *x, struct plan_link *l, unsigned action,
                      const struct entry *e) {
    unsigned market;
    bool *granted = entry_find(x, e, l->granted, &market);

    if (granted != NULL && *granted && action == SUBSCRIBE && !l->blamed) {
        exchange_wrong(x, "a confirmed subscription is requested again");
    }
    if (granted != NULL) {
        *granted = false;
    }
}

/* A readable, true entry confirms its subscription. After a list with an
 * unreadable entry the client may request everything again. */
static void entry_grant(struct exchange *x, struct plan_link *l,
                        unsigned action, const struct entry *e) {
    unsigned market;
    bool *granted = entry_find(x, e, l->granted, &market);
    const bool *subscribed = entry_find(x, e, l->subscribed, &market);

    if (action == LIST && e->odd) {
        memset(l->granted, 0, sizeof l->granted);
    } else if (action == SUBSCRIBE && granted != NULL) {
        *granted = e->success && *subscribed && !e->odd;
        l->granted_ms = mst_mock_elapsed(x->mock);
    }
}

/* Carries out what an entry requests, and notes the result in it. */
static void entry_apply(struct exchange *x, int link, struct answer *a,
                        struct entry *e, bool idle) {
    unsigned market;
    bool *subscribed = entry_find(x, e, x->links[link].subscribed, &market);
    bool subscribe = a->action == SUBSCRIBE;

    if (exchange_happens(x, FAULT_FAIL_ENTRY)) {
        e->success = false;
        x->links[link].blamed |= !subscribe;
        e->code = exchange_pick(x, 4) == 0 ? NULL : code_draw(x);
        return;
    }
    if (idle) {
        return;
    }
    if (subscribed == NULL) {
        e->success = !subscribe && x->links[link].strays;
        e->code = e->success  ? NULL
                  : subscribe ? "UNKNOWN_CHANNEL"
                              : "NO_EFFECT_ACTION";
        x->links[link].strays &= subscribe;
        return;
    }
    e->success = *subscribed != subscribe;
    e->code = e->success ? NULL : "NO_EFFECT_ACTION";
    *subscribed = subscribe;
    a->fresh[market] |=
        subscribe && e->success && strcmp(e->channel, "market_data") == 0;
}

/* ---- lists ---- */

static void list_fill(struct exchange *x, int link, struct answer *a) {
    const struct plan_link *l = &x->links[link];

    for (unsigned channel = 0; channel <= MST_HEARTBEAT; channel++) {
        for (unsigned m = 0; m < x->plan->markets; m++) {
            if (l->subscribed[channel][m]) {
                entry_add(a, mst_channel_name((enum mst_channel)channel),
                          channel == MST_HEARTBEAT ? "" : plan_markets[m]);
            }
        }
    }
    if (l->strays) {
        entry_add(a, "execution_data", "XRPUSD");
    }
}

/* Drops some entries, and adds some that nobody requested. */
static void list_spoil(struct exchange *x, struct answer *a) {
    static const char *const strays[][2] = {
        {"", ""},
        {"Market_Data", "BTCUSD"},
        {"market_data", "btcusd"},
        {"market_data", ""},
        {"market_data", "XRPUSD"},
        {"market_data.top_of_book", "BTCUSD "},
        {"news", "BTCUSD"},
        {"heartbeat", "BTCUSD"},
        {"execution_data", "ETHUSD"},
        {"market_data", "A-MARKET-WHOSE-SYMBOL-IS-LONGER-THAN-ANY-CLIENT-HAS"},
    };

    for (size_t i = 0; i < a->len;) {
        if (exchange_pick(x, 3) == 0) {
            a->entries[i] = a->entries[--a->len];
        } else {
            i++;
        }
    }
    for (unsigned n = exchange_pick(x, 4); n > 0; n--) {
        uint32_t at = exchange_pick(x, COUNT(strays));
        entry_add(a, strays[at][0], strays[at][1]);
    }
}

/* ---- text ---- */

/* Returns true if a client with a buffer of room bytes can read the entry. */
static bool entry_write(struct plan_writer *w, const struct entry *e,
                        size_t room) {
    size_t begin = w->len;
    bool clear;
    char channel[40], params[90], code[60];
    const struct plan_member members[] = {
        {"type", channel},
        {"params", e->market[0] != '\0' ? params : NULL},
        {"success", !e->said     ? NULL
                    : e->success ? "true"
                                 : "false"},
        {"error", e->code != NULL ? code : NULL},
        {"code", NULL},
        {"message", NULL},
    };

    snprintf(channel, sizeof channel, "\"%s\"", e->channel);
    snprintf(params, sizeof params, "{\"market\":\"%s\"}", e->market);
    snprintf(code, sizeof code, "\"%s\"", e->code != NULL ? e->code : "");
    w->odd = e->odd;
    clear = plan_write_object(w, members, COUNT(members));
    return e->channel[0] != '\0' && strlen(e->market) <= MST_MARKET_MAX &&
           (!e->odd || (clear && w->len - begin < room));
}

/* Returns the length; *clear is the number of readable entries. */
static size_t answer_write(struct exchange *x, const struct answer *a,
                           char *text, size_t size, uint32_t *clear) {
    struct plan_writer w = {.text = text, .size = size, .random = &x->random};

    plan_write(&w, "{\"type\":\"");
    plan_write(&w, actions[a->action]);
    plan_write(&w, "\",\"channels\":[");
    for (size_t i = 0; i < a->len; i++) {
        plan_write(&w, i > 0 ? "," : "");
        *clear += entry_write(&w, &a->entries[i], x->plan->message / 2);
    }
    plan_write(&w, "]}");
    return w.len;
}

static size_t error_write(struct exchange *x, char *text, size_t size) {
    /* Up to a code, and from there on. */
    static const char *const shapes[][2] = {
        {"{\"type\":\"error\",\"error\":\"", "\"}"},
        {"{\"type\":\"error\",\"code\":\"", "\",\"message\":\"as planned\"}"},
        {"{\"error\":{\"code\":\"", "\",\"message\":\"\"}}"},
        {"{\"type\":\"error\"}", NULL},
    };
    const char *code = code_draw(x);
    const char *const *shape = shapes[exchange_pick(x, COUNT(shapes))];
    bool coded = shape[1] != NULL;

    return (size_t)snprintf(text, size, "%s%s%s", shape[0], coded ? code : "",
                            coded ? shape[1] : "");
}

/* Makes the answer one to another request, or a partial one. */
static void answer_spoil(struct exchange *x, struct answer *a) {
    size_t at = a->len > 0 ? exchange_pick(x, (uint32_t)a->len) : 0;

    switch (exchange_pick(x, 7)) {
    case 0: a->action = exchange_pick(x, ACTIONS); break;
    case 1: a->len = at; break;
    case 2: snprintf(a->entries[at].market, 64, "XRPUSD"); break;
    case 3: snprintf(a->entries[at].channel, 32, "news"); break;
    case 4: a->entries[at].said ^= true; break;
    case 5: entry_add(a, "market_data", plan_markets[0]); break;
    default: entry_add(a, "heartbeat", "BTCUSD"); break;
    }
}

/* ---- requests ---- */

static void answer_read(struct answer *a, const char *text) {
    json_t *json = json_loads(text, 0, NULL), *entry;
    const char *type = json_string_value(json_object_get(json, "type"));
    size_t i;

    a->action = LIST;
    while (a->action > 0 && type != NULL &&
           strcmp(type, actions[a->action]) != 0) {
        a->action--;
    }
    json_array_foreach(json_object_get(json, "channels"), i, entry) {
        const char *channel = json_string_value(json_object_get(entry, "type"));
        const char *market = json_string_value(
            json_object_get(json_object_get(entry, "params"), "market"));
        entry_add(a, channel != NULL ? channel : "",
                  market != NULL ? market : "");
    }
    json_decref(json);
}

static void snapshots_send(struct exchange *x, int link, const struct answer *a,
                           uint32_t ms) {
    for (unsigned m = 0; m < x->plan->markets; m++) {
        unsigned times = a->fresh[m] ? 1 : 0;
        if (exchange_happens(x, FAULT_NO_SNAPSHOT)) {
            times = 0;
        } else if (times > 0 && exchange_happens(x, FAULT_SNAPSHOT_TWICE)) {
            times = 2;
        }
        for (; times > 0; times--) {
            uint32_t later = exchange_happens(x, FAULT_LATE_SNAPSHOT)
                                 ? exchange_delay(x, 300000)
                                 : 0;
            exchange_snapshot(x, link, m, ms + later);
        }
    }
}

/* Gives some entries any form, or a market in lower case. */
static void answer_vary(struct exchange *x, int link, struct answer *a) {
    for (size_t i = 0; i < a->len; i++) {
        struct entry *e = &a->entries[i];
        e->odd = exchange_happens(x, FAULT_ENTRIES);
        entry_grant(x, &x->links[link], a->action, e);
        for (char *c = e->market; e->odd && *c != '\0'; c++) {
            *c = exchange_pick(x, 4) == 0 ? (char)tolower(*c) : *c;
        }
    }
}

static void answer_send(struct exchange *x, int link, struct answer *a,
                        uint32_t ms) {
    char text[PLAN_TEXT];
    struct plan_message m = {.says = SAYS_ANSWER};
    size_t len;

    if (exchange_happens(x, FAULT_STRANGE)) {
        answer_spoil(x, a);
        x->links[link].blamed = true;
    }
    answer_vary(x, link, a);
    len = answer_write(x, a, text, sizeof text, &m.first);
    m.version = (uint32_t)a->len;
    if (exchange_happens(x, FAULT_UNSAID)) {
        x->links[link].blamed = true;
        return;
    }
    exchange_send_later(x, link, text, len, &m, ms);
    if (exchange_happens(x, FAULT_TWICE)) {
        x->links[link].blamed = true;
        exchange_send_later(x, link, text, len, &m,
                            ms + exchange_pick(x, 2) * exchange_delay(x, 5000));
    }
}

void exchange_request(void *context, int link, const char *text) {
    struct exchange *x = context;
    struct answer a = {.len = 0};
    struct plan_link *l = &x->links[link];
    bool idle = exchange_happens(x, FAULT_IDLE);
    uint32_t ms =
        exchange_happens(x, FAULT_LATE) ? exchange_pick(x, ANSWER_LATE_MS) : 0;
    char error[256];

    NOTE(x, "link %d asks %s", link, text);
    answer_read(&a, text);
    for (size_t i = 0; i < a.len; i++) {
        entry_ask(x, l, a.action, &a.entries[i]);
    }
    /* Late, or after more messages than the caller can handle in time. */
    l->blamed |= ms > 0 || (x->strength[FAULT_BUSY] > 0 &&
                            l->messages_len * x->event_ms > BEHIND_MS);
    if (exchange_happens(x, FAULT_WITHHOLD)) {
        l->blamed = true;
        return;
    }
    if (exchange_happens(x, FAULT_REFUSE)) {
        /* A list may be refused, unless much depends on it. With a pair, the
         * caller does not receive this event for both connections. */
        l->blamed |= a.action != LIST || x->strength[FAULT_ENTRIES] > 0 ||
                     x->plan->links == 2;
        exchange_send_later(x, link, error, error_write(x, error, sizeof error),
                            NULL, ms);
        return;
    }
    if (a.action == LIST) {
        list_fill(x, link, &a);
        if (exchange_happens(x, FAULT_LIST)) {
            list_spoil(x, &a);
            memset(l->granted, 0, sizeof l->granted);
        }
    }
    for (size_t i = 0; i < a.len && a.action != LIST; i++) {
        entry_apply(x, link, &a, &a.entries[i], idle);
    }
    if (exchange_happens(x, FAULT_SNAPSHOT_EARLY)) {
        snapshots_send(x, link, &a, 0);
        answer_send(x, link, &a, ms);
    } else {
        struct answer said = a; /* the answer may differ from what was done */
        answer_send(x, link, &said, ms);
        snapshots_send(x, link, &a, ms);
    }
}
