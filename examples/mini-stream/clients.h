/*
 * The library's objects of a run: clients, or pairs, that share one access.
 * Whoever has them need not know which.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef CLIENTS_H
#define CLIENTS_H

#include "recorder.h"

/* What is to be made. */
struct clients_plan {
    struct mst_config config; /* of each; link and access are set here */
    size_t count;             /* of clients, or of pairs */
    bool pairs;
    uint32_t rotate_ms; /* of pairs */
};

struct clients_object;
struct clients {
    struct clients_object *objects;
    const struct mst_link **links; /* of all, by their number */
    size_t count, link_count;
    bool pairs;
    size_t turn;    /* the object that is polled next */
    unsigned burst; /* events that it had in a row */
    struct mst_access access;
    struct recorder *recorder; /* told of each call, or NULL */
};

/* How many links the objects of a plan have. */
size_t clients_links(const struct clients_plan *plan);

/* Makes the objects. recorder: or NULL, borrowed. Returns 0, or an error;
 * clients_free() may follow in any case. */
int clients_begin(struct clients *clients, const struct clients_plan *plan,
                  const struct mst_port *port, struct recorder *recorder);
/* Wipes and frees the objects. */
void clients_free(struct clients *clients);

/* As mst_subscribe(), or mst_pair_subscribe() where there are pairs. */
int clients_subscribe(struct clients *clients, size_t object,
                      enum mst_channel channel, const char *market,
                      struct mst_book *book, struct mst_book *other);
/* The leading book of a market of a pair, or NULL; context is the clients. */
struct mst_book *clients_leader(void *context, size_t object,
                                const char *market);

/* Polls the objects in turn, at this monotonic time and this one of the wall
 * clock. As mst_poll(): MST_ERR_CLOSED once all of them have ended. */
int clients_poll(struct clients *clients, struct mst_event *event,
                 uint64_t now_ns, int64_t unix_ns);
void clients_close(struct clients *clients);

/* The sums over links; what is no count is the last or the worst. */
void clients_stats(const struct mst_link *const *links, size_t count,
                   struct mst_stats *stats);
/* The number of the link that has come the furthest. */
size_t clients_furthest(const struct clients *clients);

#endif
