/* Listens on a port, and accepts connections. SPDX-License-Identifier: 0BSD */
#ifndef SANDBOX_LISTENER_H
#define SANDBOX_LISTENER_H

#include <gio/gio.h>
#include <stdbool.h>

struct listener;

/* A client has connected. */
typedef void (*listener_accepted)(GSocketConnection *connection,
                                  GSocketAddress *local, GSocketAddress *remote,
                                  void *user_data);

/* Listens on the IP address, or, if it is NULL, on both loopback addresses.
 * *port 0 takes a free port; *port is then set to it. NULL, with the error
 * set, when it cannot. */
struct listener *listener_new(const char *address, guint *port,
                              listener_accepted accepted, void *user_data,
                              GError **error);
void listener_free(struct listener *listener);

/* Stops, and listens again: nobody else has the port meanwhile. */
void listener_stop(struct listener *listener);
bool listener_start(struct listener *listener, GError **error);
bool listener_listens(const struct listener *listener);

#endif
