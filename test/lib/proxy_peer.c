/*
 * An HTTP proxy between the mock and its peer: see proxy_peer.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "proxy_peer.h"

struct proxy_peer proxy_peer;

static void far_opened(void *context, int link,
                       const struct mst_endpoint *endpoint) {
    struct proxy_peer *p = context;
    size_t len = strlen(p->hosts);

    p->link[link].len = 0;
    p->link[link].tunnel = false;
    snprintf(p->hosts + len, sizeof p->hosts - len, "%s:%u%s ", endpoint->host,
             endpoint->port, endpoint->tls ? " tls" : "");
    if (p->direct != NULL && strcmp(p->direct, endpoint->host) == 0) {
        p->link[link].tunnel = true;
        p->behind.opened(p->behind.context, link, endpoint);
    }
}

/* Connects to the requested host. */
static void far_tunnel(struct proxy_peer *p, int link) {
    struct mst_endpoint endpoint = {.tls = true};
    const char *host = p->request + strlen("CONNECT ");
    size_t host_len = strcspn(host, ":");

    assert_in_range(host_len, 1, MST_HOST_MAX);
    memcpy(endpoint.host, host, host_len);
    endpoint.port = (uint16_t)strtoul(host + host_len + 1, NULL, 10);
    p->link[link].tunnel = true;
    p->behind.opened(p->behind.context, link, &endpoint);
}

static void far_received(void *context, int link, const void *data,
                         size_t len) {
    static const char refusal[] = "HTTP/1.1 503 Not now\r\n\r\n";
    struct proxy_peer *p = context;

    if (p->link[link].tunnel) {
        p->behind.received(p->behind.context, link, data, len);
        return;
    }
    assert_true(p->link[link].len + len < sizeof p->request);
    memcpy(p->request + p->link[link].len, data, len);
    p->link[link].len += len;
    p->request[p->link[link].len] = '\0';
    if (strstr(p->request, "\r\n\r\n") == NULL) {
        return;
    }
    if (p->asked++ < p->refused) {
        if (!p->silently) {
            (void)mst_mock_write(&session.mock, link, refusal,
                                 sizeof refusal - 1);
        }
    } else if (p->answer != NULL) {
        (void)mst_mock_write(&session.mock, link, p->answer, strlen(p->answer));
        if (strncmp(p->answer + 8, " 200 ", 5) == 0 &&
            strcmp(strstr(p->answer, "\r\n\r\n"), "\r\n\r\n") == 0) {
            far_tunnel(p, link);
        }
    }
}

static void far_closed(void *context, int link) {
    struct proxy_peer *p = context;

    if (p->link[link].tunnel) {
        p->behind.closed(p->behind.context, link);
    }
}

static void far_drained(void *context, int link) {
    struct proxy_peer *p = context;

    if (p->behind.drained != NULL) {
        p->behind.drained(p->behind.context, link);
    }
}

static void far_tick(void *context, uint64_t now_ms) {
    struct proxy_peer *p = context;

    p->behind.tick(p->behind.context, now_ms);
}

void proxy_peer_begin(const char *url) {
    struct proxy_peer *p = &proxy_peer;

    memset(p, 0, sizeof *p);
    p->answer = PROXY_PEER_TUNNEL;
    p->behind = session.mock.peer;
    session.mock.peer = (struct mst_mock_peer){p,
                                               .opened = far_opened,
                                               .received = far_received,
                                               .closed = far_closed,
                                               .drained = far_drained,
                                               .tick = far_tick};
    p->below = session.port;
    p->below.flags &= ~(unsigned)MST_PORT_SECURE;
    assert_int_equal(mst_proxy_init(&p->proxy, url, &p->below, p->links,
                                    COUNT(p->links), &session.port),
                     0);
}
