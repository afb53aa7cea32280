/*
 * Address requests of a transfer that shares the access of a client or a pair:
 * separate state, shared tokens, closing during a request, and what a trace may
 * show.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

#define REFUSED(error) \
    "HTTP/1.1 400 No\r\nConnection: close\r\n\r\n{\"error\":\"" error "\"}"

/* Begins with a stream that receives data all the time. */
static void begin(void) {
    session_begin();
    session.config.base_url = "https://" SERVICE_API_HOST;
    session.service.rules.feed_ms = 100;
    session.service.rules.beat_ms = 1000;
    session.request =
        (struct mst_address_request){.id = "an-id", .nickname = "n"};
    memset(&session.record, 0xA5, sizeof session.record);
}

static void put(const char *name, const char *error) {
    session_put_and_wait(name);
    expect_text(name, error, error_name(session.seen.address.error));
}

/* Expects success of a request that is under way or complete. */
static void expect_well(void) {
    if (session.seen.events[MST_EVENT_ADDRESS] == 0) {
        assert_true(session_until(MST_EVENT_ADDRESS, SESSION_MINUTE));
    }
    expect_text("put", "OK", error_name(session.seen.address.error));
}

static void put_well(const char *name) {
    unsigned before = session.seen.events[MST_EVENT_ADDRESS];

    put(name, "OK");
    expect_text(name, "an-id", session.record.id);
    expect_int(name, before + 1, session.seen.events[MST_EVENT_ADDRESS]);
}

static void use_one_token(void) {
    session.config.scope = SERVICE_SCOPE " " SERVICE_ADDRESS_SCOPE;
    session.service.scope = session.config.scope;
    session.service.api_token = SERVICE_TOKEN;
}

static void begin_beside(enum session_kind kind, uint32_t rotate_ms) {
    session_start_beside(kind, rotate_ms);
    session_subscribe();
    assert_true(session_until_subscribed(SESSION_MINUTE));
}

static void begin_subscribed(void) {
    begin_beside(SESSION_CLIENT, 0);
}

/* Time in which the caller does not poll does not count as the service's. */
TEST_CASE(test_slow_caller) {
    static const uint32_t away_ms[] = {61000, SESSION_HOUR};

    for (size_t i = 0; i < COUNT(away_ms); i++) {
        for (uint32_t ms = 0; ms < 300; ms += 20) {
            begin();
            session.service.rules.feed_ms = session.service.rules.beat_ms = 0;
            session.mock.plan.connect_ms = session.mock.plan.data_ms = 20;
            begin_subscribed();
            expect_int("put", 0, session_put());
            if (ms > 0) { /* for 0 the caller pauses at once */
                session_run(ms);
            }
            mst_mock_advance(&session.mock, away_ms[i]);
            session_run(5000);
            expect_int("ends", 1, session.seen.events[MST_EVENT_ADDRESS]);
            expect_text("put", "OK", error_name(session.seen.address.error));
            expect_text("put", "an-id", session.record.id);
            expect_int("requests", 1, session.service.puts.count);
        }
    }
}

/* Polls until the request has ended. Events never run out, and the caller takes
 * a while over each. */
static void poll_busily(struct mst_event *event) {
    event->type = MST_EVENT_NONE;
    for (int i = 0; event->type != MST_EVENT_ADDRESS && i < 5000; i++) {
        if (i % 40 == 0) {
            for (int n = 0; n < 40; n++) {
                service_text(&session.service, "{\"channel\":\"news\"}");
            }
        }
        expect_int("event", 1, mst_poll(&session.client, event));
        (void)mst_transfer_poll(&session.transfer, event);
        mst_mock_advance(&session.mock, 20);
    }
    expect_int("ends", MST_EVENT_ADDRESS, event->type);
}

/* The request still ends in time, with a response or a timeout. This also holds
 * if the port has reported before that it has no more data. */
