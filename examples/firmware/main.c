/*
 * Firmware: streams two books and executions, and puts one address.
 * SPDX-License-Identifier: 0BSD
 */
#include "board/board.h"
#include "mini_stream.h"
#include "mst_lwip.h"

#include <lwip/apps/sntp.h>
#include <lwip/dhcp.h>
#include <lwip/etharp.h>
#include <lwip/init.h>
#include <lwip/timeouts.h>
#include <netif/ethernet.h>

#include <string.h>

extern const br_x509_trust_anchor firmware_anchors[];
extern const size_t firmware_anchors_len;

#ifndef FIRMWARE_LEVELS
#define FIRMWARE_LEVELS 50
#endif
#ifndef FIRMWARE_LENGTHS
#define FIRMWARE_LENGTHS MST_LENGTHS_SMALL
#endif

static struct mst_client client;
MST_MEMORY(memory, FIRMWARE_LENGTHS);
static struct {
    struct mst_book book;
    struct mst_level levels[2 * FIRMWARE_LEVELS];
} books[2];

static struct mst_lwip lwip;
static struct mst_lwip_link links[1];
static struct mst_port port;
static struct netif netif;
static br_hmac_drbg_context random;
static bool seeded;
static struct {
    int64_t ns;
    uint32_t at_ms;
    bool set;
} wall;

/* ---- text ---- */

static void print_number(uint64_t n) {
    char text[21];
    char *at = text + sizeof text - 1;

    *at = '\0';
    do {
        *--at = (char)('0' + n % 10);
        n /= 10;
    } while (n != 0);
    board_print(at);
}

static void print_pair(const char *name, uint64_t n) {
    board_print(" ");
    board_print(name);
    board_print("=");
    print_number(n);
}

/* ---- what lwIP and the port ask for ---- */

uint32_t sys_now(void) {
    return board_ms();
}

uint32_t firmware_random(void) {
    uint32_t n = board_ms();

    if (seeded) {
        br_hmac_drbg_generate(&random, &n, sizeof n);
    }
    return n;
}

void firmware_set_clock(uint32_t unix_s, uint32_t us) {
    wall.ns = (int64_t)unix_s * 1000000000 + (int64_t)us * 1000;
    wall.at_ms = board_ms();
    wall.set = true;
}

static int unix_ns(int64_t *ns) {
    if (!wall.set) {
        return MST_ERR_CLOCK;
    }
    *ns = wall.ns + (int64_t)(board_ms() - wall.at_ms) * 1000000;
    return 0;
}

static int entropy(void *data, size_t len) {
    if (!seeded) {
        return MST_ERR_ENTROPY;
    }
    br_hmac_drbg_generate(&random, data, len);
    return 0;
}

/* ---- network ---- */

static err_t netif_send(struct netif *n, struct pbuf *frame) {
    (void)n;
    board_send_begin(frame->tot_len);
    for (const struct pbuf *p = frame; p != NULL; p = p->next) {
        board_send_bytes(p->payload, p->len);
    }
    board_send_end();
    return ERR_OK;
}

static err_t netif_begin(struct netif *n) {
    n->name[0] = 'e';
    n->name[1] = 'n';
    n->output = etharp_output;
    n->linkoutput = netif_send;
    n->mtu = 1500;
    n->hwaddr_len = sizeof board_mac;
    memcpy(n->hwaddr, board_mac, sizeof board_mac);
    n->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_LINK_UP;
    return ERR_OK;
}

/* Hands frames that have come to lwIP. One for which it has no memory is lost:
 * TCP asks for it again. */
static void netif_poll(void) {
    static uint8_t frame[1514];
    int len;

    while ((len = board_receive(frame, sizeof frame)) != 0) {
        struct pbuf *p =
            len > 0 ? pbuf_alloc(PBUF_RAW, (u16_t)len, PBUF_POOL) : NULL;
        if (p != NULL) {
            pbuf_take(p, frame, (u16_t)len);
            if (netif.input(p, &netif) != ERR_OK) {
                pbuf_free(p);
            }
        }
    }
}

