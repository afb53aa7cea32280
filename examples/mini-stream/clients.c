/*
 * The library's objects of a run: see clients.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "clients.h"

#include <stdlib.h>
#include <string.h>

#define LENGTHS MST_RECORD_IN_ANY, MST_RECORD_OUT_FULL, 65536, 65536

/* Events of an object in a row, before the next object's turn. */
#define BURST 64

struct clients_object {
    bool begun;
    struct mst_memory memory[2];
    unsigned char bytes[2][MST_MEMORY_LEN(LENGTHS)];
    union {
        struct mst_client client;
        struct mst_pair pair;
    } as;
};

size_t clients_links(const struct clients_plan *plan) {
    return plan->pairs ? 2 * plan->count : plan->count;
}

static int object_begin(struct clients *clients, size_t number,
                        const struct clients_plan *plan,
                        const struct mst_port *port) {
    struct clients_object *object = &clients->objects[number];
    const struct mst_memory *memory = object->memory;
    struct mst_config config = plan->config;
    int rc;

    for (int i = 0; i < 2; ++i) {
        object->memory[i] = (struct mst_memory){
            object->bytes[i], sizeof object->bytes[i], LENGTHS};
    }
    config.access = &clients->access;
    config.link = (int)(plan->pairs ? 2 * number : number);
    recorder_object(clients->recorder, (int)number, &config, plan->rotate_ms, 0,
                    &memory[0], plan->pairs ? &memory[1] : NULL);
    if (plan->pairs) {
        rc = mst_pair_init(&object->as.pair, &config, plan->rotate_ms, port,
                           &memory[0], &memory[1]);
        clients->links[config.link] = &object->as.pair.clients[0].link;
        clients->links[config.link + 1] = &object->as.pair.clients[1].link;
    } else {
        rc = mst_client_init(&object->as.client, &config, port, &memory[0]);
        clients->links[config.link] = &object->as.client.link;
    }
    object->begun = rc == 0;
    return rc;
}

int clients_begin(struct clients *clients, const struct clients_plan *plan,
                  const struct mst_port *port, struct recorder *recorder) {
    int rc;

    memset(clients, 0, sizeof *clients);
    clients->pairs = plan->pairs;
    clients->objects = calloc(plan->count, sizeof *clients->objects);
    clients->links = calloc(clients_links(plan), sizeof(void *));
    if (!clients->objects || !clients->links) {
        return MST_ERR_MEMORY;
    }
    clients->count = plan->count;
    clients->link_count = clients_links(plan);
    clients->recorder = recorder;
    recorder_call(recorder, RECORDING_ACCESS, 0);
    rc = mst_access_init(&clients->access, &plan->config);
    for (size_t i = 0; rc == 0 && i < plan->count; ++i) {
        rc = object_begin(clients, i, plan, port);
    }
    return rc;
}

void clients_free(struct clients *clients) {
    for (size_t i = 0; i < clients->count; ++i) {
        struct clients_object *object = &clients->objects[i];

        if (!object->begun) {
            continue;
        }
        recorder_call(clients->recorder, RECORDING_WIPE, (int)i);
        if (clients->pairs) {
            mst_pair_wipe(&object->as.pair);
        } else {
            mst_client_wipe(&object->as.client);
        }
    }
    free(clients->objects);
    free(clients->links);
    memset(clients, 0, sizeof *clients);
}

int clients_subscribe(struct clients *clients, size_t object,
                      enum mst_channel channel, const char *market,
                      struct mst_book *book, struct mst_book *other) {
    struct clients_object *at = &clients->objects[object];
    const struct recorder_books books = {.count = !book            ? 0
                                                  : clients->pairs ? 2
                                                                   : 1,
                                         .capacity = book ? book->capacity : 0,
                                         .thin = book ? book->thin : 0};

    recorder_market(clients->recorder, RECORDING_SUBSCRIBE, (int)object,
                    channel, market, &books);
    return clients->pairs
               ? mst_pair_subscribe(&at->as.pair, channel, market, book, other)
               : mst_subscribe(&at->as.client, channel, market, book);
}

