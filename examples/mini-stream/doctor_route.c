/*
 * The route to a server, step by step: name, connection, proxy.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "doctor.h"

#include <ares.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

/* Bytes of a proxy's response. */
#define HEAD_LEN 16384

/* Bytes of an address with the name of its interface, and a NUL. */
#define ADDRESS_LEN (INET6_ADDRSTRLEN + IF_NAMESIZE + 1)

static void name_write(const struct mst_endpoint *endpoint,
                       char name[ROUTE_NAME_LEN]) {
    bool ipv6 = strchr(endpoint->host, ':') != NULL;

    snprintf(name, ROUTE_NAME_LEN, "%s%s%s:%u", ipv6 ? "[" : "", endpoint->host,
             ipv6 ? "]" : "", endpoint->port);
}

/* Returns what to connect to: the server or the proxy. */
static const struct mst_endpoint *route_first(const struct route *route) {
    return route->proxy != NULL ? &route->proxy->endpoint : &route->server;
}

void route_init(struct route *route, const char *url,
                const struct network *network, unsigned timeout_ms) {
    struct mst_endpoint *server = &route->server;
    const char *host = strstr(url, "://") + 3;
    bool bracket = *host == '[';
    size_t len = strcspn(host += bracket, bracket ? "]" : ":/");
    const char *end = host + len + bracket;

    memset(route, 0, sizeof *route);
    memcpy(server->host, host, len);
    server->port = *end == ':' ? (uint16_t)strtoul(end + 1, NULL, 10) : 443;
    server->tls = true;
    route->proxy = network_proxy(network, server);
    route->timeout_ms = timeout_ms;
    route->good = -1;
    name_write(server, route->name);
    name_write(route_first(route), route->via);
}

bool route_wait(int fd, short events, uint64_t end_ms) {
    struct pollfd wait = {.fd = fd, .events = events};
    uint64_t now_ms = clock_ms();

    return now_ms < end_ms && poll(&wait, 1, (int)(end_ms - now_ms)) > 0;
}

/* ---- Names, by c-ares as in the port, but waiting ---- */

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

