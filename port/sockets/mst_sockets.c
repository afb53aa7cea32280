/*
 * Port of mini_stream for BSD-style sockets with poll().
 *
 * In this order: clocks and entropy, sockets, resolver, port, waiting.
 *
 * SPDX-License-Identifier: 0BSD
 */
#if !defined(MST_SOCKETS_PLATFORM) && !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L /* the platform is POSIX */
#endif
#define MST_SOCKETS_PRIVATE

#include "mst_sockets.h"

#include <limits.h>
#include <string.h>

/* While the stack has no socket, a wait ends this often to ask again. */
#define LOOK_MS 100u

/* Reads of unread input at a close: 2 MB at most. */
#define DRAIN_ROUNDS 4096

/* ------------------------------------------------------------------------
 * Clocks and entropy
 * ------------------------------------------------------------------------ */

static uint32_t port_now_ms(void *context) {
    (void)context;
    return mst_sockets_now_ms();
}

static int port_unix_ns(void *context, int64_t *ns) {
    int32_t rest;
    int64_t s;

    (void)context;
    if (!mst_sockets_unix(&s, &rest)) {
        return MST_ERR_CLOCK;
    }
    *ns = s * 1000000000 + rest;
    return 0;
}

static int port_entropy(void *context, void *data, size_t len) {
    (void)context;
    return MST_SOCKETS_ENTROPY(data, len) ? 0 : MST_ERR_ENTROPY;
}

/* ------------------------------------------------------------------------
 * Sockets
 * ------------------------------------------------------------------------ */

/* 0 for an operation that only takes longer. */
static int socket_error(int number) {
    switch (number) {
    case EAGAIN:
#if EWOULDBLOCK != EAGAIN
    case EWOULDBLOCK:
#endif
    case EINTR:
    case EINPROGRESS:
    case EALREADY: return 0;
    case ECONNREFUSED: return MST_ERR_REFUSED;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case ETIMEDOUT:
    case EADDRNOTAVAIL: /* no own address that could reach it */
    case EAFNOSUPPORT:  /* no IPv6 (or IPv4) here at all */
        return MST_ERR_UNREACHABLE;
    case ECONNRESET:
    case ECONNABORTED:
    case EPIPE:
    case ENOTCONN: return MST_ERR_RESET;
    default: return MST_ERR_PORT;
    }
}

/* NULL for a number that the port has no link for. */
static struct mst_sockets_link *link_of(const void *context, int number) {
    const struct mst_sockets *sockets = context;

    return number >= 0 && number < sockets->count ? &sockets->links[number]
                                                  : NULL;
}

static int link_fail(struct mst_sockets_link *link, int number) {
    int error = socket_error(number);

    link->detail = error != 0 ? number : link->detail;
    return error;
}

/* The stack has no memory at the moment: sent bytes or closed sockets keep it
 * for a while. */
static bool is_short(int number) {
    return number == ENOBUFS || number == ENOMEM;
}

/* Some stacks report a refusal as a reset, and a peer that never answered as a
 * connection that they gave up. */
static int connect_fail(struct mst_sockets_link *link, int number) {
    int error = link_fail(link, number);

    return number == ECONNRESET     ? MST_ERR_REFUSED
           : number == ECONNABORTED ? MST_ERR_UNREACHABLE
                                    : error;
}

/* With input that nobody has read, the stack would reset the connection and
 * drop what was sent last. */
static void link_close_socket(struct mst_sockets_link *link) {
    char waste[512];
    int rounds = link->connected ? DRAIN_ROUNDS : 0;

    if (link->fd >= 0) {
        while (rounds-- > 0 &&
               MST_SOCKETS(recv)(link->fd, waste, sizeof waste, 0) > 0) {}
        MST_SOCKETS(close)(link->fd);
        link->fd = -1;
    }
    link->connected = link->waits = false;
}

