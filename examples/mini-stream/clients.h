/*
 * The library's objects of a run: clients, or pairs, that share one access.
 * Callers need not know which.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef CLIENTS_H
#define CLIENTS_H

#include "recorder.h"

struct clients_plan {
    struct mst_config config; /* of each object, except link and access */
    size_t count;             /* clients or pairs */
    bool pairs;
    uint32_t rotate_ms; /* of pairs; 0: never */
};

struct clients_object;
struct clients {
    struct clients_object *objects;
    const struct mst_link **links; /* of all objects, by link number */
    size_t count, link_count;
    bool pairs;
    size_t turn;    /* the object that is polled next */
    unsigned burst; /* events in a row of that object */
    struct mst_access access;
    struct recorder *recorder; /* gets each call */
};

size_t clients_links(const struct clients_plan *plan);

/* Prepares the objects. recorder: borrowed. Returns 0 or an error;
 * clients_free() may follow in either case. */
int clients_begin(struct clients *clients, const struct clients_plan *plan,
                  const struct mst_port *port, struct recorder *recorder);
void clients_free(struct clients *clients);

/* mst_subscribe(), or mst_pair_subscribe() for pairs. */
int clients_subscribe(struct clients *clients, size_t object,
                      enum mst_channel channel, const char *market,
                      struct mst_book *book, struct mst_book *other);
/* Returns the leading book of a pair's market, or NULL. context: the
 * clients. */
struct mst_book *clients_leader(void *context, size_t object,
                                const char *market);

/* Polls the objects in turn, at these times of the monotonic and the wall
 * clock. Returns as mst_poll(): MST_ERR_CLOSED once all objects have ended. */
int clients_poll(struct clients *clients, struct mst_event *event,
                 uint64_t now_ns, int64_t unix_ns);
void clients_close(struct clients *clients);

/* Sums the counts of links. lag_ns and lag_max_ns are the largest ones. */
void clients_stats(const struct mst_link *const *links, size_t count,
                   struct mst_stats *stats);
/* Returns the number of the link that has come the furthest. */
size_t clients_furthest(const struct clients *clients);

#endif
