/* lwIP on the board's Ethernet. SPDX-License-Identifier: 0BSD */
#include "network.h"

#include "board/board.h"
#include "print.h"

#include <lwip/apps/sntp.h>
#include <lwip/dhcp.h>
#include <lwip/dns.h>
#include <lwip/etharp.h>
#include <lwip/init.h>
#include <lwip/stats.h>
#include <lwip/timeouts.h>
#include <netif/ethernet.h>

#include <string.h>

#define PATIENCE_MS 10000u /* interval of reports that DHCP has not answered */

static struct netif netif;
static struct {
    bool there;
    uint32_t told_ms; /* when it was last reported missing */
} address;

static err_t send_frame(struct netif *to, struct pbuf *frame) {
    (void)to;
    board_send_begin(frame->tot_len);
    for (const struct pbuf *part = frame; part != NULL; part = part->next) {
        board_send_bytes(part->payload, part->len);
    }
    board_send_end();
    return ERR_OK;
}

static err_t begin_netif(struct netif *begun) {
    begun->name[0] = 'e';
    begun->name[1] = 'n';
    begun->output = etharp_output;
    begun->linkoutput = send_frame;
    begun->mtu = 1500;
    begun->hwaddr_len = sizeof board_mac;
    memcpy(begun->hwaddr, board_mac, sizeof board_mac);
    begun->flags =
        NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_LINK_UP;
    return ERR_OK;
}

/* Reads a frame into lwIP's buffers. Without room it is lost, as on any
 * network: TCP sends it again. */
static void receive_frame(size_t len) {
    struct pbuf *frame = pbuf_alloc(PBUF_RAW, (u16_t)len, PBUF_POOL);

    for (struct pbuf *part = frame; part != NULL; part = part->next) {
        board_receive_bytes(part->payload, part->len);
    }
    board_receive_end();
    if (frame != NULL && netif.input(frame, &netif) != ERR_OK) {
        pbuf_free(frame);
    }
}

static void print_address(const char *what, const ip_addr_t *shown) {
    char text[IP4ADDR_STRLEN_MAX];

    print_text(what);
    print_text(ip_addr_isany(shown) ? "none"
                                    : ipaddr_ntoa_r(shown, text, sizeof text));
}

/* Prints the result of DHCP, or that there is none. */
static void watch_address(void) {
    bool there = dhcp_supplied_address(&netif) != 0;

    if (there && !address.there) {
        print_begin();
        print_address("network: address ", &netif.ip_addr);
        print_address(", name server ", dns_getserver(0));
        print_address(", time server ", sntp_getserver(0));
        print_end();
        if (!sntp_enabled()) {
            sntp_init();
        }
    } else if (!there &&
               (address.there || board_ms() - address.told_ms >= PATIENCE_MS)) {
        print_line("network: no address from DHCP yet", "");
        address.told_ms = board_ms();
    }
    address.there = there;
}

void network_begin(void) {
    lwip_init();
    netif_add_noaddr(&netif, NULL, begin_netif, ethernet_input);
    netif_set_default(&netif);
    netif_set_up(&netif);
    sntp_setoperatingmode(SNTP_OPMODE_POLL);
    sntp_servermode_dhcp(1);
    dhcp_start(&netif);
}

void network_poll(void) {
    size_t len;

    while ((len = board_receive_begin()) > 0) {
        receive_frame(len);
    }
    sys_check_timeouts();
    watch_address();
}

uint32_t network_sleep_ms(void) {
    return sys_timeouts_sleeptime();
}

static void print_usage(const char *name, const struct stats_mem *stats) {
    print_pair(name, stats->used);
    print_text("/");
    print_number(stats->max);
    print_text("/");
    print_number(stats->err);
}

void network_report(void) {
    print_usage("heap", &lwip_stats.mem);
    print_usage("pbufs", lwip_stats.memp[MEMP_PBUF_POOL]);
    print_usage("segments", lwip_stats.memp[MEMP_TCP_SEG]);
    print_usage("pcbs", lwip_stats.memp[MEMP_TCP_PCB]);
}