TEST_CASE(test_busy_caller) {
    static const struct {
        unsigned flags;
        uint32_t delay_ms, ends_ms;
        const char *error;
    } cases[] = {{0, SESSION_HOUR, 10000, "TIMEOUT"},
                 {0, 5000, 5000, "OK"},
                 {MST_PORT_DRAINS, SESSION_HOUR, 10000, "TIMEOUT"},
                 {MST_PORT_DRAINS, 5000, 5000, "OK"}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct mst_event event;

        begin();
        session.port.flags |= cases[i].flags;
        session.config.put_ms = 10000;
        session.service.rules.feed_ms = session.service.rules.beat_ms = 0;
        session.service.address.delay_ms = cases[i].delay_ms;
        begin_subscribed();
        uint64_t begin_ms = session_now();
        expect_int("put", 0, session_put());
        poll_busily(&event);
        expect_text("put", cases[i].error, error_name(event.as.address.error));
        assert_in_range(session_now() - begin_ms, cases[i].ends_ms,
                        cases[i].ends_ms + 3000);
    }
}

/* Expects that the first stream was never interrupted. */
static void expect_undisturbed(const char *name) {
    session_run(3000);
    expect_int(name, 1, session.seen.events[MST_EVENT_OPEN]);
    expect_int(name, 0, session.seen.events[MST_EVENT_CLOSED]);
    expect_int(name, 0, session.seen.events[MST_EVENT_ERROR]);
    assert_true(session_subscribed());
}

TEST_CASE(test_stream_goes_on) {
    begin();
    session.service.address.delay_ms = 5000;
    begin_subscribed();
    unsigned parts = session.seen.events[MST_EVENT_PART];
    for (int i = 0; i < 3; i++) {
        put_well("beside");
    }
    /* All updates during the responses' 15 s have arrived. */
    assert_true(session.seen.events[MST_EVENT_PART] - parts >= 2 * 140);
    expect_int("tokens", 2, session.service.tokens.count);
    expect_int("connects", 4, session.service.connects.count);
    expect_undisturbed("beside");
}

/* No failure of a request affects the stream. */
TEST_CASE(test_failures_beside_the_stream) {
    static const struct {
        const char *raw;
        int end, error;
    } cases[] = {
        {"", MST_ERR_RESET, MST_ERR_RESET},
        {"", 0, MST_ERR_TIMEOUT},
        {"x\r\n", 0, MST_ERR_HTTP_SYNTAX},
        {SERVICE_EMPTY("401 No"), 0, MST_ERR_UNAUTHORIZED},
        {SERVICE_EMPTY("403 No"), 0, MST_ERR_FORBIDDEN},
        {SERVICE_EMPTY("429 No"), 0, MST_ERR_THROTTLED},
    };

    for (size_t i = 0; i < COUNT(cases) * 2; i++) {
        const char *name = error_name(cases[i / 2].error);
        begin();
        service_answer(&session.service.address, cases[i / 2].raw, 0,
                       cases[i / 2].end);
        if (i % 2 == 1) {
            use_one_token();
        }
        begin_subscribed();
        put(name, name);
        expect_undisturbed(name);
    }
}

/* If the transfer's separate token is refused, only the request fails. */
TEST_CASE(test_token_refused_beside_the_stream) {
    begin();
    begin_subscribed();
    service_answer(&session.service.token, REFUSED("invalid_scope"), 1,
                   MST_ERR_EOF);
    put("refused", "TOKEN_REFUSED");
    expect_text("refused", "invalid_scope", session.seen.address_text);
    expect_undisturbed("refused");
    put_well("granted");
    expect_undisturbed("granted");
}

/* A request is not affected by earlier failures of its link, even long ones,
 * and does not wait for an attempt that is under way. */
TEST_CASE(test_after_another_failure) {
    for (int under_way = 0; under_way < 2; under_way++) {
        begin();
        session.service.rules.feed_ms = 0;
        session.service.expires_in = 600;
        begin_subscribed();
        service_answer(&session.service.token, REFUSED("invalid_client"), 1,
                       MST_ERR_EOF);
        session.service.token.delay_ms = under_way ? 1000 : 0;
        while (session.service.tokens.count < 2) {
            session_run(100); /* until the next token is asked for */
        }
        uint64_t asked_ms = session_now();
        if (under_way) {
            session.service.token.raw = NULL;
            expect_int("put", 0, session_put());
            session_run(100);
            expect_int("asks at once", 3, session.service.tokens.count);
            assert_true(session_until(MST_EVENT_ADDRESS, 5000));
            expect_text("put", "OK", error_name(session.seen.address.error));
        } else {
            put_well("after another failure");
        }
        assert_true(session.seen.address_ms - asked_ms < 5000);
    }
}

