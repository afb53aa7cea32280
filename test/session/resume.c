/*
 * TLS resumption, new trust anchors, and secrets that remain at the end. The
 * peer counts full handshakes: in each one a certificate is checked.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

static void begin(void) {
    session_begin_tls("localhost");
    session.tls.offer = TLS_RESUMES;
}

static void begin_open(void) {
    begin();
    session_open();
}

/* Breaks the stream, and expects it to be subscribed again. */
static void reconnect(const char *name) {
    service_end(&session.service, MST_ERR_EOF);
    if (!session_until(MST_EVENT_CLOSED, 1000) ||
        !session_until(MST_EVENT_OPEN, 5000) ||
        !session_until_subscribed(5000)) {
        expect_failed("%s: not subscribed anew", name);
    }
}

static void expect_handshakes(const char *name, uint64_t full,
                              uint64_t offered) {
    expect_int(name, full, session.tls.full);
    expect_int(name, offered, session.tls.offered);
    expect_int(name, 0, session.tls.foreign);
}

static void reconnect_with(const char *name, uint64_t full, uint64_t offered) {
    reconnect(name);
    expect_handshakes(name, full, offered);
}

/* ---- resumption ---- */

TEST_CASE(test_resumed) {
    begin_open();
    expect_handshakes("two hosts", 2, 0);
    expect_int("resumed", 0, session_stats()->resumed);
    for (unsigned i = 1; i <= 20; i++) {
        session_run(SESSION_MINUTE);
        reconnect_with("resumed", 2, i);
        expect_int("resumed", i, session_stats()->resumed);
    }
    /* The token's host has a separate session. */
    session_run(SESSION_HOUR);
    reconnect_with("next token", 2, 22);
    expect_int("resumed", 22, session_stats()->resumed);
    expect_int("tokens", 2, session_stats()->tokens);
}

static void (*service_opened)(void *context, int link,
                              const struct mst_endpoint *endpoint);

static void opened_elsewhere(void *context, int link,
                             const struct mst_endpoint *endpoint) {
    struct mst_endpoint as = *endpoint;

    (void)snprintf(as.host, sizeof as.host, "%s",
                   as.port == 8443 ? SERVICE_AUTH_HOST : SERVICE_WS_HOST);
    service_opened(context, link, &as);
}

/* Two hosts with the same hash (FNV-1a), and a server that resumes any session:
 * the second host's certificate must be checked too. */
TEST_CASE(test_hosts_of_one_hash) {
    begin();
    service_opened = session.tls.inner.opened;
    session.tls.inner.opened = opened_elsewhere;
    session.config.auth_url = "https://b.x:8443";
    session.config.ws_url = "wss://c.x:8444";
    session_open();
    expect_handshakes("two hosts", 2, 0);
    reconnect_with("resumed", 2, 1);
    session.service.core.wrong[0] = '\0'; /* hosts unknown to it */
}

/* The client sends one record at a time: ClientHello, two or three at the end
 * of the handshake, the request. */
TEST_CASE(test_flights) {
    const uint64_t *sends = &session.mock.calls[MST_MOCK_SEND];

    begin();
    session_connect();
    expect_int("twice greeting, key, change, end, request; a goodbye", 11,
               (long long)*sends);
    service_end(&session.service, MST_ERR_EOF);
    uint64_t before = *sends;
    assert_true(session_until(MST_EVENT_CLOSED, 1000));
    assert_true(session_until(MST_EVENT_OPEN, 5000));
    expect_int("resumed", 1, session_stats()->resumed);
    expect_int("goodbye; greeting; change, end, request", 5, *sends - before);
}

/* The server no longer knows the session. */
TEST_CASE(test_forgotten) {
    begin_open();
    reconnect("resumed");
    session.tls.offer = TLS_FORGETS;
    session_run(SESSION_MINUTE);
    reconnect_with("forgotten", 3, 2);
    session.tls.offer = TLS_RESUMES;
    session_run(SESSION_MINUTE);
    reconnect_with("the new one", 3, 3);
    expect_int("resumed", 2, session_stats()->resumed);
}