/* Starts to connect. Returns 1, 0 or an error, as port_connect(). */
static int socket_begin(struct mst_sockets_link *link, int address) {
    const struct sockaddr *to =
        (const struct sockaddr *)&link->answer.addresses[address];
    const int no_delay = 1;

    link->fd = MST_SOCKETS(socket)(to->sa_family, SOCK_STREAM, IPPROTO_TCP);
    link->address = address;
    link->waits = link->fd < 0 && is_short(errno);
    if (link->waits) {
        link->detail = errno;
        return 0;
    }
    if (link->fd < 0 || MST_SOCKETS_NONBLOCK(link->fd) != 0) {
        link->detail = errno;
        return MST_ERR_PORT;
    }
    /* A frame or record is written at once and should leave at once. If this
     * fails, the stream is merely slower. */
    (void)MST_SOCKETS(setsockopt)(link->fd, IPPROTO_TCP, TCP_NODELAY, &no_delay,
                                  sizeof no_delay);
    return MST_SOCKETS(connect)(link->fd, to, link->answer.lens[address]) == 0
               ? 1
               : connect_fail(link, errno);
}

static int socket_go_on(struct mst_sockets_link *link) {
    struct MST_SOCKETS(pollfd)
        ready = {.fd = link->fd, .events = MST_SOCKETS_POLLOUT};
    int error = 0;
    socklen_t len = sizeof error;
    int n = MST_SOCKETS(poll)(&ready, 1, 0);

    if (n == 0) {
        return 0;
    }
    if (n < 0 || MST_SOCKETS(getsockopt)(link->fd, SOL_SOCKET, SO_ERROR, &error,
                                         &len) != 0) {
        error = errno;
    }
    return error == 0 ? 1 : connect_fail(link, error);
}

static int port_connect(void *context, int number, int address) {
    struct mst_sockets_link *link = link_of(context, number);
    int rc = 1;

    if (address < 0 || address >= link->answer.count) {
        return link_fail(link, EINVAL);
    }
    if (link->address != address) {
        link_close_socket(link);
    }
    if (link->fd < 0) {
        rc = socket_begin(link, address);
    } else if (!link->connected) {
        rc = socket_go_on(link);
    }
    if (rc < 0) {
        link_close_socket(link);
    }
    link->connected = rc > 0;
    return rc;
}

static int port_send(void *context, int number, const void *data, size_t len) {
    struct mst_sockets_link *link = link_of(context, number);
    ssize_t n = MST_SOCKETS(send)(link->fd, data, len < INT_MAX ? len : INT_MAX,
                                  MST_SOCKETS_SEND_FLAGS);

    if (n >= 0) {
        return (int)n;
    }
    return is_short(errno) ? 0 : link_fail(link, errno);
}

/* Repeats the end, which some stacks report only once. */
static int port_recv(void *context, int number, void *data, size_t len) {
    struct mst_sockets_link *link = link_of(context, number);
    ssize_t n;

    if (link->end != 0) {
        return link->end;
    }
    n = MST_SOCKETS(recv)(link->fd, data, len < INT_MAX ? len : INT_MAX, 0);
    if (n > 0) {
        return (int)n;
    }
    if (n == 0) {
        link->detail = 0;
        link->end = MST_ERR_EOF;
    } else {
        link->end = link_fail(link, errno);
    }
    return link->end;
}

/* ------------------------------------------------------------------------
 * Resolver
 *
 * getaddrinfo() may take minutes and cannot be interrupted, so a task calls it.
 * A link asks by its stage; the task answers only if that attempt still asks.
 * ------------------------------------------------------------------------ */

enum { STAGE_OFF, STAGE_ASKED, STAGE_ANSWERED };

/* Inserts an address so that the families alternate, in the resolver's order
 * (RFC 8305, section 4). */
static void answer_add(struct mst_sockets_answer *answer,
                       const struct sockaddr *address, socklen_t len) {
    struct sockaddr_storage *list = answer->addresses;
    int same = 0, place;

    for (int i = 0; i < answer->count; i++) {
        same += list[i].ss_family == address->sa_family;
    }
    place = 2 * same +
            (answer->count > 0 && list[0].ss_family != address->sa_family);
    place = place < answer->count ? place : answer->count;
    if (place == MST_SOCKETS_ADDRESSES_MAX || len > sizeof *list) {
        return;
    }
    answer->count += answer->count < MST_SOCKETS_ADDRESSES_MAX;
    for (int i = answer->count - 1; i > place; i--) {
        list[i] = list[i - 1];
        answer->lens[i] = answer->lens[i - 1];
    }
    memcpy(&list[place], address, len);
    answer->lens[place] = len;
}

