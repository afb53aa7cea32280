/*
 * Port of mini_stream for Windows 8 and later: sockets, name resolution,
 * clocks, entropy. The contract is in ../README.md.
 *
 * It is only built (`make windows`, with mingw-w64), and no test runs it: run
 * the port conformance test, build/windows/conform.exe, before you trust it.
 *
 * Link with -lws2_32 -lbcrypt. Names are resolved in the process' thread pool,
 * for the system's resolver waits; addresses are tried one after the other, in
 * the system's order, without a head start. Include this before <windows.h>.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef MST_WINDOWS_H
#define MST_WINDOWS_H

#include <winsock2.h>
#include <ws2tcpip.h>

#include "mini_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Addresses kept of one host; further ones are left out. */
#define MST_WINDOWS_ADDRESSES_MAX 16

/* The members of these are private. */

union mst_windows_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct mst_windows_answer {
    int error, detail, count;
    union mst_windows_address addresses[MST_WINDOWS_ADDRESSES_MAX];
};

struct mst_windows_request;

/* One link: a socket and what belongs to it. */
struct mst_windows_link {
    struct mst_windows_request *request; /* while it resolves, or NULL */
    SOCKET socket;                       /* or INVALID_SOCKET */
    bool connected;
    int address; /* the one that the socket goes to */
    int error;   /* that recv() met: the end of it */
    int detail;
    struct mst_windows_answer answer; /* what the host name led to */
};

/* The port, owned by the caller. */
struct mst_windows {
    struct mst_windows_link *links;
    size_t count;    /* of links */
    WSAPOLLFD *wait; /* room for as many */
};

/*
 * Prepares windows and fills port with its functions. links is an array of
 * count links, one for each object on this port: mst_config.link counts from 0
 * to count - 1. Both must stay where they are until mst_windows_free(). Returns
 * 0, MST_ERR_ARGUMENT, or MST_ERR_PORT without memory or sockets.
 */
int mst_windows_init(struct mst_windows *windows,
                     struct mst_windows_link *links, size_t count,
                     struct mst_port *port);

/*
 * Sleeps until a link of one of these objects is ready for what it waits for,
 * until the next deadline of one or until max_ms have passed; for some 10 ms at
 * most while one resolves or connects. objects has each object that uses this
 * port, a pair's two, each by the link that it begins with. Returns 1 when an
 * object may be able to go on, 0 when none is, MST_ERR_ARGUMENT for a link
 * number that the port does not have, or MST_ERR_PORT with the reason in
 * WSAGetLastError().
 */
int mst_windows_wait(struct mst_windows *windows,
                     const struct mst_link *const *objects, size_t count,
                     uint32_t max_ms);

/* Closes what is open, without waiting; harmless where windows is all zero. To
 * be called after the objects are closed or wiped. */
void mst_windows_free(struct mst_windows *windows);

#ifdef __cplusplus
}
#endif

#endif
