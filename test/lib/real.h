/*
 * Objects on real sockets, for the tests of the POSIX port and the programs
 * that the end-to-end tests run.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef REAL_H
#define REAL_H

#include "mst_posix.h"

/* Declares real: the system's function of a name that a test has replaced. For
 * those that include <dlfcn.h>, with _GNU_SOURCE. */
#define REAL_OF(name)       \
    __typeof__(&name) real; \
    *(void **)&real = dlsym(RTLD_NEXT, #name)

#define REAL_LINKS 3

/* A port, and what the environment says of the service. */
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

/* How many entries a folder has, or -1 where there is none; and how many
 * descriptors this process has open, and two or three more. */
int real_entries(const char *path);
int real_descriptors(void);

/* A TCP socket at an address of this machine, with this port or, for 0, a free
 * one, or -1; and the port that it has. */
int real_socket(const char *host, uint16_t number);
uint16_t real_port(int fd);

#define REAL_FILLERS 8

/* Listens with a backlog that is full: who connects gets no answer, until the
 * fillers are closed. */
void real_listen_in_vain(int fd, int fillers[REAL_FILLERS]);
void real_close(int fillers[REAL_FILLERS]);

/* For mst_port.token_load: there is a token, whoever asks. */
int real_token(void *context, const uint8_t key[MST_TOKEN_KEY_LEN], char *text,
               size_t cap, int64_t *until_s);

#define REAL_CLIENTS_MAX 16

/* Clients in the clear, whose opening handshake nobody answers. */
struct real_clients {
    struct mst_posix *posix;
    char url[MST_HOST_MAX + 32];
    size_t count;
    const struct mst_link *objects[REAL_CLIENTS_MAX];
    struct mst_client of[REAL_CLIENTS_MAX];
    struct mst_memory memories[REAL_CLIENTS_MAX];
    unsigned char rooms[REAL_CLIENTS_MAX][MST_MEMORY_LEN(MST_LENGTHS_USUAL)];
};

/* Prepares so many for a host and a port, on the first links of posix. Returns
 * 0, or what mst_client_init() did. */
int real_clients_begin(struct real_clients *clients, struct mst_posix *posix,
                       struct mst_port *port, const char *host, uint16_t number,
                       size_t count);

/* Polls them until all wait for that answer, and sleeps in between by
 * mst_posix_wait() or, as a loop of one's own does, by mst_posix_pollfds().
 * Returns how often it has slept, or -1 with what has come about: an event; or
 * none, after limit_ms or where a sleep failed. */
int real_clients_connect(struct real_clients *clients, bool own_loop,
                         uint32_t limit_ms, struct mst_event *event);

#endif
