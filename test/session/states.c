/*
 * The tables of a link's states in mini_stream.c: every row happens, and
 * nothing else does. Each state is reached, and each input that it allows
 * occurs there.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"
#include "states.h"

/* The state of each link, from the trace, and the current link. */
static enum mst_state at[MST_MOCK_LINKS];
static int link_at;

static void on_trace(void *context, const struct mst_trace *trace) {
    (void)context;
    states_trace(trace);
    if (trace->kind == MST_TRACE_STATE) {
        at[trace->link] = trace->state;
    }
}

static int (*port_connect)(void *context, int link, int address);

static int on_connect(void *context, int link, int address) {
    if (address > 0) { /* the trace does not report this */
        states_note(MST_STATE_CONNECT, STATES_ERROR, MST_STATE_CONNECT);
    }
    return port_connect(context, link, address);
}

static void begin(bool tls) {
    struct session *s = &session;

    session_begin_over(tls);
    s->mock.plan.resolve_ms = s->mock.plan.connect_ms = 10;
    s->mock.plan.data_ms = 10;
    s->mock.plan.addresses = 2;
    s->config.trace = on_trace;
    port_connect = s->port.connect;
    s->port.connect = on_connect;
    memset(at, 0, sizeof at);
    link_at = 0;
}

static void reach(enum mst_state state) {
    for (int i = 0; i < 20000 && at[link_at] != state; i++) {
        session_run(1);
    }
    if (at[link_at] != state) {
        expect_failed("link %d is not in state %s but %s", link_at,
                      mst_state_name(state), mst_state_name(at[link_at]));
    }
}

/* ---- inputs of a state ---- */

static void come_close(void) {
    states_call(STATES_CLOSE);
    session_close();
    states_call(STATES_STEP);
}

/* The next poll detects the replaced credentials or anchors. */
static void come_replaced(void) {
    states_call(STATES_REPLACED);
    session_run(0);
    states_call(STATES_STEP);
}

static void come_credentials(void) {
    session_new_credentials(session_access());
    come_replaced();
}

static void come_anchors(void) {
    session_new_anchors(session_access());
    come_replaced();
}

static void come_error(void) {
    session.mock.plan.resolve_error = MST_ERR_RESOLVE;
    session.mock.plan.connect_error[0] = MST_ERR_REFUSED;
    session.mock.plan.connect_error[1] = MST_ERR_REFUSED;
    mst_mock_end(&session.mock, link_at, MST_ERR_RESET);
}

static void come_noise(void) {
    (void)mst_mock_write(&session.mock, link_at, "noise noise", 11);
}

static void come_nothing(void) {
    session.mock.plan.resolve_error = MST_MOCK_NEVER;
    session.mock.plan.connect_error[0] = MST_MOCK_NEVER;
    session.mock.plan.connect_error[1] = MST_MOCK_NEVER;
    if (mst_mock_in_use(&session.mock, link_at)) {
        mst_mock_freeze(&session.mock, link_at);
    }
}

static void end(void) {
    session_run(20000);
    come_close();
}

static void (*const comes[])(void) = {
    come_close, come_credentials, come_anchors,
    come_error, come_noise,       come_nothing,
};

TEST_CASE(test_in_every_state) {
    static const enum mst_state states[] = {
        MST_STATE_WAIT,  MST_STATE_RESOLVE, MST_STATE_CONNECT, MST_STATE_TLS,
        MST_STATE_TOKEN, MST_STATE_UPGRADE, MST_STATE_CLOSING, MST_STATE_OPEN,
    };

    for (size_t i = 0; i < COUNT(states) * COUNT(comes); i++) {
        enum mst_state where = states[i / COUNT(comes)];
        begin(where == MST_STATE_TLS);
        session_start_all();
        if (where == MST_STATE_CLOSING) {
            reach(MST_STATE_OPEN);
            session_stall_after(0);
            service_close(&session.service, 1001, "restart");
        }
        reach(where);
        comes[i % COUNT(comes)]();
        if (where == MST_STATE_CLOSING) {
            session_run(100);
            session_unstall();
        }
        end();
    }
}

/* ---- other rows ---- */

/* Without entropy nothing begins. */
TEST_CASE(test_nothing_at_home) {
    begin(false);
    session_start_all();
    session.mock.plan.entropy_none = true;
    session_run(5000);
    session.mock.plan.entropy_none = false;
    end();
}

/* A slow or stalled line delays the connection until its token has expired: in
 * state CONNECT or TLS, or with a half-sent request. */
