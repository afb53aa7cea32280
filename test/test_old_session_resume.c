/*
 * Short TLS handshakes, other trust anchors, and what is left of secrets in
 * the end. How often a certificate was checked, the peer knows: in each full
 * handshake.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "old_session.h"

#include <stdlib.h>
#include <string.h>

static const struct mst_stats *stats(void)
{
    return mst_old_client_stats(&session.client);
}

static void begin(enum tls_offer offer)
{
    session_begin_tls("localhost");
    session.tls.offer = offer;
}

/* The stream breaks; subscribed anew, at most so much later. */
static void reconnect(const char *name, uint32_t ms)
{
    service_end(&session.service, MST_ERR_EOF);
    if (!session_until(MST_EVENT_CLOSED, 1000) ||
        !session_until(MST_EVENT_OPEN, ms) || !session_until_subscribed(5000)) {
        expect_failed("%s: not subscribed anew", name);
    }
}

static void expect_handshakes(const char *name, uint64_t full, uint64_t offered)
{
    expect_int(name, (long long)full, (long long)session.tls.full);
    expect_int(name, (long long)offered, (long long)session.tls.offered);
    expect_int(name, 0, (long long)session.tls.foreign);
}

/* ---- resumption ---- */

/* With two links, at the same time to the same host and to another. */
static void test_two_links(void **state)
{
    (void)state;
    begin(TLS_RESUMES);
    session_two_links();
    session.config.rotate_ms = 7 * SESSION_MINUTE;
    session_open();
    session_run(10 * SESSION_HOUR);
    assert_true(stats()->rotations > 80);
    assert_true(stats()->tokens > 9);
    expect_int("full", 2, (long long)session.tls.full);
    expect_int("foreign", 0, (long long)session.tls.foreign);
    expect_int("resumed", (long long)session.tls.handshakes - 2,
               stats()->resumed);
    expect_int("failures", 0, stats()->failures);
    session_end();
}

/* ---- other trust anchors ---- */

