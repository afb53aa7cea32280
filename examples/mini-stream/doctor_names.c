/*
 * The addresses of a host, by c-ares as in the tool's network, but in one call
 * that waits.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "doctor.h"

#include <ares.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"

/* What has been found. */
struct names {
    union mst_posix_address *addresses;
    size_t count;
    int status;
    bool done;
};

static void names_take(void *context, int status, int timeouts,
                       struct ares_addrinfo *found) {
    struct names *names = context;

    (void)timeouts;
    names->status = status;
    names->done = true;
    if (status != ARES_SUCCESS) {
        return;
    }
    for (const struct ares_addrinfo_node *node = found->nodes;
         node != NULL && names->count < MST_POSIX_ADDRESSES_MAX;
         node = node->ai_next) {
        if (node->ai_addrlen <= (socklen_t)sizeof *names->addresses) {
            memcpy(&names->addresses[names->count++], node->ai_addr,
                   node->ai_addrlen);
        }
    }
    ares_freeaddrinfo(found);
}

/* Waits for a name server, up to so long. */
static void names_wait(ares_channel channel, unsigned ms) {
    ares_socket_t sockets[ARES_GETSOCK_MAXNUM];
    struct pollfd wait[ARES_GETSOCK_MAXNUM];
    /* A bit for each socket to be read, then one for each to be written to:
     * c-ares' own macros shift one into the sign. */
    unsigned wanted =
        (unsigned)ares_getsock(channel, sockets, ARES_GETSOCK_MAXNUM);
    struct timeval most = {ms / 1000, (ms % 1000) * 1000}, left;
    struct timeval *until = ares_timeout(channel, &most, &left);
    nfds_t count = 0;

    for (int i = 0; i < ARES_GETSOCK_MAXNUM; ++i) {
        short events =
            (short)((wanted >> i & 1u ? POLLIN : 0) |
                    (wanted >> (i + ARES_GETSOCK_MAXNUM) & 1u ? POLLOUT : 0));
        if (events != 0) {
            wait[count++] = (struct pollfd){.fd = sockets[i], .events = events};
        }
    }
    (void)poll(wait, count,
               (int)(until->tv_sec * 1000 + until->tv_usec / 1000 + 1));
    for (nfds_t i = 0; i < count; ++i) {
        short got = wait[i].revents;
        ares_process_fd(channel, got & ~POLLOUT ? wait[i].fd : ARES_SOCKET_BAD,
                        got & ~POLLIN ? wait[i].fd : ARES_SOCKET_BAD);
    }
    ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

int names_find(const struct mst_endpoint *endpoint, unsigned timeout_ms,
               union mst_posix_address *addresses, size_t *count) {
    const struct ares_addrinfo_hints hints = {.ai_flags = ARES_AI_NUMERICSERV,
                                              .ai_family = AF_UNSPEC,
                                              .ai_socktype = SOCK_STREAM};
    struct names names = {.addresses = addresses};
    uint64_t now_ms = clock_ms();
    const uint64_t end_ms = now_ms + timeout_ms;
    ares_channel channel;
    char service[8];
    int rc = ares_init(&channel);

    if (rc != ARES_SUCCESS) {
        return rc;
    }
    snprintf(service, sizeof service, "%u", endpoint->port);
    ares_getaddrinfo(channel, endpoint->host, service, &hints, names_take,
                     &names);
    while (!names.done && now_ms < end_ms) {
        names_wait(channel, (unsigned)(end_ms - now_ms));
        now_ms = clock_ms();
    }
    rc = names.done ? names.status : ARES_ETIMEOUT;
    ares_destroy(channel);
    *count = names.count;
    return rc;
}
