/*
 * Port of mini_stream for Windows.
 *
 * In this order: clocks and entropy, sockets, resolver, port, waiting.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0602 /* Windows 8: GetSystemTimePreciseAsFileTime() */
#endif
#define WIN32_LEAN_AND_MEAN

#include "mst_windows.h"

#include <windows.h>

#include <bcrypt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef WSA_FLAG_NO_HANDLE_INHERIT
#define WSA_FLAG_NO_HANDLE_INHERIT 0x80
#endif

/* The resolver cannot wake a wait, nor can a failed connection before Windows
 * 10 version 2004: WSAPoll() does not report it. So a wait checks this
 * often. */
#define LOOK_MS 10u

/* ------------------------------------------------------------------------
 * Clocks and entropy
 * ------------------------------------------------------------------------ */

/* The performance counter never goes back, and setting the clock does not
 * change it. Neither call fails on supported versions of Windows. */
static uint64_t port_now_ns(void *context) {
    LARGE_INTEGER count, frequency;
    uint64_t ticks, second;

    (void)context;
    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&frequency);
    ticks = (uint64_t)count.QuadPart;
    second = (uint64_t)frequency.QuadPart;
    return ticks / second * 1000000000u + ticks % second * 1000000000u / second;
}

static uint32_t port_now_ms(void *context) {
    return (uint32_t)(port_now_ns(context) / 1000000u);
}

static int port_unix_ns(void *context, int64_t *ns) {
    const int64_t unix_begin = 116444736000000000; /* 100 ns since 1601 */
    FILETIME now;

    (void)context;
    GetSystemTimePreciseAsFileTime(&now);
    *ns = ((int64_t)((uint64_t)now.dwHighDateTime << 32 | now.dwLowDateTime) -
           unix_begin) *
          100;
    return 0;
}

static int port_entropy(void *context, void *data, size_t len) {
    (void)context;
    return len <= ULONG_MAX &&
                   BCryptGenRandom(NULL, data, (ULONG)len,
                                   BCRYPT_USE_SYSTEM_PREFERRED_RNG) == 0
               ? 0
               : MST_ERR_ENTROPY;
}

/* ------------------------------------------------------------------------
 * Sockets
 * ------------------------------------------------------------------------ */

static int socket_error(int number) {
    switch (number) {
    case WSAECONNREFUSED: return MST_ERR_REFUSED;
    case WSAENETUNREACH:
    case WSAEHOSTUNREACH:
    case WSAENETDOWN:
    case WSAETIMEDOUT:
    case WSAEADDRNOTAVAIL: /* no local address can reach it */
    case WSAEAFNOSUPPORT:  /* this system has no IPv6 (or IPv4) */
        return MST_ERR_UNREACHABLE;
    case WSAECONNRESET:
    case WSAECONNABORTED:
    case WSAENETRESET:
    case WSAESHUTDOWN: return MST_ERR_RESET;
    default: return MST_ERR_PORT;
    }
}

/* NULL for a number without a link. */
static struct mst_windows_link *link_of(const void *context, int number) {
    const struct mst_windows *windows = context;

    return number >= 0 && (size_t)number < windows->count
               ? &windows->links[number]
               : NULL;
}

static int link_fail(struct mst_windows_link *link, int number) {
    link->detail = number;
    return socket_error(number);
}

/* Discards what has arrived, without waiting for more. Otherwise the system
 * would reset the connection and discard what was sent last. */
static void link_close_socket(struct mst_windows_link *link) {
    char waste[2048];
    int rounds = link->connected ? 4096 : 0;

    if (link->socket != INVALID_SOCKET) {
        while (rounds-- > 0 &&
               recv(link->socket, waste, (int)sizeof waste, 0) > 0) {}
        closesocket(link->socket);
        link->socket = INVALID_SOCKET;
    }
    link->connected = false;
}

