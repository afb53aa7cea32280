/*
 * Declarations of the network stack, with non-blocking sockets, that the
 * skeleton in port/README.md uses.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef NET_H
#define NET_H

#include <stddef.h>
#include <stdint.h>

enum { NET_AGAIN = -1, NET_REFUSED = -2, NET_NO_ROUTE = -3, NET_RESET = -4 };
enum { NET_TCP = 1, NET_NODELAY = 2, NET_NONBLOCK = 4 };
typedef struct {
    uint8_t bytes[16];
} net_address;

int net_dns(const char *host, uint16_t port, net_address *addresses, int max);
void net_dns_cancel(void);
int net_open(int flags);
int net_connect(int socket, const net_address *address);
int net_connected(int socket);
int net_send(int socket, const void *data, size_t len);
int net_recv(int socket, void *data, size_t len);
void net_close(int socket);

#endif
