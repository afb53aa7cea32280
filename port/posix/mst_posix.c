/*
 * Port of mini_stream for POSIX systems.
 *
 * In this order: clocks and entropy, sockets, connecting, resolver, port,
 * waiting.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE /* SO_NOSIGPIPE */
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "mst_posix.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#endif

/* Without SOCK_CLOEXEC, a process that another thread starts between socket()
 * and fcntl() inherits the descriptor. */
#ifdef SOCK_CLOEXEC
#define STREAM_TYPE (SOCK_STREAM | SOCK_CLOEXEC)
#else
#define STREAM_TYPE SOCK_STREAM
#endif

#define HEAD_START_MS 250u /* before the next address is tried in parallel */
#define NAP_MS 10u         /* see link_wait() */

#ifdef MSG_NOSIGNAL
#define SEND_FLAGS MSG_NOSIGNAL
#else
#define SEND_FLAGS 0
#endif

/* On Linux a wait may block in recv(): with SO_RCVTIMEO a caught signal ends it
 * even with SA_RESTART. All other calls on such a socket pass MSG_DONTWAIT. */
#ifdef __linux__
#define AT_ONCE MSG_DONTWAIT
#else
#define AT_ONCE 0
#endif

#define RECV_MS 200      /* the longest that recv() blocks, */
#define RECV_LATE_MS 50u /* plus this much, for the kernel's ticks */

/* Reads before a close, to discard unread data: 8 MB, more than a socket
 * holds. */
#define DRAIN_ROUNDS 4096

/* ------------------------------------------------------------------------
 * Clocks and entropy
 * ------------------------------------------------------------------------ */

static uint64_t port_read_clock(clockid_t clock) {
    struct timespec now = {0, 0};

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t port_now_ns(void *context) {
    (void)context;
    return port_read_clock(CLOCK_MONOTONIC);
}

/* Read at each poll, so it uses Linux's coarse clock, which is a few ms
 * late. */
static uint32_t port_now_ms(void *context) {
    (void)context;
#ifdef CLOCK_MONOTONIC_COARSE
    return (uint32_t)(port_read_clock(CLOCK_MONOTONIC_COARSE) / 1000000u);
#else
    return (uint32_t)(port_read_clock(CLOCK_MONOTONIC) / 1000000u);
#endif
}

/* For this port's own times. */
static uint32_t port_exact_ms(void) {
    return (uint32_t)(port_now_ns(NULL) / 1000000u);
}

static int port_unix_ns(void *context, int64_t *ns) {
    struct timespec now;

    (void)context;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) {
        return MST_ERR_CLOCK;
    }
    *ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    return 0;
}