static void resolver_ask(struct mst_sockets_answer *answer, const char *host,
                         uint16_t port) {
    struct MST_SOCKETS(addrinfo) hints;
    struct MST_SOCKETS(addrinfo) *list = NULL;
    char service[sizeof "65535"];
    char *digit = service + sizeof service - 1;

    *digit = '\0';
    do {
        *--digit = (char)('0' + port % 10);
        port /= 10;
    } while (port > 0);
    memset(&hints, 0, sizeof hints);
    memset(answer, 0, sizeof *answer);
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    answer->detail = MST_SOCKETS(getaddrinfo)(host, digit, &hints, &list);
    if (answer->detail != 0) {
        return;
    }
    for (const struct MST_SOCKETS(addrinfo) *item = list; item != NULL;
         item = item->ai_next) {
        answer_add(answer, item->ai_addr, (socklen_t)item->ai_addrlen);
    }
    MST_SOCKETS(freeaddrinfo)(list);
}

static void resolver_serve(struct mst_sockets *sockets,
                           struct mst_sockets_link *link) {
    uint32_t attempt;
    uint16_t port = 0;
    bool asks;

    MST_SOCKETS_LOCK(&sockets->task);
    attempt = link->attempt;
    asks = link->stage == STAGE_ASKED && !sockets->stops;
    if (asks) {
        memcpy(sockets->host, link->endpoint->host, sizeof sockets->host);
        port = link->endpoint->port;
    }
    MST_SOCKETS_UNLOCK(&sockets->task);
    if (!asks) {
        return;
    }
    resolver_ask(&sockets->heard, sockets->host, port);
    MST_SOCKETS_LOCK(&sockets->task);
    asks = link->stage == STAGE_ASKED && link->attempt == attempt;
    if (asks) {
        link->answer = sockets->heard;
        link->stage = STAGE_ANSWERED;
    }
    MST_SOCKETS_UNLOCK(&sockets->task);
    if (asks) {
        /* If there is no room, the wait has enough to wake up for. */
        (void)MST_SOCKETS(send)(sockets->wake[1], "", 1,
                                MST_SOCKETS_SEND_FLAGS);
    }
}

static void resolver_run(void *context) {
    struct mst_sockets *sockets = context;
    bool stops = false;

    while (!stops) {
        MST_SOCKETS_AWAIT(&sockets->task);
        for (int i = 0; i < sockets->count; i++) {
            resolver_serve(sockets, &sockets->links[i]);
        }
        MST_SOCKETS_LOCK(&sockets->task);
        stops = sockets->stops;
        MST_SOCKETS_UNLOCK(&sockets->task);
    }
}

static int port_resolve(void *context, int number,
                        const struct mst_endpoint *endpoint) {
    struct mst_sockets *sockets = context;
    struct mst_sockets_link *link = link_of(context, number);
    bool begins;
    int rc = 0;

    if (link == NULL) {
        return MST_ERR_ARGUMENT;
    }
    MST_SOCKETS_LOCK(&sockets->task);
    begins = link->stage == STAGE_OFF;
    if (begins) {
        link->endpoint = endpoint;
        link->stage = STAGE_ASKED;
    } else if (link->stage == STAGE_ANSWERED) {
        link->stage = STAGE_OFF;
        link->detail = link->answer.detail;
        rc = link->answer.count > 0 ? link->answer.count : MST_ERR_RESOLVE;
    }
    MST_SOCKETS_UNLOCK(&sockets->task);
    if (begins) {
        MST_SOCKETS_RING(&sockets->task);
    }
    return rc;
}

/* ------------------------------------------------------------------------
 * Port
 * ------------------------------------------------------------------------ */

static void port_close(void *context, int number) {
    struct mst_sockets *sockets = context;
    struct mst_sockets_link *link = link_of(context, number);

    if (link == NULL) {
        return;
    }
    MST_SOCKETS_LOCK(&sockets->task);
    link->stage = STAGE_OFF;
    link->attempt++; /* an answer to the last one comes too late */
    MST_SOCKETS_UNLOCK(&sockets->task);
    link_close_socket(link);
    link->end = 0;
}

static int port_detail(void *context, int number) {
    const struct mst_sockets_link *link = link_of(context, number);

    return link != NULL ? link->detail : 0;
}

static void wake_close(struct mst_sockets *sockets) {
    for (int i = 0; i < 2; i++) {
        if (sockets->wake[i] >= 0) {
            MST_SOCKETS(close)(sockets->wake[i]);
        }
    }
}

