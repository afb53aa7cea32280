/*
 * TLS between the session's client and its service: see session.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

struct mst_port session_tls;

int session_certificates(void **state) {
    (void)state;
    bool made =
        tls_make_certificates("DNS:" SERVICE_AUTH_HOST ",DNS:" SERVICE_WS_HOST
                              ",DNS:" SERVICE_API_HOST ",DNS:b.x,DNS:c.x");
    if (!made) {
        print_error("  openssl failed: see %s/log\n", tls_folder);
    }
    return made ? 0 : -1;
}

void session_certificate(const char *certificate) {
    assert_true(tls_identity_load(&session.identity, certificate));
}

void session_begin_tls(const char *certificate) {
    struct session *s = &session;

    session_begin();
    s->port.flags = 0;
    s->port.tls_setup = session_tls.tls_setup;
    s->port.tls_end = session_tls.tls_end;
    s->port.tls_context = session_tls.tls_context;
    session_certificate(certificate);
    assert_true(tls_anchor_load(&s->anchor, "ca"));
    tls_peer_init(&s->tls, &s->mock, &s->identity);
    s->service.core.sink =
        (struct mst_mock_sink){&s->tls, tls_peer_write, tls_peer_end};
}

void session_begin_over(bool tls) {
    if (tls) {
        session_begin_tls("localhost");
    } else {
        session_begin();
    }
}
