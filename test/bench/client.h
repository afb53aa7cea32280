/*
 * Shared by the compared clients: reads the command line and measures.
 *
 *   client MODE ws|wss PORT DIRECTORY REPEATS MESSAGES RECORD RATE MARKETS
 *          [usual|CLIENTS]
 *
 * MODE stream makes one connection; full makes REPEATS connections with a full
 * TLS handshake; resumed makes a full one, then REPEATS resumed ones. The
 * directory has ca.pem and, if RATE is not 0, the file "stamps". server.c
 * explains the rest. With "usual", a client that knows both uses its library's
 * usual settings, not those for speed. CLIENTS (1) is for the program "many".
 *
 * Prints: processor time in us (user and system, first message to last); peak
 * resident memory in KB; p50 and p99.9 of the samples in ns; number of
 * connections; the messages' sum. A sample is the time from sending to the
 * decoded event (with RATE), or from connecting to the first event.
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

/* The token that each client already has. */
#define CLIENT_TOKEN "benchmark"

struct client {
    bool tls, resume; /* resume: keep and use TLS sessions */
    bool usual;
    const char *port;
    unsigned markets, clients;
    char ca[256];       /* PEM file of the trust anchor */
    char path[64];      /* of the WebSocket */
    char request[2048]; /* subscribes to all channels of the markets */
};

/* The server's name. */
#define CLIENT_HOST "localhost"

/* Reads the command line; ends the program if it is wrong. */
const struct client *client_begin(int argc, char **argv);

/* Call it before resolving the name of each connection. */
void client_connecting(void);

/* Call it for each decoded message. True if it was the connection's last. */
bool client_message(uint64_t sum);

/* True if another connection is to be made. */
bool client_again(void);

/* Prints what was measured; returns the exit status. */
int client_end(void);

/* Prints the reason and ends the program. */
#if defined(__GNUC__)
__attribute__((noreturn))
#endif
void client_fail(const char *why);

#ifdef __cplusplus
}
#endif

#endif