/* If a request fails because the next attempt is too far off, the next request
 * is held back too, as retry_ms reports. */
TEST_CASE(test_held_back_by_a_lost_connection) {
    begin();
    session.config.backoff_ms = session.config.backoff_max_ms = 10000000;
    service_answer(&session.service.address, "", 1, MST_ERR_RESET);
    begin_subscribed();
    put("lost", "RESET");
    assert_true(session.seen.address.retry_ms > 61000);
    expect_int("requests", 1, session.service.puts.count);
    put("held back", "TIMEOUT");
    expect_int("requests", 1, session.service.puts.count);
    session_run(session.seen.address.retry_ms);
    put_well("then");
}

/* A refused token is discarded, but not one that replaced it. */
TEST_CASE(test_refused_token_whose_room_was_taken) {
    begin();
    session.service.expires_in = 100; /* no token is fetched early */
    begin_subscribed();
    session_run(80000);
    session.service.address.delay_ms = 5000;
    service_answer(&session.service.address, SERVICE_EMPTY("401 No"), 1, 0);
    expect_int("put", 0, session_put());
    while (session.service.puts.count == 0) {
        session_run(10);
    }
    service_end(&session.service, MST_ERR_RESET);
    assert_true(session_until(MST_EVENT_OPEN, 4000));
    assert_true(session_until(MST_EVENT_ADDRESS, SESSION_MINUTE));
    service_end(&session.service, MST_ERR_RESET);
    assert_true(session_until(MST_EVENT_OPEN, SESSION_MINUTE));
}

static int (*port_send)(void *context, int link, const void *data, size_t len);
static bool stalled;

/* Takes the beginning of an address request, then stalls. */
static int send_a_beginning(void *context, int link, const void *data,
                            size_t len) {
    bool *stall = &session.mock.plan.send_stall;

    *stall = stalled && link == 1;
    int n = port_send(context, link, data, len);
    stalled |= len >= 4 && memcmp(data, "PUT ", 4) == 0;
    *stall = stalled;
    return n;
}

/* The stream needs a new token while the other one, a long one, is still being
 * sent. The new one must not overwrite it. */
TEST_CASE(test_token_in_use_keeps_its_room) {
    begin();
    session.service.expires_in = 100; /* no token is fetched early */
    session.service.token_value = repeated("o", 1999);
    session.service.api_token = session.service.token_value;
    begin_subscribed();
    session_run(80000);
    port_send = session.port.send;
    session.port.send = send_a_beginning;
    stalled = false;
    expect_int("put", 0, session_put());
    while (!stalled) {
        session_run(10);
    }
    session.service.token_value = repeated("n", 1999);
    service_end(&session.service, MST_ERR_RESET);
    assert_true(session_until(MST_EVENT_OPEN, 9000));
    session.port.send = port_send;
    session.mock.plan.send_stall = false;
    assert_true(session_until(MST_EVENT_ADDRESS, 5000));
    expect_text("put", "OK", error_name(session.seen.address.error));
}

/* Hours with both tokens, early renewals and rotations. */
TEST_CASE(test_hours_of_tokens_and_rotations) {
    begin();
    session.service.rules.feed_ms = 0;
    session.service.expires_in = 900;
    session.service.rules.expire = true;
    begin_beside(SESSION_PAIR, 500000);
    for (int i = 0; i < 100; i++) {
        put_well("in all the hours");
        session_run(97000 + (uint32_t)i * 1009);
    }
    expect_int("errors", 0, session.seen.events[MST_EVENT_ERROR]);
    assert_true(session_rotations() > 5);
    assert_true(session_subscribed());
}

/* An idle link fetches the next token before the old one expires. Nothing else
 * happens, and the next connection uses it. */
