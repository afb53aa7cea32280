/*
 * Credentials that are replaced while the session runs: the old ones are not
 * used after the call returns.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

static struct { char *id, *secret; } owned;

static void own(const char *id, const char *secret) {
    owned.id = strdup(id);
    owned.secret = strdup(secret);
    assert_true(owned.id != NULL && owned.secret != NULL);
}

static void end(void) {
    session_end();
    free(owned.id);
    free(owned.secret);
    owned.id = owned.secret = NULL;
}

static int tear_down(void **state) {
    end();
    return session_tear_down(state);
}

static void begin(void) {
    end();
    session_begin();
    own(SERVICE_ID, SERVICE_SECRET);
    session.config.client_id = owned.id;
    session.config.client_secret = owned.secret;
}

/* Replaces them; the old strings are overwritten after the call. */
static void replace(const char *id, const char *secret) {
    char *old_id = owned.id, *old_secret = owned.secret;

    own(id, secret);
    assert_int_equal(
        mst_access_set_credentials(session_access(), owned.id, owned.secret),
        0);
    memset(old_id, '!', strlen(old_id));
    memset(old_secret, '!', strlen(old_secret));
    free(old_id);
    free(old_secret);
}

static void owned_begin(enum session_kind kind) {
    begin();
    session_start_kind(kind);
    session_subscribe();
}

static void replaced_in(enum mst_state at, enum session_kind kind) {
    const char *name = mst_state_name(at);

    owned_begin(kind);
    if (at == MST_STATE_OPEN || at == MST_STATE_CLOSING) {
        assert_true(session_until_subscribed(10000));
    }
    session_hang(at);
    if (at == MST_STATE_CLOSING) {
        service_close(&session.service, 1001, "bye");
    }
    if (at != MST_STATE_WAIT) {
        session_run(500);
    }
    expect_int(name, at, session_state());
    uint64_t tokens = session.service.tokens.count;
    replace(SERVICE_ID, SERVICE_SECRET);
    session_hang(MST_STATE_OFF);
    if (at == MST_STATE_OPEN) {
        session_run(SESSION_HOUR);
        session_expect_undisturbed(name);
        service_end(&session.service, MST_ERR_EOF);
        session_run(5000);
    }
    session_expect_subscribed(10000, "%s", name);
    /* No token fetched with the old ones is used any more. */
    session_expect_tokens(name, tokens + 1);
}

TEST_CASE(test_replaced_in_every_state) {
    static const enum mst_state states[] = {
        MST_STATE_WAIT,   MST_STATE_RESOLVE, MST_STATE_CONNECT,
        MST_STATE_TOKEN,  MST_STATE_UPGRADE, MST_STATE_OPEN,
        MST_STATE_CLOSING};

    for (size_t i = 0; i < COUNT(states) * SESSION_KINDS; i++) {
        enum mst_state at = states[i / SESSION_KINDS];
        enum session_kind kind = (enum session_kind)(i % SESSION_KINDS);
        /* From MST_STATE_OPEN on: see pair.c. */
        if (kind != SESSION_STANDBY || at < MST_STATE_OPEN) {
            replaced_in(at, kind);
        }
    }
}

/* Replaced while a pair's follower, or a transfer, fetches a token early. */
TEST_CASE(test_replaced_while_fetching_ahead) {
    static const enum session_kind kinds[] = {SESSION_PAIR, SESSION_BESIDE};

    for (size_t i = 0; i < COUNT(kinds); i++) {
        owned_begin(kinds[i]);
        assert_true(session_until_subscribed(10000));
        session.service.token.never = true;
        session_run(3310 * 1000);
        session_expect_tokens("ahead", 2);
        replace(SERVICE_ID, SERVICE_SECRET);
        session.service.token.never = false;
        session_run(1000);
        session_expect_undisturbed("stream");
        session_expect_tokens("ahead, with the new ones", 3);
        service_end(&session.service, MST_ERR_EOF);
        session_run(2000);
        assert_true(session_until_subscribed(10000));
        session_expect_tokens("in all", 3);
        expect_int("obtained", 2, session_tokens());
    }
}

/* Replaced at every byte of a request for a token. */
TEST_CASE(test_replaced_while_writing) {
    for (size_t at = 0; at < 450; at += 9) {
        begin();
        session_stall_after(at);
        session_start_and_run(500);
        replace(SERVICE_ID, SERVICE_SECRET);
        session_unstall();
        session_expect_subscribed(10000, "at %zu", at);
    }
}

/* New credentials end the wait after a permanent error at once. If they are
 * wrong too, that is reported again. */
TEST_CASE(test_replaced_after_permanent_error) {
    owned_begin(SESSION_CLIENT);
    session.service.token.raw = SERVICE_BAD_CLIENT;
    session_run(5000);
    session_expect_closed("first", MST_ERR_TOKEN_REFUSED, MST_STATE_TOKEN);
    expect_int("permanent", true, session.seen.closed.permanent);
    session_expect_tokens("one attempt", 1);
    replace(SERVICE_ID, SERVICE_SECRET);
    session_run(1);
    session_expect_tokens("at once", 2);
    expect_int("reported", 2, session.seen.events[MST_EVENT_CLOSED]);

    /* Replaced during an attempt. */
    session.service.token.delay_ms = 1000;
    session_run(10 * SESSION_MINUTE);
    expect_int("not again", 2, session.seen.events[MST_EVENT_CLOSED]);
    while (session_state() != MST_STATE_TOKEN) {
        session_run(500);
    }
    replace(SERVICE_ID, SERVICE_SECRET);
    session_run(5000);
    expect_int("but of these", 3, session.seen.events[MST_EVENT_CLOSED]);

    session.service.token = (struct service_script){0};
    replace(SERVICE_ID, SERVICE_SECRET);
    assert_true(session_until_subscribed(2000));
}

static bool client_has(const char *what) {
    return bytes_contain(&session.client, sizeof session.client, what,
                         strlen(what));
}

/* Replaced while a token is received: the received part is wiped. */
TEST_CASE(test_replaced_while_a_token_comes) {
    const char *begin = "token-AbC";
    bool came = false;

    assert_int_equal(strncmp(SERVICE_TOKEN, begin, strlen(begin)), 0);
    for (uint32_t ms = 1; ms < 400; ms += 2) {
        owned_begin(SESSION_CLIENT);
        session.mock.plan.drip = 1000;
        session_run(ms);
        if (session_state() == MST_STATE_TOKEN) {
            came |= client_has(begin);
            session.mock.plan.connect_error[0] = MST_MOCK_NEVER;
            replace(SERVICE_ID, SERVICE_SECRET);
            session_run(1);
            if (client_has(begin)) {
                expect_failed("after %u ms: a part of the token is left", ms);
            }
        }
        session.mock.plan.drip = 0;
        session.mock.plan.connect_error[0] = 0;
    }
    assert_true(came);
}

TEST_CASE(test_replaced_wrongly) {
    static const char *const bad[][2] = {{NULL, SERVICE_SECRET},
                                         {SERVICE_ID, NULL},
                                         {"", SERVICE_SECRET},
                                         {SERVICE_ID, ""}};
    session_begin_open();
    for (size_t i = 0; i < COUNT(bad); i++) {
        expect_int("refused", MST_ERR_CREDENTIALS,
                   mst_access_set_credentials(&session.client.link.own,
                                              bad[i][0], bad[i][1]));
    }
    service_end(&session.service, MST_ERR_EOF);
    session_run(5000);
    assert_true(session_until_subscribed(10000));
    session_expect_tokens("the token is kept", 1);
}

RUN_WITH(expect_begin, tear_down, NULL, NULL)