static void token_ends(enum mst_state where) {
    begin(where == MST_STATE_TLS);
    session.config.upgrade_ms = session.config.connect_ms = SESSION_MINUTE;
    session.config.tls_ms = SESSION_MINUTE;
    session.service.expires_in = 40;
    /* Longer than the output buffer. */
    session.service.token_value = repeated("x", 1999);
    session_start_all();
    reach(MST_STATE_TOKEN);
    reach(MST_STATE_RESOLVE);
    session.mock.plan.connect_ms = where == MST_STATE_CONNECT ? 42000 : 10;
    session.mock.plan.drip = where == MST_STATE_TLS ? 10 : 0;
    if (where == MST_STATE_UPGRADE) {
        session_stall_after(0);
    }
    reach(where);
    session_run(41000);
    session.mock.plan.connect_ms = 10;
    session.mock.plan.drip = 0;
    if (where == MST_STATE_UPGRADE) {
        session_unstall();
    }
    session.service.expires_in = 0;
    session_expect_subscribed(SESSION_MINUTE, "in %s", mst_state_name(where));
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    end();
}

TEST_CASE(test_token_ends) {
    token_ends(MST_STATE_CONNECT);
    token_ends(MST_STATE_TLS);
    token_ends(MST_STATE_UPGRADE);
}

/* ---- a transfer with a client ---- */

static void put(void) {
    session.request = (struct mst_address_request){.network = "BITCOIN",
                                                   .address = "bc1qexample"};
    expect_int("put", 0, session_put());
}

static void begin_transfer(bool tls) {
    begin(tls);
    session.config.put_ms = 2000;
    session_open_kind(SESSION_BESIDE);
    link_at = 1;
    put();
}

TEST_CASE(test_transfer_in_every_state) {
    static const enum mst_state states[] = {
        MST_STATE_RESOLVE, MST_STATE_CONNECT, MST_STATE_TLS,
        MST_STATE_TOKEN,   MST_STATE_PUT,     MST_STATE_IDLE};

    for (size_t i = 0; i < COUNT(states) * COUNT(comes); i++) {
        enum mst_state where = states[i / COUNT(comes)];
        begin_transfer(where == MST_STATE_TLS || where == MST_STATE_IDLE);
        reach(where);
        comes[i % COUNT(comes)]();
        end();
    }
}

/* On an idle connection, and on its last address. */
TEST_CASE(test_transfer_again) {
    begin_transfer(false);
    reach(MST_STATE_IDLE);
    put();
    reach(MST_STATE_PUT);
    reach(MST_STATE_IDLE);
    session.service.address.headers = "Connection: close\r\n";
    put();
    reach(MST_STATE_PUT);
    reach(MST_STATE_WAIT);
    end();
}

/* One link is refused the token that both use, while the other one is sending a
 * request with it. */
static void token_lost(int link, enum mst_state where) {
    struct service *service = &session.service;

    begin(false);
    service->token_value = service->api_token = repeated("x", 1999);
    service->scope = SERVICE_SCOPE " " SERVICE_ADDRESS_SCOPE;
    session.config.scope = service->scope;
    session.config.put_ms = SESSION_MINUTE;
    session_open_kind(SESSION_BESIDE);
    if (where == MST_STATE_UPGRADE) {
        service->address.status = 401;
        service_end(service, MST_ERR_RESET);
    } else {
        service->upgrade.status = 401;
        put();
    }
    mst_mock_stall(&session.mock, link, true);
    link_at = link;
    reach(where);
    if (where == MST_STATE_UPGRADE) {
        put();
    } else {
        service_end(service, MST_ERR_RESET);
    }
    reach(MST_STATE_WAIT);
    mst_mock_stall(&session.mock, link, false);
    service->upgrade.status = service->address.status = 0;
    assert_true(session_until_subscribed(SESSION_MINUTE));
    end();
}

TEST_CASE(test_token_lost) {
    token_lost(0, MST_STATE_UPGRADE);
    token_lost(1, MST_STATE_PUT);
}

/* ---- a pair ---- */

/* The leader has lost its connection, and is in one of these states when the
 * follower opens: it stops there. */
TEST_CASE(test_parked_in_every_state) {
    static const enum mst_state states[] = {
        MST_STATE_WAIT, MST_STATE_RESOLVE, MST_STATE_CONNECT,
        MST_STATE_TLS,  MST_STATE_UPGRADE, MST_STATE_OPEN};

    for (size_t i = 0; i < COUNT(states); i++) {
        begin(states[i] == MST_STATE_TLS);
        session_open_pair(0);
        expect_int("rotate", 0, mst_pair_rotate(&session.pair));
        link_at = 1;
        reach(MST_STATE_CONNECT);
        if (states[i] != MST_STATE_OPEN) {
            mst_mock_stall(&session.mock, 1, true);
            session_run(1000);
            mst_mock_end(&session.mock, 0, MST_ERR_RESET);
            link_at = 0;
            reach(MST_STATE_WAIT);
            reach(states[i]);
            mst_mock_stall(&session.mock, 1, false);
        }
        session_run(10000);
        expect_int("leads", 1, session.pair.leads);
        expect_int("parked", MST_STATE_WAIT, at[0]);
        end();
    }
}

TEST_CASE(test_tables) {
    static const char *const sections[] = {"link", "client: the stream",
                                           "transfer", "pair", NULL};

    states_check("mini_stream.c", sections, true);
}

RUN_SESSIONS(session_certificates, tls_remove_certificates)
