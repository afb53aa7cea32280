/*
 * Objects on real sockets, see real.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "real.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int real_begin(struct real *real) {
    int rc = mst_posix_init(&real->posix, real->links, REAL_LINKS, &real->port);
    int loaded =
        mst_posix_anchors_load(&real->anchors, getenv("MINI_STREAM_CA"));

    real->config = (struct mst_config){
        .ws_url = getenv("MINI_STREAM_WS_URL"),
        .auth_url = getenv("MINI_STREAM_AUTH_URL"),
        .base_url = getenv("MINI_STREAM_BASE_URL"),
        .client_id = getenv("MINI_STREAM_CLIENT_ID"),
        .client_secret = getenv("MINI_STREAM_CLIENT_SECRET"),
        .anchors = real->anchors.anchors,
        .anchors_len = real->anchors.len,
    };
    return rc != 0 ? rc : loaded;
}

void real_end(struct real *real) {
    mst_posix_free(&real->posix);
    mst_posix_anchors_free(&real->anchors);
}

int real_entries(const char *path) {
    DIR *directory = opendir(path);
    int count = 0;

    if (directory == NULL) {
        return -1;
    }
    while (readdir(directory) != NULL) {
        count++;
    }
    closedir(directory);
    return count;
}

int real_descriptors(void) {
    return real_entries("/proc/self/fd");
}

int real_socket(const char *host, uint16_t number) {
    union mst_posix_address a = {
        .v4 = {.sin_family = AF_INET, .sin_port = htons(number)}};
    socklen_t len = sizeof a.v4;
    const int on = 1;
    int fd;

    if (inet_pton(AF_INET, host, &a.v4.sin_addr) != 1) {
        a.v6 = (struct sockaddr_in6){.sin6_family = AF_INET6,
                                     .sin6_port = htons(number)};
        inet_pton(AF_INET6, host, &a.v6.sin6_addr);
        len = sizeof a.v6;
    }
    fd = socket(a.any.sa_family, SOCK_STREAM, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on); /* or fails */
    return bind(fd, &a.any, len) == 0 ? fd : -1;
}

static union mst_posix_address address_of(int fd, socklen_t *len) {
    union mst_posix_address address = {0};

    *len = sizeof address;
    getsockname(fd, &address.any, len);
    return address;
}

uint16_t real_port(int fd) {
    socklen_t len;
    union mst_posix_address address = address_of(fd, &len);

    return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port
                                                   : address.v4.sin_port);
}

void real_listen_in_vain(int fd, int fillers[REAL_FILLERS]) {
    socklen_t len;
    union mst_posix_address address = address_of(fd, &len);

    listen(fd, 0);
    for (size_t i = 0; i < REAL_FILLERS; i++) {
        fillers[i] =
            socket(address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(fillers[i], &address.any, len);
        usleep(5000); /* so that the backlog is full before others connect */
    }
}

void real_close(int fillers[REAL_FILLERS]) {
    for (size_t i = 0; i < REAL_FILLERS; i++) {
        if (fillers[i] >= 0) {
            close(fillers[i]);
        }
        fillers[i] = -1;
    }
}

int real_token(void *context, const uint8_t key[MST_TOKEN_KEY_LEN], char *text,
               size_t cap, int64_t *until_s) {
    (void)context;
    (void)key;
    *until_s = time(NULL) + 3600;
    return snprintf(text, cap, "abc");
}

int real_clients_begin(struct real_clients *clients, struct mst_posix *posix,
                       struct mst_port *port, const char *host, uint16_t number,
                       size_t count) {
    struct mst_config config = {
        .ws_url = clients->url,
        .auth_url = "http://127.0.0.1",
        .client_id = "id",
        .client_secret = "secret",
        .flags = MST_ALLOW_PLAIN,
        .resolve_ms = 600000,
        .connect_ms = 600000,
    };
    int rc = 0;

    snprintf(clients->url, sizeof clients->url, "ws://%s:%u/", host,
             (unsigned)number);
    port->token_load = real_token;
    clients->posix = posix;
    clients->count = count;
    for (size_t i = 0; i < count && rc == 0; i++) {
        clients->memories[i] = (struct mst_memory){
            clients->rooms[i], sizeof clients->rooms[i], MST_LENGTHS_USUAL};
        clients->objects[i] = &clients->of[i].link;
        config.link = (int)i;
        rc = mst_client_init(&clients->of[i], &config, port,
                             &clients->memories[i]);
    }
    return rc;
}

/* Waits with poll(), as a program with its own loop does. */
static int own_wait(const struct real_clients *clients) {
    struct pollfd fds[REAL_CLIENTS_MAX];
    uint32_t left = 60000;
    size_t used = mst_posix_pollfds(clients->posix, clients->objects,
                                    clients->count, fds);

    for (size_t i = 0; i < clients->count; i++) {
        uint32_t its = mst_next_deadline_ms(clients->objects[i]);

        left = its < left ? its : left;
    }
    return used <= clients->count ? poll(fds, used, (int)left) : -1;
}

static uint64_t now_ms(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int real_clients_connect(struct real_clients *clients, bool own_loop,
                         uint32_t limit_ms, struct mst_event *event) {
    struct mst_posix *posix = clients->posix;
    uint64_t begin_ms = now_ms();
    int waits = 0, rc = 0;

    event->type = MST_EVENT_NONE;
    for (;; waits++) {
        bool all = own_loop || waits == 0;
        int next = all ? 0 : mst_posix_next(posix);
        size_t connected = 0;

        while (next >= 0 && next < (int)clients->count) {
            if (mst_poll(&clients->of[next], event) != 0) {
                return -1;
            }
            next = all ? next + 1 : mst_posix_next(posix);
        }
        for (size_t i = 0; i < clients->count; i++) {
            connected +=
                mst_link_state(clients->objects[i]) == MST_STATE_UPGRADE;
        }
        if (connected == clients->count) {
            return waits;
        }
        rc = own_loop ? own_wait(clients)
                      : mst_posix_wait(posix, clients->objects, clients->count,
                                       60000);
        if (rc < 0 || now_ms() - begin_ms > limit_ms) {
            return -1;
        }
    }
}
