/*
 * The port conformance test for port/lwip on a TAP device, with lwIP's own
 * driver for that: in one loop (NO_SYS=1), or with lwIP on threads of its own.
 *
 *   tap HOST PEER_PORT CLOSED_PORT NOWHERE      see port/conform
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_conform.h"
#include "mst_lwip.h"

#include <lwip/dns.h>
#include <lwip/init.h>
#include <lwip/tcpip.h>
#include <lwip/timeouts.h>
#include <netif/ethernet.h>
#include <netif/tapif.h>

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define LINKS 5
#define MUCH 100000u /* more than all buffers on the way hold */
#define REST_MS 1

static struct mst_lwip_link links[LINKS];

static int unix_ns(int64_t *ns) {
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    *ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    return 0;
}

static int entropy(void *data, size_t len) {
    return getrandom(data, len, 0) == (ssize_t)len ? 0 : MST_ERR_ENTROPY;
}

static void report(void *context, const char *name, const char *why) {
    (void)context;
    printf("%s %s%s%s\n", why == NULL ? "ok  " : "FAIL", name,
           why == NULL ? "" : ": ", why == NULL ? "" : why);
}

#if NO_SYS
static const struct mst_lwip_board board = {unix_ns, entropy};
static struct netif netif;

/* tapif_select() waits for it at most. */
static void tick(void *context) {
    sys_timeout(REST_MS, tick, context);
}

static void rest(void *context) {
    (void)context;
    tapif_select(&netif);
    sys_check_timeouts();
}

static void begin(void) {
    lwip_init();
    tick(NULL);
}

static int waits(const struct mst_conform *conform) {
    (void)conform;
    return 0; /* there is nobody to wait for */
}
#define INPUT ethernet_input
#define LOCK_TCPIP_CORE()
#define UNLOCK_TCPIP_CORE()
#else
static sem_t woken;

/* lwIP's own: it reads without a lock whether it has the lock, and its driver
 * reads frames while netif_set_up() sets flags. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void) {
    return "race:sys_arch_protect\nrace:tapif_thread";
}

static void wake(void) {
    sem_post(&woken);
}

static const struct mst_lwip_board board = {unix_ns, entropy, wake};
static struct netif netif;

static void rest(void *context) {
    (void)context;
    nanosleep(&(struct timespec){.tv_nsec = REST_MS * 1000000}, NULL);
}

static void on_begun(void *context) {
    (void)context;
    wake();
}

static void begin(void) {
    sem_init(&woken, 0, 0);
    tcpip_init(on_begun, NULL);
    sem_wait(&woken);
}

/* Resolves and connects, and waits at every step until the port wakes it:
 * without end, if that does not. 1, or the port's error. */
static int open_link(const struct mst_conform *conform, uint16_t number) {
    const struct mst_port *port = &conform->port;
    struct mst_endpoint endpoint = {.port = number};
    int rc;

    strcpy(endpoint.host, conform->host);
    while ((rc = port->resolve(port->context, 0, &endpoint)) == 0) {
        sem_wait(&woken);
    }
    while (rc >= 0 && (rc = port->connect(port->context, 0, 0)) == 0) {
        (void)port->detail(port->context, 0); /* while lwIP may set it */
        sem_wait(&woken);
    }
    return rc;
}

/* A refusal, and bytes to a reader that waits before it reads. */
static int waits(const struct mst_conform *conform) {
    static const char request[] = "S\100\102\017"; /* 1,000,000 bytes */
    static const char zeros[10000];
    const struct mst_port *port = &conform->port;
    uint8_t sum[4] = {0};
    int rc, left = 1000000;

    if (open_link(conform, conform->closed_port) != MST_ERR_REFUSED) {
        report(NULL, "waits until it is woken", "not refused");
        return 1;
    }
    port->close(port->context, 0);
    rc = open_link(conform, conform->peer_port);
    rc = rc < 0 ? rc : port->send(port->context, 0, request, sizeof request);
    for (; left > 0 && rc >= 0; left -= rc) {
        rc = port->send(port->context, 0, zeros,
                        left < (int)sizeof zeros ? (size_t)left : sizeof zeros);
        if (rc == 0) {
            sem_wait(&woken);
        }
    }
    while (rc >= 0 &&
           (rc = port->recv(port->context, 0, sum, sizeof sum)) == 0) {
        sem_wait(&woken);
    }
    port->close(port->context, 0);
    rc = rc == sizeof sum && sum[0] == 1;
    report(NULL, "waits until it is woken", rc ? NULL : "another sum");
    return !rc;
}
#define INPUT tcpip_input
#endif

int main(int argc, char **argv) {
    static struct mst_lwip lwip;
    struct mst_conform conform = {
        .links = LINKS, .much = MUCH, .wait = rest, .report = report};
    ip4_addr_t address, mask, router;

    if (argc != 5) {
        fprintf(stderr, "usage: tap HOST PEER_PORT CLOSED_PORT NOWHERE\n");
        return 2;
    }
    conform.host = argv[1];
    conform.peer_port = (uint16_t)strtoul(argv[2], NULL, 10);
    conform.closed_port = (uint16_t)strtoul(argv[3], NULL, 10);
    conform.nowhere = argv[4];
    IP4_ADDR(&address, 10, 77, 0, 2);
    IP4_ADDR(&mask, 255, 255, 255, 0);
    IP4_ADDR(&router, 10, 77, 0, 1);
    begin();
    LOCK_TCPIP_CORE();
    netif_add(&netif, &address, &mask, &router, NULL, tapif_init, INPUT);
    netif_set_default(&netif);
    netif_set_up(&netif);
    dns_setserver(0, &router);
    UNLOCK_TCPIP_CORE();
    mst_lwip_init(&lwip, &board, links, LINKS, &conform.port);
    return waits(&conform) + mst_conform_run(&conform) != 0;
}
