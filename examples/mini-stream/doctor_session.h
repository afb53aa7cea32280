/*
 * The session itself, by the library as `mini-stream stream` uses it: token,
 * scope, handshake, first message, close.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef DOCTOR_SESSION_H
#define DOCTOR_SESSION_H

#include "doctor_report.h"
#include "network.h"

/* Prepares the client, with every deadline of timeout_ms, and what it is to
 * subscribe: a market's book, or heartbeats (NULL). Returns 0 or an
 * mst_error. */
int session_begin(struct mst_config *config, const struct network *network,
                  const char *market, unsigned timeout_ms);

/* The steps. Only those for the token where the stream cannot be reached. */
void session_check(struct report *report, struct network *network,
                   bool reachable);

/* The steps that session_check() would have tried. */
void session_skip(struct report *report, const char *market);

void session_end(void);

#endif