struct mst_book *clients_leader(void *context, size_t object,
                                const char *market) {
    struct clients *clients = context;

    return mst_pair_book(&clients->objects[object].as.pair, market);
}

static int object_poll(struct clients *clients, struct mst_event *event,
                       uint64_t now_ns, int64_t unix_ns) {
    struct clients_object *at = &clients->objects[clients->turn];

    recorder_poll(clients->recorder, (int)clients->turn, now_ns, unix_ns);
    return clients->pairs ? mst_pair_poll(&at->as.pair, event)
                          : mst_poll(&at->as.client, event);
}

int clients_poll(struct clients *clients, struct mst_event *event,
                 uint64_t now_ns, int64_t unix_ns) {
    size_t ended = 0;

    if (++clients->burst > BURST) {
        clients->turn = (clients->turn + 1) % clients->count;
        clients->burst = 1;
    }
    for (size_t i = 0; i < clients->count; ++i) {
        int rc = object_poll(clients, event, now_ns, unix_ns);

        if (rc > 0) {
            return rc;
        }
        ended += rc < 0;
        clients->turn = (clients->turn + 1) % clients->count;
        clients->burst = 0;
    }
    return ended == clients->count ? MST_ERR_CLOSED : 0;
}

void clients_close(struct clients *clients) {
    for (size_t i = 0; i < clients->count; ++i) {
        struct clients_object *object = &clients->objects[i];

        recorder_call(clients->recorder, RECORDING_CLOSE, (int)i);
        if (clients->pairs) {
            mst_pair_close(&object->as.pair);
        } else {
            mst_close(&object->as.client);
        }
    }
}

static void add_counts(struct mst_stats *sum, const struct mst_stats *stats) {
    sum->bytes_in += stats->bytes_in;
    sum->bytes_out += stats->bytes_out;
    sum->messages += stats->messages;
    sum->unknown += stats->unknown;
    sum->bad_messages += stats->bad_messages;
    sum->tokens += stats->tokens;
    sum->opens += stats->opens;
    sum->failures += stats->failures;
    sum->resumed += stats->resumed;
    sum->unanswered += stats->unanswered;
    sum->resyncs += stats->resyncs;
    sum->rotations += stats->rotations;
    sum->drifts += stats->drifts;
    for (int i = 0; i < MST_BANDS; ++i) {
        sum->errors[i] += stats->errors[i];
    }
}

void clients_stats(const struct mst_link *const *links, size_t count,
                   struct mst_stats *stats) {
    memset(stats, 0, sizeof *stats);
    for (size_t i = 0; i < count; ++i) {
        const struct mst_stats *link = mst_link_stats(links[i]);

        add_counts(stats, link);
        if (link->lag_ns > stats->lag_ns) {
            stats->lag_ns = link->lag_ns;
        }
        if (link->lag_max_ns > stats->lag_max_ns) {
            stats->lag_max_ns = link->lag_max_ns;
        }
    }
}

size_t clients_furthest(const struct clients *clients) {
    static const uint8_t rank[] = {
        [MST_STATE_OFF] = 0,     [MST_STATE_WAIT] = 2,
        [MST_STATE_RESOLVE] = 3, [MST_STATE_CONNECT] = 4,
        [MST_STATE_TLS] = 5,     [MST_STATE_TOKEN] = 6,
        [MST_STATE_UPGRADE] = 7, [MST_STATE_PUT] = 8,
        [MST_STATE_IDLE] = 8,    [MST_STATE_OPEN] = 9,
        [MST_STATE_CLOSING] = 1,
    };
    size_t furthest = 0;

    for (size_t i = 1; i < clients->link_count; ++i) {
        if (rank[mst_link_state(clients->links[i])] >
            rank[mst_link_state(clients->links[furthest])]) {
            furthest = i;
        }
    }
    return furthest;
}
