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

/* Without SOCK_CLOEXEC, a process that another thread starts at the wrong
 * moment may inherit a descriptor. */
#ifdef SOCK_CLOEXEC
#define STREAM_TYPE (SOCK_STREAM | SOCK_CLOEXEC)
#else
#define STREAM_TYPE SOCK_STREAM
#endif

#define HEAD_START_MS 250u /* of an address before the next is tried as well */
#define NAP_MS 10u         /* see link_wait() */

#ifdef MSG_NOSIGNAL
#define SEND_FLAGS MSG_NOSIGNAL
#else
#define SEND_FLAGS 0
#endif

/* A wait may block in recv() on Linux, where a caught signal ends one that has
 * SO_RCVTIMEO, whatever SA_RESTART says. All other calls on such a socket say
 * that they do not block. */
#ifdef __linux__
#define AT_ONCE MSG_DONTWAIT
#else
#define AT_ONCE 0
#endif

#define RECV_MS 200      /* for which it blocks at most, */
#define RECV_LATE_MS 50u /* or for so much longer: by the kernel's ticks */

/* Reads of what nobody wants, at a close: 8 MB, more than a socket holds. */
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

/* It is read at each poll, so it is Linux's cheap clock, a few ms behind. */
static uint32_t port_now_ms(void *context) {
    (void)context;
#ifdef CLOCK_MONOTONIC_COARSE
    return (uint32_t)(port_read_clock(CLOCK_MONOTONIC_COARSE) / 1000000u);
#else
    return (uint32_t)(port_read_clock(CLOCK_MONOTONIC) / 1000000u);
#endif
}

/* For the times of this port's own. */
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
        /* Does not wait for a system that has only just started. */
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
    case EADDRNOTAVAIL: /* no address of ours that could reach it */
    case EAFNOSUPPORT:  /* no IPv6 (or IPv4) here at all */
        return MST_ERR_UNREACHABLE;
    case ECONNRESET:
    case ECONNABORTED:
    case EPIPE: return MST_ERR_RESET;
    default: return MST_ERR_PORT;
    }
}

/* NULL for a number that the port was given no link for. */
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

