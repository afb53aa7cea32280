/*
 * The table of the session's states in the source: everything in it happens,
 * and nothing else. Each state is reached, and each thing that can come in it
 * does.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "old_session.h"
#include "old_states.h"

#include <string.h>

static const struct mst_address_request request = {
    .network = MST_NETWORK_BITCOIN, .address = "bc1qexample"};
static struct mst_address record;

/* Where the links are, by the log. */
static enum mst_state at[MST_LINKS_MAX];

static void on_log(void *context, const struct mst_log *log)
{
    (void)context;
    old_states_log(log);
    if (log->kind == MST_LOG_STATE) {
        at[log->link] = log->state;
    }
}

static int (*port_connect)(void *context, int link, int address);

static int on_connect(void *context, int link, int address)
{
    if (address > 0) { /* of this the log is not told */
        old_states_note(MST_STATE_CONNECT, STATES_ERROR, MST_STATE_CONNECT);
    }
    return port_connect(context, link, address);
}

static void begin(unsigned links, bool tls)
{
    struct session *s = &session;

    if (tls) {
        session_begin_tls("localhost");
    } else {
        session_begin();
    }
    if (links == 2) {
        session_two_links();
        s->config.base_url = "https://" SERVICE_API_HOST;
        s->config.put_ms = 2000;
    }
    s->mock.plan.resolve_ms = s->mock.plan.connect_ms = 10;
    s->mock.plan.data_ms = 10;
    s->mock.plan.addresses = 2;
    s->config.log = on_log;
    port_connect = s->port.connect;
    s->port.connect = on_connect;
    memset(at, 0, sizeof at);
}

static void start(void)
{
    session_start();
    session_subscribe();
}

/* Runs until the link is in this state. */
static void reach(int link, enum mst_state state)
{
    for (int i = 0; i < 20000 && at[link] != state; i++) {
        session_run(1);
    }
    if (at[link] != state) {
        expect_failed("link %d is not in state %s but %s", link,
                      mst_state_name(state), mst_state_name(at[link]));
    }
}

static void put(void)
{
    old_states_call(STATES_PUT);
    expect_int("mst_old_address_put()", 0,
               mst_old_address_put(&session.client, &request, &record));
    old_states_call(STATES_STEP);
}

/* ---- what may come in a state ---- */

static void come_close(int link)
{
    (void)link;
    old_states_call(STATES_CLOSE);
    mst_old_close(&session.client);
    old_states_call(STATES_STEP);
}

static void come_credentials(int link)
{
    (void)link;
    old_states_call(STATES_REPLACED);
    assert_int_equal(
        mst_old_set_credentials(&session.client, SERVICE_ID, SERVICE_SECRET),
        0);
    old_states_call(STATES_STEP);
}

static void come_anchors(int link)
{
    (void)link;
    old_states_call(STATES_REPLACED);
    assert_int_equal(
        mst_old_set_anchors(&session.client, &session.anchor.anchor, 1), 0);
    old_states_call(STATES_STEP);
}

static void come_error(int link)
{
    session.mock.plan.resolve_error = MST_ERR_RESOLVE;
    session.mock.plan.connect_error[0] = MST_ERR_REFUSED;
    session.mock.plan.connect_error[1] = MST_ERR_REFUSED;
    mst_mock_end(&session.mock, link, MST_ERR_RESET);
}

/* Bytes that belong nowhere. */
static void come_noise(int link)
{
    (void)mst_mock_write(&session.mock, link, "noise noise", 11);
}

/* Everything hangs. */
static void come_nothing(int link)
{
    session.mock.plan.resolve_error = MST_MOCK_NEVER;
    session.mock.plan.connect_error[0] = MST_MOCK_NEVER;
    session.mock.plan.connect_error[1] = MST_MOCK_NEVER;
    if (mst_mock_in_use(&session.mock, link)) {
        mst_mock_freeze(&session.mock, link);
    }
}

static void come_put(int link)
{
    (void)link;
    put();
}

/* Lets come what follows from it, and closes. */
static void end(void)
{
    session_run(20000);
    come_close(0);
    session_end();
}

static void (*const comes[])(int link) = {
    come_close, come_credentials, come_anchors,
    come_error, come_noise,       come_nothing,
};

/* ---- where it may come ---- */

/* The link that streams. */
static void test_stream(void **state)
{
    static const enum mst_state states[] = {
        MST_STATE_WAIT,  MST_STATE_RESOLVE, MST_STATE_CONNECT, MST_STATE_TLS,
        MST_STATE_TOKEN, MST_STATE_UPGRADE, MST_STATE_OPEN};

    (void)state;
    for (size_t i = 0; i < COUNT(states) * COUNT(comes); i++) {
        enum mst_state where = states[i / COUNT(comes)];
        begin(1, where == MST_STATE_TLS);
        start();
        reach(0, where);
        comes[i % COUNT(comes)](0);
        end();
    }
}

