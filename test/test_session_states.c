/*
 * The tables of a link's states in the source: everything in them happens,
 * and nothing else. Each state is reached, and each thing that can come in it
 * does.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"
#include "states.h"

#include <string.h>

/* Where the link is, by the trace. */
static enum mst_state at;

static void on_trace(void *context, const struct mst_trace *trace)
{
    (void)context;
    states_trace(trace);
    if (trace->kind == MST_TRACE_STATE) {
        at = trace->state;
    }
}

static int (*port_connect)(void *context, int link, int address);

static int on_connect(void *context, int link, int address)
{
    if (address > 0) { /* of this the trace is not told */
        states_note(MST_STATE_CONNECT, STATES_ERROR, MST_STATE_CONNECT);
    }
    return port_connect(context, link, address);
}

static void begin(bool tls)
{
    struct session *s = &session;

    if (tls) {
        session_begin_tls("localhost");
    } else {
        session_begin();
    }
    s->mock.plan.resolve_ms = s->mock.plan.connect_ms = 10;
    s->mock.plan.data_ms = 10;
    s->mock.plan.addresses = 2;
    s->config.trace = on_trace;
    port_connect = s->port.connect;
    s->port.connect = on_connect;
    at = MST_STATE_OFF;
}

static void start(void)
{
    session_start();
    session_subscribe();
}

/* Runs until the link is in this state. */
static void reach(enum mst_state state)
{
    for (int i = 0; i < 20000 && at != state; i++) {
        session_run(1);
    }
    if (at != state) {
        expect_failed("the link is not in state %s but %s",
                      mst_state_name(state), mst_state_name(at));
    }
}

/* ---- what may come in a state ---- */

static void come_close(void)
{
    states_call(STATES_CLOSE);
    mst_close(&session.client);
    states_call(STATES_STEP);
}

/* What is replaced is looked at in the next poll. */
static void come_credentials(void)
{
    assert_int_equal(mst_access_set_credentials(&session.client.link.own,
                                                SERVICE_ID, SERVICE_SECRET),
                     0);
    states_call(STATES_REPLACED);
    session_run(0);
    states_call(STATES_STEP);
}

static void come_anchors(void)
{
    assert_int_equal(mst_access_set_anchors(&session.client.link.own,
                                            &session.anchor.anchor, 1),
                     0);
    states_call(STATES_REPLACED);
    session_run(0);
    states_call(STATES_STEP);
}

static void come_error(void)
{
    session.mock.plan.resolve_error = MST_ERR_RESOLVE;
    session.mock.plan.connect_error[0] = MST_ERR_REFUSED;
    session.mock.plan.connect_error[1] = MST_ERR_REFUSED;
    mst_mock_end(&session.mock, 0, MST_ERR_RESET);
}

/* Bytes that belong nowhere. */
static void come_noise(void)
{
    (void)mst_mock_write(&session.mock, 0, "noise noise", 11);
}

/* Everything hangs. */
static void come_nothing(void)
{
    session.mock.plan.resolve_error = MST_MOCK_NEVER;
    session.mock.plan.connect_error[0] = MST_MOCK_NEVER;
    session.mock.plan.connect_error[1] = MST_MOCK_NEVER;
    if (mst_mock_in_use(&session.mock, 0)) {
        mst_mock_freeze(&session.mock, 0);
    }
}

/* Lets come what follows from it, and closes. */
static void end(void)
{
    session_run(20000);
    come_close();
    session_end();
}

static void (*const comes[])(void) = {
    come_close, come_credentials, come_anchors,
    come_error, come_noise,       come_nothing,
};

static void test_in_every_state(void **state)
{
    static const enum mst_state states[] = {
        MST_STATE_WAIT,  MST_STATE_RESOLVE, MST_STATE_CONNECT, MST_STATE_TLS,
        MST_STATE_TOKEN, MST_STATE_UPGRADE, MST_STATE_CLOSING, MST_STATE_OPEN,
    };

    (void)state;
    for (size_t i = 0; i < COUNT(states) * COUNT(comes); i++) {
        enum mst_state where = states[i / COUNT(comes)];
        begin(where == MST_STATE_TLS);
        start();
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

/* ---- the rest ---- */

/* There is nothing to begin with. */
static void test_nothing_at_home(void **state)
{
    (void)state;
    begin(false);
    start();
    session.mock.plan.entropy_none = true;
    session_run(5000);
    session.mock.plan.entropy_none = false;
    end();
}

/* The line is slow, or stands still, until the token has ended: in state
 * CONNECT or TLS, or with a request that is half written. */
static void token_ends(enum mst_state where)
{
    static char token[2000]; /* longer than the room for what is sent */

    memset(token, 'x', sizeof token - 1);
    begin(where == MST_STATE_TLS);
    session.config.upgrade_ms = session.config.connect_ms = SESSION_MINUTE;
    session.config.tls_ms = SESSION_MINUTE;
    session.service.expires_in = 40;
    session.service.token_value = token;
    start();
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
    if (!session_until_subscribed(SESSION_MINUTE)) {
        expect_failed("in %s: not subscribed", mst_state_name(where));
    }
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    end();
}

static void test_token_ends(void **state)
{
    (void)state;
    token_ends(MST_STATE_CONNECT);
    token_ends(MST_STATE_TLS);
    token_ends(MST_STATE_UPGRADE);
}

static void test_tables(void **state)
{
    static const char *const sections[] = {"link", "client: the stream", NULL};

    (void)state;
    states_check("mini_stream.c", sections, true);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_in_every_state),
        TEST(test_nothing_at_home),
        TEST(test_token_ends),
        TEST(test_tables),
    };

    return cmocka_run_group_tests(tests, session_certificates,
                                  session_no_certificates);
}
