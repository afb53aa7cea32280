/*
 * The way to a server, tried step by step: names, connections, a proxy.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef DOCTOR_ROUTE_H
#define DOCTOR_ROUTE_H

#include "doctor_report.h"
#include "network.h"

/* Bytes of "[host]:port" and a NUL. */
#define ROUTE_NAME_LEN (MST_HOST_MAX + 9)

struct route {
    struct mst_endpoint server;
    const struct mst_proxy *proxy; /* or NULL */
    char name[ROUTE_NAME_LEN];     /* of the server */
    char via[ROUTE_NAME_LEN];      /* of what is connected to: it, or proxy */
    unsigned timeout_ms;           /* for each step */
    union mst_posix_address addresses[MST_POSIX_ADDRESSES_MAX];
    size_t count;
    int good; /* the first address that was connected to, or -1 */
};

/* Prepares the way to the server of a URL that the library has accepted. */
void route_init(struct route *route, const char *url,
                const struct network *network, unsigned timeout_ms);

/* What is connected to: the server or the proxy. */
const struct mst_endpoint *route_first(const struct route *route);

/* Steps; each returns whether it was good. An address found is needed for the
 * second, one connected to for the third, which is for a proxy alone. */
bool route_resolve(struct route *route, struct report *report);
bool route_connect(struct route *route, struct report *report);
bool route_tunnel(struct route *route, struct report *report);

/* Opens a connection to the server, through the proxy where there is one.
 * Returns a socket that does not block, or an mst_error. */
int route_open(const struct route *route);

/* Waits for these events until an instant of clock_ms(). */
bool route_wait(int fd, short events, uint64_t end_ms);

#endif