/* However often a session is resumed, the chain is checked again in time. */
TEST_CASE(test_checked_again) {
    static const struct {
        uint32_t resume_ms, every_ms;
        unsigned times;
        uint64_t full; /* for the stream's host */
    } cases[] = {
        {0, SESSION_HOUR, 72, 3},
        {10 * SESSION_MINUTE, SESSION_MINUTE, 60, 6},
        {1, SESSION_MINUTE, 10, 11},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        begin();
        session.config.resume_ms = cases[i].resume_ms;
        /* The token never expires: its host is used only once. */
        session.service.token_body = SERVICE_ENDLESS;
        session_open();
        for (unsigned j = 0; j < cases[i].times; j++) {
            session_run(cases[i].every_ms - 1000);
            reconnect("checked again");
        }
        uint64_t full = session.tls.full - 1;
        if (full < cases[i].full || full > cases[i].full + 1) {
            expect_failed("case %zu: %d full handshakes", i, (int)full);
        }
    }
}

/* The wall clock counts as well: the port's clock may have stopped. */
TEST_CASE(test_checked_again_by_the_wall_clock) {
    static const int64_t steps_s[] = {86300, 86410, -60};

    for (size_t i = 0; i < COUNT(steps_s); i++) {
        begin();
        session.service.token_body = SERVICE_ENDLESS;
        session_open();
        mst_mock_set_wall(&session.mock, mst_mock_wall(&session.mock) +
                                             steps_s[i] * 1000000000);
        expect_handshakes("opened", 2, 0);
        reconnect_with("after a step", i == 0 ? 2 : 3, i == 0 ? 1 : 0);
    }
}

/* An expired certificate is detected at the next check. */
TEST_CASE(test_expired_meanwhile) {
    begin_open();
    session_certificate("expired");
    session_run(23 * SESSION_HOUR);
    reconnect_with("not looked at", 2, 2);
    session_run(SESSION_HOUR);
    service_end(&session.service, MST_ERR_EOF);
    session_run(SESSION_MINUTE);
    session_expect_closed("after a day", MST_ERR_TLS_TIME, MST_STATE_TLS);
}

/* A session that makes the server fail is not offered again. */
TEST_CASE(test_bad_sessions) {
    static const struct {
        const char *name;
        enum tls_offer offer;
        int error;
    } cases[] = {{"reset", TLS_RESETS, MST_ERR_RESET},
                 {"no answer", TLS_STALLS, MST_ERR_TIMEOUT},
                 {"other keys", TLS_SPOILS, MST_ERR_TLS_PROTOCOL}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        begin_open();
        session_run(SESSION_MINUTE);
        session.tls.offer = cases[i].offer;
        session_break(MST_ERR_EOF);
        session_until_closed(cases[i].name, SESSION_MINUTE, cases[i].error,
                             MST_STATE_TLS);
        session_expect_subscribed(SESSION_MINUTE, "%s", cases[i].name);
        expect_handshakes(cases[i].name, 3, 1);
        expect_int(cases[i].name, 0, session_stats()->resumed);
    }
}

/* Nor is a session whose connection ended with a TLS error. */
TEST_CASE(test_forged_record) {
    begin_open();
    reconnect("resumed");
    session_forge_record();
    expect_handshakes("forged", 3, 1);
    /* The token's host is not affected. */
    session_run(SESSION_HOUR);
    reconnect_with("next token", 3, 3);
}

/* Two links that rotate, with two hosts: each chain is checked once. */
TEST_CASE(test_two_links) {
    const struct mst_client *clients = session.pair.clients;

    begin();
    session_start_pair(7 * SESSION_MINUTE);
    session_subscribe();
    session_run(10 * SESSION_HOUR);
    assert_true(session_rotations() > 80);
    assert_true(session_tokens() > 9);
    uint64_t resumed = mst_link_stats(&clients[0].link)->resumed +
                       mst_link_stats(&clients[1].link)->resumed;
    expect_int("full", 2, session.tls.full);
    expect_int("foreign", 0, session.tls.foreign);
    expect_int("resumed", (long long)session.tls.handshakes - 2, resumed);
    for (int i = 0; i < 2; i++) {
        expect_int("failures", 0, mst_link_stats(&clients[i].link)->failures);
    }
}

/* ---- other trust anchors ---- */

static struct tls_anchor *anchor_copy(bool good) {
    struct tls_anchor *copy = malloc(sizeof *copy);

