/*
 * Port for lwIP, with and without threads. SPDX-License-Identifier: 0BSD
 */
#include "mst_lwip.h"

#include <lwip/dns.h>
#include <lwip/sys.h>
#include <lwip/tcpip.h>

#include <string.h>

#if NO_SYS
#define LOCK_TCPIP_CORE()
#define UNLOCK_TCPIP_CORE()
#define WAKE(link) ((void)(link))
#elif !LWIP_TCPIP_CORE_LOCKING
#error "mst_lwip.c calls lwIP from the program's thread, under lwIP's lock: \
set LWIP_TCPIP_CORE_LOCKING to 1 in lwipopts.h"
#else
#define WAKE(link) link_wake(link)
#endif

enum link_state {
    LINK_OFF,
    LINK_RESOLVING,
    LINK_RESOLVED,
    LINK_UNKNOWN, /* the name has no address */
    LINK_CONNECTING,
    LINK_CONNECTED
};

static struct mst_lwip_link *link_of(void *context, int link) {
    const struct mst_lwip *lwip = context;

    return link >= 0 && link < lwip->count ? &lwip->links[link] : NULL;
}

/* lwIP's error as an mst_error. */
static int link_error(err_t error) {
    switch (error) {
    case ERR_OK: return 0;
    case ERR_RST: return MST_ERR_RESET;
    case ERR_ABRT: /* after all of TCP's attempts */
    case ERR_RTE: return MST_ERR_UNREACHABLE;
    case ERR_CLSD: return MST_ERR_EOF;
    default: return MST_ERR_PORT;
    }
}

/* ---- What lwIP calls, under its lock ---- */

#if !NO_SYS
static void link_wake(const struct mst_lwip_link *link) {
    if (link->board->wake != NULL) {
        link->board->wake();
    }
}

/* There is space for sends again. */
static err_t on_sent(void *context, struct tcp_pcb *pcb, u16_t len) {
    (void)pcb;
    (void)len;
    WAKE(context);
    return ERR_OK;
}
#endif

/* An answer may be late: the link may no longer ask for this name. */
static void on_address(const char *name, const ip_addr_t *address,
                       void *context) {
    struct mst_lwip_link *link = context;

    if (link->state != LINK_RESOLVING ||
        strcmp(name, link->endpoint->host) != 0) {
        return;
    }
    link->state = address != NULL ? LINK_RESOLVED : LINK_UNKNOWN;
    if (address != NULL) {
        link->address = *address;
    }
    WAKE(link);
}

static err_t on_connected(void *context, struct tcp_pcb *pcb, err_t error) {
    struct mst_lwip_link *link = context;

    (void)pcb;
    (void)error; /* lwIP never gives one here */
    link->state = LINK_CONNECTED;
    WAKE(link);
    return ERR_OK;
}

/* The window opens again only when the library reads the data. */
static err_t on_received(void *context, struct tcp_pcb *pcb, struct pbuf *data,
                         err_t error) {
    struct mst_lwip_link *link = context;

    (void)pcb;
    (void)error;
    if (data == NULL) {
        link->ended = true;
    } else if (link->received == NULL) {
        link->received = data;
    } else {
        pbuf_cat(link->received, data);
    }
    WAKE(link);
    return ERR_OK;
}

/* lwIP has freed the connection. Received data can still be read. */
static void on_error(void *context, err_t error) {
    struct mst_lwip_link *link = context;

    link->pcb = NULL;
    link->error = error;
    WAKE(link);
}

/* ---- What the library calls, under the lock ---- */

static int locked_resolve(void *context, int number,
                          const struct mst_endpoint *endpoint) {
    struct mst_lwip_link *link = link_of(context, number);
    err_t error;

    if (link == NULL) {
        return MST_ERR_ARGUMENT;
    }
    if (link->state == LINK_OFF) {
#if !NO_SYS
        link->board = ((const struct mst_lwip *)context)->board;
#endif
        link->endpoint = endpoint;
        link->state = LINK_RESOLVING;
        error =
            dns_gethostbyname(endpoint->host, &link->address, on_address, link);
        if (error == ERR_OK) {
            link->state = LINK_RESOLVED;
        } else if (error != ERR_INPROGRESS) {
            /* lwIP's table is full for now: the library asks again, until its
             * deadline. */
            link->state = error == ERR_MEM ? LINK_OFF : LINK_UNKNOWN;
        }
    }
    return link->state == LINK_UNKNOWN    ? MST_ERR_RESOLVE
           : link->state == LINK_RESOLVED ? 1
                                          : 0;
}

static int locked_connect(void *context, int number, int address) {
    struct mst_lwip_link *link = link_of(context, number);

    (void)address; /* lwIP gives one for each name */
    if (link->state == LINK_RESOLVED) {
        link->pcb = tcp_new_ip_type(IP_GET_TYPE(&link->address));
        if (link->pcb == NULL) {
            return 0; /* closed connections occupy their entries for a while */
        }
        tcp_arg(link->pcb, link);
        tcp_recv(link->pcb, on_received);
        tcp_err(link->pcb, on_error);
#if !NO_SYS
        tcp_sent(link->pcb, on_sent);
#endif
        tcp_nagle_disable(link->pcb);
        link->error = tcp_connect(link->pcb, &link->address,
                                  link->endpoint->port, on_connected);
        link->state = LINK_CONNECTING;
    }
    if (link->error == ERR_RST) {
        return MST_ERR_REFUSED; /* nobody listens */
    }
    return link->error != ERR_OK           ? link_error(link->error)
           : link->state == LINK_CONNECTED ? 1
                                           : 0;
}

