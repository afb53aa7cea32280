/*
 * See mst_proxy.h. Before connect returns 1, a link asks the proxy for a
 * tunnel; the port below does everything else.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_proxy.h"

#include <string.h>

#define HEAD_MAX 8192 /* bytes of a response up to its last empty line */

/* The start of a response: 0 is any digit, the last three are the status. */
static const char status_line[] = "HTTP/1.0 000";
#define STATUS_END (sizeof status_line - 1)

enum {
    LINK_CLOSED,
    LINK_DIRECT,   /* no proxy for this server */
    LINK_CONNECTS, /* the port below resolves, or connects to the proxy */
    LINK_ASKS,     /* a request to the proxy is under way */
    LINK_TUNNEL,   /* the proxy opened a tunnel */
    LINK_REFUSED,  /* the proxy refused */
    LINK_FAILED,   /* the connection to the proxy failed */
    LINK_RESOLVES  /* the port below resolves again, for another address */
};

static struct mst_proxy_link *link_of(const struct mst_proxy *proxy, int link) {
    return link >= 0 && (size_t)link < proxy->count ? &proxy->links[link]
                                                    : NULL;
}

/* ------------------------------------------------------------------------
 * Text
 * ------------------------------------------------------------------------ */

/* Appends to a text, which has enough room (MST_PROXY_REQUEST_LEN). */
static size_t append(char *text, size_t at, const char *more) {
    const size_t len = strlen(more);

    memcpy(text + at, more, len);
    return at + len;
}

/* Wipes a secret in a way that the compiler cannot remove. */
static void wipe(void *secret, size_t len) {
    volatile char *at = secret;

    while (len-- > 0) {
        *at++ = '\0';
    }
}

/* Writes base64 (RFC 4648, section 4) and a NUL. */
static void write_base64(char *to, const char *from, size_t len) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopq"
                                 "rstuvwxyz0123456789+/";
    unsigned bits = 0, count = 0;
    size_t written = 0;

    for (size_t i = 0; i < len; i++) {
        bits = bits << 8 | (unsigned char)from[i];
        for (count += 8; count >= 6; count -= 6) {
            to[written++] = digits[bits >> (count - 6) & 63u];
        }
    }
    if (count > 0) {
        to[written++] = digits[bits << (6 - count) & 63u];
    }
    while (written % 4 != 0) {
        to[written++] = '=';
    }
    to[written] = '\0';
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Converts "user:password" of a URL to base64. A user name cannot contain a
 * colon, even percent-encoded: the server would take it for the end of the
 * name. */
static int read_login(struct mst_proxy *proxy, const char *text, size_t len) {
    char login[MST_PROXY_LOGIN_MAX];
    const char *colon = memchr(text, ':', len);
    size_t at = 0;
    int rc = 0;

    if (colon == NULL) {
        return MST_ERR_URL;
    }
    for (size_t i = 0; i < len && rc == 0; i++) {
        int c = (unsigned char)text[i];
        if (c == '%') {
            int high = i + 2 < len ? hex_digit(text[i + 1]) : -1;
            int low = i + 2 < len ? hex_digit(text[i + 2]) : -1;
            c = high < 0 || low < 0 ? -1 : high * 16 + low;
            i += 2;
            c = c == ':' && text + i < colon ? -1 : c;
        }
        if (c < 0x20 || c == 0x7F || at == sizeof login) {
            rc = MST_ERR_URL;
        } else {
            login[at++] = (char)c;
        }
    }
    if (rc == 0) {
        write_base64(proxy->login, login, at);
    }
    wipe(login, sizeof login);
    return rc;
}

/* Reads all digits up to the end; returns 0 if they are no port. */
static uint16_t read_port(const char *text, const char *end) {
    unsigned port = 0;

    if (end - text > 5) {
        return 0;
    }
    for (; text < end; text++) {
        if (*text < '0' || *text > '9') {
            return 0;
        }
        port = port * 10 + (unsigned)(*text - '0');
    }
    return port > 65535 ? 0 : (uint16_t)port;
}