TEST_CASE(test_token_fetched_ahead) {
    for (int i = 0; i < 4; i++) {
        const char *name = i == 0   ? "a transfer"
                           : i == 1 ? "a transfer beside a pair"
                           : i == 2 ? "a parked follower"
                                    : "nobody is free";
        begin();
        session.service.rules.feed_ms = 0;
        session.service.expires_in = 600;
        if (i < 2) {
            begin_beside(i == 0 ? SESSION_CLIENT : SESSION_PAIR, 0);
        } else {
            session_open_kind(i == 2 ? SESSION_PAIR : SESSION_CLIENT);
        }
        session_run(530000);
        session_expect_tokens(name, 1);
        session_run(20000);
        session_expect_tokens(name, i < 3 ? 2 : 1);
        session_run(600000);
        session_expect_tokens(name, i < 3 ? 3 : 1);
        expect_int(name, 1, session.seen.events[MST_EVENT_OPEN]);
        expect_int(name, 0, session.seen.events[MST_EVENT_CLOSED]);
        expect_int(name, 0, session.seen.events[MST_EVENT_LEADER]);
        service_end(&session.service, MST_ERR_RESET);
        assert_true(session_until(MST_EVENT_OPEN, SESSION_MINUTE));
        session_expect_tokens(name, i < 3 ? 3 : 2);
    }
}

/* A transfer is wiped that was fetching the next token into the room of the
 * client, as the present token is in its own. The client fetches one itself. */
TEST_CASE(test_wiped_while_it_fetches_ahead) {
    begin();
    session.service.rules.feed_ms = 0;
    session.service.expires_in = 600;
    begin_subscribed();
    session_run(600000);
    session_expect_tokens("ahead", 2);
    session.service.token.delay_ms = 5000;
    for (unsigned i = 0; i < 6000 && session.service.tokens.count < 3; i++) {
        session_run(100);
    }
    session_expect_tokens("ahead, once more", 3);
    mst_transfer_wipe(&session.transfer);
    session_run(50000);
    service_end(&session.service, MST_ERR_RESET);
    assert_true(session_until(MST_EVENT_OPEN, SESSION_MINUTE));
    session_expect_tokens("its own", 4);
}

/* An early renewal failed until the token expired, and then a request of
 * another scope failed. The expired token is still the one to be fetched. */
TEST_CASE(test_refused_scope_is_not_fetched_ahead) {
    begin();
    session.service.expires_in = 600;
    begin_subscribed();
    session.service.token.status = 500;
    session_run(620000);
    session.service.token.status = 0;
    service_answer(&session.service.token, REFUSED("invalid_scope"), 0,
                   MST_ERR_EOF);
    assert_int_equal(session_put(), 0);
    assert_true(session_until(MST_EVENT_ADDRESS, 70000));
    session_run(SESSION_HOUR);
    session.service.token.raw = NULL;
    session_run(SESSION_HOUR);
    expect_int("for the request alone", 1, session.service.address_tokens);
}

/* If the token endpoint asks to wait, all links wait. */
TEST_CASE(test_token_endpoint_holds_all) {
    for (int kind = SESSION_CLIENT; kind <= SESSION_STANDBY; kind++) {
        begin();
        session.service.rules.hold = true;
        session.service.token.status = 429;
        session.service.token.retry_s = 90;
        session.config.put_ms = 10 * SESSION_MINUTE;
        session_start_beside((enum session_kind)kind, 0);
        session_subscribe();
        expect_int("put", 0, session_put());
        session_run(85000);
        expect_int("asked once", 1, session.service.tokens.count);
        session.service.token.status = 0;
        expect_well();
        assert_true(session_until_subscribed(SESSION_MINUTE));
    }
}

static struct mst_event last_event; /* by sleeps_until() */

/* Polls only this transfer. True if the event came before end_ms. */
static bool sleeps_until(struct mst_transfer *transfer, uint64_t end_ms,
                         enum mst_event_type type) {
    last_event.type = MST_EVENT_NONE;
    while (last_event.type != type && session_now() < end_ms) {
        if (mst_transfer_poll(transfer, &last_event) == 0) {
            uint64_t left = end_ms - session_now();
            uint32_t sleep = mst_next_deadline_ms(&transfer->link);
            left = sleep < left ? sleep : left;
            mst_mock_advance(&session.mock, left < 10 ? (uint32_t)left : 10);
        }
    }
    return last_event.type == type;
}

/* Begins a request on an idle connection. It is held back, because the service
 * has just made another transfer with the same access wait. */
