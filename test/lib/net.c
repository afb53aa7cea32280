/* net.h over POSIX sockets, for IPv4. SPDX-License-Identifier: 0BSD */
#define _GNU_SOURCE /* SOCK_NONBLOCK */
#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int net_result(ssize_t n) {
    if (n >= 0) {
        return (int)n;
    }
    switch (errno) {
    case EAGAIN:
    case EINPROGRESS: return NET_AGAIN;
    case ECONNREFUSED: return NET_REFUSED;
    case ECONNRESET:
    case EPIPE: return NET_RESET;
    default: return NET_NO_ROUTE;
    }
}

/* Knows "localhost" and numeric addresses. */
int net_dns(const char *host, uint16_t port, net_address *addresses, int max) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    const char *text = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;

    if (max < 1 || inet_pton(AF_INET, text, &to.sin_addr) != 1) {
        return NET_NO_ROUTE;
    }
    memcpy(addresses, &to, sizeof *addresses);
    return 1;
}

void net_dns_cancel(void) {
}

int net_open(int flags) {
    const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd >= 0 && (flags & NET_NODELAY) != 0) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    return net_result(fd);
}

int net_connect(int socket, const net_address *address) {
    struct sockaddr to;

    memcpy(&to, address, sizeof to);
    return net_result(connect(socket, &to, sizeof to));
}

int net_connected(int socket) {
    struct pollfd writable = {.fd = socket, .events = POLLOUT};
    socklen_t len = sizeof errno;

    if (poll(&writable, 1, 0) == 0) {
        return NET_AGAIN;
    }
    (void)getsockopt(socket, SOL_SOCKET, SO_ERROR, &errno, &len);
    return net_result(errno == 0 ? 0 : -1);
}

int net_send(int socket, const void *data, size_t len) {
    return net_result(send(socket, data, len, MSG_NOSIGNAL));
}

int net_recv(int socket, void *data, size_t len) {
    return net_result(recv(socket, data, len, 0));
}

void net_close(int socket) {
    (void)close(socket);
}
