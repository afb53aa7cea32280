/*
 * The POSIX port with untrusted name servers, for e2e_names.py: run_names
 * RESOLVER MODE HOST PORT [COUNT]. RESOLVER is "cares" or "threads".
 *
 *   resolve   prints the addresses in order, or the error and its detail, and
 *             again for each byte of standard input
 *   close     closes the link while the name resolves; prints the numbers of
 *             descriptors and threads left, and the duration of close() in ms
 *   wait      COUNT clients connect and wait by mst_posix_wait()
 *   own       the same with mst_posix_pollfds() and its own loop; both print
 *             the first client's address and the number of waits
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_cares.h"
#include "real.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct mst_posix_link links[REAL_CLIENTS_MAX];
static struct mst_posix posix;
static struct mst_port port;

static void print_address(const union mst_posix_address *address) {
    char text[64];

    getnameinfo(&address->any, sizeof *address, text, sizeof text, NULL, 0,
                NI_NUMERICHOST);
    printf("%s ", text);
}

static void resolve(const struct mst_endpoint *endpoint) {
    int rc;

    while ((rc = port.resolve(port.context, 0, endpoint)) == 0) {
        (void)usleep(1000);
    }
    for (int i = 0; i < rc; i++) {
        print_address(&links[0].answer.addresses[i]);
    }
    if (rc < 0) {
        printf("error %d detail %d", rc, port.detail(port.context, 0));
    }
    printf("\n");
    (void)fflush(stdout);
}

static void resolve_and_close(const struct mst_endpoint *endpoint) {
    int descriptors = real_descriptors(), threads;
    uint64_t begin_ns;

    /* Until a descriptor shows that the name server was asked. */
    for (int i = 0; i < 60000 && real_descriptors() == descriptors; i++) {
        if (port.resolve(port.context, 0, endpoint) != 0) {
            printf("resolved\n");
            return;
        }
        (void)usleep(1000);
    }
    threads = real_entries("/proc/self/task") - 2;
    begin_ns = port.now_ns(port.context);
    port.close(port.context, 0);
    printf("descriptors %d threads %d ms %d\n",
           real_descriptors() - descriptors, threads,
           (int)((port.now_ns(port.context) - begin_ns) / 1000000));
}

/* Runs until all are connected or one has failed. */
static void connect_all(const struct mst_endpoint *endpoint, size_t count,
                        bool own_loop) {
    static struct real_clients clients;
    struct mst_event event;
    int waits;

    if (count > REAL_CLIENTS_MAX ||
        real_clients_begin(&clients, &posix, &port, endpoint->host,
                           endpoint->port, count) != 0) {
        return;
    }
    waits = real_clients_connect(&clients, own_loop, UINT32_MAX, &event);
    if (waits >= 0) {
        print_address(&links[0].answer.addresses[links[0].address]);
        printf("waits %d\n", waits);
    } else if (event.type != MST_EVENT_NONE) {
        printf("error %d detail %d\n", event.as.failure.error,
               event.as.failure.detail);
    }
}

int main(int argc, char **argv) {
    struct mst_endpoint endpoint = {.port = 80};

    if (argc < 5) {
        fprintf(stderr, "usage: run_names RESOLVER MODE HOST PORT [COUNT]\n");
        return 2;
    }
    snprintf(endpoint.host, sizeof endpoint.host, "%s", argv[3]);
    endpoint.port = (uint16_t)strtoul(argv[4], NULL, 10);
    if (mst_posix_init(&posix, links, REAL_CLIENTS_MAX, &port) != 0) {
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
    memset(&posix, 0, sizeof posix); /* so leaks are reported */
    return EXIT_SUCCESS;
}
