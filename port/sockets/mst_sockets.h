/*
 * Port of mini_stream for BSD-style sockets with poll(): Zephyr, NuttX, and
 * FreeRTOS with lwIP. ../README.md has the contract of a port.
 *
 * MST_SOCKETS_PLATFORM names the header of the platform. Define it equally for
 * all files that include this one:
 *
 *     mst_sockets_posix.h      NuttX; also Linux, where it is tested (default)
 *     mst_sockets_zephyr.h     Zephyr 3.7 and later
 *     mst_sockets_freertos.h   FreeRTOS with lwIP 2.1 and later, ESP-IDF
 *
 *     cc -DMST_SOCKETS_PLATFORM='"mst_sockets_zephyr.h"' ...
 *
 * You can write such a header for another system. Each lists what to configure
 * in its system.
 *
 * One task resolves all names with getaddrinfo(), which may wait, and wakes
 * mst_sockets_wait() once per answer. While it waits for a name server, the
 * next name waits too, even if the first attempt was closed.
 *
 * A host's addresses are tried one after the other. Nothing is allocated, apart
 * from what the system's calls allocate.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef MST_SOCKETS_H
#define MST_SOCKETS_H

#include "mini_stream.h"

#ifndef MST_SOCKETS_PLATFORM
#define MST_SOCKETS_PLATFORM "mst_sockets_posix.h"
#endif
#include MST_SOCKETS_PLATFORM

#ifdef __cplusplus
extern "C" {
#endif

/* Most links of a port: mst_sockets_wait() uses 8 bytes of stack for each. */
#ifndef MST_SOCKETS_LINKS_MAX
#define MST_SOCKETS_LINKS_MAX 8
#endif

/* Addresses of a host that are tried; further ones are ignored. */
#ifndef MST_SOCKETS_ADDRESSES_MAX
#define MST_SOCKETS_ADDRESSES_MAX 4
#endif

/* The members of the next structs are private. */

struct mst_sockets_answer {
    int count, detail;
    socklen_t lens[MST_SOCKETS_ADDRESSES_MAX];
    struct sockaddr_storage addresses[MST_SOCKETS_ADDRESSES_MAX];
};

/* One link: a socket and its state. */
struct mst_sockets_link {
    int fd; /* or -1 */
    bool connected;
    bool waits;  /* until the stack has a free socket */
    int address; /* the number of the address of the socket */
    int end;     /* error of recv(), to be returned again; or 0 */
    int detail;
    /* Shared with the resolver, under its lock: */
    int stage;
    uint32_t attempt;
    const struct mst_endpoint *endpoint;
    struct mst_sockets_answer answer; /* the resolver's during a resolution */
};

/* The port, owned by the caller. */
struct mst_sockets {
    struct mst_sockets_link *links;
    int count;
    int wake[2]; /* sockets: the resolver sends, the wait receives */
    struct mst_sockets_task task;
    bool stops; /* under the lock */
    /* For the resolver only: */
    char host[MST_HOST_MAX + 1];
    struct mst_sockets_answer heard;
};

/*
 * Initialises sockets, starts its resolver and fills port with its functions.
 * links is an array of count links, one for each object on this port;
 * mst_config.link is 0 to count - 1. Neither may move until
 * mst_sockets_free(). Returns 0, MST_ERR_ARGUMENT (also for more than
 * MST_SOCKETS_LINKS_MAX links), or MST_ERR_PORT if there is no socket or no
 * task for the resolver.
 */
int mst_sockets_init(struct mst_sockets *sockets,
                     struct mst_sockets_link *links, int count,
                     struct mst_port *port);

/*
 * Sleeps until one of these objects can continue, until a name is resolved,
 * until the next deadline of an object, or until max_ms have passed; at most
 * 100 ms while the stack has no socket for a link. objects has the link of each
 * object that uses this port, and both links of a pair. Returns 1 if an object
 * may be able to continue, 0 if none can, MST_ERR_ARGUMENT for a link number
 * that the port does not have, or MST_ERR_PORT with the reason in errno.
 */
int mst_sockets_wait(struct mst_sockets *sockets,
                     const struct mst_link *const *objects, size_t count,
                     uint32_t max_ms);

/* Closes all sockets and ends the resolver; waits for getaddrinfo() to return.
 * Does nothing if sockets is all zero. Call it after the objects are closed or
 * wiped. */
void mst_sockets_free(struct mst_sockets *sockets);

#ifdef __cplusplus
}
#endif

#endif