int mst_sockets_init(struct mst_sockets *sockets,
                     struct mst_sockets_link *links, int count,
                     struct mst_port *port) {
    if (sockets == NULL || links == NULL || count <= 0 ||
        count > MST_SOCKETS_LINKS_MAX || port == NULL) {
        return MST_ERR_ARGUMENT;
    }
    memset(sockets, 0, sizeof *sockets);
    memset(links, 0, (size_t)count * sizeof *links);
    memset(port, 0, sizeof *port);
    for (int i = 0; i < count; i++) {
        links[i].fd = -1;
    }
    sockets->links = links;
    sockets->wake[0] = sockets->wake[1] = -1;
    sockets->task.run = resolver_run;
    sockets->task.context = sockets;
    sockets->count = count;
    if (MST_SOCKETS_PAIR(sockets->wake) != 0 ||
        MST_SOCKETS_NONBLOCK(sockets->wake[0]) != 0 ||
        MST_SOCKETS_NONBLOCK(sockets->wake[1]) != 0 ||
        mst_sockets_start(&sockets->task) != 0) {
        wake_close(sockets);
        sockets->count = 0;
        return MST_ERR_PORT;
    }
    port->context = sockets;
    port->resolve = port_resolve;
    port->connect = port_connect;
    port->send = port_send;
    port->recv = port_recv;
    port->close = port_close;
    port->now_ms = port_now_ms;
    port->unix_ns = port_unix_ns;
    port->entropy = port_entropy;
    port->detail = port_detail;
    return 0;
}

void mst_sockets_free(struct mst_sockets *sockets) {
    if (sockets->count == 0) {
        return; /* it was not initialised */
    }
    for (int i = 0; i < sockets->count; i++) {
        port_close(sockets, i);
    }
    MST_SOCKETS_LOCK(&sockets->task);
    sockets->stops = true;
    MST_SOCKETS_UNLOCK(&sockets->task);
    MST_SOCKETS_RING(&sockets->task);
    mst_sockets_join(&sockets->task);
    wake_close(sockets);
    sockets->count = 0;
}

/* ------------------------------------------------------------------------
 * Waiting
 * ------------------------------------------------------------------------ */

static short link_events(const struct mst_sockets_link *link, unsigned wants) {
    if (link->fd < 0) {
        return 0;
    }
    if (!link->connected) {
        return MST_SOCKETS_POLLOUT;
    }
    return (short)((wants & MST_WANT_READ ? MST_SOCKETS_POLLIN : 0) |
                   (wants & MST_WANT_WRITE ? MST_SOCKETS_POLLOUT : 0));
}

/* How long the object's link may be left alone, ms. */
static uint32_t link_left(const struct mst_sockets_link *link,
                          const struct mst_link *object) {
    uint32_t left = mst_next_deadline_ms(object);

    return link->waits && left > LOOK_MS ? LOOK_MS : left;
}

int mst_sockets_wait(struct mst_sockets *sockets,
                     const struct mst_link *const *objects, size_t count,
                     uint32_t max_ms) {
    struct MST_SOCKETS(pollfd) fds[MST_SOCKETS_LINKS_MAX + 1];
    uint32_t ms = max_ms < INT_MAX ? max_ms : INT_MAX, left;
    uint8_t used = 1;
    char waste[16];
    int rc;

    memset(fds, 0, sizeof fds);
    fds[0].fd = sockets->wake[0];
    fds[0].events = MST_SOCKETS_POLLIN;
    for (size_t i = 0; i < count; i++) {
        const struct mst_sockets_link *link;

        if (mst_link_ended(objects[i])) {
            continue;
        }
        link = link_of(sockets, mst_link_number(objects[i]));
        if (link == NULL || used > sockets->count) {
            return MST_ERR_ARGUMENT;
        }
        left = link_left(link, objects[i]);
        ms = left < ms ? left : ms;
        fds[used].fd = link->fd;
        fds[used].events = link_events(link, mst_wants(objects[i]));
        if (fds[used].events != 0) {
            used++;
        }
    }
    rc = MST_SOCKETS(poll)(fds, used, (int)ms);
    if (rc < 0 && errno != EINTR) {
        return MST_ERR_PORT;
    }
    while (rc > 0 && fds[0].revents != 0 &&
           MST_SOCKETS(recv)(fds[0].fd, waste, sizeof waste, 0) > 0) {}
    return rc > 0 || ms < max_ms;
}
