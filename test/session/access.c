/*
 * Two clients on one port that share an access. Tokens, the pace of requests,
 * waits that the service asks for and TLS sessions are shared.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

#define CLIENTS 2

struct member {
    struct mst_client client;
    struct mst_memory memory;
    unsigned char bytes[MST_MEMORY_LEN(MST_LENGTHS_USUAL)];
};

static struct {
    struct mst_access access;
    struct member *members[CLIENTS + 1]; /* on the heap, for the sanitizer */
    unsigned opened[CLIENTS], closed[CLIENTS];
    struct mst_failure failure[CLIENTS]; /* of the last MST_EVENT_CLOSED */
} shared;

static struct mst_client *client(int i) {
    return &shared.members[i]->client;
}

static int start_at(int i, const char *auth_url) {
    struct member *m = calloc(1, sizeof *m);
    struct mst_config config = session.config;

    assert_non_null(m);
    m->memory =
        (struct mst_memory){m->bytes, sizeof m->bytes, MST_LENGTHS_USUAL};
    config.access = &shared.access;
    config.client_id = config.client_secret = NULL;
    config.auth_url = auth_url;
    config.link = i;
    shared.members[i] = m;
    return mst_client_init(&m->client, &config, &session.port, &m->memory);
}

static void start(int i) {
    assert_int_equal(start_at(i, session.config.auth_url), 0);
    assert_int_equal(mst_subscribe(client(i), MST_MARKET_DATA, "BTCUSD", NULL),
                     0);
    assert_int_equal(mst_subscribe(client(i), MST_HEARTBEAT, NULL, NULL), 0);
}

/* Wipes a client and frees its memory. */
static void drop(int i) {
    if (shared.members[i] != NULL) {
        mst_client_wipe(client(i));
        free(shared.members[i]);
        shared.members[i] = NULL;
    }
}

static void drop_all(void) {
    for (int i = 0; i <= CLIENTS; i++) {
        drop(i);
    }
}

static int tear_down(void **state) {
    drop_all();
    return session_tear_down(state);
}

static void begin(bool tls) {
    drop_all();
    memset(&shared, 0, sizeof shared);
    session_begin_over(tls);
    session.tls.offer = TLS_RESUMES;
    assert_int_equal(mst_access_init(&shared.access, &session.config), 0);
}

static void start_both(void) {
    start(0);
    start(1);
}

static void note(int i, const struct mst_event *event) {
    expect_int("link", i, event->link);
    shared.opened[i] += event->type == MST_EVENT_OPEN;
    if (event->type == MST_EVENT_CLOSED) {
        shared.closed[i]++;
        shared.failure[i] = event->as.failure;
    }
}

static int poll_member(void *object, struct mst_event *event) {
    struct member *m = object;
    int rc = mst_poll(&m->client, event);

    if (rc == 1) {
        note(m == shared.members[1], event);
    }
    return rc;
}

static void run(uint32_t ms) {
    struct mst_mock_object objects[CLIENTS];
    size_t count = 0;

    for (int i = 0; i < CLIENTS; i++) {
        if (shared.members[i] != NULL) {
            objects[count++] = (struct mst_mock_object){
                poll_member, shared.members[i], {&client(i)->link}};
        }
    }
    mst_mock_run_objects(&session.mock, objects, count, ms, NULL, NULL);
}

static bool is_well(int i) {
    return mst_link_state(&client(i)->link) == MST_STATE_OPEN &&
           service_link_has(&session.service, i, "market_data", "BTCUSD") &&
           service_link_has(&session.service, i, "heartbeat", "");
}

/* Runs for ms, and expects all clients to be well then. */
static void run_well(uint32_t ms, const char *name) {
    run(ms);
    for (int i = 0; i < CLIENTS; i++) {
        if (shared.members[i] != NULL && !is_well(i)) {
            expect_failed("%s: client %d is in state %s", name, i,
                          mst_state_name(mst_link_state(&client(i)->link)));
        }
    }
}

static void open_both(bool tls) {
    begin(tls);
    start_both();
    run_well(5000, "both");
}

static void break_one(int i, int error) {
    service_link_end(&session.service, i, error);
}

static void break_both(int error) {
    break_one(0, error);
    break_one(1, error);
}

/* ---- tokens ---- */