static struct tls_anchor *anchor_copy(bool good)
{
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

static void owned_begin(bool good, bool two_links)
{
    begin(TLS_RESUMES);
    if (two_links) {
        session_two_links();
    }
    owned = anchor_copy(good);
    session.config.anchors = &owned->anchor;
    session_start();
    session_subscribe();
}

/* Replaces them; the old ones are gone once the call returns. */
static void replace(bool good)
{
    struct tls_anchor *old = owned;

    owned = anchor_copy(good);
    assert_int_equal(mst_old_set_anchors(&session.client, &owned->anchor, 1),
                     0);
    memset(old, '!', sizeof *old);
    free(old);
}

static void owned_end(void)
{
    session_end();
    free(owned);
}

/* The sessions are forgotten, the stream goes on. */
static void test_anchors_of_a_stream(void **state)
{
    (void)state;
    for (int two = 0; two < 2; two++) {
        owned_begin(true, two);
        assert_true(session_until_subscribed(10000));
        replace(true);
        session_run(SESSION_MINUTE);
        expect_int("goes on", 0, session.seen.events[MST_EVENT_CLOSED]);
        reconnect("good", 5000);
        expect_handshakes("good", 3, 0);

        replace(false);
        session_run(SESSION_MINUTE);
        expect_int("goes on", 1, session.seen.events[MST_EVENT_CLOSED]);
        service_end(&session.service, MST_ERR_EOF);
        session_run(SESSION_HOUR);
        session_expect_closed("bad", MST_ERR_TLS_ISSUER, MST_STATE_TLS);
        expect_int("permanent", true, session.seen.closed.permanent);
        /* Once by each link: the second one wants a token ahead of time. */
        expect_int("reported", 3 + two, session.seen.events[MST_EVENT_CLOSED]);
        expect_int("offered", 0, (long long)session.tls.offered);

        /* A permanent error ends at once with good ones. */
        replace(true);
        if (!session_until_subscribed(5000)) {
            expect_failed("not subscribed with good anchors");
        }
        owned_end();
    }
}

static void test_anchors_in_every_state(void **state)
{
    static const enum mst_state states[] = {
        MST_STATE_WAIT, MST_STATE_RESOLVE, MST_STATE_CONNECT,
        MST_STATE_TLS,  MST_STATE_TOKEN,   MST_STATE_UPGRADE};

    (void)state;
    for (size_t i = 0; i < COUNT(states); i++) {
        enum mst_state at = states[i];
        /* Before the handshake is over, bad ones are replaced in time. */
        bool before = at <= MST_STATE_TLS;

        owned_begin(!before, i % 2);
        session.mock.plan.resolve_error =
            at == MST_STATE_RESOLVE ? MST_MOCK_NEVER : 0;
        session.mock.plan.connect_error[0] =
            at == MST_STATE_CONNECT ? MST_MOCK_NEVER : 0;
        session.tls.silent = at == MST_STATE_TLS;
        session.service.token.never = at == MST_STATE_TOKEN;
        session.service.upgrade.never = at == MST_STATE_UPGRADE;
        if (at != MST_STATE_WAIT) {
            session_run(500);
        }
        expect_int(mst_state_name(at), at,
                   mst_old_client_state(&session.client));
        replace(true);
        session.mock.plan.resolve_error = 0;
        session.mock.plan.connect_error[0] = 0;
        session.tls.silent = false;
        session.service.token.never = session.service.upgrade.never = false;
        if (!session_until_subscribed(before ? 1000 : SESSION_MINUTE)) {
            expect_failed("%s: not subscribed", mst_state_name(at));
        }
        expect_int(mst_state_name(at), !before,
                   session.seen.events[MST_EVENT_CLOSED]);
        owned_end();
    }
}

/* ---- secrets ---- */

static bool contains(const void *data, size_t len, const void *what,
                     size_t what_len)
{
    const unsigned char *bytes = data;

    for (size_t i = 0; i + what_len <= len; i++) {
        if (memcmp(bytes + i, what, what_len) == 0) {
            return true;
        }
    }
    return false;
}

static bool client_contains(const void *what, size_t len)
{
    return contains(&session.client, sizeof session.client, what, len) ||
           contains(session.memory, session.memory_len, what, len);
}

/* After the end nothing secret is in the client or its memory: not the
 * token, not what was sent to get it, not the keys of any TLS session. */
static void expect_clean(const char *name)
{
    static const char *const secrets[] = {SERVICE_SECRET, "s%2Bcr%3Dt",
                                          SERVICE_TOKEN};
    size_t masters = 0;

    for (size_t i = 0; i < COUNT(secrets); i++) {
        if (client_contains(secrets[i], strlen(secrets[i]))) {
            expect_failed("%s: \"%s\"", name, secrets[i]);
        }
    }
    for (size_t i = 0; i < TLS_PEER_SESSIONS; i++) {
        const struct tls_session *s = &session.tls.sessions[i];
        if (s->host[0] == '\0') {
            continue;
        }
        masters++;
        for (size_t at = 0; at < sizeof s->parameters.master_secret; at += 16) {
            if (client_contains(s->parameters.master_secret + at, 16)) {
                expect_failed("%s: a master secret", name);
            }
        }
    }
    assert_true(masters >= 2);
}

enum ending {
    END_CLOSE,   /* in good order */
    END_NO_ECHO, /* the peer does not answer the close frame */
    END_WIPE,    /* mst_old_client_wipe() while it streams */
    END_UPGRADE, /* mst_old_close() in the opening handshake */
    END_WAIT,    /* while it waits, after a connection */
    END_WIPED_TWICE,
    ENDINGS
};

static void end_client(enum ending ending)
{
    struct service *service = &session.service;

    service->rules.no_echo = ending == END_NO_ECHO;
    if (ending == END_UPGRADE || ending == END_WAIT) {
        service->upgrade.never = ending == END_UPGRADE;
        service->upgrade.status = ending == END_WAIT ? 500 : 0;
        service_end(service, MST_ERR_EOF);
        session_run(2000);
    }
    if (ending == END_WIPE || ending == END_WIPED_TWICE) {
        mst_old_client_wipe(&session.client);
    } else {
        session_end();
    }
    if (ending == END_WIPED_TWICE) {
        mst_old_client_wipe(&session.client);
    }
}

static void test_nothing_is_left(void **state)
{
    (void)state;
    for (int two = 0; two < 2; two++) {
        for (int ending = 0; ending < ENDINGS; ending++) {
            begin(TLS_RESUMES);
            if (two) {
                session_two_links();
                session.config.rotate_ms = SESSION_MINUTE;
            }
            session_open();
            /* They are there, or the search is for nothing. */
            assert_true(client_contains(SERVICE_TOKEN, strlen(SERVICE_TOKEN)));
            assert_true(client_contains(
                session.tls.sessions[0].parameters.master_secret, 48));
            session_run(SESSION_HOUR);
            reconnect("resumed", 5000);
            end_client((enum ending)ending);
            expect_clean(two ? "two links" : "one link");
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_two_links),
        TEST(test_anchors_of_a_stream),
        TEST(test_anchors_in_every_state),
        TEST(test_nothing_is_left),
    };

    return cmocka_run_group_tests(tests, session_certificates,
                                  session_no_certificates);
}