    assert_non_null(copy);
    *copy = session.anchor;
    copy->anchor.dn.data = copy->name;
    copy->anchor.pkey.key.ec.q = copy->point;
    if (!good) {
        copy->name[copy->anchor.dn.len - 1] ^= 1; /* another CA's name */
    }
    return copy;
}

static struct tls_anchor *owned;

static void owned_begin(bool good, enum session_kind kind) {
    begin();
    owned = anchor_copy(good);
    session.config.anchors = &owned->anchor;
    session_start_kind(kind);
    session_subscribe();
}

/* Replaces them; the old ones are overwritten after the call. */
static void replace(bool good) {
    struct tls_anchor *old = owned;

    owned = anchor_copy(good);
    assert_int_equal(
        mst_access_set_anchors(session_access(), &owned->anchor, 1), 0);
    memset(old, '!', sizeof *old);
    free(old);
}

static void owned_end(void) {
    session_end();
    free(owned);
}

/* New anchors discard all sessions; the stream continues. */
static void anchors_of_a_stream(enum session_kind kind) {
    const char *name = session_kind_name(kind);
    /* An idle link that fetches a token early reports the error too. */
    bool fetches = kind == SESSION_PAIR || kind == SESSION_BESIDE;

    owned_begin(true, kind);
    assert_true(session_until_subscribed(10000));
    replace(true);
    session_run(SESSION_MINUTE);
    expect_int(name, 0, session.seen.events[MST_EVENT_CLOSED]);
    reconnect_with(name, 3, 0);

    replace(false);
    session_run(SESSION_MINUTE);
    expect_int(name, 1, session.seen.events[MST_EVENT_CLOSED]);
    service_end(&session.service, MST_ERR_EOF);
    session_run(SESSION_HOUR);
    session_expect_closed("bad", MST_ERR_TLS_ISSUER, MST_STATE_TLS);
    expect_int(name, true, session.seen.closed.permanent);
    expect_int(name, 3 + fetches, session.seen.events[MST_EVENT_CLOSED]);
    expect_int(name, 0, session.tls.offered);

    /* With good ones the wait after a permanent error ends at once. */
    replace(true);
    session_expect_subscribed(5000, "%s, with good anchors", name);
    owned_end();
}

TEST_CASE(test_anchors_of_a_stream) {
    anchors_of_a_stream(SESSION_CLIENT);
    anchors_of_a_stream(SESSION_PAIR);
    anchors_of_a_stream(SESSION_BESIDE);
}

static void anchors_in(enum mst_state at, enum session_kind kind) {
    /* Bad ones that are replaced before the handshake ends do no harm. */
    bool before = at <= MST_STATE_TLS;

    owned_begin(!before, kind);
    session_hang(at);
    if (at != MST_STATE_WAIT) {
        session_run(500);
    }
    expect_int(mst_state_name(at), at, session_state());
    replace(true);
    session_hang(MST_STATE_OFF);
    session_expect_subscribed(1000, "%s", mst_state_name(at));
    if (kind != SESSION_STANDBY) {
        expect_int(mst_state_name(at), 0,
                   session.seen.events[MST_EVENT_CLOSED]);
    }
    owned_end();
}

TEST_CASE(test_anchors_in_every_state) {
    static const enum mst_state states[] = {
        MST_STATE_WAIT, MST_STATE_RESOLVE, MST_STATE_CONNECT,
        MST_STATE_TLS,  MST_STATE_TOKEN,   MST_STATE_UPGRADE};

    for (size_t i = 0; i < COUNT(states) * SESSION_KINDS; i++) {
        anchors_in(states[i / SESSION_KINDS],
                   (enum session_kind)(i % SESSION_KINDS));
    }
}

/* Replaced at many bytes of a handshake: the certificate check does not
 * continue with the old ones. */
TEST_CASE(test_anchors_in_a_handshake) {
    for (uint64_t at = 1; at < 1400; at += 35) {
        owned_begin(true, SESSION_CLIENT);
        session.mock.plan.drip = 1000;
        while (session.mock.bytes_in < at) {
            session_run(1);
        }
        replace(true);
        session.mock.plan.drip = 0;
        session_expect_subscribed(5000, "after %d bytes", (int)at);
        expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
        owned_end();
    }
}

