/*
 * Port of mini_stream for Windows 8 and later: sockets, name resolution,
 * clocks, entropy. ../README.md has the contract of a port.
 *
 * It is only built here (`make windows`, with mingw-w64), and no test runs it.
 * Run the port conformance test, build/windows/conform.exe, before you trust
 * it.
 *
 * Link with -lws2_32 -lbcrypt. Names are resolved in the process's thread pool,
 * because the system's resolver waits. Addresses are tried one after the other,
 * in the system's order. Include this before <windows.h>.
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

/* Addresses of a host that are tried; further ones are ignored. */
#define MST_WINDOWS_ADDRESSES_MAX 16

/* The members of the next structs are private. */

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

/* One link: a socket and its state. */
struct mst_windows_link {
    struct mst_windows_request *request; /* while it resolves, or NULL */
    SOCKET socket;                       /* or INVALID_SOCKET */
    bool connected;
    int address; /* the number of the socket's address */
    int error;   /* of recv(), to be returned again; or 0 */
    int detail;
    struct mst_windows_answer answer; /* the host's addresses */
};

/* The port, owned by the caller. */
struct mst_windows {
    struct mst_windows_link *links;
    size_t count;    /* of links */
    WSAPOLLFD *wait; /* room for as many */
};

/*
 * Initialises windows and fills port with its functions. links is an array of
 * count links, one for each object on this port; mst_config.link is 0 to
 * count - 1. Neither may move until mst_windows_free(). Returns 0,
 * MST_ERR_ARGUMENT, or MST_ERR_PORT without memory or sockets.
 */
int mst_windows_init(struct mst_windows *windows,
                     struct mst_windows_link *links, size_t count,
                     struct mst_port *port);

/*
 * Sleeps until one of these objects can continue, until the next deadline of
 * one, or until max_ms have passed; at most about 10 ms while one resolves or
 * connects. objects has the link of each object that uses this port, and both
 * links of a pair. Returns 1 if an object may be able to continue, 0 if none
 * can, MST_ERR_ARGUMENT for a link number that the port does not have, or
 * MST_ERR_PORT with the reason in WSAGetLastError().
 */
int mst_windows_wait(struct mst_windows *windows,
                     const struct mst_link *const *objects, size_t count,
                     uint32_t max_ms);

/* Closes all sockets, without waiting. Does nothing if windows is all zero.
 * Call it after the objects are closed or wiped. */
void mst_windows_free(struct mst_windows *windows);

#ifdef __cplusplus
}
#endif

#endif