/* The peer's end is not an error for send. */
static int send_error(err_t error) {
    return error == ERR_CLSD ? MST_ERR_RESET : link_error(error);
}

static int locked_send(void *context, int number, const void *data,
                       size_t len) {
    struct mst_lwip_link *link = link_of(context, number);
    size_t room;
    err_t error;

    if (link->pcb == NULL) {
        return send_error(link->error);
    }
    room = tcp_sndbuf(link->pcb);
    len = len < room ? len : room;
    error = len > 0
                ? tcp_write(link->pcb, data, (u16_t)len, TCP_WRITE_FLAG_COPY)
                : ERR_MEM;
    if (error == ERR_MEM) {
        len = 0; /* until the peer has acknowledged some */
    } else if (error != ERR_OK) {
        link->error = error;
        return send_error(error);
    }
    (void)tcp_output(link->pcb); /* if it fails now, lwIP tries again */
    return (int)len;
}

/* Frees bytes at the beginning of the received data. */
static void link_release(struct mst_lwip_link *link, size_t len) {
    link->taken = (uint16_t)(link->taken + len);
    while (link->received != NULL && link->taken >= link->received->len) {
        struct pbuf *first = link->received;

        link->taken = (uint16_t)(link->taken - first->len);
        link->received = first->next;
        if (first->next != NULL) {
            pbuf_ref(first->next);
        }
        pbuf_free(first);
    }
}

static int locked_recv(void *context, int number, void *data, size_t len) {
    struct mst_lwip_link *link = link_of(context, number);
    u16_t most = (u16_t)(len < INT16_MAX ? len : INT16_MAX), n = 0;

    if (link->received != NULL) {
        n = pbuf_copy_partial(link->received, data, most, link->taken);
        link_release(link, n);
        if (link->pcb != NULL) {
            tcp_recved(link->pcb, n);
        }
        return n;
    }
    return link->ended ? MST_ERR_EOF : link_error(link->error);
}

/* Hands the connection back to lwIP, which sends what it has taken and then the
 * end. With unread data it would reset instead, so the data is marked as read.
 * lwIP may reuse the memory of a connection that takes too long to end. */
static void link_leave(struct mst_lwip_link *link) {
    struct tcp_pcb *pcb = link->pcb;

    tcp_arg(pcb, NULL);
    tcp_recv(pcb, NULL);
    tcp_err(pcb, NULL);
#if !NO_SYS
    tcp_sent(pcb, NULL);
#endif
    if (link->received != NULL) {
        tcp_recved(pcb, (u16_t)(link->received->tot_len - link->taken));
    }
    tcp_setprio(pcb, TCP_PRIO_MIN);
    if (link->state == LINK_CONNECTING || tcp_close(pcb) != ERR_OK) {
        tcp_abort(pcb);
    }
}

static void locked_close(void *context, int number) {
    struct mst_lwip_link *link = link_of(context, number);

    if (link == NULL) {
        return;
    }
    if (link->pcb != NULL) {
        link_leave(link);
    }
    if (link->received != NULL) {
        pbuf_free(link->received);
    }
    memset(link, 0, sizeof *link);
}

static int locked_detail(void *context, int number) {
    const struct mst_lwip_link *link = link_of(context, number);

    return link != NULL ? link->error : 0;
}

/* ---- What the library calls ---- */

static int port_resolve(void *context, int link,
                        const struct mst_endpoint *endpoint) {
    int rc;

    LOCK_TCPIP_CORE();
    rc = locked_resolve(context, link, endpoint);
    UNLOCK_TCPIP_CORE();
    return rc;
}

static int port_connect(void *context, int link, int address) {
    int rc;

    LOCK_TCPIP_CORE();
    rc = locked_connect(context, link, address);
    UNLOCK_TCPIP_CORE();
    return rc;
}

static int port_send(void *context, int link, const void *data, size_t len) {
    int rc;

    LOCK_TCPIP_CORE();
    rc = locked_send(context, link, data, len);
    UNLOCK_TCPIP_CORE();
    return rc;
}

static int port_recv(void *context, int link, void *data, size_t len) {
    int rc;

    LOCK_TCPIP_CORE();
    rc = locked_recv(context, link, data, len);
    UNLOCK_TCPIP_CORE();
    return rc;
}

static void port_close(void *context, int link) {
    LOCK_TCPIP_CORE();
    locked_close(context, link);
    UNLOCK_TCPIP_CORE();
}

static int port_detail(void *context, int link) {
    int rc;

    LOCK_TCPIP_CORE();
    rc = locked_detail(context, link);
    UNLOCK_TCPIP_CORE();
    return rc;
}

static uint32_t port_now_ms(void *context) {
    (void)context;
    return sys_now();
}

static int port_unix_ns(void *context, int64_t *ns) {
    const struct mst_lwip *lwip = context;

    return lwip->board->unix_ns(ns);
}

static int port_entropy(void *context, void *data, size_t len) {
    const struct mst_lwip *lwip = context;

    return lwip->board->entropy(data, len);
}

void mst_lwip_init(struct mst_lwip *lwip, const struct mst_lwip_board *board,
                   struct mst_lwip_link *links, int count,
                   struct mst_port *port) {
    memset(links, 0, (size_t)count * sizeof *links);
    *lwip = (struct mst_lwip){board, links, count};
    *port = (struct mst_port){
        .context = lwip,
        .resolve = port_resolve,
        .connect = port_connect,
        .send = port_send,
        .recv = port_recv,
        .close = port_close,
        .now_ms = port_now_ms,
        .unix_ns = port_unix_ns,
        .entropy = port_entropy,
        .detail = port_detail,
    };
}
