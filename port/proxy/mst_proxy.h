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
 * Wait with the port below: mst_posix_wait() serves these objects like any.
 * mst_config.connect_ms includes connecting to the proxy and its response; see
 * answer_ms below.
 *
 * For protocols in which the client speaks first: data that arrives together
 * with the header of the response is taken for a page of the proxy, so there is
 * no tunnel. A page that arrives later is read as if the server had sent it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef MST_PROXY_H
#define MST_PROXY_H

#include "mini_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of "user:password". */
#ifndef MST_PROXY_LOGIN_MAX
#define MST_PROXY_LOGIN_MAX 190
#endif

/* A request contains the server's host and port twice, and the credentials. */
#define MST_PROXY_REQUEST_LEN \
    (128 + 2 * (MST_HOST_MAX + 8) + 4 * ((MST_PROXY_LOGIN_MAX + 2) / 3))

/* A connection of an object. Members are private. */
struct mst_proxy_link {
    const struct mst_endpoint *endpoint; /* of the server, borrowed */
    char request[MST_PROXY_REQUEST_LEN];
    uint16_t request_len, sent;
    uint16_t head_len;  /* bytes of responses so far, with interim ones */
    int16_t status;     /* of the current response, digit by digit */
    int address;        /* of the proxy, or -1 */
    uint32_t begin_ms;  /* when that address was first tried */
    uint8_t line_len;   /* bytes of the status line read so far */
    bool line_is_empty; /* the current line, so far */
    uint8_t state;
};

/* The port's context. It must outlive the objects. */
struct mst_proxy {
    /* Returns true if a server is reached without the proxy; called once per
     * attempt. NULL: never. May be set after mst_proxy_init(). */
    bool (*direct)(void *direct_context, const struct mst_endpoint *endpoint);
    void *direct_context;
    /* Time, in ms from the start of connect, for the proxy to answer; then
     * MST_ERR_PROXY_TIMEOUT. The default is 9,000; may be set after
     * mst_proxy_init(). It is checked when the object is polled, so if
     * connect_ms is not longer, MST_ERR_TIMEOUT comes first. */
    uint32_t answer_ms;
    /* For the program to read: the proxy; credentials in base64, or "". */
    struct mst_endpoint endpoint;
    char login[4 * ((MST_PROXY_LOGIN_MAX + 2) / 3) + 1];
    /* Private. */
    const struct mst_port *below;
    struct mst_proxy_link *links;
    size_t count;
};

/*
 * Initialises a port for objects with the link numbers 0 to count - 1. url is
 * http://[user:password@]host[:port]; the default port is 80. Special
 * characters in user and password are percent-encoded (RFC 3986). url is not
 * used after the call; *below, which must not be secure itself, and links are
 * borrowed. Returns 0, MST_ERR_ARGUMENT, or MST_ERR_URL if url is malformed or
 * too long.
 *
 * If the proxy refuses or fails, the error is an MST_ERR_PROXY_...; if it
 * cannot be reached, the error is the same as for a server. The proxy's
 * Retry-After is not used: a port has no way to report it.
 */
int mst_proxy_init(struct mst_proxy *proxy, const char *url,
                   const struct mst_port *below, struct mst_proxy_link *links,
                   size_t count, struct mst_port *port);

/* Wipes the credentials, in the links too. */
void mst_proxy_wipe(struct mst_proxy *proxy);

#ifdef __cplusplus
}
#endif

#endif
