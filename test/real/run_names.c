/*
 * The POSIX port among name servers that are not to be trusted, see
 * e2e_names.py: run_names RESOLVER MODE HOST PORT [COUNT], with the resolver
 * "cares" or "threads".
 *
 *   resolve   prints the addresses in their order, or the error and its detail,
 *             and so once more for each byte of standard input
 *   close     closes the link while the name resolves; prints what is left of
 *             descriptors and threads, and how many ms close() took
 *   wait      COUNT clients connect and wait by mst_posix_wait()
 *   own       the same with mst_posix_pollfds() and a loop of its own; both
 *             print the address of the first and how often they woke up
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_cares.h"

#include <dirent.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS_MAX 16

static struct mst_posix_link links[CLIENTS_MAX];
static struct mst_posix posix;
static struct mst_port port;
static struct mst_client clients[CLIENTS_MAX];
static unsigned char rooms[CLIENTS_MAX][MST_MEMORY_LEN(MST_LENGTHS_USUAL)];
static const struct mst_link *objects[CLIENTS_MAX];

static int entries(const char *path) {
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

static void print_address(const struct sockaddr *address) {
    char text[64];

    getnameinfo(address,
                address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                               : sizeof(struct sockaddr_in),
                text, sizeof text, NULL, 0, NI_NUMERICHOST);
    printf("%s ", text);
}

static void resolve(const struct mst_endpoint *endpoint) {
    int rc;

    while ((rc = port.resolve(port.context, 0, endpoint)) == 0) {
        (void)usleep(1000);
    }
    for (int i = 0; i < rc; i++) {
        print_address(&links[0].answer.addresses[i].any);
    }
    if (rc < 0) {
        printf("error %d detail %d", rc, port.detail(port.context, 0));
    }
    printf("\n");
    (void)fflush(stdout);
}

static void resolve_and_close(const struct mst_endpoint *endpoint) {
    int descriptors = entries("/proc/self/fd"), threads;
    uint64_t begin_ns;

    for (int i = 0; i < 300; i++) {
        if (port.resolve(port.context, 0, endpoint) != 0) {
            printf("resolved\n");
            return;
        }
        (void)usleep(1000);
    }
    threads = entries("/proc/self/task") - 2;
    begin_ns = port.now_ns(port.context);
    port.close(port.context, 0);
    printf("descriptors %d threads %d ms %d\n",
           entries("/proc/self/fd") - descriptors, threads,
           (int)((port.now_ns(port.context) - begin_ns) / 1000000));
}

static int token_at_hand(void *context, uint32_t key, char *text, size_t cap,
                         int64_t *until_s) {
    (void)context;
    (void)key;
    *until_s = time(NULL) + 3600;
    return snprintf(text, cap, "abc");
}

static void own_wait(size_t count) {
    struct pollfd fds[CLIENTS_MAX];
    size_t used = mst_posix_pollfds(&posix, objects, count, fds);
    uint32_t left = 60000;

    for (size_t i = 0; i < count; i++) {
        uint32_t its = mst_next_deadline_ms(objects[i]);

        left = its < left ? its : left;
    }
    (void)poll(fds, used, (int)left);
}

/* Until all are connected, or one has failed. */
static void connect_all(const struct mst_endpoint *endpoint, size_t count,
                        bool own) {
    static struct mst_memory memories[CLIENTS_MAX];
    char url[MST_HOST_MAX + 32];
    struct mst_config config = {
        .ws_url = url,
        .auth_url = "http://127.0.0.1",
        .client_id = "id",
        .client_secret = "secret",
        .flags = MST_ALLOW_PLAIN,
        .resolve_ms = 60000,
        .connect_ms = 60000,
    };
    struct mst_event event;
    unsigned waits = 0;
    size_t connected = 0;

    snprintf(url, sizeof url, "ws://%s:%u/", endpoint->host,
             (unsigned)endpoint->port);
    port.token_load = token_at_hand;
    for (size_t i = 0; i < count; i++) {
        memories[i] =
            (struct mst_memory){rooms[i], sizeof rooms[i], MST_LENGTHS_USUAL};
        config.link = (int)i;
        if (mst_client_init(&clients[i], &config, &port, &memories[i]) != 0) {
            return;
        }
        objects[i] = &clients[i].link;
    }
    while (connected < count) {
        int next = own || waits == 0 ? 0 : mst_posix_next(&posix);

        while (next >= 0 && next < (int)count) {
            if (mst_poll(&clients[next], &event) > 0) {
                printf("error %d detail %d\n", event.as.failure.error,
                       event.as.failure.detail);
                return;
            }
            next = own || waits == 0 ? next + 1 : mst_posix_next(&posix);
        }
        connected = 0;
        for (size_t i = 0; i < count; i++) {
            connected += mst_link_state(objects[i]) == MST_STATE_UPGRADE;
        }
        if (connected < count && own) {
            own_wait(count);
        } else if (connected < count) {
            mst_posix_wait(&posix, objects, count, 60000);
        }
        waits++;
    }
    print_address(&links[0].answer.addresses[links[0].address].any);
    printf("waits %u\n", waits);
}

int main(int argc, char **argv) {
    struct mst_endpoint endpoint = {.port = 80};

    if (argc < 5) {
        fprintf(stderr, "usage: run_names RESOLVER MODE HOST PORT [COUNT]\n");
        return 2;
    }
    snprintf(endpoint.host, sizeof endpoint.host, "%s", argv[3]);
    endpoint.port = (uint16_t)strtoul(argv[4], NULL, 10);
    if (mst_posix_init(&posix, links, CLIENTS_MAX, &port) != 0) {
        return EXIT_FAILURE;
    }
    if (strcmp(argv[1], "cares") == 0) {
        mst_cares_init(&posix);
    }
    if (strcmp(argv[2], "resolve") == 0) {
        do {
            resolve(&endpoint);
        } while (getchar() != EOF);
    } else if (strcmp(argv[2], "close") == 0) {
        resolve_and_close(&endpoint);
    } else if (argc == 6) {
        connect_all(&endpoint, strtoul(argv[5], NULL, 10),
                    strcmp(argv[2], "own") == 0);
    }
    mst_posix_free(&posix);
    memset(&posix, 0, sizeof posix); /* what it still had is lost, and seen */
    return EXIT_SUCCESS;
}