/* The system's list of a wait forgets what is closed. */
static void link_close_descriptor(struct mst_posix_link *link, int *fd) {
    descriptor_close(fd);
    link->watched = link->reported = 0;
    link->ended = false;
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

/* What send() and recv() return, as the library wants it. */
static int socket_result(struct mst_posix_link *link, ssize_t n) {
    if (n >= 0) {
        return (int)n;
    }
    return is_not_now(errno) ? 0 : link_fail(link, errno);
}

/* As recv(), but says each time what the system says once: an error. */
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

/* Waits for RECV_MS at most, and reads. Returns 1 when there is something for
 * port_recv(), 0 for a signal and -1 when nothing has come. */
static int ahead_read(struct mst_posix_link *link) {
    ssize_t n = socket_read(link, link->ahead, sizeof link->ahead, 0);

    link->ahead_at = 0;
    link->ahead_len = n > 0 ? (size_t)n : 0;
    if (n < 0 && is_not_now(errno)) {
        return errno == EINTR ? 0 : -1;
    }
    return 1;
}

/* Hands out what was read ahead. */
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
        return (int)taken; /* all that was asked for, or all there was */
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
 * An address has a head start; then the next is tried as well (RFC 8305,
 * section 5), and the first that answers wins. It takes the place of the one
 * that was asked for, which goes to where the winner was: what is asked for
 * next was not used yet. An error waits until its own address is asked for.
 * ------------------------------------------------------------------------ */

#ifdef __linux__

/* Adds a descriptor to a list of the system's, or changes what it is there
 * for. */
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

/* The link waits for all of these, and for ms at most; 0: without an end. On
 * Linux one descriptor stands for them. Elsewhere, and where there is none
 * left, the link is looked at every NAP_MS. */
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

/* Begins to connect to an address. */
static void socket_begin(struct mst_posix_link *link, int number) {
    const union mst_posix_address *to = &link->answer.addresses[number];
    socklen_t len = to->any.sa_family == AF_INET6 ? (socklen_t)sizeof to->v6
                                                  : (socklen_t)sizeof to->v4;
    int fd = socket(to->any.sa_family, STREAM_TYPE, 0);
    const int on = 1;

    link->begun |= 1u << number;
    if (fd >= 0 && descriptor_set_up(fd)) {
#ifdef SO_NOSIGPIPE
        setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
        /* A frame or record is written in one go, and should leave at once.
         * Where this fails the stream is merely slower. */
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        /* An interrupted connect() goes on by itself. */
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

/* Whether an address has answered; what failed is noted. */
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

/* From now on a wait may block in recv(). Where this fails it is merely
 * slower. */
static void socket_let_block(int fd) {
    const struct timeval limit = {0, RECV_MS * 1000};

    if (AT_ONCE != 0 &&
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0) {
        (void)fcntl(fd, F_SETFL, 0); /* had O_NONBLOCK alone */
    }
}

/* Drops all that connect: they may be tried anew. */
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

/* Looks at all that connect. Returns 1, 0 or an error, as port_connect(). */
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
    *error = 0; /* asked for once more, it is tried once more */
    return link->detail != 0 ? socket_error(link->detail) : 0;
}

/* The next that was not tried yet, or -1. */
static int race_next(const struct mst_posix_link *link) {
    for (int i = 1; i < link->answer.count; i++) {
        int number = (link->address + i) % link->answer.count;

        if ((link->begun & 1u << number) == 0) {
            return number;
        }
    }
    return -1;
}

/* Begins what is due. Returns false when nothing is. */
static bool race_begin(struct mst_posix_link *link) {
    int number = race_next(link);

    if (link->fds[link->address] < 0) {
        number = link->address;
    } else if (number < 0 || (int32_t)(link->next_ms - port_exact_ms()) > 0) {
        return false;
    }
    socket_begin(link, number);
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
    } while (rc == 0 && race_begin(link));
    if (rc == 0 && link->answer.count > 1) {
        race_wait(link);
    }
    return rc;
}

/* ------------------------------------------------------------------------
 * Resolver
 *
 * getaddrinfo() can take minutes and cannot be interrupted, so it runs in a
 * detached thread. The thread owns its request and shares nothing: it sends
 * the answer through a socket pair and ends. To give a resolution up is to
 * close the other end. Another resolver may take its place.
 * ------------------------------------------------------------------------ */

struct resolver_request {
    int fd;
    uint16_t port;
    char host[MST_HOST_MAX + 1];
};

/* Puts an address where it comes with families in turn (RFC 8305, section 4);
 * the first one has the family that is tried first. */
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

/* Makes the answer an error where it has no address; rc is getaddrinfo()'s. */
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
    /* The answer fits the socket's buffer whole. It is lost where nobody
     * waits for it any more. */
    send(request->fd, &answer, sizeof answer, SEND_FLAGS);
    close(request->fd);
    free(request);
    return NULL;
}

/* Starts the thread with all signals blocked: they are the program's. Returns
 * 0 or an errno. */
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

/* The thread's socket is closed, and that is all. */
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
        return MST_ERR_ARGUMENT; /* and so it gets no further than this */
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

/* What has arrived and nobody reads would have the system reset the connection,
 * and take back what was sent last. It does not wait for more. */
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
    memset(link->ahead, 0, sizeof link->ahead); /* of a token, in the clear */
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
        memset(links[i].fds, -1, sizeof links[i].fds); /* each is -1 */
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
 * To ask each of some hundred objects what it waits for takes longer than a
 * message does. So a wait lists the links whose objects it looks at anew in any
 * case: those that can go on, because their objects are about to be polled, and
 * those that are not open, for what they wait for may be another object's work.
 * Of all the others it knows the sum of their keys: as long as the sum is the
 * same none of them was polled or called, and each waits for what it has waited
 * for. Their first deadline is known as a time before which there is none.
 * ------------------------------------------------------------------------ */

/* What an object and what has happened to it adds to the sum. */
static uint64_t wait_key(const struct mst_link *object) {
    uint64_t key = (uint64_t)(uintptr_t)object * 0x9E3779B97F4A7C15u;

    return (key ^ key >> 29) + mst_link_changes(object);
}

