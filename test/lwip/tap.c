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

#define WAIT_WOKEN NULL
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

static void wait_woken(void *context) {
    struct timespec end;

    (void)context;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 60;
    sem_timedwait(&woken, &end);
    while (sem_trywait(&woken) == 0) {} /* those before it count once */
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

#define WAIT_WOKEN wait_woken
#define INPUT tcpip_input
#endif

int main(int argc, char **argv) {
    static struct mst_lwip lwip;
    struct mst_conform conform = {.links = LINKS,
                                  .much = MUCH,
                                  .wait = rest,
                                  .wait_woken = WAIT_WOKEN,
                                  .report = report};
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
    return mst_conform_run(&conform) != 0;
}
