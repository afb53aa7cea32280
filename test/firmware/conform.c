/*
 * The port conformance test on the board: port/lwip with the peer.py that the
 * settings page names, and the check of a flash driver. It uses the network
 * code of the images.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "board/board.h"
#include "mst_conform.h"
#include "mst_flash_check.h"
#include "mst_lwip.h"
#include "mst_semihosting.h"
#include "network.h"
#include "platform.h"
#include "print.h"

#include <lwip/dhcp.h>

#define LINKS MEMP_NUM_TCP_PCB /* as many as lwIP can have at once */

/* More than the port (TCP_SND_BUF), the peer's socket (32 KB) and all between
 * them hold. */
#define MUCH 100000u

#define LEAVE_MS 500
#define WRAPS_MS 3000 /* from the first case to the clock's wrap */

static struct mst_lwip lwip;
static struct mst_lwip_link links[LINKS];
static struct mst_conform conform;
static struct mst_flash_check flash;
static struct mst_semihosting file;
static int passed;

static void rest(void *context) {
    (void)context;
    network_poll();
    board_sleep(1);
}

static void report(void *context, const char *name, const char *why) {
    (void)context;
    passed += why == NULL;
    print_begin();
    print_text(why == NULL ? "ok   " : "FAIL ");
    print_text(name);
    print_text(why == NULL ? "" : ": ");
    print_text(why == NULL ? "" : why);
    print_end();
}

static void begin(void) {
    static const struct mst_lwip_board board = {platform_unix_ns,
                                                platform_entropy};

    board_init();
    conform = (struct mst_conform){
        .links = LINKS,
        .host = board_setting("peer"),
        .peer_port = (uint16_t)board_setting_number("peer_port"),
        .closed_port = (uint16_t)board_setting_number("closed_port"),
        .nowhere = board_setting("nowhere"),
        .much = MUCH,
        .wait = rest,
        .report = report,
    };
    print_line("mini_stream " MST_VERSION ", port conformance", "");
    if (conform.peer_port == 0 || conform.closed_port == 0) {
        print_line("settings: peer_port and closed_port are missing", "");
    }
    platform_begin();
    network_begin();
    mst_lwip_init(&lwip, &board, links, LINKS, &conform.port);
}

int main(void) {
    int64_t ns;
    int failed;

    begin();
    while (dhcp_supplied_address(netif_default) == 0 ||
           platform_unix_ns(&ns) != 0 || (int32_t)board_ms() < -WRAPS_MS) {
        rest(NULL);
    }
    failed = mst_conform_run(&conform);
    mst_semihosting_init(&file, "check.bin", 512, 0, &flash.driver);
    flash.report = report;
    failed += mst_flash_check_run(&flash);
    print_begin();
    print_number(passed);
    print_text(" passed, ");
    print_number(failed);
    print_text(" failed");
    print_end();
    /* The last connections finish closing. */
    for (int i = 0; i < LEAVE_MS; i++) {
        rest(NULL);
    }
    print_begin();
    print_text("report");
    print_pair("links", LINKS);
    network_report();
    print_pair("stack", (int64_t)board_stack_used());
    print_end();
    for (;;) {
        rest(NULL);
    }
}
