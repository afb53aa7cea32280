/*
 * Plays a recording: see player.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "player.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct player_object {
    struct recording_setup setup;
    struct mst_memory memory[2];
    bool made;                 /* initialised and not wiped */
    struct mst_client *client; /* either this or pair */
    struct mst_pair *pair;
};

struct player_book {
    struct player_book *next;
    int object;
    char market[MST_MARKET_MAX + 1];
    int64_t count, capacity, thin;
    struct mst_book books[2];
    struct mst_level *levels[2];
};

static int fail(struct player *p, const char *what) {
    snprintf(p->replay.error, sizeof p->replay.error, "%s: call %llu: %s",
             p->replay.recording.path, (unsigned long long)p->replay.calls,
             what);
    return -1;
}

/* Allocates zeroed memory, up to PLAYER_BYTES in total, or returns NULL. */
static void *room(struct player *p, size_t len) {
    if (len > PLAYER_BYTES - p->bytes) {
        return NULL;
    }
    p->bytes += len;
    return calloc(1, len);
}

/* ---- objects ---- */

static void object_wipe(struct player_object *o) {
    if (o->made && o->client != NULL) {
        mst_client_wipe(o->client);
    } else if (o->made) {
        mst_pair_wipe(o->pair);
    }
    o->made = false;
}

static void object_free(struct player_object *o) {
    if (o == NULL) {
        return;
    }
    object_wipe(o);
    free(o->memory[0].data);
    free(o->memory[1].data);
    free(o->client);
    free(o->pair);
    free(o);
}

static bool memory_make(struct player *p, struct player_object *o,
                        unsigned which) {
    const size_t *lengths = o->setup.lengths[which];
    size_t size =
        MST_MEMORY_LEN(lengths[0], lengths[1], lengths[2], lengths[3]);

    o->memory[which] = (struct mst_memory){
        room(p, size), size, lengths[0], lengths[1], lengths[2], lengths[3]};
    return o->memory[which].data != NULL;
}

static int object_init(struct player *p, struct player_object *o) {
    struct mst_config *config = &o->setup.config;

    replay_configure(&p->replay, &o->setup);
    if (o->setup.access >= 0) {
        config->access = p->accesses[o->setup.access];
        if (config->access == NULL) {
            return MST_ERR_ARGUMENT;
        }
    }
    return o->client != NULL
               ? mst_client_init(o->client, config, &p->port, &o->memory[0])
               : mst_pair_init(o->pair, config, o->setup.rotate_ms, &p->port,
                               &o->memory[0], &o->memory[1]);
}

static int object_make(struct player *p, const struct recording_item *call) {
    bool pair = call->kind == RECORDING_PAIR;
    struct player_object **at = &p->objects[call->values[0]];
    struct player_object *o = room(p, sizeof *o);
    int rc;

    if (o == NULL) {
        return fail(p, "no memory");
    }
    object_free(*at); /* the program made it again */
    *at = o;
    if (!recording_setup_read(call->data, call->len, &o->setup)) {
        return fail(p, "malformed configuration");
    }
    if (pair) {
        o->pair = room(p, sizeof *o->pair);
    } else {
        o->client = room(p, sizeof *o->client);
    }
    if ((o->pair == NULL && o->client == NULL) || !memory_make(p, o, 0) ||
        (pair && !memory_make(p, o, 1))) {
        return fail(p, "no memory");
    }
    rc = object_init(p, o);
    if (rc != 0) {
        return fail(p, mst_strerror(rc));
    }
    o->made = true;
    return 0;
}

static int access_make(struct player *p, int number) {
    struct mst_config config = {.client_id = "replay",
                                .client_secret = "replay"};

    if (p->accesses[number] != NULL) {
        return fail(p, "an access that is there already");
    }
    p->accesses[number] = room(p, sizeof *p->accesses[number]);
    if (p->accesses[number] == NULL) {
        return fail(p, "no memory");
    }
    return mst_access_init(p->accesses[number], &config);
}

struct mst_client *player_client(const struct player *p, int object) {
    const struct player_object *o = p->objects[object];

    return o != NULL && o->made ? o->client : NULL;
}

struct mst_pair *player_pair(const struct player *p, int object) {
    const struct player_object *o = p->objects[object];

    return o != NULL && o->made ? o->pair : NULL;
}

/* Repeats the replacement of credentials or trust anchors. */
static int access_renew(struct player *p, const struct recording_item *call) {
    int number = (int)call->values[0];
    struct mst_access *access = p->accesses[number];

    if (call->values[1] == 0) {
        struct mst_client *client = player_client(p, number);
        struct mst_pair *pair = player_pair(p, number);
        access = client != NULL ? &client->link.own
                 : pair != NULL ? &pair->access
                                : NULL;
    }
    if (access == NULL) {
        return fail(p, "no such access");
    }
    if (call->kind == RECORDING_CREDENTIALS) {
        return mst_access_set_credentials(access, "replay", "replay");
    }
#ifndef MST_NO_TLS
    static const br_x509_trust_anchor none; /* not used: the port is secure */
    return mst_access_set_anchors(access, &none, 1);
#else
    return 0;
#endif
}

/* ---- subscriptions ---- */

