/*
 * Resolves names with c-ares, for the POSIX port.
 *
 * Each resolution has its own channel. A finished channel is kept for the next
 * resolution, because making one takes as long as resolving. It is not kept if
 * it has pending work or if the system's configuration has changed.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _POSIX_C_SOURCE 200809L

#include "mst_cares.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <ares.h>

#ifdef __APPLE__
#define st_mtim st_mtimespec
#endif

/* Two for each name server that is asked. The port does not wait for further
 * ones; c-ares continues after its timeout. */
#define SOCKETS_MAX 16

struct mst_posix_resolution {
    ares_channel channel;
    uint64_t configuration; /* when the channel was made */
    struct pollfd sockets[SOCKETS_MAX];
    nfds_t count;
};

/* Returns the error as for getaddrinfo(). */
static int resolution_error(int status) {
    switch (status) {
    case ARES_ENODATA:
    case ARES_ENOTFOUND:
    case ARES_EBADNAME: return EAI_NONAME;
    case ARES_ENOMEM: return EAI_MEMORY;
    case ARES_ECONNREFUSED:
    case ARES_ESERVFAIL:
    case ARES_ETIMEOUT: return EAI_AGAIN;
    default: return EAI_FAIL;
    }
}

/* c-ares calls this when it starts or stops waiting for a socket. */
static void resolution_watch(void *context, ares_socket_t fd, int readable,
                             int writable) {
    struct mst_posix_resolution *resolution = context;
    struct pollfd *sockets = resolution->sockets;
    nfds_t i = 0;

    while (i < resolution->count && sockets[i].fd != fd) {
        i++;
    }
    if (readable || writable) {
        if (i < SOCKETS_MAX) {
            sockets[i].fd = fd;
            sockets[i].events =
                (short)((readable ? POLLIN : 0) | (writable ? POLLOUT : 0));
            resolution->count += i == resolution->count;
        }
    } else if (i < resolution->count) {
        sockets[i] = sockets[--resolution->count];
    }
}

/* c-ares calls this once, also if the resolution is cancelled. */
static void resolution_answer(void *context, int status, int timeouts,
                              struct ares_addrinfo *found) {
    struct mst_posix_answer *answer = context;

    (void)timeouts;
    if (status == ARES_SUCCESS) {
        for (const struct ares_addrinfo_node *item = found->nodes; item != NULL;
             item = item->ai_next) {
            mst_posix_answer_add(answer, item->ai_addr);
        }
        ares_freeaddrinfo(found);
    }
    mst_posix_answer_end(answer, resolution_error(status));
}

/* A number that changes with the files that c-ares reads for a channel. */
static uint64_t resolution_configuration(void) {
    static const char *const files[] = {"/etc/resolv.conf",
                                        "/etc/nsswitch.conf", "/etc/host.conf"};
    uint64_t sum = 0;

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct stat file;

        memset(&file, 0, sizeof file);
        (void)stat(files[i], &file);
        sum = sum * 31 + (uint64_t)file.st_ino;
        sum = sum * 31 + (uint64_t)file.st_size;
        sum = sum * 31 + (uint64_t)file.st_mtim.tv_sec;
        sum = sum * 31 + (uint64_t)file.st_mtim.tv_nsec;
    }
    return sum;
}

static void resolution_free(struct mst_posix_resolution *resolution) {
    if (resolution != NULL) {
        ares_destroy(resolution->channel);
        free(resolution);
    }
}

/* Returns NULL, with a status of c-ares, if it fails. */
static struct mst_posix_resolution *resolution_new(uint64_t configuration,
                                                   int *status) {
    struct mst_posix_resolution *resolution = calloc(1, sizeof *resolution);
    struct ares_options options;

    *status = ARES_ENOMEM;
    if (resolution == NULL) {
        return NULL;
    }
    memset(&options, 0, sizeof options);
    options.sock_state_cb = resolution_watch;
    options.sock_state_cb_data = resolution;
    resolution->configuration = configuration;
    *status = ares_init_options(&resolution->channel, &options,
                                ARES_OPT_SOCK_STATE_CB);
    if (*status != ARES_SUCCESS) {
        free(resolution);
        return NULL;
    }
    return resolution;
}

static void resolution_begin(struct mst_posix *posix,
                             struct mst_posix_link *link,
                             const struct mst_endpoint *endpoint) {
    const struct ares_addrinfo_hints hints = {
        .ai_flags = ARES_AI_NUMERICSERV,
        .ai_family = AF_UNSPEC,
        .ai_socktype = SOCK_STREAM,
    };
    uint64_t configuration = resolution_configuration();
    struct mst_posix_resolution *resolution = posix->kept;
    char service[8];
    int status;

    posix->kept = NULL;
    if (resolution == NULL || resolution->configuration != configuration) {
        resolution_free(resolution);
        resolution = resolution_new(configuration, &status);
    }
    if (resolution == NULL) {
        mst_posix_answer_end(&link->answer, resolution_error(status));
        return;
    }
    link->resolution = resolution;
    snprintf(service, sizeof service, "%u", (unsigned)endpoint->port);
    ares_getaddrinfo(resolution->channel, endpoint->host, service, &hints,
                     resolution_answer, &link->answer);
}

static void resolution_go_on(struct mst_posix_resolution *resolution) {
    struct pollfd ready[SOCKETS_MAX]; /* a copy: the original may change */
    nfds_t count = resolution->count;

    memcpy(ready, resolution->sockets, sizeof ready);
    if (poll(ready, count, 0) <= 0) {
        count = 0;
    }
    for (nfds_t i = 0; i < count; i++) {
        if (ready[i].revents != 0) {
            ares_process_fd(
                resolution->channel,
                ready[i].revents & ~POLLOUT ? ready[i].fd : ARES_SOCKET_BAD,
                ready[i].revents & ~POLLIN ? ready[i].fd : ARES_SOCKET_BAD);
        }
    }
    /* Handles timeouts of name servers. */
    ares_process_fd(resolution->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

static bool resolution_is_done(const struct mst_posix_answer *answer) {
    return answer->count > 0 || answer->error != 0;
}

static bool resolution_resolve(struct mst_posix *posix,
                               struct mst_posix_link *link,
                               const struct mst_endpoint *endpoint) {
    struct timeval left, *limit;
    uint32_t ms = 0;

    if (link->resolution == NULL) {
        resolution_begin(posix, link, endpoint);
    } else {
        resolution_go_on(link->resolution);
    }
    if (resolution_is_done(&link->answer)) {
        return true;
    }
    limit = ares_timeout(link->resolution->channel, NULL, &left);
    if (limit != NULL) {
        ms = (uint32_t)limit->tv_sec * 1000 + (uint32_t)limit->tv_usec / 1000 +
             1;
    }
    mst_posix_link_wait(link, link->resolution->sockets,
                        link->resolution->count, ms);
    return false;
}

static void resolution_end(struct mst_posix *posix,
                           struct mst_posix_link *link) {
    struct mst_posix_resolution *resolution = link->resolution;

    link->resolution = NULL;
    if (posix->kept == NULL && resolution != NULL && resolution->count == 0 &&
        resolution_is_done(&link->answer)) {
        posix->kept = resolution;
    } else {
        resolution_free(resolution);
    }
}

static void resolution_forget(struct mst_posix *posix) {
    resolution_free(posix->kept);
    posix->kept = NULL;
}

void mst_cares_init(struct mst_posix *posix) {
    static const struct mst_posix_resolver cares = {
        resolution_resolve, resolution_end, resolution_forget};

    posix->resolver = &cares;
}
