/* Listens on a port, and accepts connections. SPDX-License-Identifier: 0BSD */
#ifndef SANDBOX_LISTENER_H
#define SANDBOX_LISTENER_H

#include <gio/gio.h>
#include <stdbool.h>

struct listener;

/* Called for each new connection. */
typedef void (*listener_accepted)(GSocketConnection *connection,
                                  GSocketAddress *local, GSocketAddress *remote,
                                  void *user_data);

/* Listens on the IP address; if it is NULL, on both loopback addresses. If
 * *port is 0, chooses a free port and sets *port. On failure, returns NULL and
 * sets the error. */
struct listener *listener_new(const char *address, guint *port,
                              listener_accepted accepted, void *user_data,
                              GError **error);
void listener_free(struct listener *listener);

/* Stop listening, and listen again. The port stays reserved in between. */
void listener_stop(struct listener *listener);
bool listener_start(struct listener *listener, GError **error);
bool listener_listens(const struct listener *listener);

#endif
