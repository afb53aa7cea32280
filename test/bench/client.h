/*
 * What the clients that are compared share: the order from the command line
 * and what is measured.
 *
 *   client MODE ws|wss PORT DIRECTORY REPEATS MESSAGES RECORD RATE MARKETS
 *          [usual|CLIENTS]
 *
 * MODE is stream, full or resumed: one connection; REPEATS connections with a
 * full TLS handshake each; a full one and then REPEATS with a short one. The
 * directory has ca.pem and, where RATE is not 0, the file "stamps". The rest
 * is the server's, see there. A client that is told "usual" leaves settings at
 * what its library has for everybody, as far as it knows both. CLIENTS (1) is
 * for the program "many".
 *
 * Prints processor time (user and system, from the first message to the last)
 * in us, the most memory that was resident in KB, p50 and p99.9 in ns of the
 * samples (with RATE: of the time from sending to the event in hand;
 * otherwise of the time from the begin of a connection to its first event),
 * the number of connections and the sum of all messages.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef CLIENT_H
#define CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The token that each client has at hand. */
#define CLIENT_TOKEN "benchmark"

struct client {
    bool tls, resume; /* resume: keep TLS sessions, and use them */
    bool usual;
    const char *port;
    unsigned markets, clients;
    char ca[256];       /* PEM file of the trust anchor */
    char path[64];      /* of the WebSocket */
    char request[2048]; /* what subscribes to all channels of the markets */
};

/* The server's name. */
#define CLIENT_HOST "localhost"

/* Reads the command line; ends the program if it is wrong. */
const struct client *client_begin(int argc, char **argv);

/* A connection begins, before its name is resolved. */
void client_connecting(void);

/* A message was decoded. True if it was the connection's last. */
bool client_message(uint64_t sum);

/* True if there is a further connection to be made. */
bool client_again(void);

/* Prints what was measured; returns the exit status. */
int client_end(void);

/* Prints why it cannot go on, and ends the program. */
#if defined(__GNUC__)
__attribute__((noreturn))
#endif
void client_fail(const char *why);

#ifdef __cplusplus
}
#endif

#endif
