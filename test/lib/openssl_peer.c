/*
 * TLS 1.2 and 1.3 for a peer of the mock port: see openssl_peer.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "openssl_peer.h"

#include <openssl/err.h>
#include <stdio.h>
#include <string.h>

#include "tls_peer.h"

/* Records the result of a completed handshake. */
static void link_shaken(struct openssl_peer *peer,
                        const struct openssl_peer_link *l) {
    const char *name = SSL_get_servername(l->ssl, TLSEXT_NAMETYPE_host_name);
    bool resumed = SSL_session_reused(l->ssl) != 0;

    peer->resumed += resumed;
    peer->full += !resumed;
    snprintf(peer->name, sizeof peer->name, "%s", name != NULL ? name : "");
    snprintf(peer->last, sizeof peer->last, "%s", SSL_get_version(l->ssl));
}

/* Passes the client's plaintext on. Returns true if there was any. */
static bool link_take(struct openssl_peer *peer, int link) {
    struct openssl_peer_link *l = &peer->links[link];
    unsigned char piece[4096];
    bool shaking = !SSL_is_init_finished(l->ssl);
    int n;

    n = SSL_read(l->ssl, piece, sizeof piece);
    if (shaking && SSL_is_init_finished(l->ssl)) {
        link_shaken(peer, l);
    }
    if (n > 0) {
        peer->inner.received(peer->inner.context, link, piece, (size_t)n);
    } else if (SSL_get_error(l->ssl, n) == SSL_ERROR_SSL) {
        l->end = l->end != 0 ? l->end : MST_ERR_EOF;
    }
    return n > 0;
}

/* Moves data to the client. Returns true if anything moved. */
static bool link_give(struct openssl_peer *peer, int link) {
    struct openssl_peer_link *l = &peer->links[link];
    bool moved = false;
    char *data;
    size_t len;

    if (l->pending_len > 0 && SSL_is_init_finished(l->ssl) &&
        BIO_pending(l->out) == 0) {
        int n = SSL_write(l->ssl, l->pending, (int)l->pending_len);
        if (n > 0) {
            l->pending_len -= (size_t)n;
            memmove(l->pending, l->pending + n, l->pending_len);
            moved = true;
        }
    }
    if (l->ending && l->pending_len == 0) {
        l->ending = false;
        moved = true;
        if (!peer->truncate) {
            SSL_shutdown(l->ssl);
        }
    }
    len = (size_t)BIO_get_mem_data(l->out, &data);
    if (len > 0 && !peer->silent) {
        unsigned char sent[4096];
        len = mst_mock_write(peer->mock, link, data,
                             len < sizeof sent ? len : sizeof sent);
        moved = len > 0 && BIO_read(l->out, sent, (int)len) > 0;
    }
    return moved;
}

/* The client may use OpenSSL on the same thread: its last error is
 * preserved. */
static void link_pump(struct openssl_peer *peer, int link) {
    struct openssl_peer_link *l = &peer->links[link];
    unsigned long error = ERR_peek_last_error();
    bool moved = true;

    if (l->pumping) {
        return;
    }
    l->pumping = true;
    ERR_clear_error();
    while (moved && l->open) {
        moved = link_take(peer, link);
        moved = (l->open && link_give(peer, link)) || moved;
    }
    if (l->open && l->end != 0 && !l->ending && BIO_pending(l->out) == 0) {
        mst_mock_end(peer->mock, link, l->end);
    }
    l->pumping = false;
    ERR_clear_error();
    if (error != 0) {
        ERR_raise(ERR_GET_LIB(error), ERR_GET_REASON(error));
    }
}

static void peer_closed(void *context, int link) {
    struct openssl_peer *peer = context;
    struct openssl_peer_link *l = &peer->links[link];

    peer->goodbyes += (SSL_get_shutdown(l->ssl) & SSL_RECEIVED_SHUTDOWN) != 0;
    l->open = false;
    peer->inner.closed(peer->inner.context, link);
}

static void peer_opened(void *context, int link,
                        const struct mst_endpoint *endpoint) {
    struct openssl_peer *peer = context;
    struct openssl_peer_link *l = &peer->links[link];

    if (l->ssl != NULL) { /* its session remains valid, however it ended */
        SSL_set_shutdown(l->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
        SSL_free(l->ssl);
    }
    memset(l, 0, sizeof *l);
    l->ssl = SSL_new(peer->context);
    l->in = BIO_new(BIO_s_mem());
    l->out = BIO_new(BIO_s_mem());
    SSL_set_bio(l->ssl, l->in, l->out);
    SSL_set_accept_state(l->ssl);
    l->open = true;
    peer->inner.opened(peer->inner.context, link, endpoint);
}

static void peer_received(void *context, int link, const void *data,
                          size_t len) {
    struct openssl_peer *peer = context;

    BIO_write(peer->links[link].in, data, (int)len);
    link_pump(peer, link);
}

static void peer_drained(void *context, int link) {
    link_pump(context, link);
}

static void peer_tick(void *context, uint64_t now_ms) {
    struct openssl_peer *peer = context;

    peer->inner.tick(peer->inner.context, now_ms);
}

size_t openssl_peer_write(void *context, int link, const void *data,
                          size_t len) {
    struct openssl_peer *peer = context;
    struct openssl_peer_link *l = &peer->links[link];
    size_t room = sizeof l->pending - l->pending_len;

    if (!l->open || l->end != 0) {
        return 0;
    }
    len = len < room ? len : room;
    memcpy(l->pending + l->pending_len, data, len);
    l->pending_len += len;
    link_pump(peer, link);
    return len;
}

void openssl_peer_end(void *context, int link, int error) {
    struct openssl_peer *peer = context;
    struct openssl_peer_link *l = &peer->links[link];

    if (l->open && l->end == 0) {
        l->end = error;
        l->ending = true;
        link_pump(peer, link);
    }
}

void openssl_peer_certificate(struct openssl_peer *peer, const char *name) {
    char certificate[160], key[160];

    snprintf(certificate, sizeof certificate, "%s/%s.pem", tls_folder, name);
    snprintf(key, sizeof key, "%s/%s.key", tls_folder, name);
    SSL_CTX_use_certificate_chain_file(peer->context, certificate);
    SSL_CTX_use_PrivateKey_file(peer->context, key, SSL_FILETYPE_PEM);
}

void openssl_peer_anew(struct openssl_peer *peer, const char *name,
                       int version) {
    SSL_CTX_free(peer->context);
    peer->context = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_security_level(peer->context, 0); /* the client decides */
    openssl_peer_certificate(peer, name);
    SSL_CTX_set_min_proto_version(peer->context, version);
    SSL_CTX_set_max_proto_version(peer->context, version);
}

void openssl_peer_init(struct openssl_peer *peer, struct mst_mock *mock,
                       const char *name, int version) {
    memset(peer, 0, sizeof *peer);
    openssl_peer_anew(peer, name, version);
    peer->mock = mock;
    peer->inner = mock->peer;
    mock->peer = (struct mst_mock_peer){.context = peer,
                                        .opened = peer_opened,
                                        .received = peer_received,
                                        .closed = peer_closed,
                                        .drained = peer_drained,
                                        .tick = peer_tick};
}

void openssl_peer_free(struct openssl_peer *peer) {
    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        SSL_free(peer->links[i].ssl);
        peer->links[i].ssl = NULL;
    }
    SSL_CTX_free(peer->context);
    peer->context = NULL;
}
