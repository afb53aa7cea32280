/*
 * Exit codes of mini-stream, by kind of error.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef EXITS_H
#define EXITS_H

enum exit_code {
    EXITS_OK = 0,
    EXITS_UNMET = 1,   /* --expect-all was not met, or a replay differs */
    EXITS_USAGE = 2,   /* wrong arguments */
    EXITS_CONFIG = 3,  /* profile, endpoints, secret, trust anchors, URLs */
    EXITS_ACCESS = 4,  /* token refused, 401, 403, 429 */
    EXITS_NETWORK = 5, /* resolution, connection, TLS, timeout */
    EXITS_SERVICE = 6, /* HTTP, WebSocket, messages, refused requests */
    EXITS_LOCAL = 7,   /* clock, entropy, memory, files */
    EXITS_CUT = 130    /* ended at once by a signal */
};

#define EXITS_HELP                                                          \
    "Exit status:\n"                                                        \
    "  0  success; also a stream ended by Ctrl-C\n"                         \
    "  1  --expect-all was not met; a replay differs from its recording\n"  \
    "  2  wrong arguments\n"                                                \
    "  3  configuration: profile, endpoints, URLs, secret, trust anchors\n" \
    "  4  access: token refused, 401, 403, 429\n"                           \
    "  5  network: resolution, connection, TLS, time-out\n"                 \
    "  6  service: HTTP, WebSocket, messages, a refused subscription "      \
    "or address\n"                                                          \
    "  7  this machine: clock, entropy, memory, files; a damaged "          \
    "recording\n"                                                           \
    "  130  Ctrl-C; for a stream, the second one\n"                         \
    "A stream that is down at the end of --seconds exits with its error's " \
    "status.\n"

int exits_code(int error);

#endif