/* True if a host's text is printable, neither empty nor too long, and has no
 * empty label. */
static bool host_is_good(const char *host, const char *end) {
    char last = '.';

    if (end == host || (size_t)(end - host) > MST_HOST_MAX) {
        return false;
    }
    while (host < end && (unsigned char)*host > ' ' &&
           (unsigned char)*host < 0x7F && (last != '.' || *host != '.')) {
        last = *host++;
    }
    return host == end;
}

/* Reads "host:port", "host" or "[address]:port". */
static int read_authority(struct mst_endpoint *endpoint, const char *text,
                          size_t len) {
    const char *end = text + len, *host = text, *host_end;
    const char *colon;
    uint16_t port = 80;

    if (len > 0 && *text == '[') {
        host = text + 1;
        host_end = memchr(host, ']', len - 1);
        colon = host_end != NULL ? host_end + 1 : NULL;
    } else {
        colon = memchr(text, ':', len);
        host_end = colon = colon != NULL ? colon : end;
    }
    if (host_end == NULL || !host_is_good(host, host_end)) {
        return MST_ERR_URL;
    }
    if (colon < end) {
        port = *colon == ':' ? read_port(colon + 1, end) : 0;
    }
    if (port == 0) {
        return MST_ERR_URL;
    }
    memcpy(endpoint->host, host, (size_t)(host_end - host));
    endpoint->host[host_end - host] = '\0';
    endpoint->port = port;
    return 0;
}

/* Reads "http://[user:password@]host[:port][/]". */
static int read_url(struct mst_proxy *proxy, const char *url) {
    static const char scheme[] = "http://";
    const char *at, *end, *login_end = NULL;
    int rc = 0;

    if (strncmp(url, scheme, sizeof scheme - 1) != 0) {
        return MST_ERR_URL;
    }
    at = url + sizeof scheme - 1;
    end = at + strcspn(at, "/?#");
    for (const char *c = at; c < end; c++) {
        login_end = *c == '@' ? c : login_end;
    }
    if (strcmp(end, "") != 0 && strcmp(end, "/") != 0) {
        return MST_ERR_URL;
    }
    if (login_end != NULL) {
        rc = read_login(proxy, at, (size_t)(login_end - at));
        at = login_end + 1;
    }
    return rc != 0 ? rc
                   : read_authority(&proxy->endpoint, at, (size_t)(end - at));
}

/* ------------------------------------------------------------------------
 * Request and response
 * ------------------------------------------------------------------------ */

static size_t append_authority(char *text, size_t at,
                               const struct mst_endpoint *endpoint) {
    const bool ipv6 = strchr(endpoint->host, ':') != NULL;
    char port[7] = ":";
    unsigned divisor = 10000;
    size_t len = 1;

    for (; divisor > 0; divisor /= 10) {
        if (len > 1 || endpoint->port >= divisor) {
            port[len++] = (char)('0' + endpoint->port / divisor % 10);
        }
    }
    at = append(text, at, ipv6 ? "[" : "");
    at = append(text, at, endpoint->host);
    at = append(text, at, ipv6 ? "]" : "");
    return append(text, at, port);
}

static void ask_begin(const struct mst_proxy *proxy,
                      struct mst_proxy_link *link) {
    char *text = link->request;
    size_t at = append(text, 0, "CONNECT ");

    at = append_authority(text, at, link->endpoint);
    at = append(text, at, " HTTP/1.1\r\nHost: ");
    at = append_authority(text, at, link->endpoint);
    if (proxy->login[0] != '\0') {
        at = append(text, at, "\r\nProxy-Authorization: Basic ");
        at = append(text, at, proxy->login);
    }
    at = append(text, at, "\r\n\r\n");
    link->request_len = (uint16_t)at;
    link->sent = link->head_len = 0;
    link->status = 0;
    link->line_len = 0;
    link->state = LINK_ASKS;
}

