/*
 * gateway-consumer: follows a market's book that a gateway publishes. At every
 * change, it prints the best levels as a line of JSON. It can start at any
 * time: it takes the last book of the bucket, then the stream from there on.
 *
 * Messages of an epoch are numbered without a gap. If a number is missing, so
 * is a change: the book must not be used, and a snapshot is requested.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <argp.h>
#include <jansson.h>
#include <nats/nats.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "examples/start.h"
#include "subject.h"

#define ASK_MS 1000      /* between requests; also the timeout of each */
#define SILENCE_MS 8000  /* without messages: subscribe again */
#define DEAD_MS 15000    /* without messages: the book is not live */
#define CONNECT_MS 20000 /* for the first connection to the broker */

static const char *const sides[] = {"bids", "asks"};
static const char *const horizons[] = {"bids_horizon", "asks_horizon"};

struct consumer {
    const char *url, *prefix, *market, *ca, *credentials;
    long depth, seconds;
    char token[SUBJECT_TOKEN_LEN]; /* the market's name in subjects */
    natsConnection *connection;
    jsCtx *js;
    natsSubscription *messages;
    uint64_t next; /* sequence of the next message; 0: the next new one */
    uint64_t past; /* sequence of the last message before follow() */
    /* The book. */
    uint64_t epoch, number; /* of the last message in the book */
    enum {
        MISSED, /* changes are missing: request a snapshot */
        STALE,  /* by the gateway's word: a sample will come */
        LIVE
    } state;
    char time[40];     /* the service's */
    json_t *levels[2]; /* per side: price to amount */
    int64_t asked_ms, heard_ms;
    int64_t said_ms; /* the last message of a running gateway */
};

