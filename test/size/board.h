/*
 * The board of the programs of `make size`: a port, functions to sleep and to
 * show data, settings. They are only declared: the programs are linked to see
 * what they need of the library.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef BOARD_H
#define BOARD_H

#include "mini_stream.h"

int board_resolve(void *context, int link, const struct mst_endpoint *endpoint);
int board_connect(void *context, int link, int address);
int board_send(void *context, int link, const void *data, size_t len);
int board_recv(void *context, int link, void *data, size_t len);
void board_close(void *context, int link);
uint32_t board_now_ms(void *context);
int board_unix_ns(void *context, int64_t *ns);
int board_entropy(void *context, void *data, size_t len);

#ifdef MST_NO_TLS
#define BOARD_FLAGS MST_PORT_SECURE
#define BOARD_TRUST
#else
#define BOARD_FLAGS 0
#define BOARD_ANCHORS 2
#define BOARD_TRUST , .anchors = board_anchors, .anchors_len = BOARD_ANCHORS
extern const br_x509_trust_anchor board_anchors[BOARD_ANCHORS];
#endif

static const struct mst_port board_port = {
    .flags = BOARD_FLAGS,
    .resolve = board_resolve,
    .connect = board_connect,
    .send = board_send,
    .recv = board_recv,
    .close = board_close,
    .now_ms = board_now_ms,
    .unix_ns = board_unix_ns,
    .entropy = board_entropy,
};

extern const char board_id[], board_secret[], board_market[];

/* Settings of all programs. */
#define BOARD_SETTINGS                                             \
    .auth_url = "https://exchange.example", .client_id = board_id, \
    .client_secret = board_secret BOARD_TRUST

/* Sleeps for up to ms, or until a link is ready for `wants`, bits of
 * mst_wants(). */
void board_sleep(uint32_t ms, unsigned wants);

void board_show_price(enum mst_side side, struct mst_decimal price,
                      struct mst_decimal amount);
void board_show_trade(struct mst_decimal price, struct mst_decimal amount,
                      int64_t time_ns);
void board_show_alive(int64_t time_ns);
void board_show_doubt(enum mst_book_state state, unsigned flags);
void board_show_error(int error, int detail, uint32_t retry_ms);
void board_show_record(const char *id, const char *status);

#endif
