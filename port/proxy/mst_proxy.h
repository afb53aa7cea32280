/*
 * Port that reaches its peer through an HTTP proxy, with any other port below
 * it: a tunnel (CONNECT; RFC 9110, section 9.3.6), with or without credentials
 * of the Basic scheme (RFC 7617). TLS goes through the tunnel, so the proxy
 * sees the host's name and encrypted bytes.
 *
 *     mst_posix_init(&posix, links, 1, &below);
 *     mst_proxy_init(&proxy, "http://user:secret@proxy:3128", &below,
 *                    proxied, 1, &port);
 *     mst_client_init(&client, &config, &port, &memory);
 *
 * Waiting is the other port's: mst_posix_wait() serves these objects as any.
 * mst_config.connect_ms covers both to reach the proxy and its answer; see
 * answer_ms below.
 *
 * For peers that wait to be spoken to: what is there with the head of an answer
 * is taken for a page, which is no tunnel. A page that comes later is not
 * recognised; it is what the server seems to say.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef MST_PROXY_H
#define MST_PROXY_H

#include "mini_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of user name and password, with a colon between them. */
#ifndef MST_PROXY_LOGIN_MAX
#define MST_PROXY_LOGIN_MAX 190
#endif

/* A request has the server's name and port twice, and the credentials. */
#define MST_PROXY_REQUEST_LEN \
    (128 + 2 * (MST_HOST_MAX + 8) + 4 * ((MST_PROXY_LOGIN_MAX + 2) / 3))

/* A connection of an object. Members are private. */
struct mst_proxy_link {
    const struct mst_endpoint *endpoint; /* of the server, borrowed */
    char request[MST_PROXY_REQUEST_LEN];
    uint16_t request_len, sent;
    uint16_t head_len;  /* bytes of the answer so far, with interim ones */
    int16_t status;     /* of it, digit by digit */
    int address;        /* of the proxy, or -1 */
    uint32_t begin_ms;  /* when that address was begun with */
    uint8_t line_len;   /* how much of the status line was read */
    bool line_is_empty; /* so far, the line that is read */
    uint8_t state;
};

/* The port's context; it outlives the objects. */
struct mst_proxy {
    /* Whether a server is reached without the proxy, asked once in an attempt,
     * or NULL: none is. May be set after mst_proxy_init(). */
    bool (*direct)(void *direct_context, const struct mst_endpoint *endpoint);
    void *direct_context;
    /* ms, from the begin of connect, in which a proxy that is reached must have
     * answered, or it is MST_ERR_PROXY_TIMEOUT. 9,000; may be set after
     * mst_proxy_init(). It is noticed in the next poll, and connect_ms brings
     * one: where that is not longer, MST_ERR_TIMEOUT comes first. */
    uint32_t answer_ms;
    /* To be read: where the proxy is; the credentials in base64, or empty. */
    struct mst_endpoint endpoint;
    char login[4 * ((MST_PROXY_LOGIN_MAX + 2) / 3) + 1];
    /* Private. */
    const struct mst_port *below;
    struct mst_proxy_link *links;
    size_t count;
};

/*
 * Prepares a port for objects with the link numbers 0 to count - 1. url is
 * http://[user:password@]host[:port], port 80 without one; what of user and
 * password is special in a URL is percent-encoded (RFC 3986). It is read once;
 * *below, which must not be secure itself, and links are borrowed. Returns 0,
 * MST_ERR_ARGUMENT, or MST_ERR_URL for what is no such URL or too long.
 *
 * A failure through the proxy is one of MST_ERR_PROXY_LOGIN and its like, or,
 * of a proxy that cannot be reached itself, what it would be of a server. When a
 * proxy would like to be asked again (Retry-After) is not read: a port cannot say.
 */
int mst_proxy_init(struct mst_proxy *proxy, const char *url,
                   const struct mst_port *below, struct mst_proxy_link *links,
                   size_t count, struct mst_port *port);

/* Wipes the credentials, also where a link holds them. */
void mst_proxy_wipe(struct mst_proxy *proxy);

#ifdef __cplusplus
}
#endif

#endif