/* One client fetches the token; both connect with it. */
TEST_CASE(test_one_token) {
    begin(false);
    session.service.token.delay_ms = 500;
    start_both();
    run(100);
    expect_int("connections", 1, session.mock.connects);
    run_well(5000, "at first");
    session_expect_tokens("for both", 1);

    break_both(MST_ERR_RESET);
    run_well(5000, "again");
    session_expect_tokens("is kept", 1);

    /* The token has expired: both want a new one at the same time. */
    run(2 * SESSION_HOUR);
    session.service.token_value = "the-second";
    break_both(MST_ERR_RESET);
    run_well(5000, "with the next");
    session_expect_tokens("the next, for both", 2);
}

/* If no token can be had, the clients take turns, with growing waits. */
TEST_CASE(test_no_token) {
    begin(false);
    session.service.token.status = 500;
    start_both();
    run(SESSION_HOUR);
    assert_in_range(session.service.tokens.count, 60, 400);
    session.service.token.status = 0;
    run_well(2 * SESSION_MINUTE, "then");
    session_expect_tokens("one more", session.service.tokens.count);
    expect_int("obtained", 1,
               mst_link_stats(&client(0)->link)->tokens +
                   mst_link_stats(&client(1)->link)->tokens);
}

/* A token that is no longer accepted is replaced once for both, even if one
 * client gets its 401 only after the other has fetched the next token. */
TEST_CASE(test_revoked) {
    static const char refused[] = SERVICE_EMPTY("401 Unauthorized");

    begin(false);
    session.config.backoff_ms = 1; /* both try at the same time */
    start_both();
    run(5000);
    session.service.token_value = "the-second";
    service_answer(&session.service.upgrade, refused, 1, 0);
    mst_mock_stall(&session.mock, 0, true);
    break_both(MST_ERR_RESET);
    run(5000);
    assert_true(is_well(1));
    expect_int("waits", MST_STATE_UPGRADE, mst_link_state(&client(0)->link));
    session_expect_tokens("the next", 2);

    service_answer(&session.service.upgrade, refused, 1, 0);
    mst_mock_stall(&session.mock, 0, false);
    run_well(5000, "with the next");
    session.service.core.wrong[0] = '\0'; /* the old token's 401 */
    session_expect_tokens("no other", 2);
}

/* Wipes the client that fetches the token, or whose storage holds it. */
TEST_CASE(test_one_goes_away) {
    static const uint32_t times[] = {0,   50,  120, 250,  420, 500,
                                     550, 620, 700, 1000, 5000};

    for (size_t i = 0; i < 2 * COUNT(times); i++) {
        int gone = (int)(i % 2);

        begin(false);
        session.mock.plan.resolve_ms = session.mock.plan.connect_ms = 50;
        session.mock.plan.data_ms = 50;
        session.service.token.delay_ms = session.service.upgrade.delay_ms = 100;
        start_both();
        run(times[i / 2]);
        drop(gone);
        run_well(10000, "the other one");
        break_one(1 - gone, MST_ERR_RESET);
        run_well(10000, "the other one, again");
        assert_in_range(session.service.tokens.count, 1, 2);

        start(gone);
        run_well(10000, "both again");
    }
}

/* The same with mst_close() before the wipe. */
TEST_CASE(test_one_closes) {
    open_both(false);
    mst_close(client(0));
    run(5000);
    expect_int("closed", MST_STATE_OFF, mst_link_state(&client(0)->link));
    drop(0);
    break_one(1, MST_ERR_RESET);
    run_well(5000, "the other one");
}

/* Wipes one client while the other reads its token into empty storage. */
TEST_CASE(test_one_goes_away_meanwhile) {
    static const char begin_of_reply[] =
        "HTTP/1.1 200 OK\r\nContent-Length: 67\r\n\r\n"
        "{\"token_type\":\"bearer\",\"access_token\":\"token-AbC";
    static const char rest[] = ".123_x~y+z/w==\"}   ";

    for (int i = 0; i < 2; i++) { /* also after the token is complete */
        size_t first = i == 0 ? 0 : sizeof rest - 3;
        begin(false);
        service_answer(&session.service.token, begin_of_reply, 1, 0);
        start(1);
        start(0);
        run(100);
        session_expect_tokens("asked for", 1);
        service_write(&session.service, 0, rest, first);
        run(100);
        drop(1);
        service_write(&session.service, 0, rest + first,
                      sizeof rest - 1 - first);
        run_well(5000, "the other one");
        expect_int("failures", 0, shared.closed[0]);
        session_expect_tokens("no other", 1);
    }
}