/* Ends the request and enters a state. */
static void ask_end(struct mst_proxy_link *link, uint8_t state) {
    wipe(link->request, sizeof link->request);
    link->state = state;
}

/* True if a byte may be at this place of the response's first line. */
static bool head_fits(size_t at, char c) {
    if (at > STATUS_END) {
        return true;
    }
    if (at == STATUS_END) {
        return c == ' ' || c == '\r' || c == '\n';
    }
    return status_line[at] == '0' ? c >= '0' && c <= '9' : c == status_line[at];
}

/* Takes a byte of the response; returns 1 after the empty line that ends its
 * header. Interim responses (1xx) are skipped. */
static int head_take(struct mst_proxy_link *link, char c) {
    const size_t at = link->line_len;

    if (link->head_len++ == HEAD_MAX || !head_fits(at, c)) {
        link->status = 0;
        return MST_ERR_PROXY_ANSWER;
    }
    if (at >= STATUS_END - 3 && at < STATUS_END) {
        link->status = (int16_t)(link->status * 10 + (c - '0'));
    }
    if (at <= STATUS_END) {
        link->line_len++;
    }
    if (c == '\n' && link->line_is_empty) {
        if (link->status < 100 || link->status > 199 || link->status == 101) {
            return 1;
        }
        link->line_len = 0;
        link->status = 0;
    }
    link->line_is_empty = c == '\n' || (c == '\r' && link->line_is_empty);
    return 0;
}

static int status_error(int status) {
    return status == 407 || status == 401  ? MST_ERR_PROXY_LOGIN
           : status >= 500                 ? MST_ERR_PROXY_GATEWAY
           : status >= 400                 ? MST_ERR_PROXY_REFUSED
           : status >= 200 && status < 300 ? 0
                                           : MST_ERR_PROXY_ANSWER;
}

/* Sends the rest of the request: 1 once it is sent, 0 or an error. */
static int ask_send(const struct mst_proxy *proxy, int number) {
    struct mst_proxy_link *link = &proxy->links[number];
    const struct mst_port *below = proxy->below;

    while (link->sent < link->request_len) {
        int n = below->send(below->context, number, link->request + link->sent,
                            (size_t)(link->request_len - link->sent));
        if (n <= 0) {
            return n;
        }
        link->sent = (uint16_t)(link->sent + n);
        if (link->sent == link->request_len) {
            wipe(link->request, sizeof link->request);
        }
    }
    return 1;
}

/* Bytes after the response are the server's, so it is read byte by byte. */
static int read_byte(const struct mst_proxy *proxy, int number, char *c) {
    int n = proxy->below->recv(proxy->below->context, number, c, 1);

    return n == MST_ERR_EOF ? MST_ERR_PROXY_ANSWER : n;
}

/* Reads the response: 1 if a tunnel is open, 0 for not yet, or an error. sent
 * is the result of ask_send(); its error counts unless a response arrived
 * before. */
static int ask_read(const struct mst_proxy *proxy, int number, int sent) {
    struct mst_proxy_link *link = &proxy->links[number];
    int n, rc = 0;
    char c;

    while (rc == 0) {
        n = read_byte(proxy, number, &c);
        if (n <= 0) {
            return sent < 0 ? sent : n;
        }
        rc = head_take(link, c);
    }
    if (rc > 0) {
        rc = status_error(link->status);
    }
    if (rc == 0) {
        /* A server is silent before the client speaks, and a proxy does not
         * accept half a request: any data here means that there is no
         * tunnel. */
        n = read_byte(proxy, number, &c);
        rc = n < 0 ? n : n > 0 || sent <= 0 ? MST_ERR_PROXY_ANSWER : 1;
    }
    return rc;
}

/* ------------------------------------------------------------------------
 * The port's functions
 * ------------------------------------------------------------------------ */

