/*
 * A relay between the clients and a server: it listens for the server and
 * simulates the network of each connection, with its faults.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_RELAY_H
#define SANDBOX_RELAY_H

#include "faults.h"

#include <libsoup/soup.h>

struct relay;

/* place: "stream" or "token", the value of a fault's field "at" that applies
 * here. All arguments must outlive the relay. */
struct relay *relay_new(SoupServer *server, struct faults *faults,
                        const char *place);
void relay_free(struct relay *relay);

/* Starts to listen; see listener_new. */
bool relay_listen(struct relay *relay, const char *address, guint *port,
                  GError **error);
void relay_stop_listening(struct relay *relay);

/* Ends the connection of the client with this address, if there is one, even
 * while the server still writes to it. */
void relay_drop(struct relay *relay, GSocketAddress *client);

/* Returns the number of connections. */
guint relay_connections(const struct relay *relay);

#endif
