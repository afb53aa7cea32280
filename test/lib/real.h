/*
 * Objects on real sockets, for the tests of the POSIX port and the programs
 * that the end-to-end tests run.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef REAL_H
#define REAL_H

#include "mst_posix.h"

/* Declares real as the system's function that a test has replaced. Needs
 * <dlfcn.h> and _GNU_SOURCE. */
#define REAL_OF(name)       \
    __typeof__(&name) real; \
    *(void **)&real = dlsym(RTLD_NEXT, #name)

#define REAL_LINKS 3

/* A port, and the service's settings from the environment. */
struct real {
    struct mst_posix_link links[REAL_LINKS];
    struct mst_posix posix;
    struct mst_port port;
    struct mst_posix_anchors anchors;
    struct mst_config config;
};

/* Reads MINI_STREAM_WS_URL, _AUTH_URL, _BASE_URL, _CLIENT_ID, _CLIENT_SECRET
 * and _CA into config, which the program may then change. Returns 0 or an
 * error for mst_posix_strerror(). */
int real_begin(struct real *real);

/* Frees what was loaded, once all objects are closed. */
void real_end(struct real *real);

/* The number of entries of a folder, or -1 if there is none; the number of open
 * descriptors of this process, plus two or three. */
int real_entries(const char *path);
int real_descriptors(void);

/* Opens a TCP socket at a local address with this port, or a free one for 0;
 * -1 on failure. The second returns a socket's port. */
int real_socket(const char *host, uint16_t number);
uint16_t real_port(int fd);

#define REAL_FILLERS 8

/* Listens with a full backlog: connections get no answer until the fillers are
 * closed. */
void real_listen_in_vain(int fd, int fillers[REAL_FILLERS]);
void real_close(int fillers[REAL_FILLERS]);

/* For mst_port.token_load: returns a token for any key. */
int real_token(void *context, const uint8_t key[MST_TOKEN_KEY_LEN], char *text,
               size_t cap, int64_t *until_s);

#define REAL_CLIENTS_MAX 16

/* Clients without TLS whose opening handshake gets no response. */
struct real_clients {
    struct mst_posix *posix;
    char url[MST_HOST_MAX + 32];
    size_t count;
    const struct mst_link *objects[REAL_CLIENTS_MAX];
    struct mst_client of[REAL_CLIENTS_MAX];
    struct mst_memory memories[REAL_CLIENTS_MAX];
    unsigned char rooms[REAL_CLIENTS_MAX][MST_MEMORY_LEN(MST_LENGTHS_USUAL)];
};

/* Initialises clients for a host and a port, on the first links of posix.
 * Returns the result of mst_client_init(). */
int real_clients_begin(struct real_clients *clients, struct mst_posix *posix,
                       struct mst_port *port, const char *host, uint16_t number,
                       size_t count);

/* Polls them until all wait for that response. It sleeps in mst_posix_wait()
 * or, with own_loop, with mst_posix_pollfds(). Returns how often it slept, or
 * -1 and an unexpected event, or no event after limit_ms or a failed sleep. */
int real_clients_connect(struct real_clients *clients, bool own_loop,
                         uint32_t limit_ms, struct mst_event *event);

#endif
