/*
 * Port for lwIP 2.1 without an operating system (NO_SYS, raw API).
 *
 * lwIP hands over what comes by callbacks; they only put it into the link, from
 * where the library takes it when it polls. The program calls both from one
 * loop: its driver and sys_check_timeouts() first, then the objects' polls.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef MST_LWIP_H
#define MST_LWIP_H

#include "mini_stream.h"

#include <lwip/ip_addr.h>
#include <lwip/pbuf.h>
#include <lwip/tcp.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A connection of an object. Members are private. */
struct mst_lwip_link {
    struct tcp_pcb *pcb;       /* NULL once it is closed, or has failed */
    struct pbuf *received;     /* what the library has not taken yet */
    const struct mst_endpoint *endpoint;
    ip_addr_t address;
    uint16_t taken; /* bytes of the first pbuf of received */
    uint8_t state;
    bool ended; /* the peer sends no more */
    int8_t error; /* lwIP's err_t */
};

/* What the board has and lwIP does not. */
struct mst_lwip_board {
    /* Wall clock, Unix ns: 0, or MST_ERR_CLOCK as long as it is not set. */
    int (*unix_ns)(int64_t *ns);
    /* Bytes fit for cryptography: 0, or MST_ERR_ENTROPY. */
    int (*entropy)(void *data, size_t len);
};

/* The port's context; it outlives the objects. Members are private. */
struct mst_lwip {
    const struct mst_lwip_board *board;
    struct mst_lwip_link *links;
    int count;
};

/* Prepares a port for objects with the link numbers 0 to count - 1 (mst_config.
 * link). All pointers are borrowed; *port is filled in. */
void mst_lwip_init(struct mst_lwip *lwip, const struct mst_lwip_board *board,
                   struct mst_lwip_link *links, int count,
                   struct mst_port *port);

#ifdef __cplusplus
}
#endif

#endif
