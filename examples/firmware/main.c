/*
 * Firmware for a microcontroller with 64 KB of RAM: streams order books and
 * executions and, on request, puts an address. It has no operating system, only
 * a loop that polls, and sleeps while there is nothing to do.
 *
 * Keys on the UART: b prints the books, r a report, p puts the address, h
 * hangs.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "address.h"
#include "board/board.h"
#include "image.h"
#include "mst_lwip.h"
#include "network.h"
#include "platform.h"
#include "print.h"
#include "show.h"
#include "stream.h"

#define REPORT_MS 5000u
#define WATCHDOG_MS 60000u /* enough for handshakes on the slowest processor */

/* In anchors.c, which the build makes from a PEM file. */
extern const br_x509_trust_anchor firmware_anchors[];
extern const size_t firmware_anchors_len;

/* Only one of them has a connection at a time, so both share memory. */
static union {
    struct mst_client client;
    struct mst_transfer transfer;
} object;
static enum { NOTHING, STREAMS, PUTS } use;
MST_MEMORY(memory, IMAGE_LENGTHS);

static struct mst_lwip lwip;
static struct mst_lwip_link links[1];
static struct mst_port port;
static struct mst_config config;

static uint64_t longest; /* turn of the main loop, us */

/* ---- The report ---- */

static void print_used(const char *name, size_t most, size_t size) {
    print_pair(name, (int64_t)most);
    print_text("/");
    print_number((int64_t)size);
}

static void report(void) {
    const struct mst_stats *stats = mst_link_stats(&object.client.link);

    print_begin();
    print_text("report");
    print_pair("messages", (int64_t)stats->messages);
    print_pair("bytes", (int64_t)stats->bytes_in);
    print_pair("bad", stats->bad_messages);
    print_pair("failures", stats->failures);
    print_pair("tokens", stats->tokens);
    print_pair("resumed", stats->resumed);
    stream_report();
    print_pair("longest_turn", (int64_t)longest);
    print_pair("sleeps", board_sleeps());
    print_used("stack", board_stack_used(), board_stack_size());
    network_report();
    print_end();
}

static void report_if_due(void) {
    static uint32_t last_ms;

    if (board_ms() - last_ms >= REPORT_MS) {
        last_ms += REPORT_MS;
        report();
    }
}

/* ---- The link ---- */

static void begin_stream(void) {
    int rc = stream_begin(&object.client, &config, &port, &memory);

    use = rc == 0 ? STREAMS : NOTHING; /* until the settings are corrected */
    if (rc != 0) {
        print_begin();
        print_text("settings: ");
        show_error(rc);
        print_end();
    }
}

/* Polls the object that uses the memory. When it ends, starts the other. */
static void poll_object(void) {
    if (use == STREAMS && !stream_poll()) {
#if IMAGE_PUTS
        use = PUTS;
        address_begin(&object.transfer, &config, &port, &memory);
    } else if (use == PUTS && !address_poll()) {
        begin_stream();
#endif
    }
}

static void take_key(char key) {
    if (key == 'b') {
        stream_show_levels();
    } else if (key == 'r') {
        report();
    } else if (key == 'p' && IMAGE_PUTS && use == STREAMS) {
        mst_close(&object.client);
    } else if (key == 'h') {
        for (;;) {} /* until the watchdog restarts the board */
    }
}

static void begin(void) {
    static const struct mst_lwip_board board = {platform_unix_ns,
                                                platform_entropy};

    uint32_t watchdog_ms;

    board_init();
    watchdog_ms = board_setting_number("watchdog_ms");
    board_watchdog_begin(watchdog_ms == 0 ? WATCHDOG_MS : watchdog_ms);
    print_line("mini_stream " MST_VERSION ", image " IMAGE_NAME, "");
    print_line("limits lowered: ", IMAGE_LIMITS);
    platform_begin();
    network_begin();
    mst_lwip_init(&lwip, &board, links, 1, &port);
    platform_keep_tokens(&port);
    config = (struct mst_config){
        .ws_url = board_setting("ws_url"),
        .auth_url = board_setting("auth_url"),
        .base_url = board_setting("base_url"),
        .client_id = board_setting("client_id"),
        .client_secret = board_setting("client_secret"),
        .anchors = firmware_anchors,
        .anchors_len = firmware_anchors_len,
        .backoff_slow_ms = board_setting_number("backoff_slow_ms"),
        .trace = show_trace,
    };
    begin_stream();
}

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

int main(void) {
    begin();
    for (;;) {
        uint64_t turn = board_us();
        char key;

        board_watchdog();
        network_poll();
        poll_object();
        while ((key = board_key()) != '\0') {
            take_key(key);
        }
        report_if_due();
        turn = board_us() - turn;
        longest = turn > longest ? turn : longest;
        /* Both objects begin with their link. */
        board_sleep(least(use == NOTHING
                              ? REPORT_MS
                              : mst_next_deadline_ms(&object.client.link),
                          network_sleep_ms()));
    }
}
