/*
 * One client's WebSocket connection: sends and closes, with a limit on the
 * backlog of a client that does not read.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_CONNECTION_H
#define SANDBOX_CONNECTION_H

#include "relay.h"

struct connection;

/* Closes the connection once its backlog exceeds backlog_max bytes. The relay
 * is the one that the connection came through; it must outlive it. */
struct connection *connection_new(SoupServerMessage *message,
                                  SoupWebsocketConnection *websocket,
                                  struct relay *relay, size_t backlog_max);
void connection_free(struct connection *connection);

/* Starts to close the connection with this code, if it is open. */
void connection_close(struct connection *connection, gushort code,
                      const char *reason);

/* Sends a text message; does nothing if the connection is not open. */
void connection_send(struct connection *connection, const char *text);

/* Pings the client every `seconds`, and closes the connection if two pings in a
 * row get no answer. May be called once. */
void connection_ping(struct connection *connection, guint seconds);

/* What was sent, and how much of it libsoup may still hold. */
struct connection_figures {
    uint64_t messages;
    uint64_t bytes;
    size_t backlog; /* bytes */
};

struct connection_figures
connection_figures(const struct connection *connection);

/* Returns the client's IP address as text; free it with g_free(). */
char *connection_address(const struct connection *connection);

#endif