static void begin_held_back(struct mst_transfer *other, const char *header) {
    static unsigned char bytes[MST_MEMORY_LEN(MST_LENGTHS_USUAL)];
    static const struct mst_memory memory = {bytes, sizeof bytes,
                                             MST_LENGTHS_USUAL};
    struct mst_address record;

    begin_subscribed();
    struct mst_config config = session.config;
    config.access = session.transfer.link.access;
    config.link = 2;
    assert_int_equal(mst_transfer_init(other, &config, &session.port, &memory),
                     0);
    put_well("first");
    expect_int("idle", MST_STATE_IDLE, mst_link_state(&session.transfer.link));
    session.service.address.status = 429;
    session.service.address.headers = header;
    expect_int("put", 0, mst_address_put(other, &session.request, &record));
    assert_true(sleeps_until(other, session_now() + 1000, MST_EVENT_ADDRESS));
    session.service.address.status = 0;
    session.service.address.headers = NULL;
    expect_int("put", 0, session_put());
}

/* A request on an idle connection is held back because of another transfer.
 * That one, polled first, sees the wait end; the first one must see it too,
 * although only it is polled from then on. */
TEST_CASE(test_held_back_while_idle) {
    static struct mst_transfer other;

    begin();
    begin_held_back(&other, "Retry-After: 5\r\n");
    uint64_t begin_ms = session_now();
    (void)sleeps_until(&session.transfer, begin_ms + 2000, MST_EVENT_ADDRESS);
    mst_mock_advance(&session.mock, 4000);
    (void)sleeps_until(&other, begin_ms + 6001, MST_EVENT_ADDRESS);
    expect_int("idle", MST_STATE_IDLE, mst_link_state(&session.transfer.link));
    expect_int("may not sleep", 0,
               mst_next_deadline_ms(&session.transfer.link));
    assert_true(
        sleeps_until(&session.transfer, begin_ms + 7000, MST_EVENT_ADDRESS));
    mst_transfer_wipe(&other);
}

/* A request is held back on an idle connection until its time is over. Its
 * result says how much longer it would have been held back. */
TEST_CASE(test_held_back_beyond_its_time) {
    static struct mst_transfer other;

    begin();
    session.config.put_ms = 4000;
    begin_held_back(&other, "Retry-After: 9\r\n");
    assert_true(sleeps_until(&session.transfer, session_now() + 5000,
                             MST_EVENT_ADDRESS));
    expect_int("error", MST_ERR_TIMEOUT, last_event.as.address.error);
    assert_in_range(last_event.as.address.retry_ms, 4000, 5000);
    mst_transfer_wipe(&other);
}

/* One token for both scopes is fetched once. */
TEST_CASE(test_one_token_for_both_scopes) {
    for (int kind = SESSION_CLIENT; kind <= SESSION_STANDBY; kind++) {
        begin();
        use_one_token();
        begin_beside((enum session_kind)kind, 0);
        put_well("one for both");
        session_run(5000);
        session_expect_tokens("one for both", 1);
    }
}

/* Like begin(), with these delays of connections and responses. */
static void begin_slow(uint32_t connect_ms, uint32_t answer_ms) {
    begin();
    session.mock.plan.resolve_ms = session.mock.plan.connect_ms = connect_ms;
    session.service.token.delay_ms = answer_ms;
    session.service.upgrade.delay_ms = answer_ms;
    session.service.address.delay_ms = answer_ms;
}

/* ---- handover ---- */

/* Makes a request at every moment of a rotation. Both succeed, and every
 * connection but the last is closed. */
TEST_CASE(test_at_each_moment_of_a_rotation) {
    for (uint32_t ms = 0; ms < 6000; ms += ms < 1000 ? 20 : 130) {
        const char *name = printed("%u ms after the begin", (unsigned)ms);
        begin_slow(30, 100);
        session.service.rules.delay_ms = 100;
        begin_beside(SESSION_PAIR, 0);
        expect_int(name, 0, mst_pair_rotate(&session.pair));
        session_run(ms);
        put_well(name);
        session_run(SESSION_MINUTE);
        expect_int(name, 1, session_rotations());
        unsigned opened = session.seen.events[MST_EVENT_OPEN];
        expect_int(name, opened - 1, session.seen.events[MST_EVENT_CLOSED]);
        expect_text(name, "OK", error_name(session.seen.closed.error));
        assert_true(session_subscribed());
    }
}