static int entropy_from_device(void *data, size_t len) {
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    size_t got = 0;
    ssize_t n = 1;

    if (fd < 0) {
        return MST_ERR_ENTROPY;
    }
    while (got < len && (n > 0 || (n < 0 && errno == EINTR))) {
        n = read(fd, (char *)data + got, len - got);
        got += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    return got == len ? 0 : MST_ERR_ENTROPY;
}

static int port_entropy(void *context, void *data, size_t len) {
    (void)context;
#ifdef __linux__
    size_t got = 0;

    while (got < len) {
        /* Fails, rather than waits, early in the system's boot. */
        ssize_t n = getrandom((char *)data + got, len - got, GRND_NONBLOCK);

        if (n < 0 && errno == ENOSYS) {
            return entropy_from_device(data, len);
        }
        if (n < 0 && errno != EINTR) {
            return MST_ERR_ENTROPY;
        }
        if (n > 0) {
            got += (size_t)n;
        }
    }
    return 0;
#else
    return entropy_from_device(data, len);
#endif
}

/* ------------------------------------------------------------------------
 * Sockets
 * ------------------------------------------------------------------------ */

static int socket_error(int number) {
    switch (number) {
    case ECONNREFUSED: return MST_ERR_REFUSED;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case ETIMEDOUT:
    case EADDRNOTAVAIL: /* no local address can reach it */
    case EAFNOSUPPORT:  /* this system has no IPv6 (or IPv4) */
        return MST_ERR_UNREACHABLE;
    case ECONNRESET:
    case ECONNABORTED:
    case EPIPE: return MST_ERR_RESET;
    default: return MST_ERR_PORT;
    }
}

/* NULL for a number without a link. */
static struct mst_posix_link *link_of(const void *context, int number) {
    const struct mst_posix *posix = context;

    return number >= 0 && (size_t)number < posix->count ? &posix->links[number]
                                                        : NULL;
}

static int link_fail(struct mst_posix_link *link, int number) {
    link->detail = number;
    return socket_error(number);
}

static void descriptor_close(int *fd) {
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

/* Closing a descriptor also removes it from epoll. */
static void link_close_descriptor(struct mst_posix_link *link, int *fd) {
    descriptor_close(fd);
    link->watched = link->reported = 0;
    link->ended = false;
}

/* Moves a descriptor above those of the standard streams, which may be closed:
 * what the program prints must not go to a peer, nor to a resolution. */
static int descriptor_above(int fd) {
    if (fd >= 0 && fd <= STDERR_FILENO) {
        const int low = fd;

        fd = fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        (void)close(low);
    }
    return fd;
}

static bool descriptor_set_up(int fd) {
    int flags = fcntl(fd, F_GETFL);

    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
           fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

static bool is_not_now(int number) {
#if EWOULDBLOCK != EAGAIN
    if (number == EWOULDBLOCK) {
        return true;
    }
#endif
    return number == EAGAIN || number == EINTR;
}

/* Turns the result of send() or recv() into what the library expects. */
static int socket_result(struct mst_posix_link *link, ssize_t n) {
    if (n >= 0) {
        return (int)n;
    }
    return is_not_now(errno) ? 0 : link_fail(link, errno);
}

/* Like recv(), but returns an error again, which the system reports only
 * once. */
static ssize_t socket_read(struct mst_posix_link *link, void *data, size_t len,
                           int flags) {
    ssize_t n = -1;

    if (link->error == 0) {
        n = recv(link->fd, data, len, flags);
        if (n < (ssize_t)len && !link->ended) {
            link->reported &= ~POLLIN;
        }
        if (n >= 0 || is_not_now(errno)) {
            return n;
        }
        link->error = errno;
    }
    errno = link->error;
    return n;
}

/* Waits at most RECV_MS, and reads. Returns 1 with data or an end for
 * port_recv(), 0 after a signal, and -1 if nothing has come. */
static int ahead_read(struct mst_posix_link *link) {
    ssize_t n = socket_read(link, link->ahead, sizeof link->ahead, 0);

    link->ahead_at = 0;
    link->ahead_len = n > 0 ? (size_t)n : 0;
    if (n < 0 && is_not_now(errno)) {
        return errno == EINTR ? 0 : -1;
    }
    return 1;
}

/* Copies what was read ahead. */
static size_t ahead_take(struct mst_posix_link *link, void *data, size_t len) {
    size_t left = link->ahead_len - link->ahead_at;

    len = len < left ? len : left;
    memcpy(data, link->ahead + link->ahead_at, len);
    link->ahead_at += len;
    return len;
}

static int port_send(void *context, int number, const void *data, size_t len) {
    struct mst_posix_link *link = link_of(context, number);
    ssize_t n;

    if (len > INT_MAX) {
        len = INT_MAX;
    }
    if (link->error != 0) {
        return link_fail(link, link->error);
    }
    n = send(link->fd, data, len, SEND_FLAGS | AT_ONCE);
    if (n < (ssize_t)len) {
        link->reported &= ~POLLOUT;
    }
    return socket_result(link, n);
}

static int port_recv(void *context, int number, void *data, size_t len) {
    struct mst_posix_link *link = link_of(context, number);
    size_t taken;
    ssize_t n;

    if (len > INT_MAX) {
        len = INT_MAX;
    }
    taken = ahead_take(link, data, len);
    if (taken == len || (taken > 0 && link->ahead_len < sizeof link->ahead)) {
        return (int)taken; /* all that was requested, or all there was */
    }
    n = socket_read(link, (char *)data + taken, len - taken, AT_ONCE);
    if (taken > 0) {
        return (int)taken + (n > 0 ? (int)n : 0);
    }
    if (n == 0) {
        link->detail = 0;
        return MST_ERR_EOF;
    }
    return socket_result(link, n);
}

/* ------------------------------------------------------------------------
 * Connecting
 *
 * After a head start of one address, the next is tried in parallel (RFC 8305,
 * section 5); the first to answer wins. The library asks for addresses by
 * number: the winner trades places with the address it asked for, so that it
 * never asks for one that was used. An error is kept until its address is asked
 * for.
 * ------------------------------------------------------------------------ */

#ifdef __linux__

/* Adds a descriptor to an epoll set, or changes its events. */
static bool set_add(int set, int fd, struct epoll_event event) {
    return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0 ||
           (errno == EEXIST && epoll_ctl(set, EPOLL_CTL_MOD, fd, &event) == 0);
}

static uint32_t set_events(short events) {
    return (events & POLLIN ? EPOLLIN : 0u) |
           (events & POLLOUT ? EPOLLOUT : 0u);
}

static bool set_open(struct mst_posix_link *link) {
    if (link->set < 0) {
        link->set = epoll_create1(EPOLL_CLOEXEC);
    }
    if (link->timer < 0) {
        link->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    }
    return link->set >= 0 && link->timer >= 0 &&
           set_add(link->set, link->timer,
                   (struct epoll_event){.events = EPOLLIN});
}

#endif

static void set_close(struct mst_posix_link *link) {
    link_close_descriptor(link, &link->set);
    descriptor_close(&link->timer);
    link->naps = false;
}

/* Makes the link wait for all of these, for at most ms; 0: no limit. On Linux
 * one epoll descriptor covers them. Elsewhere, and if descriptors have run out,
 * the link is checked every NAP_MS. */
void mst_posix_link_wait(struct mst_posix_link *link, const struct pollfd *fds,
                         size_t count, uint32_t ms) {
    bool naps = true;
#ifdef __linux__
    const struct itimerspec limit = {
        .it_value = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000}};

    naps =
        !set_open(link) || timerfd_settime(link->timer, 0, &limit, NULL) != 0;
    for (size_t i = 0; i < count && !naps; i++) {
        naps =
            !set_add(link->set, fds[i].fd,
                     (struct epoll_event){.events = set_events(fds[i].events)});
    }
#endif
    (void)fds;
    (void)count;
    (void)ms;
    link->naps = naps;
    link->nap_end = port_exact_ms() + NAP_MS;
    link->reported = 0;
}

/* Gives a socket of this family the program's source address, if it has set
 * one. */
static bool socket_bind(const struct mst_posix *posix, int fd, int family) {
    if (posix->source == NULL) {
        return true;
    }
    if (posix->source->sa_family != family) {
        errno = EAFNOSUPPORT;
        return false;
    }
    return bind(fd, posix->source, posix->source_len) == 0;
}

/* Starts to connect to an address. */
static void socket_begin(const struct mst_posix *posix,
                         struct mst_posix_link *link, int number) {
    const union mst_posix_address *to = &link->answer.addresses[number];
    socklen_t len = to->any.sa_family == AF_INET6 ? (socklen_t)sizeof to->v6
                                                  : (socklen_t)sizeof to->v4;
    int fd = descriptor_above(socket(to->any.sa_family, STREAM_TYPE, 0));
    const int on = 1;

    link->begun |= 1u << number;
    if (fd >= 0 && descriptor_set_up(fd) &&
        socket_bind(posix, fd, to->any.sa_family)) {
#ifdef SO_NOSIGPIPE
        setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
        /* Frames and records are written whole and should leave at once. If
         * this fails, the stream is only slower. */
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        /* An interrupted connect() continues by itself. */
        if (connect(fd, &to->any, len) == 0 || errno == EINPROGRESS ||
            errno == EINTR) {
            link->fds[number] = fd;
            link->next_ms = port_exact_ms() + HEAD_START_MS;
            return;
        }
    }
    link->errors[number] = errno;
    descriptor_close(&fd);
}

/* True if an address has answered; notes a failure. */
static bool socket_go_on(struct mst_posix_link *link, int number) {
    struct pollfd ready = {link->fds[number], POLLOUT, 0};
    int error = 0;
    socklen_t len = sizeof error;
    int n = poll(&ready, 1, 0);

    if (n == 0 || (n < 0 && errno == EINTR)) {
        return false;
    }
    if (n < 0 ||
        getsockopt(ready.fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0) {
        error = errno;
    }
    if (error != 0) {
        link_close_descriptor(link, &link->fds[number]);
        link->errors[number] = error;
        link->next_ms = port_exact_ms();
    }
    return error == 0;
}

/* Lets a wait block in recv() from now on. If this fails, it is only slower. */
static void socket_let_block(int fd) {
    const struct timeval limit = {0, RECV_MS * 1000};

    if (AT_ONCE != 0 &&
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0) {
        (void)fcntl(fd, F_SETFL, 0); /* the only flag was O_NONBLOCK */
    }
}

/* Closes all connecting sockets; their addresses may be tried again. */
static void race_end(struct mst_posix_link *link) {
    for (int i = 0; i < MST_POSIX_ADDRESSES_MAX; i++) {
        if (link->fds[i] >= 0) {
            link_close_descriptor(link, &link->fds[i]);
            link->begun &= ~(1u << i);
        }
    }
    set_close(link);
}

static void race_won(struct mst_posix_link *link, int number) {
    union mst_posix_address *addresses = link->answer.addresses;
    union mst_posix_address winner = addresses[number];

    link->fd = link->fds[number];
    link->fds[number] = -1;
    link->begun &= ~(1u << number);
    race_end(link);
    addresses[number] = addresses[link->address];
    addresses[link->address] = winner;
    link->begun |= 1u << link->address;
    socket_let_block(link->fd);
}

/* Checks all connecting sockets. Returns 1, 0 or an error, as
 * port_connect(). */
static int race_look(struct mst_posix_link *link) {
    int *error = &link->errors[link->address];

    for (int i = 0; i < link->answer.count; i++) {
        int number = (link->address + i) % link->answer.count;

        if (link->fds[number] >= 0 && socket_go_on(link, number)) {
            race_won(link, number);
            return 1;
        }
    }
    link->detail = *error;
    *error = 0; /* if asked for again, it is tried again */
    return link->detail != 0 ? socket_error(link->detail) : 0;
}

/* The next address that was not tried yet, or -1. */
static int race_next(const struct mst_posix_link *link) {
    for (int i = 1; i < link->answer.count; i++) {
        int number = (link->address + i) % link->answer.count;

        if ((link->begun & 1u << number) == 0) {
            return number;
        }
    }
    return -1;
}

/* Starts the attempts that are due. Returns false if there are none. */
static bool race_begin(const struct mst_posix *posix,
                       struct mst_posix_link *link) {
    int number = race_next(link);

    if (link->fds[link->address] < 0) {
        number = link->address;
    } else if (number < 0 || (int32_t)(link->next_ms - port_exact_ms()) > 0) {
        return false;
    }
    socket_begin(posix, link, number);
    return true;
}

static void race_wait(struct mst_posix_link *link) {
    struct pollfd fds[MST_POSIX_ADDRESSES_MAX];
    size_t count = 0;
    uint32_t left = link->next_ms - port_exact_ms();

    for (int i = 0; i < link->answer.count; i++) {
        if (link->fds[i] >= 0) {
            fds[count++] = (struct pollfd){link->fds[i], POLLOUT, 0};
        }
    }
    left = left - 1 < HEAD_START_MS ? left : 1; /* it may be due just now */
    mst_posix_link_wait(link, fds, count, race_next(link) < 0 ? 0 : left);
}

static int port_connect(void *context, int number, int address) {
    struct mst_posix_link *link = link_of(context, number);
    int rc;

    if (address < 0 || address >= link->answer.count) {
        return link_fail(link, EINVAL);
    }
    if (link->address != address) {
        link_close_descriptor(link, &link->fd);
        link_close_descriptor(link, &link->fds[link->address]);
        link->address = address;
    }
    if (link->fd >= 0) {
        return 1;
    }
    do {
        rc = race_look(link);
    } while (rc == 0 && race_begin(context, link));
    if (rc == 0 && link->answer.count > 1) {
        race_wait(link);
    }
    return rc;
}

/* ------------------------------------------------------------------------
 * Resolver
 *
 * getaddrinfo() can take minutes and cannot be interrupted, so it runs in a
 * detached thread. The thread owns its request and shares nothing: it sends the
 * answer through a socket pair and ends. A resolution is given up by closing
 * the other end. Another resolver, such as ../cares, can replace this one.
 * ------------------------------------------------------------------------ */

struct resolver_request {
    int fd;
    uint16_t port;
    char host[MST_HOST_MAX + 1];
};

/* Inserts an address so that families alternate (RFC 8305, section 4),
 * beginning with the family of the first address. */
void mst_posix_answer_add(struct mst_posix_answer *answer,
                          const struct sockaddr *address) {
    union mst_posix_address *list = answer->addresses;
    bool v6 = address->sa_family == AF_INET6;
    int same = 0, place;

    if (!v6 && address->sa_family != AF_INET) {
        return;
    }
    for (int i = 0; i < answer->count; i++) {
        same += list[i].any.sa_family == address->sa_family;
    }
    place = 2 * same + (list[0].any.sa_family != address->sa_family);
    place = place < answer->count ? place : answer->count;
    if (place == MST_POSIX_ADDRESSES_MAX) {
        return;
    }
    answer->count += answer->count < MST_POSIX_ADDRESSES_MAX;
    memmove(&list[place + 1], &list[place],
            (size_t)(answer->count - 1 - place) * sizeof *list);
    memcpy(&list[place], address, v6 ? sizeof list->v6 : sizeof list->v4);
}

/* Sets the answer's error if it has no address; rc is getaddrinfo()'s. */
void mst_posix_answer_end(struct mst_posix_answer *answer, int rc) {
    if (answer->count == 0) {
        rc = rc != 0 ? rc : EAI_NONAME;
        answer->error = rc == EAI_SYSTEM || rc == EAI_MEMORY ? MST_ERR_PORT
                                                             : MST_ERR_RESOLVE;
        answer->detail = rc == EAI_SYSTEM ? errno : rc;
    }
}

static void resolver_ask(struct mst_posix_answer *answer, const char *host,
                         uint16_t port, int flags) {
    struct addrinfo hints;
    struct addrinfo *list = NULL;
    char service[8];
    int rc;

    memset(&hints, 0, sizeof hints);
    memset(answer, 0, sizeof *answer);
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    snprintf(service, sizeof service, "%u", (unsigned)port);
    rc = getaddrinfo(host, service, &hints, &list);
    for (const struct addrinfo *item = rc == 0 ? list : NULL; item != NULL;
         item = item->ai_next) {
        mst_posix_answer_add(answer, item->ai_addr);
    }
    mst_posix_answer_end(answer, rc);
    if (rc == 0) {
        freeaddrinfo(list);
    }
}

static void *resolver_run(void *argument) {
    struct resolver_request *request = argument;
    struct mst_posix_answer answer;

    resolver_ask(&answer, request->host, request->port, 0);
    /* The answer fits into the socket's buffer. It is lost if nobody waits for
     * it any more. */
    send(request->fd, &answer, sizeof answer, SEND_FLAGS);
    close(request->fd);
    free(request);
    return NULL;
}

/* Starts the thread with all signals blocked: the program's own threads handle
 * them. Returns 0 or an errno. */
static int resolver_spawn(struct resolver_request *request) {
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    int rc = pthread_attr_init(&attributes);

    if (rc != 0) {
        return rc;
    }
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&thread, &attributes, resolver_run, request);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return rc;
}

static bool resolver_give_up(struct mst_posix_link *link, int number,
                             struct resolver_request *request,
                             const int pair[2]) {
    close(pair[0]);
    close(pair[1]);
    free(request);
    errno = number;
    mst_posix_answer_end(&link->answer, EAI_SYSTEM);
    return true;
}

static bool resolver_begin(struct mst_posix_link *link,
                           const struct mst_endpoint *endpoint) {
    struct resolver_request *request;
    int pair[2];
    int rc;

    if (socketpair(AF_UNIX, STREAM_TYPE, 0, pair) != 0) {
        mst_posix_answer_end(&link->answer, EAI_SYSTEM);
        return true;
    }
    pair[0] = descriptor_above(pair[0]);
    pair[1] = descriptor_above(pair[1]);
    if (!descriptor_set_up(pair[0]) || !descriptor_set_up(pair[1])) {
        return resolver_give_up(link, errno, NULL, pair);
    }
    request = malloc(sizeof *request);
    if (request == NULL) {
        return resolver_give_up(link, ENOMEM, NULL, pair);
    }
    request->fd = pair[1];
    request->port = endpoint->port;
    memcpy(request->host, endpoint->host, sizeof request->host);
    rc = resolver_spawn(request);
    if (rc != 0) {
        return resolver_give_up(link, rc, request, pair);
    }
    link->set = pair[0];
    return false;
}

static bool resolver_resolve(struct mst_posix *posix,
                             struct mst_posix_link *link,
                             const struct mst_endpoint *endpoint) {
    struct mst_posix_answer *answer = &link->answer;
    ssize_t n;

    (void)posix;
    if (link->set < 0) {
        return resolver_begin(link, endpoint);
    }
    n = recv(link->set, answer, sizeof *answer, 0);
    if (n < 0 && is_not_now(errno)) {
        return false;
    }
    if (n != (ssize_t)sizeof *answer) {
        answer->count = 0;
        errno = EIO;
        mst_posix_answer_end(answer, EAI_SYSTEM);
    }
    return true;
}

/* Closes the thread's socket; the thread ends by itself. */
static void resolver_end(struct mst_posix *posix, struct mst_posix_link *link) {
    (void)posix;
    (void)link;
}

static void resolver_forget(struct mst_posix *posix) {
    (void)posix;
}

static const struct mst_posix_resolver resolver = {
    resolver_resolve, resolver_end, resolver_forget};

static int port_resolve(void *context, int number,
                        const struct mst_endpoint *endpoint) {
    struct mst_posix *posix = context;
    struct mst_posix_link *link = link_of(context, number);
    struct mst_posix_answer *answer;

    if (link == NULL) {
        return MST_ERR_ARGUMENT; /* no other call follows for this link */
    }
    answer = &link->answer;
    if (!link->resolves) {
        /* An address needs no resolver. */
        resolver_ask(answer, endpoint->host, endpoint->port, AI_NUMERICHOST);
        link->begun = 0;
        memset(link->errors, 0, sizeof link->errors);
        if (answer->count == 0) {
            memset(answer, 0, sizeof *answer);
            link->resolves = true;
        }
    }
    if (link->resolves) {
        if (!posix->resolver->resolve(posix, link, endpoint)) {
            return 0;
        }
        posix->resolver->end(posix, link);
        set_close(link);
        link->resolves = false;
    }
    link->detail = answer->detail;
    return answer->count > 0 ? answer->count : answer->error;
}

/* ------------------------------------------------------------------------
 * Port
 * ------------------------------------------------------------------------ */

/* Discards what has arrived, without waiting for more. Otherwise the system
 * would reset the connection and discard what was sent last. */
static void link_drain(struct mst_posix_link *link) {
    int rounds = DRAIN_ROUNDS;

    while (link->fd >= 0 && rounds-- > 0 &&
           recv(link->fd, link->ahead, sizeof link->ahead, AT_ONCE) > 0) {}
}

static void link_close(struct mst_posix *posix, struct mst_posix_link *link) {
    posix->resolver->end(posix, link);
    race_end(link);
    link_drain(link);
    link_close_descriptor(link, &link->fd);
    link->resolves = false;
    link->error = 0;
    link->ahead_at = link->ahead_len = 0;
    memset(link->ahead, 0, sizeof link->ahead); /* may contain a token */
}

static void port_close(void *context, int number) {
    struct mst_posix_link *link = link_of(context, number);

    if (link != NULL) {
        link_close(context, link);
    }
}

static int port_detail(void *context, int number) {
    const struct mst_posix_link *link = link_of(context, number);

    return link != NULL ? link->detail : 0;
}

int mst_posix_init(struct mst_posix *posix, struct mst_posix_link *links,
                   size_t count, struct mst_port *port) {
    if (posix == NULL || links == NULL || count == 0 || count > INT_MAX ||
        port == NULL) {
        return MST_ERR_ARGUMENT;
    }
    memset(posix, 0, sizeof *posix);
    memset(links, 0, count * sizeof *links);
    for (size_t i = 0; i < count; i++) {
        links[i].fd = links[i].set = links[i].timer = -1;
        memset(links[i].fds, -1, sizeof links[i].fds); /* each becomes -1 */
    }
    posix->links = links;
    posix->count = count;
    posix->resolver = &resolver;
    posix->state.watch = posix->state.list = posix->state.told = -1;
    memset(port, 0, sizeof *port);
    port->context = posix;
    port->flags = MST_PORT_DRAINS;
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

void mst_posix_free(struct mst_posix *posix) {
    for (size_t i = 0; i < posix->count; i++) {
        link_close(posix, &posix->links[i]);
    }
    if (posix->count > 0) { /* it was initialised */
        posix->resolver->forget(posix);
        descriptor_close(&posix->state.watch);
    }
}

/* ------------------------------------------------------------------------
 * Waiting
 *
 * To ask each of a few hundred objects what it waits for takes longer than to
 * process a message. So a wait keeps a list of links that it always looks at:
 * those that were ready, because their objects will be polled, and those that
 * are not open, because they may wait for another object's work. Of all other
 * objects it keeps the sum of their keys. As long as the sum is unchanged, none
 * of them was polled or called, and all wait for what they waited for before.
 * It also keeps their earliest deadline.
 * ------------------------------------------------------------------------ */

/* An object's key for the sum: which object it is, and its changes. */
static uint64_t wait_key(const struct mst_link *object) {
    uint64_t key = (uint64_t)(uintptr_t)object * 0x9E3779B97F4A7C15u;

    return (key ^ key >> 29) + mst_link_changes(object);
}

/* The descriptor to wait for: the connected socket; until then the epoll
 * descriptor that covers all, or the only connecting socket. */
static int link_descriptor(const struct mst_posix_link *link) {
    return link->fd >= 0    ? link->fd
           : link->set >= 0 ? link->set
                            : link->fds[link->address];
}

static short link_events(const struct mst_posix_link *link, unsigned wants) {
    if (link->fd < 0) {
        return link->set >= 0                  ? POLLIN
               : link->fds[link->address] >= 0 ? POLLOUT
                                               : 0;
    }
    /* poll() reports a closed connection even if no event is requested. */
    return (short)((wants & MST_WANT_READ ? POLLIN : 0) |
                   (wants & MST_WANT_WRITE ? POLLOUT : 0));
}

/* True if the object waits for data that was read ahead. */
static bool link_has_read(const struct mst_posix_link *link, unsigned wants) {
    return link->ahead_at < link->ahead_len && (wants & MST_WANT_READ) != 0;
}

static void wait_list(struct mst_posix *posix, int number) {
    posix->links[number].listed = true;
    posix->links[number].next = posix->state.list;
    posix->state.list = number;
}

/* The link of an object; NULL once the object is closed. */
static struct mst_posix_link *wait_link(const struct mst_posix *posix,
                                        const struct mst_link *object) {
    return mst_link_ended(object) ? NULL
                                  : link_of(posix, mst_link_number(object));
}

/* Asks an object what it waits for, then lists its link or adds to the sum. */
static void wait_look(struct mst_posix *posix, const struct mst_link *object,
                      size_t position, uint32_t now) {
    struct mst_posix_link *link = wait_link(posix, object);
    struct mst_posix_wait_state *state = &posix->state;
    uint32_t left = mst_next_deadline_ms(object), nap;
    unsigned wants = mst_wants(object);

    if (link == NULL) {
        state->rest += wait_key(object);
        return;
    }
    if (link->naps) {
        nap = link->nap_end - now;
        nap = nap <= NAP_MS ? nap : 0; /* the nap is over */
        left = left < nap ? left : nap;
    }
    link->position = position;
    link->round = state->round;
    link->wanted = link_events(link, wants);
    link->ready = left == 0 || link_has_read(link, wants) ||
                  (link->reported & link->wanted) != 0;
    if ((int32_t)(state->due - now - left) > 0) {
        state->due = now + left;
    }
    if (!link->ready && mst_link_state(object) == MST_STATE_OPEN) {
        state->rest += wait_key(object);
    } else if (!link->listed) {
        wait_list(posix, mst_link_number(object));
    }
}

/* Empties the list; returns the first of its links. */
static int wait_unlist(struct mst_posix *posix) {
    int first = posix->state.list;

    for (int n = first; n >= 0; n = posix->links[n].next) {
        posix->links[n].listed = false;
    }
    posix->state.list = -1;
    return first;
}

/* Asks all objects. Returns 0 or MST_ERR_ARGUMENT. */
static int wait_look_at_all(struct mst_posix *posix,
                            const struct mst_link *const *objects, size_t count,
                            uint32_t now) {
    struct mst_posix_wait_state *state = &posix->state;

    (void)wait_unlist(posix);
    state->round++;
    state->rest = 0;
    state->due = now + INT32_MAX;
    for (size_t i = 0; i < count; i++) {
        if (!mst_link_ended(objects[i]) &&
            wait_link(posix, objects[i]) == NULL) {
            return MST_ERR_ARGUMENT;
        }
        wait_look(posix, objects[i], i, now);
    }
    return 0;
}

/* True if no object was polled or called except those of listed links. */
static bool wait_is_at_rest(const struct mst_posix *posix,
                            const struct mst_link *const *objects, size_t count,
                            uint32_t now) {
    const struct mst_posix_wait_state *state = &posix->state;
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        sum += wait_key(objects[i]);
    }
    for (int n = state->list; n >= 0; n = posix->links[n].next) {
        size_t position = posix->links[n].position;

        if (position >= count || mst_link_number(objects[position]) != n) {
            return false;
        }
        sum -= wait_key(objects[position]);
    }
    return sum == state->rest && (int32_t)(state->due - now) > 0;
}

static void wait_look_at_listed(struct mst_posix *posix,
                                const struct mst_link *const *objects,
                                uint32_t now) {
    int next;

    for (int n = wait_unlist(posix); n >= 0; n = next) {
        size_t position = posix->links[n].position;

        next = posix->links[n].next;
        wait_look(posix, objects[position], position, now);
    }
}

/* True if an object can continue without waiting. */
static bool wait_is_over(const struct mst_posix *posix) {
    for (int n = posix->state.list; n >= 0; n = posix->links[n].next) {
        if (posix->links[n].ready) {
            return true;
        }
    }
    return false;
}

/* Waits in recv(), which saves a system call for each message. Returns 1, 0 or
 * -1 for nothing; *ms is reduced by the time it took. */
static int wait_in_recv(struct mst_posix_link *link, uint32_t *ms) {
    uint64_t begin_ns = port_now_ns(NULL), passed_ms;
    int rc = ahead_read(link);

    passed_ms = (port_now_ns(NULL) - begin_ns) / 1000000;
    *ms = passed_ms < *ms ? *ms - (uint32_t)passed_ms : 0;
    return rc;
}

static int wait_limit(uint32_t ms) {
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

static int wait_result(int rc) {
    return rc >= 0 ? rc > 0 : errno == EINTR ? 0 : MST_ERR_PORT;
}

/* Notes that the object of this link can continue. */
static void wait_found(struct mst_posix *posix,
                       const struct mst_link *const *objects, int number) {
    struct mst_posix_link *link = &posix->links[number];

    link->ready = true;
    if (!link->listed) {
        posix->state.rest -= wait_key(objects[link->position]);
        wait_list(posix, number);
    }
}

/* Waits for the only object. Returns 1, 0 or -1 if poll() must be called; *ms
 * is reduced by the time it took. */
static int wait_alone(struct mst_posix *posix,
                      const struct mst_link *const *objects,
                      const struct mst_link *object, uint32_t *ms) {
    const int number = mst_link_number(object);
    struct mst_posix_link *link = &posix->links[number];
    int rc = -1;

    if (link->fd >= 0 && link->wanted == POLLIN) {
        rc = wait_in_recv(link, ms);
    }
    if (rc > 0) {
        wait_found(posix, objects, number);
    }
    return rc;
}

/* Waits with poll(). */
static int wait_poll(struct mst_posix *posix,
                     const struct mst_link *const *objects, size_t count,
                     uint32_t ms) {
    struct pollfd fds[count + 1]; /* an array of 0 is not allowed */
    struct mst_posix_link *link;
    nfds_t waits = 0;
    size_t alone = 0;
    int rc;

    for (size_t i = 0; i < count; i++) {
        link = wait_link(posix, objects[i]);
        if (link != NULL && link->wanted != 0) {
            alone = i;
            fds[waits].fd = link_descriptor(link);
            fds[waits].events = link->wanted;
            fds[waits++].revents = 0;
        }
    }
    if (AT_ONCE != 0 && waits == 1 && ms >= RECV_MS + RECV_LATE_MS) {
        rc = wait_alone(posix, objects, objects[alone], &ms);
        if (rc >= 0) {
            return rc;
        }
    }
    rc = poll(fds, waits, wait_limit(ms));
    waits = 0;
    for (size_t i = 0; rc > 0 && i < count; i++) {
        link = wait_link(posix, objects[i]);
        if (link != NULL && link->wanted != 0 && fds[waits++].revents != 0) {
            wait_found(posix, objects, mst_link_number(objects[i]));
        }
    }
    return wait_result(rc);
}

#ifdef __linux__

#define WAIT_EVENTS 64 /* per call: more come with the next one */

/* Makes epoll watch for what a link waits for. It reports each arrival once
 * (EPOLLET): otherwise it would look twice at each socket that had data. A set
 * of connecting sockets may have more than one, so it is not EPOLLET. */
static bool wait_watch(const struct mst_posix *posix, int number,
                       short events) {
    struct mst_posix_link *link = &posix->links[number];
    int watch = posix->state.watch, fd = link_descriptor(link);
    struct epoll_event event = {
        .events =
            (link->set < 0 ? EPOLLET : 0u) | EPOLLRDHUP | set_events(events),
        .data.u32 = (uint32_t)number,
    };

    if (link->watched == events) {
        return true;
    }
    if (events == 0 ? epoll_ctl(watch, EPOLL_CTL_DEL, fd, &event) != 0
                    : !set_add(watch, fd, event)) {
        return false;
    }
    link->watched = events;
    link->reported = 0; /* epoll now reports again what has arrived */
    return true;
}

static void wait_note(struct mst_posix_link *link, uint32_t events) {
    const uint32_t failed = EPOLLERR | EPOLLHUP; /* any call reports it */

    link->ended |= (events & (EPOLLRDHUP | failed)) != 0;
    if (link->ended || (events & EPOLLIN)) {
        link->reported |= POLLIN;
    }
    if (events & (EPOLLOUT | failed)) {
        link->reported |= POLLOUT;
    }
}

/* Waits with epoll, whose time does not depend on the number of links. */
static int wait_epoll(struct mst_posix *posix,
                      const struct mst_link *const *objects, uint32_t ms,
                      bool all, size_t count) {
    struct epoll_event events[WAIT_EVENTS];
    bool watched = true, found = false;
    int rc;

    for (int n = posix->state.list; n >= 0; n = posix->links[n].next) {
        watched &= wait_watch(posix, n, posix->links[n].wanted);
    }
    for (size_t i = 0; all && i < count; i++) {
        const struct mst_posix_link *link = wait_link(posix, objects[i]);

        watched &= link == NULL ||
                   wait_watch(posix, mst_link_number(objects[i]), link->wanted);
    }
    if (!watched) {
        return MST_ERR_PORT;
    }
    rc = epoll_wait(posix->state.watch, events, WAIT_EVENTS, wait_limit(ms));
    for (int i = 0; i < rc; i++) {
        int number = (int)events[i].data.u32;
        struct mst_posix_link *link = &posix->links[number];

        wait_note(link, events[i].events);
        if (link->round == posix->state.round) {
            wait_found(posix, objects, number);
            found = true;
        } else { /* its object is not one of those waited for */
            (void)wait_watch(posix, number, 0);
        }
    }
    return rc > 0 ? found : wait_result(rc);
}

#endif
/* Waits by the best of these ways, for at most ms. all: all objects were asked,
 * not only those of listed links. */
static int wait_ask(struct mst_posix *posix,
                    const struct mst_link *const *objects, size_t count,
                    uint32_t ms, bool all) {
#ifdef __linux__
    struct mst_posix_wait_state *state = &posix->state;

    if (count > MST_POSIX_FEW && state->watch < 0) {
        state->watch = epoll_create1(EPOLL_CLOEXEC);
    }
    if (count > MST_POSIX_FEW && state->watch >= 0) {
        return wait_epoll(posix, objects, ms, all, count);
    }
#endif
    (void)all;
    return wait_poll(posix, objects, count, ms);
}

int mst_posix_wait(struct mst_posix *posix,
                   const struct mst_link *const *objects, size_t count,
                   uint32_t max_ms) {
    uint32_t now = port_exact_ms();
    bool all =
        count <= MST_POSIX_FEW || !wait_is_at_rest(posix, objects, count, now);
    bool over;
    int rc = 0;

    if (all) {
        rc = wait_look_at_all(posix, objects, count, now);
    } else {
        wait_look_at_listed(posix, objects, now);
    }
    if (rc == 0) {
        uint32_t left = posix->state.due - now;

        over = wait_is_over(posix);
        left = left < max_ms ? left : max_ms;
        if (!over || count > 1) { /* others may be ready, too */
            rc = wait_ask(posix, objects, count, over ? 0 : left, all);
        }
        rc = over && rc == 0 ? 1 : rc;
    }
    posix->state.told = posix->state.list;
    return rc;
}

int mst_posix_next(struct mst_posix *posix) {
    while (posix->state.told >= 0) {
        int number = posix->state.told;
        struct mst_posix_link *link = &posix->links[number];

        posix->state.told = link->next;
        if (link->ready) {
            link->ready = false;
            return number;
        }
    }
    return -1;
}

size_t mst_posix_pollfds(const struct mst_posix *posix,
                         const struct mst_link *const *objects, size_t count,
                         struct pollfd *fds) {
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        const struct mst_posix_link *link = wait_link(posix, objects[i]);
        unsigned wants = mst_wants(objects[i]);
        short events = link != NULL ? link_events(link, wants) : 0;

        if (events != 0) {
            /* Data was read ahead: the loop must not sleep. */
            events |= link_has_read(link, wants) ? POLLOUT : 0;
            fds[used].fd = link_descriptor(link);
            fds[used].events = events;
            fds[used++].revents = 0;
        }
    }
    return used;
}

const char *mst_posix_strerror(int error) {
    switch (error) {
    case 0: return "success";
    case MST_POSIX_ERR_FILE: return "the trust store cannot be read";
    case MST_POSIX_ERR_STORE: return "no trust store found on this system";
    case MST_POSIX_ERR_EMPTY: return "the trust store has no PEM certificate";
    case MST_POSIX_ERR_PEM: return "the trust store is damaged or cut off";
    case MST_POSIX_ERR_CERTIFICATE:
        return "the trust store has a malformed certificate";
    case MST_POSIX_ERR_UNUSABLE:
        return "no certificate of the trust store can be used";
    case MST_POSIX_ERR_MEMORY: return "out of memory";
    case MST_POSIX_ERR_TOKEN_FILE:
        return "the file of tokens cannot be opened, read or written";
    case MST_POSIX_ERR_TOKEN_ACCESS:
        return "not a regular file that only its owner can access: it is left "
               "as it is, and no token is kept";
    case MST_POSIX_ERR_TOKEN_FOREIGN:
        return "not a file of tokens: it is left as it is, and no token is "
               "kept";
    case MST_POSIX_ERR_TOKEN_DAMAGED: return "the file of tokens is damaged";
    case MST_POSIX_ERR_TOKEN_BUSY:
        return "the file of tokens is locked by another client";
    default: return mst_strerror(error);
    }
}