static int64_t now_ms(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- the book ---- */

/* Writes a price without trailing zeros, however many there are. */
static void canonical(const char *price, char text[64]) {
    size_t len;

    snprintf(text, 64, "%s", price);
    len = strlen(text);
    if (strchr(text, '.')) {
        while (text[len - 1] == '0') {
            --len;
        }
        text[text[len - 1] == '.' ? len - 1 : len] = '\0';
    }
}

/* Compares canonical numbers, like strcmp. */
static int compare(const char *a, const char *b) {
    size_t whole_a, whole_b;

    if (*a == '-' || *b == '-') {
        return *a != *b ? (*a == '-' ? -1 : 1) : compare(b + 1, a + 1);
    }
    whole_a = strcspn(a, ".");
    whole_b = strcspn(b, ".");
    return whole_a != whole_b ? (whole_a < whole_b ? -1 : 1) : strcmp(a, b);
}

static bool is_zero(const char *amount) {
    return amount[strspn(amount, "0.")] == '\0';
}

static void take_levels(json_t *levels, const json_t *array) {
    const char *price, *amount;
    char key[64];
    json_t *level;
    size_t i;

    json_array_foreach(array, i, level) {
        price = json_string_value(json_array_get(level, 0));
        amount = json_string_value(json_array_get(level, 1));
        if (!price || !amount) {
            continue;
        }
        canonical(price, key);
        if (is_zero(amount)) {
            json_object_del(levels, key);
        } else {
            json_object_set(levels, key, json_array_get(level, 1));
        }
    }
}

/* Removes a side's levels at the horizon and beyond it: the gateway does not
 * report their changes. */
static void cut_levels(json_t *levels, int side, const char *horizon) {
    const char *price;
    json_t *amount;
    char key[64];
    void *next;

    canonical(horizon, key);
    json_object_foreach_safe(levels, next, price, amount) {
        int order = compare(price, key);

        if (side == 0 ? order <= 0 : order >= 0) {
            json_object_del(levels, price);
        }
    }
}

/* Takes a message of the stream, the last book or a snapshot. */
static void take(struct consumer *c, const json_t *line) {
    const char *type = json_string_value(json_object_get(line, "type"));
    const char *state = json_string_value(json_object_get(line, "state"));
    const char *at = json_string_value(json_object_get(line, "time"));
    uint64_t epoch =
        (uint64_t)json_integer_value(json_object_get(line, "epoch"));
    uint64_t number =
        (uint64_t)json_integer_value(json_object_get(line, "number"));

    if (!type || epoch < c->epoch ||
        (epoch == c->epoch && number <= c->number)) {
        return; /* from a former holder, or in the book already */
    }
    if (strcmp(type, "sample") == 0) {
        c->state = LIVE;
        json_object_clear(c->levels[0]);
        json_object_clear(c->levels[1]);
    } else if (state && strcmp(state, "live") != 0) {
        c->state = STALE;
    } else if (epoch != c->epoch || number != c->number + 1) {
        c->state = MISSED;
        return;
    }
    c->epoch = epoch;
    c->number = number;
    if (at) {
        snprintf(c->time, sizeof c->time, "%s", at);
    }
    for (int side = 0; side < 2; ++side) {
        const char *horizon =
            json_string_value(json_object_get(line, horizons[side]));

        take_levels(c->levels[side], json_object_get(line, sides[side]));
        if (horizon) {
            cut_levels(c->levels[side], side, horizon);
        }
    }
}

static int compare_keys(const void *a, const void *b) {
    return compare(*(const char *const *)a, *(const char *const *)b);
}

/* Returns a side's best levels, best first. */
static json_t *best(const struct consumer *c, int side) {
    size_t count = json_object_size(c->levels[side]), i = 0;
    const char **keys = calloc(count + 1, sizeof *keys);
    json_t *array = json_array(), *amount;
    const char *key;

    if (!keys) {
        abort();
    }
    json_object_foreach(c->levels[side], key, amount) {
        keys[i++] = key;
    }
    qsort(keys, count, sizeof *keys, compare_keys);
    for (i = 0; i < count && i < (size_t)c->depth; ++i) {
        key = keys[side == 0 ? count - 1 - i : i];
        amount = json_object_get(c->levels[side], key);
        json_array_append_new(array, json_pack("[sO]", key, amount));
    }
    free(keys);
    return array;
}

/* Returns true if the book may be used: gateways confirm it every 5 seconds. */
static bool is_live(const struct consumer *c) {
    return c->state == LIVE && now_ms() - c->said_ms < DEAD_MS;
}

static void print(const struct consumer *c) {
    json_t *book = json_pack(
        "{sssIsIsssbsoso}", "market", c->market, "epoch", (json_int_t)c->epoch,
        "number", (json_int_t)c->number, "time", c->time, "live", is_live(c),
        "bids", best(c, 0), "asks", best(c, 1));

    json_dumpf(book, stdout, JSON_COMPACT);
    putchar('\n');
    fflush(stdout);
    json_decref(book);
}

/* ---- the broker ---- */

/* Takes a message. Returns true if it names the one to continue after. */
static bool take_text(struct consumer *c, const char *text, int len) {
    json_t *line = json_loadb(text, (size_t)len, 0, NULL);
    uint64_t after =
        (uint64_t)json_integer_value(json_object_get(line, "after"));

    take(c, line);
    if (after > 0) {
        c->next = after + 1;
    }
    json_decref(line);
    return after > 0;
}

/* Subscribes to the market's messages from `next` on. */
static natsStatus follow(struct consumer *c) {
    char subject[SUBJECT_LEN], stream[SUBJECT_LEN];
    jsStreamInfo *info = NULL;
    jsSubOptions options;

    snprintf(stream, sizeof stream, "%s_book", c->prefix);
    if (js_GetStreamInfo(&info, c->js, stream, NULL, NULL) == NATS_OK) {
        c->past = info->State.LastSeq;
    }
    jsStreamInfo_Destroy(info);
    natsSubscription_Destroy(c->messages);
    c->messages = NULL;
    c->heard_ms = now_ms();
    jsSubOptions_Init(&options);
    options.Ordered = true;
    options.Config.DeliverPolicy =
        c->next > 0 ? js_DeliverByStartSequence : js_DeliverNew;
    options.Config.OptStartSeq = c->next;
    snprintf(subject, sizeof subject, "%s.book.%s", c->prefix, c->token);
    return js_SubscribeSync(&c->messages, c->js, subject, NULL, &options, NULL);
}

/* Takes the last book of the bucket, and subscribes. */
static void join(struct consumer *c) {
    char bucket[SUBJECT_LEN];
    kvStore *last = NULL;
    kvEntry *entry = NULL;

    snprintf(bucket, sizeof bucket, "%s_last", c->prefix);
    if (js_KeyValue(&last, c->js, bucket) == NATS_OK &&
        kvStore_Get(&entry, last, c->token) == NATS_OK) {
        (void)take_text(c, kvEntry_Value(entry), kvEntry_ValueLen(entry));
    }
    kvEntry_Destroy(entry);
    kvStore_Destroy(last);
    (void)follow(c);
}

/* Requests a snapshot, at most every ASK_MS, and continues from there. */
static void ask(struct consumer *c) {
    char subject[SUBJECT_LEN];
    natsMsg *answer = NULL;

    if (now_ms() - c->asked_ms < ASK_MS) {
        return;
    }
    c->asked_ms = now_ms();
    snprintf(subject, sizeof subject, "%s.snapshot.%s", c->prefix, c->token);
    if (natsConnection_RequestString(&answer, c->connection, subject, "",
                                     ASK_MS) == NATS_OK &&
        take_text(c, natsMsg_GetData(answer), natsMsg_GetDataLength(answer))) {
        c->said_ms = now_ms();
        (void)follow(c);
    }
    natsMsg_Destroy(answer);
}

/* Waits up to ASK_MS / 10 for a message, and takes it. */
static void listen_once(struct consumer *c) {
    natsMsg *message = NULL;
    jsMsgMetaData *meta = NULL;

    if (!c->messages) {
        nats_Sleep(ASK_MS / 10);
    } else if (natsSubscription_NextMsg(&message, c->messages, ASK_MS / 10) ==
               NATS_OK) {
        c->heard_ms = now_ms();
        if (natsMsg_GetMetaData(&meta, message) == NATS_OK) {
            c->next = meta->Sequence.Stream + 1;
            if (meta->Sequence.Stream > c->past) {
                c->said_ms = now_ms();
            }
        }
        jsMsgMetaData_Destroy(meta);
        (void)take_text(c, natsMsg_GetData(message),
                        natsMsg_GetDataLength(message));
    }
    natsMsg_Destroy(message);
    if (now_ms() - c->heard_ms > SILENCE_MS) {
        (void)follow(c);
    }
}

static void run(struct consumer *c) {
    int64_t end_ms = now_ms() + c->seconds * 1000;
    uint64_t epoch = 0, number = 0;
    bool live = false;

    join(c);
    while (c->seconds == 0 || now_ms() < end_ms) {
        if (c->epoch != epoch || c->number != number || is_live(c) != live) {
            epoch = c->epoch;
            number = c->number;
            live = is_live(c);
            print(c);
        }
        if (c->state == MISSED) {
            ask(c);
        }
        listen_once(c);
    }
}

static natsStatus begin(struct consumer *c) {
    natsOptions *options = NULL;
    natsStatus status = natsOptions_Create(&options);

#define TRY(call) status = status == NATS_OK ? (call) : status
    TRY(natsOptions_SetURL(options, c->url));
    TRY(natsOptions_SetTimeout(options, CONNECT_MS));
    TRY(natsOptions_SetMaxReconnect(options, -1));
    TRY(natsOptions_SetReconnectWait(options, 500));
    TRY(natsOptions_SetPingInterval(options, SILENCE_MS));
    if (c->ca) {
        TRY(natsOptions_SetSecure(options, true));
        TRY(natsOptions_LoadCATrustedCertificates(options, c->ca));
    }
    if (c->credentials) {
        TRY(natsOptions_SetUserCredentialsFromFiles(options, c->credentials,
                                                    NULL));
    }
    TRY(natsConnection_Connect(&c->connection, options));
    TRY(natsConnection_JetStream(&c->js, c->connection, NULL));
#undef TRY
    natsOptions_Destroy(options);
    return status;
}

static error_t parse(int key, char *arg, struct argp_state *state) {
    struct consumer *c = state->input;
    char *end = NULL;

    switch (key) {
    case 'u': c->url = arg; break;
    case 'p': c->prefix = arg; break;
    case 'a': c->ca = arg; break;
    case 'c': c->credentials = arg; break;
    case 'd': c->depth = strtol(arg, &end, 10); break;
    case 's': c->seconds = strtol(arg, &end, 10); break;
    case ARGP_KEY_ARG:
        if (c->market || strlen(arg) > MST_MARKET_MAX) {
            argp_error(state, "give one market of at most %d bytes",
                       MST_MARKET_MAX);
        }
        c->market = arg;
        break;
    case ARGP_KEY_END:
        if (!c->market || !subject_is_plain(c->prefix)) {
            argp_error(state, c->market ? "invalid prefix: %s" : "no market",
                       c->prefix);
        }
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    if (end && (end == arg || *end != '\0' || c->depth < 1 || c->seconds < 0)) {
        argp_error(state, "not a valid number: %s", arg);
    }
    return 0;
}

int main(int argc, char **argv) {
    static const struct argp_option options[] = {
        {"url", 'u', "URL", 0, "the broker (nats://127.0.0.1:4222)", 0},
        {"prefix", 'p', "NAME", 0,
         "first part of subjects, as the gateway's (mst)", 0},
        {"depth", 'd', "N", 0, "levels of each side to print (10)", 0},
        {"seconds", 's', "N", 0, "end after N seconds (0: never)", 0},
        {"ca", 'a', "FILE", 0, "use TLS; the trusted issuers, PEM", 0},
        {"credentials", 'c', "FILE", 0, "file with a JWT and a seed", 0},
        {0}};
    static const struct argp argp = {
        options, parse, "MARKET", "Prints a market's book at every change.",
        NULL,    NULL,  NULL};
    struct consumer c = {.url = "nats://127.0.0.1:4222",
                         .prefix = "mst",
                         .depth = 10,
                         .asked_ms = -ASK_MS,
                         .said_ms = -DEAD_MS};
    natsStatus status;

    start("gateway-consumer");
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &c);
    subject_encode(c.market, c.token);
    c.levels[0] = json_object();
    c.levels[1] = json_object();
    status = begin(&c);
    if (status == NATS_OK) {
        run(&c);
    } else {
        /* Without the URL, which may contain a password. */
        fprintf(stderr, "gateway-consumer: %s\n", natsStatus_GetText(status));
    }
    natsSubscription_Destroy(c.messages);
    jsCtx_Destroy(c.js);
    natsConnection_Destroy(c.connection);
    json_decref(c.levels[0]);
    json_decref(c.levels[1]);
    nats_Close();
    return status == NATS_OK ? 0 : 5;
}