TEST_CASE(test_no_anchors) {
    begin_open();
    expect_int("NULL", MST_ERR_ANCHORS,
               mst_access_set_anchors(&session.client.link.own, NULL, 1));
    expect_int("none", MST_ERR_ANCHORS,
               mst_access_set_anchors(&session.client.link.own,
                                      &session.anchor.anchor, 0));
    reconnect_with("nothing has happened", 2, 1);
}

/* ---- secrets ---- */

/* At the end neither the client nor its memory holds secrets: no token, no
 * request for it, no keys of any TLS session. */
static void expect_clean(const char *name) {
    size_t masters = 0;

    session_expect_clean(name);
    for (size_t i = 0; i < TLS_PEER_SESSIONS; i++) {
        const struct tls_session *s = &session.tls.sessions[i];
        if (s->host[0] == '\0') {
            continue;
        }
        masters++;
        for (size_t at = 0; at < sizeof s->parameters.master_secret; at += 16) {
            if (session_contains(s->parameters.master_secret + at, 16)) {
                expect_failed("%s: a master secret is left", name);
            }
        }
    }
    assert_true(masters >= 2);
}

enum ending {
    END_CLOSE,   /* mst_close() */
    END_NO_ECHO, /* the peer does not answer the close frame */
    END_WIPE,    /* mst_client_wipe() while streaming */
    END_UPGRADE, /* mst_close() in the opening handshake */
    END_WAIT,    /* mst_close() in a wait, after a connection */
    END_WIPED_TWICE,
    ENDINGS
};

static void end_client(enum ending ending) {
    struct service *service = &session.service;

    service->rules.no_echo = ending == END_NO_ECHO;
    if (ending == END_UPGRADE || ending == END_WAIT) {
        service->upgrade.never = ending == END_UPGRADE;
        service->upgrade.status = ending == END_WAIT ? 500 : 0;
        service_end(service, MST_ERR_EOF);
        session_run(2000);
    }
    if (ending == END_WIPE || ending == END_WIPED_TWICE) {
        session_wipe();
    } else {
        session_end();
    }
    if (ending == END_WIPED_TWICE) {
        session_wipe();
    }
}

TEST_CASE(test_nothing_is_left) {
    for (int i = 0; i < 3 * ENDINGS; i++) {
        enum session_kind kind = (enum session_kind)(i % 3);
        const char *name = session_kind_name(kind);
        begin();
        if (kind == SESSION_PAIR) {
            session_open_pair(SESSION_MINUTE);
        } else {
            session_open_kind(kind);
        }
        /* Before the end they are found, or the search would prove nothing. */
        assert_true(session_contains(SERVICE_TOKEN, strlen(SERVICE_TOKEN)));
        assert_true(session_contains(
            session.tls.sessions[0].parameters.master_secret, 48));
        session_run(SESSION_HOUR);
        reconnect(name);
        end_client((enum ending)(i / 3));
        expect_clean(name);
    }
}

/* A session is wiped once other anchors count, or its time is over. */
TEST_CASE(test_forgotten_sessions_are_wiped) {
    for (int aged = 0; aged < 2; aged++) {
        begin();
        session.config.resume_ms = 10 * SESSION_MINUTE;
        session.config.audit_ms = SESSION_HOUR;
        session.service.token_body = SERVICE_ENDLESS; /* no other timer */
        session_open();
        session_run(9 * SESSION_MINUTE);
        const struct tls_session *s = session.tls.sessions;
        if (strcmp(s->host, SERVICE_AUTH_HOST) != 0) {
            s++; /* the stream's own goes with its connection */
        }
        assert_true(session_contains(s->parameters.master_secret, 48));
        if (aged) {
            session_run(2 * SESSION_MINUTE);
        } else {
            session_new_anchors(&session.client.link.own);
            session_run(100);
        }
        expect_int(aged ? "by time" : "by anchors", false,
                   session_contains(s->parameters.master_secret, 48));
    }
}

int main(void) {
    return cases_run("resume", expect_begin, session_tear_down,
                     session_certificates, tls_remove_certificates) +
           cases_run("resume, with port/primitives", expect_begin,
                     session_tear_down, session_primitives,
                     session_no_primitives);
}