/* Prepares the books of a subscription. Returns false without memory. */
static bool books_make(struct player *p, struct player_book *b) {
    size_t capacity = (size_t)b->capacity;

    for (int i = 0; i < b->count; i++) {
        b->levels[i] = room(p, 2 * capacity * sizeof *b->levels[i]);
        if (b->levels[i] == NULL ||
            mst_book_init(&b->books[i], b->levels[i], capacity) != 0) {
            return false;
        }
        mst_book_set_thin(&b->books[i], (size_t)b->thin);
    }
    return true;
}

/* Returns the books of a subscription: the market's previous ones if they have
 * the same sizes. NULL without memory. */
static struct player_book *books_of(struct player *p,
                                    const struct recording_item *call,
                                    const char *market) {
    const int64_t *v = call->values;
    struct player_book *b = p->books;

    while (b != NULL &&
           !(b->object == v[0] && strcmp(b->market, market) == 0 &&
             b->count == v[2] && b->capacity == v[3] && b->thin == v[4])) {
        b = b->next;
    }
    if (b != NULL) {
        return b;
    }
    b = room(p, sizeof *b);
    if (b == NULL) {
        return NULL;
    }
    b->object = (int)v[0];
    memcpy(b->market, market, strlen(market));
    b->count = v[2];
    b->capacity = v[3];
    b->thin = v[4];
    b->next = p->books;
    p->books = b;
    return books_make(p, b) ? b : NULL;
}

/* Repeats a call that names a subscription. */
static int wish(struct player *p, const struct recording_item *call,
                struct mst_client *client, struct mst_pair *pair) {
    enum mst_channel channel = (enum mst_channel)call->values[1];
    char market[MST_MARKET_MAX + 1] = "";
    struct mst_book *book = NULL, *other = NULL;

    memcpy(market, call->data, call->len);
    if (call->kind == RECORDING_UNSUBSCRIBE) {
        return client != NULL ? mst_unsubscribe(client, channel, market)
                              : mst_pair_unsubscribe(pair, channel, market);
    }
    if (call->kind == RECORDING_RESYNC) {
        return client != NULL ? mst_resync(client, channel, market)
                              : mst_pair_resync(pair, channel, market);
    }
    if (call->values[2] > 0) {
        struct player_book *b = books_of(p, call, market);
        if (b == NULL) {
            return fail(p, "no memory for books");
        }
        book = &b->books[0];
        other = b->count > 1 ? &b->books[1] : NULL;
    }
    return client != NULL
               ? mst_subscribe(client, channel, market, book)
               : mst_pair_subscribe(pair, channel, market, book, other);
}

/* ---- calls ---- */

static void poll(const struct recording_item *call, struct player_step *step,
                 struct mst_client *client, struct mst_pair *pair) {
    step->monotonic_ns = (uint64_t)call->values[1];
    step->unix_ns =
        (int64_t)((uint64_t)call->values[2] + (uint64_t)call->values[1]);
    step->has_event = (client != NULL ? mst_poll(client, &step->event)
                                      : mst_pair_poll(pair, &step->event)) == 1;
}

static int object_call(struct player *p, const struct recording_item *call,
                       struct player_step *step) {
    int number = (int)call->values[0];
    struct mst_client *client = player_client(p, number);
    struct mst_pair *pair = player_pair(p, number);

    if (client == NULL && pair == NULL) {
        return fail(p, "there is no such object");
    }
    switch (call->kind) {
    case RECORDING_SUBSCRIBE:
    case RECORDING_UNSUBSCRIBE:
    case RECORDING_RESYNC: (void)wish(p, call, client, pair); break;
    case RECORDING_LIST:
        (void)(client != NULL ? mst_subscription_list(client)
                              : mst_pair_subscription_list(pair));
        break;
    case RECORDING_ROTATE:
        if (pair != NULL) {
            (void)mst_pair_rotate(pair);
        }
        break;
    case RECORDING_CLOSE:
        if (client != NULL) {
            mst_close(client);
        } else {
            mst_pair_close(pair);
        }
        break;
    case RECORDING_WIPE: object_wipe(p->objects[number]); break;
    default: poll(call, step, client, pair);
    }
    return 0;
}

int player_open(struct player *p, const char *path) {
    memset(p, 0, sizeof *p);
    return replay_open(&p->replay, path, &p->port);
}

int player_step(struct player *p, struct player_step *step) {
    int rc = replay_next(&p->replay, &step->call);

    step->has_event = false;
    if (rc <= 0) {
        return rc;
    }
    switch (step->call->kind) {
    case RECORDING_ACCESS:
        (void)access_make(p, (int)step->call->values[0]);
        break;
    case RECORDING_CLIENT:
    case RECORDING_PAIR: (void)object_make(p, step->call); break;
    case RECORDING_CREDENTIALS:
    case RECORDING_ANCHORS: (void)access_renew(p, step->call); break;
    default: (void)object_call(p, step->call, step);
    }
    return p->replay.error[0] != '\0' ? -1 : 1;
}

void player_close(struct player *p) {
    for (size_t i = 0; i < RECORDING_NUMBERS; i++) {
        object_free(p->objects[i]);
    }
    for (size_t i = 0; i < RECORDING_NUMBERS; i++) {
        free(p->accesses[i]);
    }
    while (p->books != NULL) {
        struct player_book *b = p->books;
        p->books = b->next;
        free(b->levels[0]);
        free(b->levels[1]);
        free(b);
    }
    replay_close(&p->replay);
}
