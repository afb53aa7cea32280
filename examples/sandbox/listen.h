/*
 * Sockets that listen.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_LISTEN_H
#define SANDBOX_LISTEN_H

#include <gio/gio.h>

/* Listens on the IP address, or, if it is NULL, on both loopback addresses.
 * *port 0 takes a free port; *port is then set to it. The array is of GSocket,
 * owned; NULL when it cannot. */
GPtrArray *listen_open(const char *address, guint *port, GError **error);

#endif
