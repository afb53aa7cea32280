/*
 * Between the clients and a server: listens in its place, and is the network
 * of each connection, with its faults.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_RELAY_H
#define SANDBOX_RELAY_H

#include "faults.h"

#include <libsoup/soup.h>

struct relay;

/* place: whose faults these are, "stream" or "token", a constant. All
 * arguments must outlive the relay. */
struct relay *relay_new(SoupServer *server, struct faults *faults,
                        const char *place);
void relay_free(struct relay *relay);

/* Listens, see listener_new. */
bool relay_listen(struct relay *relay, const char *address, guint *port,
                  GError **error);
void relay_stop_listening(struct relay *relay);

/* Ends the connection of the client with this address, if there is one,
 * though the server still writes. */
void relay_drop(struct relay *relay, GSocketAddress *client);

/* Connections that there are. */
guint relay_connections(const struct relay *relay);

#endif