/* Waits up to ms for a name server, and processes its answer. */
static void names_wait(ares_channel channel, unsigned ms) {
    ares_socket_t sockets[ARES_GETSOCK_MAXNUM];
    struct pollfd wait[ARES_GETSOCK_MAXNUM];
    /* A bit for each socket to read from, then one for each to write to: the
     * macros of c-ares shift a bit into the sign. */
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

/* Resolves a host into up to MST_POSIX_ADDRESSES_MAX addresses with the port.
 * Returns a status of c-ares. */
static int names_find(const struct mst_endpoint *endpoint, unsigned timeout_ms,
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

static void address_write(const union mst_posix_address *address,
                          char text[ADDRESS_LEN]) {
    if (getnameinfo(&address->any, sizeof *address, text, ADDRESS_LEN, NULL, 0,
                    NI_NUMERICHOST) != 0) {
        text[0] = '\0';
    }
}

bool route_resolve(struct route *route, struct report *report) {
    char list[MST_POSIX_ADDRESSES_MAX * (ADDRESS_LEN + 2)] = "";
    json_t *addresses = json_array();
    int status;

    report_begin(report, "dns", "DNS of %s%s",
                 route->proxy != NULL ? "the proxy " : "",
                 route_first(route)->host);
    status = names_find(route_first(route), route->timeout_ms, route->addresses,
                        &route->count);
    for (size_t i = 0; i < route->count; ++i) {
        char text[ADDRESS_LEN];
        size_t len = strlen(list);

        address_write(&route->addresses[i], text);
        snprintf(list + len, sizeof list - len, "%s%s", i > 0 ? ", " : "",
                 text);
        json_array_append_new(addresses, json_string(text));
    }
    report_set(report, "addresses", addresses);
    if (route->count > 0) {
        report_ok(report, "%s", list);
        return true;
    }
    report_fail(report, MST_ERR_RESOLVE,
                status == ARES_ECONNREFUSED || status == ARES_ETIMEOUT ||
                        status == ARES_ESERVFAIL
                    ? "no name server answers: check this machine's network, "
                      "/etc/resolv.conf, VPN"
                    : NULL,
                "%s",
                status == ARES_SUCCESS ? "no address" : ares_strerror(status));
    return false;
}

/* ---- Connections ---- */

/* An attempt to connect; fd is -1 once it has failed. */
struct attempt {
    int fd, error; /* errno */
    bool done;
    unsigned ms;
};

static void attempt_end(struct attempt *attempt, int error, uint64_t begin_ms) {
    attempt->done = true;
    attempt->error = error;
    attempt->ms = (unsigned)(clock_ms() - begin_ms);
    if (error != 0 && attempt->fd >= 0) {
        close(attempt->fd);
        attempt->fd = -1;
    }
}

static void attempt_begin(struct attempt *attempt,
                          const union mst_posix_address *address,
                          uint64_t begin_ms) {
    memset(attempt, 0, sizeof *attempt);
    attempt->fd = socket(address->any.sa_family,
                         SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (attempt->fd < 0 ||
        (connect(attempt->fd, &address->any, sizeof *address) != 0 &&
         errno != EINPROGRESS)) {
        attempt_end(attempt, errno, begin_ms);
    }
}

/* Waits for the pending attempts and updates them. Returns true if any was
 * pending. */
static bool attempts_go_on(struct attempt *attempts, size_t count,
                           uint64_t begin_ms, unsigned timeout_ms) {
    struct pollfd wait[MST_POSIX_ADDRESSES_MAX];
    uint64_t past_ms = clock_ms() - begin_ms;
    bool more = false;

    for (size_t i = 0; i < count; ++i) {
        wait[i].fd = attempts[i].done ? -1 : attempts[i].fd;
        wait[i].events = POLLOUT;
        more |= !attempts[i].done;
    }
    if (!more) {
        return false;
    }
    if (past_ms < timeout_ms) {
        (void)poll(wait, (nfds_t)count, (int)(timeout_ms - past_ms));
    }
    for (size_t i = 0; i < count; ++i) {
        int error = 0;
        socklen_t len = sizeof error;

        if (wait[i].fd >= 0 && past_ms >= timeout_ms) {
            attempt_end(&attempts[i], ETIMEDOUT, begin_ms);
        } else if (wait[i].fd >= 0 && wait[i].revents != 0) {
            getsockopt(wait[i].fd, SOL_SOCKET, SO_ERROR, &error, &len);
            attempt_end(&attempts[i], error, begin_ms);
        }
    }
    return true;
}

static int connect_error(int reason) {
    switch (reason) {
    case ECONNREFUSED: return MST_ERR_REFUSED;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EADDRNOTAVAIL: return MST_ERR_UNREACHABLE;
    case ECONNRESET: return MST_ERR_RESET;
    case ETIMEDOUT: return MST_ERR_TIMEOUT;
    default: return MST_ERR_PORT;
    }
}

/* Adds the result for each address. Returns how many accepted. */
static size_t connect_tell(const struct route *route, struct report *report,
                           const struct attempt *attempts) {
    json_t *addresses = json_array();
    size_t good = 0;

    for (size_t i = 0; i < route->count; ++i) {
        const struct attempt *attempt = &attempts[i];
        const char *why = attempt->error == ETIMEDOUT
                              ? "no answer"
                              : strerror(attempt->error);
        char text[ADDRESS_LEN];

        address_write(&route->addresses[i], text);
        json_array_append_new(
            addresses,
            json_pack("{s:s,s:i,s:i,s:o}", "address", text, "port",
                      route_first(route)->port, "ms", (int)attempt->ms, "error",
                      attempt->error == 0 ? json_null() : json_string(why)));
        good += attempt->error == 0;
        if (route->count > 1) {
            report_note(report, "%s: %s, %u ms", text,
                        attempt->error == 0 ? "connected" : why, attempt->ms);
        }
    }
    report_set(report, "addresses", addresses);
    return good;
}

bool route_connect(struct route *route, struct report *report) {
    struct attempt attempts[MST_POSIX_ADDRESSES_MAX] = {{0}};
    char text[ADDRESS_LEN];
    uint64_t begin_ms;
    size_t good;

    report_begin(report, "tcp", "TCP to %s%s",
                 route->proxy != NULL ? "the proxy " : "", route->via);
    begin_ms = clock_ms();
    for (size_t i = 0; i < route->count; ++i) {
        attempt_begin(&attempts[i], &route->addresses[i], begin_ms);
    }
    while (
        attempts_go_on(attempts, route->count, begin_ms, route->timeout_ms)) {}
    for (size_t i = route->count; i-- > 0;) {
        if (attempts[i].error == 0) {
            close(attempts[i].fd);
            route->good = (int)i;
        }
    }
    good = connect_tell(route, report, attempts);
    if (good == 0) {
        int error = connect_error(attempts[0].error);
        report_fail(report, error, NULL, "%s",
                    error == MST_ERR_TIMEOUT ? "no answer"
                    : error == MST_ERR_PORT  ? strerror(attempts[0].error)
                                             : mst_strerror(error));
        return false;
    }
    address_write(&route->addresses[route->good], text);
    if (good < route->count) {
        report_ok(report, "connected to %s (%zu of %zu addresses answer)", text,
                  good, route->count);
    } else {
        report_ok(report, "connected to %s", text);
    }
    return true;
}

/* Connects to the address that accepted before. */
static int connect_again(const struct route *route) {
    struct attempt attempt;
    uint64_t begin_ms = clock_ms();

    attempt_begin(&attempt, &route->addresses[route->good], begin_ms);
    while (attempts_go_on(&attempt, 1, begin_ms, route->timeout_ms)) {}
    return attempt.error == 0 ? attempt.fd : connect_error(attempt.error);
}

/* ---- Proxy ---- */

static bool request_send(int fd, const struct route *route) {
    const char *login = route->proxy->login;
    char text[MST_PROXY_REQUEST_LEN];
    int len = snprintf(
        text, sizeof text, "CONNECT %s HTTP/1.1\r\nHost: %s%s%s\r\n\r\n",
        route->name, route->name,
        *login != '\0' ? "\r\nProxy-Authorization: Basic " : "", login);
    bool sent = send(fd, text, (size_t)len, MSG_NOSIGNAL) == len;

    explicit_bzero(text, sizeof text);
    return sent;
}

/* Reads up to the empty line; the bytes after it are the server's. Returns 0 or
 * an mst_error. */
static int head_read(int fd, uint64_t end_ms, char head[HEAD_LEN]) {
    size_t len = 0;

    while (len < HEAD_LEN - 1) {
        ssize_t n = recv(fd, head + len, 1, 0);

        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            if (!route_wait(fd, POLLIN, end_ms)) {
                return MST_ERR_PROXY_TIMEOUT;
            }
            continue;
        }
        if (n <= 0) {
            break;
        }
        head[++len] = '\0';
        if (len >= 4 && strcmp(head + len - 4, "\r\n\r\n") == 0) {
            return 0;
        }
    }
    return MST_ERR_PROXY_ANSWER;
}

/* The status in a response's first line, or 0. */
static int head_status(const char *head) {
    long status = strncmp(head, "HTTP/1.", 7) == 0 && strlen(head) > 9
                      ? strtol(head + 9, NULL, 10)
                      : 0;

    return status >= 100 && status <= 999 ? (int)status : 0;
}

static int status_error(int status) {
    return status == 401 || status == 407  ? MST_ERR_PROXY_LOGIN
           : status >= 500                 ? MST_ERR_PROXY_GATEWAY
           : status >= 400                 ? MST_ERR_PROXY_REFUSED
           : status >= 200 && status < 300 ? 0
                                           : MST_ERR_PROXY_ANSWER;
}

/* Requests a tunnel. Returns 0 or an mst_error, with the response's first line,
 * or "", and its status, or 0. */
static int tunnel_ask(const struct route *route, int fd, char head[HEAD_LEN],
                      int *answer) {
    uint64_t end_ms = clock_ms() + route->timeout_ms;
    int rc = request_send(fd, route) ? 0 : MST_ERR_PROXY_ANSWER;
    int status = 0;

    head[0] = '\0';
    do { /* skips interim responses */
        if (rc == 0) {
            rc = head_read(fd, end_ms, head);
        }
        status = head_status(head);
    } while (rc == 0 && status >= 100 && status < 200 && status != 101);
    head[strcspn(head, "\r\n")] = '\0';
    *answer = status;
    return rc != 0 ? rc : status_error(status);
}

bool route_tunnel(struct route *route, struct report *report) {
    char head[HEAD_LEN];
    int fd, rc, status;

    report_begin(report, "proxy", "CONNECT to %s by the proxy %s", route->name,
                 route->via);
    fd = rc = connect_again(route);
    if (fd < 0) {
        report_fail(report, rc, NULL, "%s", mst_strerror(rc));
        return false;
    }
    rc = tunnel_ask(route, fd, head, &status);
    close(fd);
    if (status != 0) {
        report_set(report, "http_status", json_integer(status));
    }
    if (rc != 0) {
        report_fail(report, rc, NULL, "%s%s%.80s", mst_strerror(rc),
                    head[0] != '\0' ? ": " : "", head);
    } else {
        report_ok(report, "%.80s", head);
    }
    return rc == 0;
}

int route_open(const struct route *route) {
    char head[HEAD_LEN];
    int fd = connect_again(route);
    int status;

    if (fd >= 0 && route->proxy != NULL) {
        int rc = tunnel_ask(route, fd, head, &status);
        if (rc != 0) {
            close(fd);
            return rc;
        }
    }
    return fd;
}
