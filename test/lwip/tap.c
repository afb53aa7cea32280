/*
 * The port conformance test for port/lwip on a TAP device, with lwIP's driver
 * for it: in one loop (NO_SYS=1), or with lwIP on its own threads. With
 * TAP_SOCKETS it tests port/sockets over lwIP's sockets.
 *
 *   tap HOST PEER_PORT CLOSED_PORT NOWHERE      see port/conform
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_conform_print.h"
#if TAP_SOCKETS
#include "mst_sockets.h"
#else
#include "mst_lwip.h"
#endif

#include <lwip/dns.h>
#include <lwip/init.h>
#include <lwip/tcpip.h>
#include <lwip/timeouts.h>
#include <netif/ethernet.h>
#include <netif/tapif.h>

#include <semaphore.h>
#include <sys/random.h>
#include <time.h>

#define LINKS 5
#define MUCH 100000u /* more than all buffers between the ends hold */
#define REST_MS 1

#if TAP_SOCKETS
static struct mst_sockets port;
static struct mst_sockets_link links[LINKS];

bool mst_sockets_unix(int64_t *s, int32_t *ns) {
    *s = time(NULL);
    *ns = 0;
    return true;
}

bool mst_sockets_entropy(void *data, size_t len) {
    return getrandom(data, len, 0) == (ssize_t)len;
}
#else
static struct mst_lwip port;
static struct mst_lwip_link links[LINKS];

static int unix_ns(int64_t *ns) {
    *ns = (int64_t)time(NULL) * 1000000000;
    return 0;
}

static int entropy(void *data, size_t len) {
    return getrandom(data, len, 0) == (ssize_t)len ? 0 : MST_ERR_ENTROPY;
}
#endif

static struct netif netif;

#if NO_SYS
/* Limits how long tapif_select() waits. */
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

#define BOARD unix_ns, entropy
#define WAIT_WOKEN NULL
#define INPUT ethernet_input
#define LOCK_TCPIP_CORE()
#define UNLOCK_TCPIP_CORE()
#else
static sem_t woken;

/* Races inside lwIP: it reads the state of its lock and the flags of its
 * sockets without the lock, and its driver reads frames while netif_set_up()
 * sets flags. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void) {
    return "race:sys_arch_protect\nrace:tapif_thread\nrace:netconn_";
}

static void wake(void) {
    sem_post(&woken);
}

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
    while (sem_trywait(&woken) == 0) {} /* earlier calls count once */
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

#define BOARD unix_ns, entropy, wake
#define WAIT_WOKEN (TAP_SOCKETS ? NULL : wait_woken)
#define INPUT tcpip_input
#endif

int main(int argc, char **argv) {
    struct mst_conform conform = {
        .links = LINKS, .much = MUCH, .wait = rest, .wait_woken = WAIT_WOKEN};
    ip4_addr_t address, mask, router;
    int status;

    if (argc != 5) {
        fprintf(stderr, "usage: tap HOST PEER_PORT CLOSED_PORT NOWHERE\n");
        return 2;
    }
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
#if TAP_SOCKETS
    if (mst_sockets_init(&port, links, LINKS, &conform.port) != 0) {
        return EXIT_FAILURE;
    }
#else
    mst_lwip_init(&port, &(struct mst_lwip_board){BOARD}, links, LINKS,
                  &conform.port);
#endif
    status = mst_conform_main(&conform, argv[1], argv[2], argv[3]);
#if TAP_SOCKETS
    mst_sockets_free(&port);
#endif
    return status;
}