/* ---- the program ---- */

static void print_event(const struct mst_event *event) {
    switch (event->type) {
    case MST_EVENT_OPEN: board_print("open\n"); break;
    case MST_EVENT_CLOSED:
        board_print("closed: ");
        board_print(mst_strerror(event->as.failure.error));
        print_pair("detail", (uint64_t)(int64_t)event->as.failure.detail);
        board_print("\n");
        break;
    case MST_EVENT_ENTRY:
        board_print("entry ");
        board_print(event->as.entry.channel_name);
        board_print(event->as.entry.success ? " ok\n" : " refused\n");
        break;
    default: break;
    }
}

static void report(void) {
    const struct mst_stats *stats = mst_link_stats(&client.link);

    board_print("stats");
    print_pair("messages", stats->messages);
    print_pair("bytes", stats->bytes_in);
    print_pair("resumed", stats->resumed);
    print_pair("sleeps", board_sleeps());
    print_pair("stack", board_stack_used());
    print_pair("of", board_stack_size());
    print_pair("heap", lwip_stats.mem.max);
    print_pair("pbufs", lwip_stats.memp[MEMP_PBUF_POOL]->max);
    print_pair("depth", mst_book_depth(&books[0].book, MST_BID));
    board_print("\n");
}

int main(void) {
    static const struct mst_lwip_board board = {unix_ns, entropy};
    struct mst_config config = {
        .anchors = firmware_anchors,
        .anchors_len = firmware_anchors_len,
    };
    uint32_t next_report = 5000;
    int rc;

    board_init();
    board_print("mini_stream " MST_VERSION "\n");
    if (board_seed() != NULL) {
        br_hmac_drbg_init(&random, &br_sha256_vtable, board_seed(),
                          BOARD_SEED_LEN);
        seeded = true;
    }
    lwip_init();
    netif_add(&netif, NULL, NULL, NULL, NULL, netif_begin, ethernet_input);
    netif_set_default(&netif);
    netif_set_up(&netif);
    sntp_servermode_dhcp(1);
    dhcp_start(&netif);
    sntp_setoperatingmode(SNTP_OPMODE_POLL);

    config.ws_url = board_setting("ws_url");
    config.auth_url = board_setting("auth_url");
    config.client_id = board_setting("client_id");
    config.client_secret = board_setting("client_secret");
    mst_lwip_init(&lwip, &board, links, 1, &port);
    rc = mst_client_init(&client, &config, &port, &memory);
    for (unsigned i = 0; i < 2 && rc == 0; i++) {
        mst_book_init(&books[i].book, books[i].levels, FIRMWARE_LEVELS);
        rc = mst_subscribe(&client, MST_MARKET_DATA,
                           i == 0 ? "BTCUSD" : "ETHUSD", &books[i].book);
    }
    rc = rc != 0 ? rc
                 : mst_subscribe(&client, MST_EXECUTION_DATA, "BTCUSD", NULL);
    board_print(mst_strerror(rc));
    board_print("\n");
    while (rc >= 0) {
        struct mst_event event;
        uint32_t wait, stack_wait;

        netif_poll();
        sys_check_timeouts();
        if (!sntp_enabled() && dhcp_supplied_address(&netif)) {
            sntp_init();
        }
        while ((rc = mst_poll(&client, &event)) == 1) {
            print_event(&event);
        }
        if ((int32_t)(board_ms() - next_report) >= 0) {
            next_report += 5000;
            report();
        }
        wait = mst_next_deadline_ms(&client.link);
        stack_wait = sys_timeouts_sleeptime();
        wait = wait < stack_wait ? wait : stack_wait;
        board_sleep(wait);
    }
    board_print("closed\n");
    for (;;) {
        board_sleep(1000);
    }
}
