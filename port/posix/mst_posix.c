/*
 * Port of mini_stream for POSIX systems.
 *
 * In this order: clocks and entropy, sockets, resolver, port, waiting.
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
#include <strings.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/epoll.h>
#include <sys/random.h>
#endif

/* Without SOCK_CLOEXEC, a process that another thread starts at the wrong
 * moment may inherit a descriptor. */
#ifdef SOCK_CLOEXEC
#define STREAM_TYPE (SOCK_STREAM | SOCK_CLOEXEC)
#else
#define STREAM_TYPE SOCK_STREAM
#endif

#define HOSTS "/etc/hosts"
#define HOSTS_LEN 4096 /* bytes that are read without a thread */

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

/* ------------------------------------------------------------------------
 * Clocks and entropy
 * ------------------------------------------------------------------------ */

static uint64_t port_now_ns(void *context) {
    struct timespec now = {0, 0};

    (void)context;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint32_t port_now_ms(void *context) {
    return (uint32_t)(port_now_ns(context) / 1000000u);
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

/* Begins to connect. Returns 1, 0 or an error, as port_connect(). */
static int socket_begin(struct mst_posix_link *link, int address) {
    const union mst_posix_address *to = &link->answer.addresses[address];
    socklen_t len = to->any.sa_family == AF_INET6 ? (socklen_t)sizeof to->v6
                                                  : (socklen_t)sizeof to->v4;
    const int on = 1;

    link->fd = socket(to->any.sa_family, STREAM_TYPE, 0);
    link->address = address;
    if (link->fd < 0 || !descriptor_set_up(link->fd)) {
        return link_fail(link, errno);
    }
#ifdef SO_NOSIGPIPE
    setsockopt(link->fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    /* A frame or record is written in one go, and should leave at once. Where
     * this fails the stream is merely slower. */
    setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(link->fd, &to->any, len) == 0) {
        return 1;
    }
    /* An interrupted connect() goes on by itself. */
    return errno == EINPROGRESS || errno == EINTR ? 0 : link_fail(link, errno);
}

static int socket_go_on(struct mst_posix_link *link) {
    struct pollfd ready = {link->fd, POLLOUT, 0};
    int number = 0;
    socklen_t len = sizeof number;
    int n = poll(&ready, 1, 0);

    if (n == 0 || (n < 0 && errno == EINTR)) {
        return 0;
    }
    if (n < 0 ||
        getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &number, &len) != 0) {
        number = errno;
    }
    return number == 0 ? 1 : link_fail(link, number);
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

static int port_connect(void *context, int number, int address) {
    struct mst_posix_link *link = link_of(context, number);
    int rc;

    if (address < 0 || address >= link->answer.count) {
        return link_fail(link, EINVAL);
    }
    if (link->fd >= 0 && link->address != address) {
        link_close_descriptor(link, &link->fd);
    }
    if (link->fd < 0) {
        link->connected = false;
        rc = socket_begin(link, address);
    } else {
        rc = link->connected ? 1 : socket_go_on(link);
    }
    if (rc < 0) {
        link_close_descriptor(link, &link->fd);
    }
    if (rc > 0 && !link->connected) {
        socket_let_block(link->fd);
    }
    link->connected = rc > 0;
    return rc;
}

static bool is_not_now(int number) {
    return number == EAGAIN || number == EWOULDBLOCK || number == EINTR;
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
 * Resolver
 *
 * getaddrinfo() can take minutes and cannot be interrupted, so it runs in a
 * detached thread. The thread owns its request and shares nothing: it sends
 * the answer through a socket pair and ends. To give a resolution up is to
 * close the other end.
 *
 * What is at hand needs no thread, which may wait for a processor longer than
 * the whole connection takes: an address, or a name in a short file of hosts.
 * ------------------------------------------------------------------------ */

struct resolver_request {
    int fd;
    uint16_t port;
    char host[MST_HOST_MAX + 1];
};

/* Appends to the answer, whose errors are those of the last question. */
static void resolver_ask(struct mst_posix_answer *answer, const char *host,
                         uint16_t port, int flags) {
    struct addrinfo hints;
    struct addrinfo *list = NULL;
    char service[8];
    int rc;

    memset(&hints, 0, sizeof hints);
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    snprintf(service, sizeof service, "%u", (unsigned)port);
    rc = getaddrinfo(host, service, &hints, &list);
    if (rc != 0) {
        answer->error = rc == EAI_SYSTEM || rc == EAI_MEMORY ? MST_ERR_PORT
                                                             : MST_ERR_RESOLVE;
        answer->detail = rc == EAI_SYSTEM ? errno : rc;
        return;
    }
    answer->error = answer->detail = 0;
    for (const struct addrinfo *item = list;
         item != NULL && answer->count < MST_POSIX_ADDRESSES_MAX;
         item = item->ai_next) {
        if (item->ai_family == AF_INET || item->ai_family == AF_INET6) {
            memcpy(&answer->addresses[answer->count++], item->ai_addr,
                   item->ai_addrlen);
        }
    }
    freeaddrinfo(list);
    if (answer->count == 0) {
        answer->error = MST_ERR_RESOLVE;
        answer->detail = EAI_NONAME;
    }
}

/* Reads the file of hosts; empty if there is none, or too much of it. */
static void hosts_read(char text[HOSTS_LEN]) {
    int fd = open(HOSTS, O_RDONLY | O_CLOEXEC);
    ssize_t n = 0;

    if (fd >= 0) {
        n = read(fd, text, HOSTS_LEN);
        close(fd);
    }
    text[n > 0 && n < HOSTS_LEN ? n : 0] = '\0';
}

/* Looks in the file of hosts, in its order. */
static void hosts_ask(struct mst_posix_answer *answer, const char *host,
                      uint16_t port) {
    char text[HOSTS_LEN];
    char *rest, *words;

    hosts_read(text);
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        const char *address, *name;

        line[strcspn(line, "#")] = '\0';
        address = name = strtok_r(line, " \t\r", &words);
        while (name != NULL) {
            name = strtok_r(NULL, " \t\r", &words);
            if (name != NULL && strcasecmp(name, host) == 0) {
                resolver_ask(answer, address, port, AI_NUMERICHOST);
                break;
            }
        }
    }
}

static void *resolver_run(void *argument) {
    struct resolver_request *request = argument;
    struct mst_posix_answer answer;

    memset(&answer, 0, sizeof answer);
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

static int resolver_give_up(struct mst_posix_link *link, int number,
                            struct resolver_request *request,
                            const int pair[2]) {
    close(pair[0]);
    close(pair[1]);
    free(request);
    return link_fail(link, number);
}

static int resolver_begin(struct mst_posix_link *link,
                          const struct mst_endpoint *endpoint) {
    struct resolver_request *request;
    int pair[2];
    int rc;

    if (socketpair(AF_UNIX, STREAM_TYPE, 0, pair) != 0) {
        return link_fail(link, errno);
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
    link->resolver = pair[0];
    return 0;
}

static int resolver_result(struct mst_posix_link *link) {
    link->detail = link->answer.detail;
    return link->answer.error != 0 ? link->answer.error : link->answer.count;
}

static int resolver_go_on(struct mst_posix_link *link) {
    ssize_t n = recv(link->resolver, &link->answer, sizeof link->answer, 0);

    if (n < 0 && is_not_now(errno)) {
        return 0;
    }
    link_close_descriptor(link, &link->resolver);
    if (n != (ssize_t)sizeof link->answer) {
        link->answer.count = 0;
        return link_fail(link, EIO);
    }
    return resolver_result(link);
}

static int port_resolve(void *context, int number,
                        const struct mst_endpoint *endpoint) {
    struct mst_posix_link *link = link_of(context, number);

    if (link == NULL) {
        return MST_ERR_ARGUMENT; /* and so it gets no further than this */
    }
    if (link->resolver >= 0) {
        return resolver_go_on(link);
    }
    link->detail = 0;
    memset(&link->answer, 0, sizeof link->answer);
    resolver_ask(&link->answer, endpoint->host, endpoint->port, AI_NUMERICHOST);
    if (link->answer.count == 0) {
        hosts_ask(&link->answer, endpoint->host, endpoint->port);
    }
    return link->answer.count > 0 ? link->answer.count
                                  : resolver_begin(link, endpoint);
}

/* ------------------------------------------------------------------------
 * Port
 * ------------------------------------------------------------------------ */

static void link_close(struct mst_posix_link *link) {
    link_close_descriptor(link, &link->resolver);
    link_close_descriptor(link, &link->fd);
    link->connected = false;
    link->error = 0;
    link->ahead_at = link->ahead_len = 0;
    memset(link->ahead, 0, sizeof link->ahead); /* of a token, in the clear */
}

static void port_close(void *context, int number) {
    struct mst_posix_link *link = link_of(context, number);

    if (link != NULL) {
        link_close(link);
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
        links[i].resolver = links[i].fd = -1;
    }
    posix->links = links;
    posix->count = count;
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
        link_close(&posix->links[i]);
    }
    if (posix->count > 0) { /* it was initialised */
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

    return (key ^ key >> 29) + object->changes;
}

static short link_events(const struct mst_posix_link *link, unsigned wants) {
    if (link->resolver >= 0) {
        return POLLIN;
    }
    if (link->fd >= 0 && !link->connected) {
        return POLLOUT;
    }
    /* poll() reports a dead socket also to those who wait for nothing. */
    return link->fd < 0 ? 0
                        : (short)((wants & MST_WANT_READ ? POLLIN : 0) |
                                  (wants & MST_WANT_WRITE ? POLLOUT : 0));
}

static int link_descriptor(const struct mst_posix_link *link) {
    return link->resolver >= 0 ? link->resolver : link->fd;
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
    return object->wiped ? NULL : link_of(posix, object->config.link);
}

/* Looks at what an object waits for, and lists its link or adds to the sum. */
static void wait_look(struct mst_posix *posix, const struct mst_link *object,
                      size_t position, uint32_t now) {
    struct mst_posix_link *link = wait_link(posix, object);
    struct mst_posix_wait_state *state = &posix->state;
    uint32_t left = mst_next_deadline_ms(object);
    unsigned wants = mst_wants(object);

    if (link == NULL) {
        state->rest += wait_key(object);
        return;
    }
    link->position = position;
    link->round = state->round;
    link->wanted = link_events(link, wants);
    link->ready = left == 0 || link_has_read(link, wants) ||
                  (link->reported & link->wanted) != 0;
    if ((int32_t)(state->due - now - left) > 0) {
        state->due = now + left;
    }
    if (!link->ready && object->state == MST_STATE_OPEN) {
        state->rest += wait_key(object);
    } else if (!link->listed) {
        wait_list(posix, object->config.link);
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
        if (!objects[i]->wiped &&
            link_of(posix, objects[i]->config.link) == NULL) {
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

        if (position >= count || objects[position]->config.link != n) {
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
        link = &posix->links[objects[alone]->config.link];
        rc = link->fd >= 0 && link->wanted == POLLIN ? wait_in_recv(link, &ms)
                                                     : -1;
        if (rc > 0) {
            wait_found(posix, objects, objects[alone]->config.link);
        }
        if (rc >= 0) {
            return rc;
        }
    }
    rc = poll(fds, waits, wait_limit(ms));
    waits = 0;
    for (size_t i = 0; rc > 0 && i < count; i++) {
        link = wait_link(posix, objects[i]);
        if (link != NULL && link->wanted != 0 && fds[waits++].revents != 0) {
            wait_found(posix, objects, objects[i]->config.link);
        }
    }
    return wait_result(rc);
}

#ifdef __linux__

#define WAIT_EVENTS 64 /* that are taken at once: the others come next */

/* Has the system's list watch for what a link waits for. It tells once of what
 * has come (EPOLLET): to tell as long as it is so it would have to look twice
 * at each socket that had something. */
static bool wait_watch(const struct mst_posix *posix, int number,
                       short events) {
    struct mst_posix_link *link = &posix->links[number];
    struct epoll_event event = {
        .events = EPOLLET | EPOLLRDHUP | (events & POLLIN ? EPOLLIN : 0u) |
                  (events & POLLOUT ? EPOLLOUT : 0u),
        .data.u32 = (uint32_t)number,
    };
    int change = link->watched == 0 ? EPOLL_CTL_ADD
                 : events == 0      ? EPOLL_CTL_DEL
                                    : EPOLL_CTL_MOD;

    if (link->watched == events) {
        return true;
    }
    if (epoll_ctl(posix->state.watch, change, link_descriptor(link), &event) !=
        0) {
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
                   wait_watch(posix, objects[i]->config.link, link->wanted);
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
    uint32_t now = port_now_ms(NULL);
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
    case MST_POSIX_ERR_EMPTY: return "the trust store has no certificate";
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