/* Starts to connect. Returns 1, 0 or an error, as port_connect(). */
static int socket_begin(struct mst_windows_link *link, int address) {
    const union mst_windows_address *to = &link->answer.addresses[address];
    int len =
        to->any.sa_family == AF_INET6 ? (int)sizeof to->v6 : (int)sizeof to->v4;
    const BOOL no_delay = TRUE;
    u_long no_wait = 1;
    int number;

    link->socket =
        WSASocketW(to->any.sa_family, SOCK_STREAM, IPPROTO_TCP, NULL, 0,
                   WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
    link->address = address;
    if (link->socket == INVALID_SOCKET ||
        ioctlsocket(link->socket, (long)FIONBIO, &no_wait) != 0) {
        return link_fail(link, WSAGetLastError());
    }
    /* Frames and records are written whole and should leave at once. If this
     * fails, the stream is only slower. */
    setsockopt(link->socket, IPPROTO_TCP, TCP_NODELAY, (const char *)&no_delay,
               sizeof no_delay);
    if (connect(link->socket, &to->any, len) == 0) {
        return 1;
    }
    number = WSAGetLastError();
    return number == WSAEWOULDBLOCK ? 0 : link_fail(link, number);
}

/* Uses select(), which reports a failure on every version of Windows. */
static int socket_go_on(struct mst_windows_link *link) {
    fd_set connected = {1, {link->socket}}, failed = {1, {link->socket}};
    struct timeval at_once = {0, 0};
    int number = 0, len = sizeof number;
    int n = select(0, NULL, &connected, &failed, &at_once);

    if (n == 0) {
        return 0;
    }
    if (n < 0 || getsockopt(link->socket, SOL_SOCKET, SO_ERROR, (char *)&number,
                            &len) != 0) {
        number = WSAGetLastError();
    }
    return number == 0 && connected.fd_count > 0 ? 1 : link_fail(link, number);
}

static int port_connect(void *context, int number, int address) {
    struct mst_windows_link *link = link_of(context, number);
    int rc;

    if (address < 0 || address >= link->answer.count) {
        return link_fail(link, WSAEINVAL);
    }
    if (link->address != address) {
        link_close_socket(link);
    }
    if (link->socket == INVALID_SOCKET) {
        rc = socket_begin(link, address);
    } else {
        rc = link->connected ? 1 : socket_go_on(link);
    }
    if (rc < 0) {
        link_close_socket(link);
    }
    link->connected = rc > 0;
    return rc;
}

static int port_send(void *context, int number, const void *data, size_t len) {
    struct mst_windows_link *link = link_of(context, number);
    int n;

    n = send(link->socket, data, len < INT_MAX ? (int)len : INT_MAX, 0);
    if (n < 0) {
        n = WSAGetLastError();
        return n == WSAEWOULDBLOCK ? 0 : link_fail(link, n);
    }
    return n;
}

/* Returns an error again, which the system may report only once. */
static int port_recv(void *context, int number, void *data, size_t len) {
    struct mst_windows_link *link = link_of(context, number);
    int n;

    if (link->error == 0) {
        n = recv(link->socket, data, len < INT_MAX ? (int)len : INT_MAX, 0);
        if (n >= 0) {
            link->detail = 0;
            return n > 0 ? n : MST_ERR_EOF;
        }
        n = WSAGetLastError();
        if (n == WSAEWOULDBLOCK) {
            return 0;
        }
        link->error = n;
    }
    return link_fail(link, link->error);
}

/* ------------------------------------------------------------------------
 * Resolver
 *
 * getaddrinfo() can take minutes and cannot be interrupted, so it runs in the
 * process's thread pool. A request has two owners, the link and the work item;
 * the last one frees it. To give up a resolution, the link leaves it to the
 * work item. The work item drops its ownership when the answer is complete.
 * ------------------------------------------------------------------------ */

struct mst_windows_request {
    LONG owners;
    uint16_t port;
    char host[MST_HOST_MAX + 1];
    struct mst_windows_answer answer;
};

static void request_release(struct mst_windows_request *request) {
    if (InterlockedDecrement(&request->owners) == 0) {
        free(request);
    }
}

static void resolver_ask(struct mst_windows_answer *answer, const char *host,
                         uint16_t port, int flags) {
    struct addrinfo hints;
    struct addrinfo *list = NULL;
    char service[8];

    memset(&hints, 0, sizeof hints);
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    snprintf(service, sizeof service, "%u", (unsigned)port);
    answer->count = 0;
    answer->detail = getaddrinfo(host, service, &hints, &list);
    if (answer->detail != 0) {
        answer->error = answer->detail == WSA_NOT_ENOUGH_MEMORY
                            ? MST_ERR_PORT
                            : MST_ERR_RESOLVE;
        return;
    }
    for (const struct addrinfo *item = list;
         item != NULL && answer->count < MST_WINDOWS_ADDRESSES_MAX;
         item = item->ai_next) {
        if (item->ai_family == AF_INET || item->ai_family == AF_INET6) {
            memcpy(&answer->addresses[answer->count++], item->ai_addr,
                   item->ai_addrlen);
        }
    }
    freeaddrinfo(list);
    answer->error = answer->count > 0 ? 0 : MST_ERR_RESOLVE;
}

/* Starts up Winsock itself: the port may be freed before it ends. */
static void CALLBACK resolver_run(PTP_CALLBACK_INSTANCE instance,
                                  void *context) {
    struct mst_windows_request *request = context;
    WSADATA data;
    int rc = WSAStartup(MAKEWORD(2, 2), &data);

    CallbackMayRunLong(instance);
    if (rc == 0) {
        resolver_ask(&request->answer, request->host, request->port, 0);
        WSACleanup();
    } else {
        request->answer.error = MST_ERR_PORT;
        request->answer.detail = rc;
    }
    request_release(request);
}

static int resolver_begin(struct mst_windows_link *link,
                          const struct mst_endpoint *endpoint) {
    struct mst_windows_request *request = calloc(1, sizeof *request);

    if (request == NULL) {
        return link_fail(link, WSA_NOT_ENOUGH_MEMORY);
    }
    request->owners = 2;
    request->port = endpoint->port;
    memcpy(request->host, endpoint->host, sizeof request->host);
    if (!TrySubmitThreadpoolCallback(resolver_run, request, NULL)) {
        free(request);
        return link_fail(link, (int)GetLastError());
    }
    link->request = request;
    return 0;
}

static int resolver_result(struct mst_windows_link *link) {
    link->detail = link->answer.detail;
    return link->answer.error != 0 ? link->answer.error : link->answer.count;
}

static int resolver_go_on(struct mst_windows_link *link) {
    if (InterlockedCompareExchange(&link->request->owners, 0, 0) > 1) {
        return 0; /* the work item still owns it */
    }
    link->answer = link->request->answer;
    request_release(link->request);
    link->request = NULL;
    return resolver_result(link);
}

static int port_resolve(void *context, int number,
                        const struct mst_endpoint *endpoint) {
    struct mst_windows_link *link = link_of(context, number);

    if (link == NULL) {
        return MST_ERR_ARGUMENT; /* no other call follows for this link */
    }
    if (link->request != NULL) {
        return resolver_go_on(link);
    }
    resolver_ask(&link->answer, endpoint->host, endpoint->port, AI_NUMERICHOST);
    return link->answer.count > 0 ? resolver_result(link)
                                  : resolver_begin(link, endpoint);
}

/* ------------------------------------------------------------------------
 * Port
 * ------------------------------------------------------------------------ */

static void link_close(struct mst_windows_link *link) {
    link_close_socket(link);
    link->error = 0;
    if (link->request != NULL) {
        request_release(link->request);
        link->request = NULL;
    }
}

static void port_close(void *context, int number) {
    struct mst_windows_link *link = link_of(context, number);

    if (link != NULL) {
        link_close(link);
    }
}

static int port_detail(void *context, int number) {
    const struct mst_windows_link *link = link_of(context, number);

    return link != NULL ? link->detail : 0;
}

int mst_windows_init(struct mst_windows *windows,
                     struct mst_windows_link *links, size_t count,
                     struct mst_port *port) {
    WSADATA data;

    if (windows == NULL || links == NULL || count == 0 || count > INT_MAX ||
        port == NULL) {
        return MST_ERR_ARGUMENT;
    }
    memset(windows, 0, sizeof *windows);
    memset(links, 0, count * sizeof *links);
    memset(port, 0, sizeof *port);
    if (WSAStartup(MAKEWORD(2, 2), &data) != 0) {
        return MST_ERR_PORT;
    }
    windows->wait = calloc(count, sizeof *windows->wait);
    if (windows->wait == NULL) {
        WSACleanup();
        return MST_ERR_PORT;
    }
    for (size_t i = 0; i < count; i++) {
        links[i].socket = INVALID_SOCKET;
    }
    windows->links = links;
    windows->count = count;
    port->context = windows;
    port->resolve = port_resolve;
    port->connect = port_connect;
    port->send = port_send;
    port->recv = port_recv;
    port->close = port_close;
    port->now_ms = port_now_ms;
    port->unix_ns = port_unix_ns;
    port->entropy = port_entropy;
    port->now_ns = port_now_ns;
    port->detail = port_detail;
    return 0;
}

void mst_windows_free(struct mst_windows *windows) {
    for (size_t i = 0; i < windows->count; i++) {
        link_close(&windows->links[i]);
    }
    if (windows->count > 0) { /* it was initialised */
        free(windows->wait);
        windows->wait = NULL;
        windows->count = 0;
        WSACleanup();
    }
}

/* ------------------------------------------------------------------------
 * Waiting
 * ------------------------------------------------------------------------ */

static short link_events(const struct mst_windows_link *link, unsigned wants) {
    if (link->socket == INVALID_SOCKET) {
        return 0;
    }
    if (!link->connected) {
        return POLLWRNORM;
    }
    return (short)((wants & MST_WANT_READ ? POLLRDNORM : 0) |
                   (wants & MST_WANT_WRITE ? POLLWRNORM : 0));
}

/* True if it resolves or connects: WSAPoll() may not report the end of that. */
static bool link_is_looked_at(const struct mst_windows_link *link) {
    return link->request != NULL ||
           (link->socket != INVALID_SOCKET && !link->connected);
}

int mst_windows_wait(struct mst_windows *windows,
                     const struct mst_link *const *objects, size_t count,
                     uint32_t max_ms) {
    uint32_t ms = max_ms < INT_MAX ? max_ms : INT_MAX;
    bool may_go_on = false;
    ULONG used = 0;
    int rc = 0;

    for (size_t i = 0; i < count; i++) {
        const struct mst_windows_link *link;
        uint32_t left;
        short events;

        if (mst_link_ended(objects[i])) {
            continue;
        }
        link = link_of(windows, mst_link_number(objects[i]));
        if (link == NULL || used == windows->count) {
            return MST_ERR_ARGUMENT;
        }
        left = mst_next_deadline_ms(objects[i]);
        may_go_on |= left == 0;
        if (link_is_looked_at(link)) {
            left = left < LOOK_MS ? left : LOOK_MS;
            may_go_on = true;
        }
        ms = left < ms ? left : ms;
        /* A closed connection is reported even if no event is requested. */
        events = link_events(link, mst_wants(objects[i]));
        if (events != 0) {
            windows->wait[used].fd = link->socket;
            windows->wait[used].events = events;
            windows->wait[used++].revents = 0;
        }
    }
    if (used > 0) {
        rc = WSAPoll(windows->wait, used, (int)ms);
    } else {
        Sleep(ms); /* WSAPoll() requires at least one socket */
    }
    return rc < 0 ? MST_ERR_PORT : rc > 0 || may_go_on;
}