/* The name of the requested scope is part of one client's configuration. If
 * that client is wiped, the other continues with its own copy of the name. */
TEST_CASE(test_scope_goes_away) {
    for (int first = 0; first < 2; first++) {
        begin(false);
        session.config.scope = SERVICE_SCOPE;
        session.service.token.delay_ms = 1000;
        start(first);
        start(1 - first);
        run(100);
        session_expect_tokens("asked for", 1);
        drop(shared.access.fetching == &client(0)->link ? 1 : 0);
        session.service.token.delay_ms = 0;
        run_well(5000, "the other one");
        session_expect_tokens("asked for", 1);
    }
}

/* If the port reports MST_ERR_FORBIDDEN for a connect, the token is kept: the
 * service has not refused it. */
TEST_CASE(test_port_forbids) {
    begin(false);
    start(0);
    run(5000);
    session.mock.plan.connect_error[0] = MST_ERR_FORBIDDEN;
    start(1);
    run(5000);
    expect_int("told", MST_ERR_FORBIDDEN, shared.failure[1].error);
    session.mock.plan.connect_error[0] = 0;
    run_well(6 * SESSION_MINUTE, "both");
    session_expect_tokens("is kept", 1);
}

/* New credentials apply to both clients at once. */
TEST_CASE(test_credentials) {
    begin(false);
    session.service.token.raw = SERVICE_BAD_CLIENT;
    start_both();
    run(5000);
    expect_int("permanent", true,
               shared.failure[0].permanent && shared.failure[1].permanent);
    expect_int("each has tried", 2, session.service.tokens.count);
    session.service.token = (struct service_script){0};
    session_new_credentials(&shared.access);
    for (int i = 0; i < CLIENTS; i++) {
        expect_int("to be polled at once", 0,
                   mst_next_deadline_ms(&client(i)->link));
    }
    run_well(5000, "then");
    session_expect_tokens("one for both", 3);
}

/* ---- pace and waits ---- */

/* Requests of both clients together are at least a second apart. */
TEST_CASE(test_one_pace) {
    open_both(false);
    for (int i = 0; i < 30; i++) {
        assert_int_equal(mst_resync(client(i % 2), MST_MARKET_DATA, "BTCUSD"),
                         0);
        assert_int_equal(mst_subscription_list(client(1 - i % 2)), 0);
        run(700);
    }
    run_well(20000, "both, still");
    assert_in_range(session.service.requests.count, 20, 45);
    assert_true(session.service.requests.gap_min_ms >= 1000);
}

static void throttle_stream(uint32_t delay_ms) {
    service_answer(&session.service.upgrade,
                   "HTTP/1.1 429 No\r\nRetry-After: 600\r\n"
                   "Content-Length: 0\r\n\r\n",
                   1, 0);
    session.service.upgrade.delay_ms = delay_ms;
    break_one(0, MST_ERR_RESET);
}

/* If the service makes one client wait, the other one waits too. */
TEST_CASE(test_throttled) {
    /* At the token endpoint. */
    begin(false);
    session.service.token.status = 429;
    session.service.token.retry_s = 200;
    start_both();
    run(SESSION_HOUR);
    assert_in_range(session.service.tokens.count, 15, 19);
    assert_true(session.service.tokens.gap_min_ms >= 200000);
    session.service.token = (struct service_script){0};
    run_well(201 * 1000, "then");

    /* At the stream endpoint. The other client's stream breaks later. */
    open_both(false);
    throttle_stream(0);
    run(5000);
    expect_int("refused", MST_ERR_THROTTLED, shared.failure[0].error);
    uint64_t refused_ms = session.service.upgrades.last_ms;
    break_one(1, MST_ERR_RESET);
    run(1000);
    assert_in_range(shared.failure[1].retry_ms, 590000, 600000);
    run(590 * 1000);
    expect_int("none meanwhile", refused_ms, session.service.upgrades.last_ms);
    run_well(10 * 1000, "then");

    /* The other client is connecting when the 429 arrives. */
    open_both(false);
    throttle_stream(2000);
    run(1500);
    session.mock.plan.connect_ms = 5000;
    break_one(1, MST_ERR_RESET);
    run(10 * 1000);
    expect_int("refused", MST_ERR_THROTTLED, shared.failure[0].error);
    expect_int("waits", MST_STATE_WAIT, mst_link_state(&client(1)->link));
    expect_int("asked once more", 3, session.service.upgrades.count);
    run_well(610 * 1000, "then");
}