/* What a wait looks at: the socket, or what stands for all that the link waits
 * for until it is connected, or the one socket that connects. */
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
    /* poll() reports a dead socket also to those who wait for nothing. */
    return (short)((wants & MST_WANT_READ ? POLLIN : 0) |
                   (wants & MST_WANT_WRITE ? POLLOUT : 0));
}

/* Whether the object waits for what was read ahead. */
static bool link_has_read(const struct mst_posix_link *link, unsigned wants) {
    return link->ahead_at < link->ahead_len && (wants & MST_WANT_READ) != 0;
}

static void wait_list(struct mst_posix *posix, int number) {
    posix->links[number].listed = true;
    posix->links[number].next = posix->state.list;
    posix->state.list = number;
}

/* The link that an object waits for; NULL once the object is closed. */
static struct mst_posix_link *wait_link(const struct mst_posix *posix,
                                        const struct mst_link *object) {
    return mst_link_ended(object) ? NULL
                                  : link_of(posix, mst_link_number(object));
}

/* Looks at what an object waits for, and lists its link or adds to the sum. */
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
        nap = nap <= NAP_MS ? nap : 0; /* it is over */
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

/* Looks at all objects. Returns 0 or MST_ERR_ARGUMENT. */
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

/* Whether all objects but those of listed links are as they were. */
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

/* Whether an object can go on without waiting. */
static bool wait_is_over(const struct mst_posix *posix) {
    for (int n = posix->state.list; n >= 0; n = posix->links[n].next) {
        if (posix->links[n].ready) {
            return true;
        }
    }
    return false;
}

/* Waits inside of recv(), which saves a call of the system for each message.
 * Returns 1, 0 or, after *ms have become less, -1 for nothing. */
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

/* An object that all have been looked at can go on. */
static void wait_found(struct mst_posix *posix,
                       const struct mst_link *const *objects, int number) {
    struct mst_posix_link *link = &posix->links[number];

    link->ready = true;
    if (!link->listed) {
        posix->state.rest -= wait_key(objects[link->position]);
        wait_list(posix, number);
    }
}

/* Waits for an object that nothing else is waited for beside. Returns 1, 0 or,
 * after *ms have become less, -1 where poll() is to be asked. */
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

/* Asks poll(). */
static int wait_poll(struct mst_posix *posix,
                     const struct mst_link *const *objects, size_t count,
                     uint32_t ms) {
    struct pollfd fds[count + 1]; /* 0 would be none */
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

#define WAIT_EVENTS 64 /* that are taken at once: the others come next */

/* Has the system's list watch for what a link waits for. It tells once of what
 * has come (EPOLLET): to tell as long as it is so it would have to look twice
 * at each socket that had something. But a set may have more than one. */
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
    link->reported = 0; /* of what has come the list tells now, once more */
    return true;
}

static void wait_note(struct mst_posix_link *link, uint32_t events) {
    const uint32_t failed = EPOLLERR | EPOLLHUP; /* any call finds out */

    link->ended |= (events & (EPOLLRDHUP | failed)) != 0;
    if (link->ended || (events & EPOLLIN)) {
        link->reported |= POLLIN;
    }
    if (events & (EPOLLOUT | failed)) {
        link->reported |= POLLOUT;
    }
}

/* Asks the system's list, whose time does not depend on its length. */
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
        } else { /* its object is not among those that are waited for */
            (void)wait_watch(posix, number, 0);
        }
    }
    return rc > 0 ? found : wait_result(rc);
}

#endif
/* Asks whom it is best to ask, for ms at most. all: not the listed alone were
 * looked at. */
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
        if (!over || count > 1) { /* others may be ready as well */
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
            /* What was read is as good as always at hand. */
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
        return "the file of tokens is not this user's alone";
    case MST_POSIX_ERR_TOKEN_DAMAGED:
        return "the file of tokens is damaged, or is none";
    case MST_POSIX_ERR_TOKEN_BUSY:
        return "the file of tokens is locked by another client";
    default: return mst_strerror(error);
    }
}