/* The other one, which has a request for an address. */
static void test_address(void **state)
{
    static const enum mst_state states[] = {
        MST_STATE_RESOLVE, MST_STATE_CONNECT, MST_STATE_TLS,
        MST_STATE_TOKEN,   MST_STATE_PUT,     MST_STATE_IDLE};

    (void)state;
    for (size_t i = 0; i < COUNT(states) * COUNT(comes); i++) {
        enum mst_state where = states[i / COUNT(comes)];
        begin(2, where == MST_STATE_TLS || where == MST_STATE_IDLE);
        start();
        assert_true(session_until_subscribed(10000));
        put();
        reach(1, where);
        comes[i % COUNT(comes)](1);
        end();
    }
}

/* On a connection that stands, and on the last that it has. */
static void test_address_again(void **state)
{
    (void)state;
    begin(2, false);
    start();
    assert_true(session_until_subscribed(10000));
    put();
    reach(1, MST_STATE_IDLE);
    put();
    reach(1, MST_STATE_PUT);
    reach(1, MST_STATE_IDLE);
    session.service.address.headers = "Connection: close\r\n";
    put();
    reach(1, MST_STATE_PUT);
    reach(1, MST_STATE_WAIT);
    end();
}

/* A rotation, and a request that goes before it. */
static void test_rotation(void **state)
{
    static const enum mst_state states[] = {
        MST_STATE_RESOLVE, MST_STATE_CONNECT, MST_STATE_TLS,
        MST_STATE_UPGRADE, MST_STATE_OPEN,    MST_STATE_CLOSING};

    (void)state;
    for (size_t i = 0; i < COUNT(states); i++) {
        enum mst_state where = states[i];
        begin(2, where == MST_STATE_TLS);
        start();
        assert_true(session_until_subscribed(10000));
        expect_int("rotate", 0, mst_old_rotate(&session.client));
        if (where == MST_STATE_CLOSING) {
            reach(0, where);
        } else {
            reach(1, where);
            come_put(1);
        }
        end();
    }
}

/* ---- the rest ---- */

/* There is nothing to begin with. */
static void test_nothing_at_home(void **state)
{
    (void)state;
    begin(1, false);
    start();
    session.mock.plan.entropy_none = true;
    session_run(5000);
    session.mock.plan.entropy_none = false;
    end();
}

/* The service closes and the line stands still, when the caller closes. */
static void test_closing_closed(void **state)
{
    (void)state;
    begin(1, false);
    start();
    assert_true(session_until_subscribed(10000));
    session_stall_after(0);
    service_close(&session.service, 1001, "restart");
    reach(0, MST_STATE_CLOSING);
    come_close(0);
    session_run(100);
    session_unstall();
    session_run(1000);
    expect_int("state", MST_STATE_OFF, at[0]);
    end();
}

/* One token for all is refused on one link, while the request that carries
 * it is being written on the other one. */
static void token_lost(int link, enum mst_state where)
{
    static char token[2000];
    struct service *service = &session.service;

    memset(token, 'x', sizeof token - 1);
    begin(2, false);
    service->token_value = service->api_token = token;
    service->scope = SERVICE_SCOPE " " SERVICE_ADDRESS_SCOPE;
    session.config.scope = service->scope;
    session.config.put_ms = SESSION_MINUTE;
    start();
    assert_true(session_until_subscribed(10000));
    if (where == MST_STATE_UPGRADE) {
        service->address.status = 401;
        service_end(service, MST_ERR_RESET);
    } else {
        service->upgrade.status = 401;
        put();
    }
    mst_mock_stall(&session.mock, link, true);
    reach(link, where);
    if (where == MST_STATE_UPGRADE) {
        put();
    } else {
        service_end(service, MST_ERR_RESET);
    }
    reach(link, MST_STATE_WAIT);
    mst_mock_stall(&session.mock, link, false);
    service->upgrade.status = service->address.status = 0;
    end();
}

static void test_token_lost(void **state)
{
    (void)state;
    token_lost(0, MST_STATE_UPGRADE);
    token_lost(1, MST_STATE_PUT);
}

static void test_table(void **state)
{
    (void)state;
    old_states_check("mini_stream.c", true);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_stream),          TEST(test_address),
        TEST(test_address_again),   TEST(test_rotation),
        TEST(test_nothing_at_home), TEST(test_closing_closed),
        TEST(test_token_lost),      TEST(test_table),
    };

    return cmocka_run_group_tests(tests, session_certificates,
                                  session_no_certificates);
}
