/*
 * Stand-in for the headers of lwIP's sockets: declares what
 * mst_sockets_freertos.h and the port use, to compile them on a host
 * (test/package/systems.py).
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef STUB_LWIP_H
#define STUB_LWIP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifndef LWIP_NETIF_LOOPBACK
#define LWIP_NETIF_LOOPBACK 1
#endif

typedef uint8_t sa_family_t;
typedef uint16_t in_port_t;
typedef uint32_t socklen_t;
typedef unsigned nfds_t;
struct in_addr {
    uint32_t s_addr;
};
struct sockaddr {
    uint8_t sa_len;
    sa_family_t sa_family;
    char sa_data[14];
};
struct sockaddr_in {
    uint8_t sin_len;
    sa_family_t sin_family;
    in_port_t sin_port;
    struct in_addr sin_addr;
    char sin_zero[8];
};
struct sockaddr_storage {
    uint8_t s2_len;
    sa_family_t ss_family;
    char s2_data1[2];
    uint32_t s2_data2[3];
};
struct pollfd {
    int fd;
    short events;
    short revents;
};
struct addrinfo {
    int ai_flags;
    int ai_family;
    int ai_socktype;
    int ai_protocol;
    socklen_t ai_addrlen;
    struct sockaddr *ai_addr;
    char *ai_canonname;
    struct addrinfo *ai_next;
};

#define AF_UNSPEC 0
#define AF_INET 2
#define SOCK_STREAM 1
#define SOCK_DGRAM 2
#define IPPROTO_TCP 6
#define TCP_NODELAY 0x01
#define SOL_SOCKET 0xfff
#define SO_ERROR 0x1007
#define INADDR_LOOPBACK ((uint32_t)0x7f000001u)
#define POLLIN 0x1
#define POLLOUT 0x2
#define FIONBIO 0x8004667eul

uint32_t lwip_htonl(uint32_t n);
int lwip_socket(int domain, int type, int protocol);
int lwip_close(int s);
int lwip_bind(int s, const struct sockaddr *name, socklen_t namelen);
int lwip_getsockname(int s, struct sockaddr *name, socklen_t *namelen);
int lwip_connect(int s, const struct sockaddr *name, socklen_t namelen);
ssize_t lwip_send(int s, const void *dataptr, size_t size, int flags);
ssize_t lwip_recv(int s, void *mem, size_t len, int flags);
int lwip_ioctl(int s, long cmd, void *argp);
int lwip_poll(struct pollfd *fds, nfds_t nfds, int timeout);
int lwip_getsockopt(int s, int level, int optname, void *optval,
                    socklen_t *optlen);
int lwip_setsockopt(int s, int level, int optname, const void *optval,
                    socklen_t optlen);
int lwip_getaddrinfo(const char *nodename, const char *servname,
                     const struct addrinfo *hints, struct addrinfo **res);
void lwip_freeaddrinfo(struct addrinfo *ai);

/* As LWIP_COMPAT_SOCKETS has them: macros with the names of functions. */
#define connect(s, name, namelen) lwip_connect(s, name, namelen)
#define send(s, dataptr, size, flags) lwip_send(s, dataptr, size, flags)
#define recv(s, mem, len, flags) lwip_recv(s, mem, len, flags)
#define close(s) lwip_close(s)
#define poll(fds, nfds, timeout) lwip_poll(fds, nfds, timeout)

#endif