static int proxy_resolve(void *context, int number,
                         const struct mst_endpoint *endpoint) {
    const struct mst_proxy *proxy = context;
    struct mst_proxy_link *link = link_of(proxy, number);

    if (link == NULL) {
        return MST_ERR_ARGUMENT;
    }
    if (link->state == LINK_CLOSED) {
        link->endpoint = endpoint;
        link->address = -1;
        link->state = proxy->direct != NULL &&
                              proxy->direct(proxy->direct_context, endpoint)
                          ? LINK_DIRECT
                          : LINK_CONNECTS;
    }
    return proxy->below->resolve(proxy->below->context, number,
                                 link->state == LINK_DIRECT ? endpoint
                                                            : &proxy->endpoint);
}

/* Connects to the proxy; returns 1 once connected. A port that has connected is
 * not asked to connect again: another address is resolved first. */
static int reach_proxy(const struct mst_proxy *proxy, int number, int address) {
    struct mst_proxy_link *link = &proxy->links[number];
    const struct mst_port *below = proxy->below;
    int rc;

    if (link->state == LINK_REFUSED || link->state == LINK_FAILED ||
        (link->state == LINK_ASKS && link->address != address)) {
        below->close(below->context, number);
        ask_end(link, LINK_RESOLVES);
    }
    if (link->address != address) {
        link->address = address;
        link->begin_ms = below->now_ms(below->context);
    }
    if (link->state == LINK_RESOLVES) {
        rc = below->resolve(below->context, number, &proxy->endpoint);
        if (rc == 0) {
            return 0;
        }
        link->state = rc > address ? LINK_CONNECTS : LINK_FAILED;
        if (rc <= address) { /* fewer addresses than before, or none */
            return rc < 0 ? rc : MST_ERR_UNREACHABLE;
        }
    }
    if (link->state == LINK_CONNECTS) {
        rc = below->connect(below->context, number, address);
        if (rc <= 0) {
            return rc;
        }
        ask_begin(proxy, link);
    }
    return 1;
}

static int proxy_connect(void *context, int number, int address) {
    const struct mst_proxy *proxy = context;
    struct mst_proxy_link *link = &proxy->links[number];
    const struct mst_port *below = proxy->below;
    int rc;

    if (link->state == LINK_DIRECT) {
        return below->connect(below->context, number, address);
    }
    if (link->state == LINK_TUNNEL) {
        return 1;
    }
    rc = reach_proxy(proxy, number, address);
    if (rc > 0) {
        rc = ask_read(proxy, number, ask_send(proxy, number));
        if (rc == 0 && below->now_ms(below->context) - link->begin_ms >=
                           proxy->answer_ms) {
            rc = MST_ERR_PROXY_TIMEOUT;
        }
        if (rc != 0) {
            ask_end(link,
                    rc > 0 ? LINK_TUNNEL
                    : rc <= MST_ERR_PROXY_LOGIN && rc >= MST_ERR_PROXY_TIMEOUT
                        ? LINK_REFUSED
                        : LINK_FAILED);
        }
    }
    if (rc < 0) {
        link->address = -1; /* the next attempt has its own timeout */
    }
    return rc;
}

static int proxy_send(void *context, int number, const void *data, size_t len) {
    const struct mst_proxy *proxy = context;

    return proxy->below->send(proxy->below->context, number, data, len);
}

static int proxy_recv(void *context, int number, void *data, size_t len) {
    const struct mst_proxy *proxy = context;

    return proxy->below->recv(proxy->below->context, number, data, len);
}

static void proxy_close(void *context, int number) {
    const struct mst_proxy *proxy = context;
    struct mst_proxy_link *link = link_of(proxy, number);

    if (link != NULL) {
        ask_end(link, LINK_CLOSED);
        proxy->below->close(proxy->below->context, number);
    }
}

static uint32_t proxy_now_ms(void *context) {
    const struct mst_proxy *proxy = context;

    return proxy->below->now_ms(proxy->below->context);
}

