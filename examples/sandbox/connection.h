/*
 * One client's WebSocket connection: sends and closes, with bounds on what
 * piles up for a client that does not read.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_CONNECTION_H
#define SANDBOX_CONNECTION_H

#include "relay.h"

struct connection;

/* backlog_max: a client that lets more bytes than this pile up is closed. The
 * relay, which the connection came through, must outlive it. */
struct connection *connection_new(SoupServerMessage *message,
                                  SoupWebsocketConnection *websocket,
                                  struct relay *relay, size_t backlog_max);
void connection_free(struct connection *connection);

/* Starts to close, with this code, if it is open. */
void connection_close(struct connection *connection, gushort code,
                      const char *reason);

/* Sends a text message; does nothing if the connection is not open. */
void connection_send(struct connection *connection, const char *text);

/* Pings the client so often, and closes the connection once two pings have had
 * no answer. Called once at most. */
void connection_ping(struct connection *connection, guint seconds);

/* What was sent, and what of it libsoup may still have. */
struct connection_figures {
    uint64_t messages;
    uint64_t bytes;
    size_t backlog; /* bytes */
};

struct connection_figures
connection_figures(const struct connection *connection);

/* The client's IP address as text, for g_free. */
char *connection_address(const struct connection *connection);

#endif