/* ---- TLS ---- */

/* Both clients use one TLS session per host. */
TEST_CASE(test_tls_sessions) {
    open_both(true);
    for (int i = 0; i < 10; i++) {
        run(SESSION_MINUTE);
        break_both(MST_ERR_EOF);
        run_well(5000, "again");
    }
    /* At first both may connect to the stream's host at the same time. */
    assert_in_range(session.tls.full, 2, 3);
    expect_int("resumed", session.tls.handshakes - session.tls.full,
               mst_link_stats(&client(0)->link)->resumed +
                   mst_link_stats(&client(1)->link)->resumed);
    expect_int("foreign", 0, session.tls.foreign);

    /* With other trust anchors no session is offered. */
    uint64_t full = session.tls.full;
    session_new_anchors(&shared.access);
    run(SESSION_MINUTE);
    break_both(MST_ERR_EOF);
    run_well(5000, "with other anchors");
    assert_in_range(session.tls.full, full + 1, full + 2);
}

/* When the last client is wiped, TLS session keys and tokens are wiped too. */
TEST_CASE(test_nothing_is_left) {
    struct mst_resume none[MST_RESUMES];

    memset(none, 0, sizeof none);
    open_both(true);
    drop(0);
    assert_memory_not_equal(shared.access.resume, none, sizeof none);
    drop(1);
    assert_memory_equal(shared.access.resume, none, sizeof none);
    assert_null(shared.access.links);
}

/* Runs one client for ms, as a program that forgets to poll the other one. */
static void run_one(int i, uint32_t ms) {
    uint64_t end = session_now() + ms;

    while (session_now() < end) {
        struct mst_event event;

        while (mst_poll(client(i), &event) == 1) {
            note(i, &event);
        }
        uint32_t wait = mst_next_deadline_ms(&client(i)->link);
        assert_in_range(wait, 0, SESSION_MINUTE);
        mst_mock_advance(&session.mock, wait < 10 ? 1 + wait : 10);
    }
}

/* A client that is no longer polled, at any step of fetching the token, delays
 * the others by its stage's timeout plus ten seconds at most. */
TEST_CASE(test_one_is_not_polled) {
    unsigned fetching = 0;

    for (int polls = 1; polls < 12; polls++) {
        begin(false);
        session.service.token.delay_ms = 50;
        start_both();
        for (int k = 0; k < polls; k++) {
            struct mst_event event;
            mst_poll(client(0), &event);
            mst_mock_advance(&session.mock, 10);
        }
        fetching += shared.access.fetching == &client(0)->link;
        run_one(1, 30000);
        expect_int("open", MST_STATE_OPEN, mst_link_state(&client(1)->link));
        /* If the first one is polled again, it recovers. */
        run(30000);
        expect_int("both", MST_STATE_OPEN, mst_link_state(&client(0)->link));
    }
    assert_in_range(fetching, 2, 11);
}

/* A token is never used for another service. */
TEST_CASE(test_one_service) {
    begin(false);
    start(0);
    expect_int("another", MST_ERR_URL, start_at(1, "https://other.example"));
    drop(1);
    expect_int("the same", 0,
               start_at(1, printed("%s", session.config.auth_url)));
    drop(0);
    drop(1);
    expect_int("nobody's", 0, start_at(1, "https://other.example"));
}

static int start_with(int i, const char *scope) {
    session.config.scope = scope;
    return start_at(i, session.config.auth_url);
}

/* An access holds tokens for two scopes, shared by any clients. */
TEST_CASE(test_two_scopes) {
    begin(false);
    expect_int("one", 0, start_with(0, "a"));
    expect_int("another", 0, start_with(1, "b"));
    expect_int("a third", MST_ERR_ARGUMENT, start_with(CLIENTS, "c"));
    drop(CLIENTS);
    expect_int("one of the two", 0, start_with(CLIENTS, "a"));
    drop(1);
    expect_int("instead of another", 0, start_with(1, "c"));
}

RUN_WITH(expect_begin, tear_down, session_certificates, tls_remove_certificates)