static int proxy_unix_ns(void *context, int64_t *ns) {
    const struct mst_proxy *proxy = context;

    return proxy->below->unix_ns(proxy->below->context, ns);
}

static int proxy_entropy(void *context, void *data, size_t len) {
    const struct mst_proxy *proxy = context;

    return proxy->below->entropy(proxy->below->context, data, len);
}

static uint64_t proxy_now_ns(void *context) {
    const struct mst_proxy *proxy = context;

    return proxy->below->now_ns(proxy->below->context);
}

static int proxy_token_load(void *context, const uint8_t key[MST_TOKEN_KEY_LEN],
                            char *token, size_t cap, int64_t *until_s) {
    const struct mst_proxy *proxy = context;

    return proxy->below->token_load(proxy->below->context, key, token, cap,
                                    until_s);
}

static void proxy_token_save(void *context,
                             const uint8_t key[MST_TOKEN_KEY_LEN],
                             const char *token, size_t len, int64_t until_s) {
    const struct mst_proxy *proxy = context;

    proxy->below->token_save(proxy->below->context, key, token, len, until_s);
}

/* The status of a proxy that refuses, or the detail of the port below. */
static int proxy_detail(void *context, int number) {
    const struct mst_proxy *proxy = context;
    const struct mst_proxy_link *link = link_of(proxy, number);
    const struct mst_port *below = proxy->below;

    if (link != NULL && link->state == LINK_REFUSED) {
        return link->status < 100 ? 0 : link->status; /* if it is complete */
    }
    return link != NULL && below->detail != NULL
               ? below->detail(below->context, number)
               : 0;
}

static unsigned proxy_wants(void *context, int number, unsigned wants) {
    const struct mst_proxy *proxy = context;
    const struct mst_proxy_link *link = link_of(proxy, number);
    const struct mst_port *below = proxy->below;

    if (link != NULL && link->state == LINK_ASKS) {
        wants = MST_WANT_READ;
        if (link->sent < link->request_len) {
            wants |= MST_WANT_WRITE;
        }
    }
    return link != NULL && below->wants != NULL
               ? below->wants(below->context, number, wants)
               : wants;
}

int mst_proxy_init(struct mst_proxy *proxy, const char *url,
                   const struct mst_port *below, struct mst_proxy_link *links,
                   size_t count, struct mst_port *port) {
    int rc;

    if (proxy == NULL || url == NULL || below == NULL || links == NULL ||
        count == 0 || port == NULL || (below->flags & MST_PORT_SECURE) != 0) {
        return MST_ERR_ARGUMENT;
    }
    memset(proxy, 0, sizeof *proxy);
    memset(links, 0, count * sizeof *links);
    rc = read_url(proxy, url);
    if (rc != 0) {
        mst_proxy_wipe(proxy);
        return rc;
    }
    proxy->below = below;
    proxy->links = links;
    proxy->count = count;
    proxy->answer_ms = 9000;
    *port = *below;
    port->context = proxy;
    port->resolve = proxy_resolve;
    port->connect = proxy_connect;
    port->send = proxy_send;
    port->recv = proxy_recv;
    port->close = proxy_close;
    port->now_ms = proxy_now_ms;
    port->unix_ns = proxy_unix_ns;
    port->entropy = proxy_entropy;
    port->now_ns = below->now_ns != NULL ? proxy_now_ns : NULL;
    port->token_load = below->token_load != NULL ? proxy_token_load : NULL;
    port->token_save = below->token_save != NULL ? proxy_token_save : NULL;
    port->detail = proxy_detail;
    port->wants = proxy_wants;
    return 0;
}

void mst_proxy_wipe(struct mst_proxy *proxy) {
    wipe(proxy->login, sizeof proxy->login);
    for (size_t i = 0; i < proxy->count; i++) {
        wipe(proxy->links[i].request, sizeof proxy->links[i].request);
    }
}