/* The stream breaks during a request: both recover independently. */
TEST_CASE(test_stream_breaks_meanwhile) {
    for (uint32_t ms = 0; ms < 400; ms += 10) {
        begin();
        session.mock.plan.connect_ms = 20;
        session.service.token.delay_ms = 100;
        session.service.address.delay_ms = 100;
        begin_subscribed();
        expect_int("put", 0, session_put());
        session_run(ms);
        service_end(&session.service, MST_ERR_RESET);
        expect_well();
        assert_true(session_until_subscribed(SESSION_MINUTE));
    }
}

/* ---- the end ---- */

/* Closes at each moment of a request. It ends once, with MST_ERR_CLOSED unless
 * it was complete before. */
TEST_CASE(test_closed_at_each_moment) {
    for (int alone = 0; alone < 2; alone++) {
        for (uint32_t ms = 0; ms < 600; ms += 10) {
            const char *name = printed("closed after %u ms, %s", (unsigned)ms,
                                       alone ? "alone" : "beside");
            begin_slow(20, 50);
            if (alone) {
                session_start_transfer();
            } else {
                session_start_beside(SESSION_CLIENT, 0);
            }
            expect_int(name, 0, session_put());
            session_run(ms);
            bool over = session.seen.events[MST_EVENT_ADDRESS] == 1;
            session_end();
            expect_int(name, 1, session.seen.events[MST_EVENT_ADDRESS]);
            expect_text(name, over ? "OK" : "CLOSED",
                        error_name(session.seen.address.error));
            expect_int(name, MST_ERR_CLOSED, session_put());
        }
    }
}

/* Closes at each moment of a rotation while a request is under way. */
TEST_CASE(test_closed_in_a_rotation) {
    for (uint32_t ms = 0; ms < 6000; ms += 70) {
        begin();
        session.service.rules.delay_ms = 100;
        session.service.address.never = true;
        begin_beside(SESSION_PAIR, 0);
        assert_int_equal(mst_pair_rotate(&session.pair), 0);
        session_run(ms);
        expect_int("put", 0, session_put());
        session_run(ms % 3 == 0 ? 0 : 5);
        session_end();
        expect_int("ends", 1, session.seen.events[MST_EVENT_ADDRESS]);
        expect_text("ends", "CLOSED", error_name(session.seen.address.error));
    }
}

/* Wipes at each moment: no byte of the tokens remains. */
TEST_CASE(test_wiped_at_each_moment) {
    for (uint32_t ms = 0; ms < 600; ms += 10) {
        struct mst_event event;
        begin_slow(20, 50);
        session_start_beside(SESSION_CLIENT, 0);
        expect_int("put", 0, session_put());
        session_run(ms);
        session_wipe();
        session_expect_clean("wiped");
        for (int link = 0; link < 2; link++) {
            assert_false(mst_mock_in_use(&session.mock, link));
        }
        expect_int("put", MST_ERR_CLOSED, session_put());
        expect_int("poll", MST_ERR_CLOSED,
                   mst_transfer_poll(&session.transfer, &event));
        session_check();
    }
}

/* New credentials during a request: the request succeeds with them. */
TEST_CASE(test_new_credentials_meanwhile) {
    for (uint32_t ms = 0; ms < 600; ms += 10) {
        begin_slow(20, 50);
        session_start_beside(SESSION_CLIENT, 0);
        expect_int("put", 0, session_put());
        session_run(ms);
        session_new_credentials(session_access());
        expect_well();
    }
}

/* ---- everything at once ---- */

static uint64_t storm;

static uint32_t roll(uint32_t sides) {
    return random_below(&storm, sides);
}

static void storm_begin(void) {
    static const size_t sizes[] = {0, 0, 1, 17, 300};
    struct mst_mock_plan *plan = &session.mock.plan;

    begin();
    plan->resolve_ms = roll(100);
    plan->connect_ms = roll(200);
    plan->data_ms = roll(50);
    plan->recv_max = sizes[roll(COUNT(sizes))];
    plan->send_max = sizes[roll(COUNT(sizes))];
    session.service.expires_in = 40 + roll(600);
    session.service.address.delay_ms = roll(3000);
    session.service.rules.feed_ms = 5000;
    switch (roll(4)) {
    case 0: begin_beside(SESSION_PAIR, 20000 + roll(20000)); break;
    case 1: begin_beside(SESSION_PAIR, 0); break;
    case 2: begin_beside(SESSION_STANDBY, 0); break;
    default: begin_beside(SESSION_CLIENT, 0); break;
    }
}

