/*
 * What the files of `mini-stream doctor` have for each other, besides the
 * report and the way to a server.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef DOCTOR_H
#define DOCTOR_H

#include "doctor_route.h"

/* What to do about an mst_error, or about the configuration (0). */
const char *doctor_advice(int error);

/* Fills in up to MST_POSIX_ADDRESSES_MAX addresses of a host, with the port.
 * Returns a status of c-ares. */
int names_find(const struct mst_endpoint *endpoint, unsigned timeout_ms,
               union mst_posix_address *addresses, size_t *count);

/* The step of a server's TLS, along a route that has been tried: by the second
 * link of a network, with a session's configuration. Returns whether the
 * stream's own TLS works. */
bool tls_check(const struct route *route, struct network *network,
               const struct settings *settings, const struct mst_config *config,
               struct report *report);
void tls_end(void);

/* Prepares the client, with every deadline of timeout_ms, and what it is to
 * subscribe: a market's book, or heartbeats (NULL). Returns 0 or an
 * mst_error. */
int session_begin(struct mst_config *config, const struct network *network,
                  const char *market, unsigned timeout_ms);

/* The steps: token, scope, handshake, first message, close. Only those for the
 * token where the stream cannot be reached. */
void session_check(struct report *report, struct network *network,
                   bool reachable);

/* The steps that session_check() would have tried. */
void session_skip(struct report *report, const char *market);

void session_end(void);

#endif