/* Does one random step. Returns true if a request was accepted. */
static bool storm_step(void) {
    static const int statuses[] = {0, 0, 401, 403, 404, 429, 503};
    struct service *service = &session.service;
    int link = (int)roll(session.has_pair ? 3 : 2);

    switch (roll(9)) {
    case 0: service_end(service, MST_ERR_RESET); break;
    case 1: service_link_end(service, link, MST_ERR_EOF); break;
    case 2: service->address.status = statuses[roll(COUNT(statuses))]; break;
    case 3: service->token.status = roll(3) == 0 ? 500 : 0; break;
    case 4:
        (void)(session.has_pair ? mst_pair_rotate(&session.pair) : 0);
        break;
    case 5: session_new_credentials(session.transfer.link.access); break;
    case 6: mst_mock_freeze(&session.mock, link); break;
    case 7: mst_mock_advance(&session.mock, roll(30000)); break;
    default: return session_put() == 0;
    }
    return false;
}

/* In any sequence of faults each accepted request ends exactly once. After the
 * faults everything recovers. */
TEST_CASE(test_storms) {
    for (uint64_t seed = 1; seed <= 30; seed++) {
        unsigned taken = 0;
        storm = seed;
        const char *name = printed("storm %u", (unsigned)seed);
        storm_begin();
        for (int i = 0; i < 60; i++) {
            taken += storm_step();
            session_run(roll(4) == 0 ? roll(20000) : roll(500));
        }
        session.service.token.status = session.service.address.status = 0;
        session_run(10 * SESSION_MINUTE);
        expect_int(name, taken, session.seen.events[MST_EVENT_ADDRESS]);
        put_well(name);
        session_expect_subscribed(SESSION_MINUTE, "%s", name);
    }
}

/* ---- the trace ---- */

static struct text traced;
static unsigned traced_times;

static void trace(void *context, const struct mst_trace *piece) {
    (void)context;
    if (piece->kind == MST_TRACE_IN || piece->kind == MST_TRACE_OUT) {
        text_add_bytes(&traced, piece->data, piece->len);
        traced_times += piece->kind == MST_TRACE_OUT;
    }
}

/* The trace shows the request as sent, without token and body, however small
 * the pieces that are sent. */
TEST_CASE(test_trace_sees_no_secret) {
    static const size_t sizes[] = {0, 1, 7};

    for (size_t i = 0; i < COUNT(sizes); i++) {
        char expected[8192], *token, *body;
        begin();
        session.config.trace = trace;
        session.config.flags |= MST_TRACE_ALL;
        session.mock.plan.send_max = sizes[i];
        put_well("traced");
        snprintf(expected, sizeof expected, "%s", session.service.put);
        token = strstr(expected, SERVICE_ADDRESS_TOKEN);
        assert_non_null(token);
        memset(token, '*', strlen(SERVICE_ADDRESS_TOKEN));
        body = strstr(expected, "\r\n\r\n") + 4;
        memset(body, '*', strlen(body));
        if (traced.len < strlen(expected)) {
            expect_failed("traced only %zu bytes", traced.len);
        } else {
            char *response = traced.data + strlen(expected);
            assert_true(strstr(response, session.service.record) != NULL);
            *response = '\0';
            expect_text("traced", expected, traced.data);
        }
        text_free(&traced);
    }
}

/* The trace shows a long request in the pieces that the link takes, however
 * long the token is. */
TEST_CASE(test_trace_sees_each_piece_once) {
    const size_t len = 4001, room = 512; /* the smallest record length */

    begin();
    session.config.trace = trace;
    session.config.flags |= MST_TRACE_ALL;
    session.service.token_value = repeated("t", len - 1);
    session_start_all();
    traced_times = 0;
    assert_true(session_until(MST_EVENT_OPEN, 5000));
    assert_in_range(traced.len, len, len + 2000);
    assert_null(strstr(traced.data, "tttt"));
    assert_in_range(traced_times, 2, len / room + 2);
    text_free(&traced);
    session_end();
    text_free(&traced);
}

RUN_SESSIONS(NULL, NULL)
