/*
 * Two clients that act as one stream: which one leads, and what the caller sees
 * of a change. Complete books and executions are tested in rotate.c.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "service_private.h"
#include "session.h"

static unsigned changes(void) {
    return session.seen.events[MST_EVENT_LEADER];
}

static int leader(void) {
    return (int)session.pair.leads;
}

static void begin(unsigned flags, uint32_t rotate_ms) {
    session_begin();
    session.config.flags |= flags;
    session.service.rules.feed_ms = 100;
    session.service.rules.beat_ms = 1000;
    session_open_pair(rotate_ms);
}

static enum mst_state state_of(int link) {
    return mst_link_state(&session.pair.clients[link].link);
}

/* Both are connected; the service sends only heartbeats. */
static void begin_quiet_standby(void) {
    begin(MST_HOT_STANDBY, 0);
    session_run(5000);
    session.service.rules.feed_ms = session.service.rules.beat_ms = 0;
    session_run(5000);
    session.seen.events[MST_EVENT_LEADER] = 0;
}

/* Sends this message on one connection only. */
static void text_on(int link, const char *text) {
    service_link_frame(&session.service, link, 0x80, 1, text, strlen(text));
}

static const char *time_now(void) {
    static char time[MST_TIME_TEXT_LEN];

    mst_time_format(mst_mock_wall(&session.mock), time);
    return time;
}

static void beat_on(int link) {
    text_on(link, printed(HEARTBEAT_AT("%s"), time_now()));
}

static void beat_on_both(void) {
    beat_on(0);
    beat_on(1);
}

static void update_on(int link) {
    text_on(link, printed(BOOK_AT("UPDATE", "%s", LEVEL("99.5", "3"), ""),
                          time_now()));
}

/* Expects live books all the time. */
static void run_subscribed(uint32_t ms, uint32_t step_ms) {
    for (uint32_t at = 0; at < ms; at += step_ms) {
        session_run(step_ms);
        expect_int("books", true, session_subscribed());
    }
}

/* A rotation costs only a new connection. */
TEST_CASE(test_rotation) {
    begin(0, 10 * SESSION_MINUTE);
    session_run(35 * SESSION_MINUTE);
    assert_in_range(changes(), 3, 3);
    expect_int("closed", 3, session.seen.events[MST_EVENT_CLOSED]);
    expect_int("without an error", MST_OK, session.seen.closed.error);
    assert_true(session_subscribed());
}

/* Also without data, if the caller sleeps as long as it may. */
TEST_CASE(test_rotation_of_a_quiet_stream) {
    session_begin();
    session.config.ping_ms = session.config.silence_ms = SESSION_DAY;
    session.config.audit_ms = SESSION_DAY;
    session_open_pair(SESSION_HOUR);
    session_run(5 * SESSION_HOUR + SESSION_MINUTE);
    expect_int("changes", 5, changes());
    assert_true(session_subscribed());
}

/* And if each poll finds another event. */
static bool answer_with_another(void *context, const struct mst_event *event) {
    (void)context;
    session.seen.events[event->type]++;
    mst_mock_advance(&session.mock, 2);
    if (mst_mock_room(&session.mock, leader()) > MST_MOCK_IN_LEN / 2) {
        update_on(leader());
    }
    return session_now() < 4 * SESSION_MINUTE;
}

TEST_CASE(test_rotation_of_a_busy_stream) {
    begin(0, SESSION_MINUTE);
    session_run_with(SESSION_HOUR, answer_with_another);
    assert_in_range(changes(), 2, 4);
}

/* A lost connection causes no gap in a book. */
TEST_CASE(test_hot_standby) {
    begin(MST_HOT_STANDBY, 0);
    session_run(10000);
    expect_int("opens", 2, session.seen.events[MST_EVENT_OPEN]);
    for (unsigned i = 0; i < 10; i++) {
        mst_mock_end(&session.mock, leader(), MST_ERR_RESET);
        run_subscribed(20000, 10);
        expect_int("changes", i + 1, changes());
    }
}

/* Heartbeats of the two connections alternate, and are late at times. The
 * leader must not change. */
TEST_CASE(test_heartbeats_out_of_phase) {
    static const uint32_t apart_ms[] = {100, 400, 1000, 2500, 4000, 5000, 9000};

    for (size_t i = 0; i < COUNT(apart_ms); i++) {
        begin_quiet_standby();
        for (unsigned n = 0; n < 30; n++) {
            uint32_t late_ms = n * 37 % 100;
            beat_on(1 - leader());
            session_run(apart_ms[i] - late_ms);
            beat_on(leader());
            session_run(10000 - apart_ms[i] + late_ms);
        }
        expect_int("changes", 0, changes());
    }
}

/* The leader no longer receives heartbeats: one change. */
TEST_CASE(test_heartbeats_of_one) {
    begin_quiet_standby();
    for (unsigned n = 0; n < 3; n++) {
        beat_on_both();
        session_run(2000);
    }
    expect_int("leads", 0, leader());
    for (unsigned n = 0; n < 5; n++) {
        beat_on(1);
        session_run(2000);
    }
    expect_int("leads", 1, leader());
    expect_int("changes", 1, changes());
}

/* The follower reconnects, and receives responses that the leader does not
 * need. The leader must not change. */
TEST_CASE(test_follower_comes_back) {
    session_begin();
    session.service.rules.delay_ms = 700;
    session_start_kind(SESSION_STANDBY);
    expect_int("subscribe", 0, session_wish(MST_HEARTBEAT, NULL));
    session_run(10000);
    session.seen.events[MST_EVENT_LEADER] = 0;
    for (unsigned i = 0; i < 4; i++) {
        int follower = 1 - leader();
        beat_on_both();
        session_run(1000);
        mst_mock_end(&session.mock, follower, MST_ERR_RESET);
        session_run(9000);
        expect_int("open", MST_STATE_OPEN, state_of(follower));
    }
    expect_int("changes", 0, changes());
}

/* Only the follower receives one market's updates, although the leader's
 * connection is alive. */
TEST_CASE(test_book_falls_behind) {
    begin_quiet_standby();
    update_on(1);
    for (unsigned n = 0; n < 30; n++) {
        beat_on_both();
        session_run(1000);
        expect_int("leads", n < 2 ? 0 : n > 4 ? 1 : leader(), leader());
    }
    expect_int("changes", 1, changes());
}

/* The leader's book is stale, and no snapshot arrives. */
TEST_CASE(test_book_stays_stale) {
    begin_quiet_standby();
    session.service.rules.no_snapshot = true;
    text_on(0, BOOK_MESSAGE("UPDATE", LEVEL("x", "1"), ""));
    session_run(2500);
    expect_int("not yet", 0, changes());
    session_run(3000);
    expect_int("changes", 1, changes());
    expect_int("leads", 1, leader());
    assert_true(session_subscribed());

    /* A snapshot arrives, sooner than a change would happen. */
    begin_quiet_standby();
    text_on(0, BOOK_MESSAGE("UPDATE", LEVEL("x", "1"), ""));
    for (unsigned n = 0; n < 60; n++) {
        beat_on_both();
        session_run(1000);
    }
    expect_int("changes", 0, changes());
    assert_true(session_subscribed());
}

/* Both connections are lost, maybe not at the same time. The first one back
 * leads, and the number of changes is limited. */
TEST_CASE(test_both_lost) {
    begin(MST_HOT_STANDBY, 0);
    session_run(10000);
    for (unsigned i = 0; i < 5; i++) {
        unsigned before = changes();
        service_restart(&session.service, MST_ERR_RESET);
        session_run(100);
        expect_int("live", false, session_subscribed());
        assert_true(session_until_subscribed(SESSION_MINUTE));
        session_run(SESSION_MINUTE);
        assert_true(session_subscribed());
        assert_in_range(changes() - before, 0, 2);
    }
}

/* The service refuses the follower, which must not affect the leader. */
TEST_CASE(test_follower_refused) {
    static const int statuses[] = {401, 403, 429, 503};

    for (size_t i = 0; i < COUNT(statuses); i++) {
        begin(MST_HOT_STANDBY, 0);
        session_run(5000);
        session.service.upgrade.status = statuses[i];
        mst_mock_end(&session.mock, 1 - leader(), MST_ERR_RESET);
        run_subscribed(10 * SESSION_MINUTE, 1000);
        expect_int("changes", 0, changes());
        unsigned closed = session.seen.events[MST_EVENT_CLOSED];
        assert_in_range(closed, 2, 40);
        assert_int_not_equal(session.seen.closed.error, MST_OK);
        session.service.upgrade.status = 0;
        session_run(10 * SESSION_MINUTE);
        expect_int("open", MST_STATE_OPEN, state_of(1 - leader()));
    }
}

/* New credentials are used for new connections, and the old ones, which may be
 * overwritten, no longer. The stream continues. */
TEST_CASE(test_credentials) {
    static char id[] = SERVICE_ID, secret[] = SERVICE_SECRET;
    struct mst_access *access = &session.pair.access;

    begin(MST_HOT_STANDBY, 0);
    session_run(5000);
    session_expect_tokens("one for both", 1);
    assert_int_equal(mst_access_set_credentials(access, id, secret), 0);
    session_new_credentials(access);
    memset(id, '!', sizeof id);
    memset(secret, '!', sizeof secret);
    expect_int("none", MST_ERR_CREDENTIALS,
               mst_access_set_credentials(access, "", "x"));
    session_run(SESSION_MINUTE);
    expect_int("closed", 0, session.seen.events[MST_EVENT_CLOSED]);
    session_expect_tokens("not before it is needed", 1);
    mst_mock_end(&session.mock, leader(), MST_ERR_RESET);
    run_subscribed(10000, 100);
    expect_int("open", MST_STATE_OPEN, state_of(1 - leader()));
    session_expect_tokens("anew", 2);
}

/* A leader that always has an event does not stop the follower's work, with
 * events one at a time or many. */
TEST_CASE(test_links_take_turns) {
    struct mst_event event;

    for (unsigned way = 0; way < 4; way++) {
        enum mst_state farthest = MST_STATE_WAIT;

        session_begin();
        session.mock.plan.recv_max = way % 2 == 0 ? 0 : 100;
        session.config.flags |= way < 2 ? 0 : MST_NO_BURST;
        session_open_pair(0);
        for (int i = 0; i < 200; i++) {
            service_push(&session.service, "execution_data", "BTCUSD");
        }
        assert_int_equal(mst_pair_rotate(&session.pair), 0);
        for (int i = 0; i < 100; i++) {
            expect_int("event", 1, mst_pair_poll(&session.pair, &event));
            enum mst_state at = state_of(1);
            farthest = at > farthest ? at : farthest;
        }
        assert_true(farthest > MST_STATE_CONNECT);
    }
}

/* A rotation begins at once, also after a longer time than a timer can be. */
TEST_CASE(test_rotation_after_weeks) {
    session_begin();
    session.service.token_body = SERVICE_ENDLESS; /* it is never renewed */
    session_open_pair(0);
    for (int i = 0; i < 2; i++) {
        mst_mock_advance(&session.mock, 20 * SESSION_DAY);
        session_run(10000);
    }
    assert_int_equal(mst_pair_rotate(&session.pair), 0);
    session_run(10000);
    expect_int("changes", 1, changes());
}

/* The old leader waits as long as it would, also if it is to lead again. */
TEST_CASE(test_rotation_to_one_that_waits) {
    session_begin();
    session.config.backoff_ms = 10 * SESSION_MINUTE;
    session_open_pair(0);
    assert_int_equal(mst_pair_rotate(&session.pair), 0);
    assert_true(session_until(MST_EVENT_OPEN, 5000));
    mst_mock_end(&session.mock, 0, MST_ERR_RESET);
    assert_true(session_until(MST_EVENT_LEADER, 1));
    uint32_t wait = session.seen.closed.retry_ms;
    assert_in_range(wait, 5000, 10 * SESSION_MINUTE);
    assert_int_equal(mst_pair_rotate(&session.pair), 0);
    session_run(wait - 1000);
    expect_int("waits", MST_STATE_WAIT, state_of(0));
    session_run(5000);
    expect_int("leads again", 2, changes());
}

/* If there is no input, each connection is read once per poll. */
TEST_CASE(test_each_is_asked_once) {
    const uint64_t *calls = &session.mock.calls[MST_MOCK_RECV];
    struct mst_event event;

    begin_quiet_standby();
    uint64_t before = *calls;
    expect_int("events", 0, mst_pair_poll(&session.pair, &event));
    expect_int("calls", 2, *calls - before);
}

/* The follower's events are dropped, up to 64 in one poll. */
TEST_CASE(test_follower_is_read_so_far) {
    struct mst_event event;

    begin_quiet_standby();
    const struct mst_stats *stats =
        mst_link_stats(&session.pair.clients[1 - leader()].link);
    for (int i = 0; i < 100; i++) {
        text_on(1 - leader(), "{\"channel\":\"news\"}");
    }
    uint64_t before = stats->messages;
    expect_int("events", 0, mst_pair_poll(&session.pair, &event));
    expect_int("messages", 64, stats->messages - before);
}

/* A half-open connection is detected on either link. Time that the pair spends
 * on the other link is not taken for a slow caller. */
TEST_CASE(test_half_open) {
    for (int link = 0; link < 2; link++) {
        begin(MST_HOT_STANDBY, 0);
        session.service.rules.feed_ms = 1000;
        session_run(10000);
        mst_mock_freeze(&session.mock, link);
        session_run(20000); /* the limit is 15 s */
        expect_int("closed", 1, session.seen.events[MST_EVENT_CLOSED]);
        session_expect_closed("half-open", MST_ERR_HEARTBEAT, MST_STATE_OPEN);
        session_run(10000);
        assert_true(session_link_subscribed(link));
    }
}

/* If a token serves for one connection only, there are two tokens, and none is
 * taken from a client that is connecting with it. */
TEST_CASE(test_tokens_for_one_connection) {
    session_begin();
    session.mock.plan.resolve_ms = session.mock.plan.connect_ms = 30;
    session.service.expires_in = 20;
    session_start_kind(SESSION_STANDBY);
    session_subscribe();
    session_run(5000);
    for (int i = 0; i < 2; i++) {
        expect_int("state", MST_STATE_OPEN, state_of(i));
    }
    session_expect_tokens("tokens", 2);
    assert_true(session_subscribed());
}

/* ---- calls ---- */

/* Brings the connections to a state, before they are closed. */
static void come_to(unsigned flags, bool rotate, uint32_t ms) {
    session_begin();
    session.config.flags |= flags;
    session.mock.plan.resolve_ms = session.mock.plan.connect_ms = 20;
    session.mock.plan.data_ms = 15;
    session.service.rules.feed_ms = 100;
    session_start_pair(0);
    session_subscribe();
    if (rotate) {
        session_run(5000);
        assert_int_equal(mst_pair_rotate(&session.pair), 0);
    }
    session_run(ms);
}

/* In every state both connections end, and the caller's memory is no longer
 * used. */
TEST_CASE(test_close_and_wipe_at_any_time) {
    for (int wipe = 0; wipe < 2; wipe++) {
        for (int mode = 0; mode < 3; mode++) {
            for (uint32_t ms = 0; ms < 3500; ms += ms < 300 ? 10 : 90) {
                come_to(mode == 1 ? MST_HOT_STANDBY : 0, mode == 2, ms);
                if (wipe) {
                    struct mst_event event;
                    mst_pair_wipe(&session.pair);
                    expect_int("poll", MST_ERR_CLOSED,
                               mst_pair_poll(&session.pair, &event));
                } else {
                    mst_pair_close(&session.pair);
                    session_run(5000);
                }
                for (int i = 0; i < 2; i++) {
                    expect_int("in use", false,
                               mst_mock_in_use(&session.mock, i));
                }
                expect_int("error", MST_OK, session.seen.closed.error);
            }
        }
    }
}

/* A caller's own loop sees the end in the poll that returns it, and sleeps
 * while a connection is still to be closed. */
TEST_CASE(test_end_is_told_at_once) {
    for (int standby = 0; standby < 2; standby++) {
        struct mst_pair *p = &session.pair;
        struct mst_event event;
        unsigned zeros = 0;
        int rc;

        begin(standby ? MST_HOT_STANDBY : 0, 0);
        session_run(5000);
        mst_mock_freeze(&session.mock, leader());
        mst_pair_close(p);
        while ((rc = mst_pair_poll(p, &event)) >= 0 && zeros < 10) {
            uint32_t left[2] = {mst_next_deadline_ms(&p->clients[0].link),
                                mst_next_deadline_ms(&p->clients[1].link)};
            uint32_t sleep = left[0] < left[1] ? left[0] : left[1];
            if (rc == 0) {
                expect_int("there is more to come", false,
                           p->clients[0].link.wiped &&
                               p->clients[1].link.wiped);
                zeros += sleep == 0;
                mst_mock_advance(&session.mock, sleep);
            }
        }
        expect_int("ends", MST_ERR_CLOSED, rc);
        assert_in_range(zeros, 0, 3);
    }
}

/* Calls on a pair that is closed, or was never initialised, report it. */
static void expect_closed_calls(const char *name) {
    struct mst_pair *p = &session.pair;
    struct mst_event event;

    expect_int(name, MST_ERR_CLOSED, mst_pair_poll(p, &event));
    expect_int(name, MST_EVENT_NONE, event.type);
    expect_int(name, MST_ERR_CLOSED,
               mst_pair_subscribe(p, MST_HEARTBEAT, NULL, NULL, NULL));
    expect_int(name, MST_ERR_CLOSED,
               mst_pair_unsubscribe(p, MST_HEARTBEAT, NULL));
    expect_int(name, MST_ERR_CLOSED, mst_pair_resync(p, MST_HEARTBEAT, NULL));
    expect_int(name, MST_ERR_CLOSED, mst_pair_subscription_list(p));
    expect_int(name, MST_ERR_CLOSED, mst_pair_rotate(p));
    expect_int(name, true, mst_pair_book(p, "BTCUSD") == NULL);
    for (int i = 0; i < 2; i++) {
        const struct mst_link *l = &p->clients[i].link;
        expect_int(name, MST_STATE_OFF, mst_link_state(l));
        expect_int(name, 0, mst_wants(l));
        (void)mst_next_deadline_ms(l);
    }
    mst_pair_close(p);
    mst_pair_wipe(p);
    expect_int(name, MST_ERR_CLOSED, mst_pair_poll(p, &event));
}

TEST_CASE(test_calls_after_the_end) {
    begin(0, 0);
    mst_pair_wipe(&session.pair);
    expect_closed_calls("wiped");
}

/* Expects this error of mst_pair_init(), and then of all calls. */
static void expect_refused(const char *name, int error,
                           const struct mst_config *config, uint32_t rotate_ms,
                           const struct mst_memory *other) {
    expect_int(name, error,
               mst_pair_init(&session.pair, config, rotate_ms, &session.port,
                             &session.lengths, other));
    expect_closed_calls(name);
}

TEST_CASE(test_calls_after_a_failed_init) {
    session_begin();
    struct mst_memory other = session.lengths;
    other.data = session.other_memory;
    expect_refused("no configuration", MST_ERR_ARGUMENT, NULL, 0, &other);
    struct mst_config config = session.config;
    config.client_id = NULL;
    expect_refused("no name", MST_ERR_CREDENTIALS, &config, 0, &other);
    config = session.config;
    config.ws_url = "ws://" SERVICE_WS_HOST;
    expect_refused("plain", MST_ERR_PLAIN, &config, 0, &other);
    config = session.config;
    expect_refused("one memory", MST_ERR_ARGUMENT, &config, 0, NULL);
    other.size = 100;
    expect_refused("too little", MST_ERR_MEMORY, &config, 0, &other);
    other.size = session.lengths.size;
    expect_refused("too long", MST_ERR_ARGUMENT, &config, 25 * SESSION_DAY,
                   &other);
    config.flags |= MST_HOT_STANDBY;
    expect_refused("both modes", MST_ERR_ARGUMENT, &config, SESSION_HOUR,
                   &other);
}

static int wish(enum mst_channel channel, const char *market,
                struct mst_book *book, struct mst_book *other) {
    return mst_pair_subscribe(&session.pair, channel, market, book, other);
}

/* Fills all slots from this one on. */
static void fill_from(int first) {
    for (int i = first; i < MST_SUBSCRIPTIONS_MAX; i++) {
        expect_int("room", 0, session_wish(MST_TOP_OF_BOOK, printed("M%d", i)));
    }
}

/* A failed subscribe leaves nothing behind on either client. */
TEST_CASE(test_errors_of_subscribe) {
    struct mst_book *book = &session.books[0], *other = &session.others[0];

    session_begin();
    session_start_pair(0);
    expect_int("second alone", MST_ERR_ARGUMENT,
               wish(MST_MARKET_DATA, "BTCUSD", NULL, other));
    expect_int("first alone", MST_ERR_ARGUMENT,
               wish(MST_MARKET_DATA, "BTCUSD", book, NULL));
    expect_int("one for two", MST_ERR_BOOK,
               wish(MST_MARKET_DATA, "BTCUSD", book, book));
    expect_int("books of another channel", MST_ERR_ARGUMENT,
               wish(MST_TOP_OF_BOOK, "BTCUSD", book, other));
    expect_int("no market", MST_ERR_ARGUMENT,
               wish(MST_MARKET_DATA, NULL, book, other));
    expect_int("missing", MST_ERR_MISSING,
               session_leave(MST_MARKET_DATA, "BTCUSD"));
    expect_int("missing", MST_ERR_MISSING,
               session_resync(MST_MARKET_DATA, "BTCUSD"));
    expect_int("good", 0, wish(MST_MARKET_DATA, "BTCUSD", book, other));
    expect_int(
        "again", MST_ERR_EXISTS,
        wish(MST_MARKET_DATA, "BTCUSD", &session.books[1], &session.others[1]));
    assert_ptr_equal(mst_pair_book(&session.pair, "BTCUSD"), book);
    fill_from(1);
    expect_int("full", MST_ERR_FULL, session_wish(MST_MARKET_DATA, "ETHUSD"));
    expect_int("nothing is left of it", MST_ERR_MISSING,
               session_leave(MST_MARKET_DATA, "ETHUSD"));
    assert_null(mst_pair_book(&session.pair, "ETHUSD"));
    session_run(10000);
    expect_int("subscribed", MST_SUBSCRIPTIONS_MAX,
               service_len(&session.service));
}

/* One client has no free slot, because the service does not confirm an
 * unsubscribe. Then neither subscribes. */
TEST_CASE(test_full_on_one_of_them) {
    session_begin();
    session.config.answer_ms = SESSION_HOUR;
    session_start_kind(SESSION_STANDBY);
    fill_from(0);
    session_run(10000);
    expect_int("leads", 0, leader());
    session.service.rules.never = true;
    expect_int("leaves", 0, session_leave(MST_TOP_OF_BOOK, "M3"));
    session_run(5000);
    mst_mock_end(&session.mock, 0, MST_ERR_RESET);
    session_run(100);
    expect_int("leads", 1, leader());
    expect_int("full", MST_ERR_FULL, session_wish(MST_MARKET_DATA, "BTCUSD"));
    expect_int("nothing is left of it", MST_ERR_MISSING,
               session_leave(MST_MARKET_DATA, "BTCUSD"));
    expect_int(
        "on neither", MST_ERR_MISSING,
        mst_unsubscribe(&session.pair.clients[0], MST_MARKET_DATA, "BTCUSD"));
}

/* Only the follower has no free slot: the leader's is freed again. */
TEST_CASE(test_full_on_the_follower) {
    session_begin();
    session_start_pair(0);
    fill_from(1);
    expect_int(
        "beside it", 0,
        mst_subscribe(&session.pair.clients[1], MST_TOP_OF_BOOK, "X", NULL));
    expect_int("full", MST_ERR_FULL, session_wish(MST_MARKET_DATA, "BTCUSD"));
    expect_int(
        "on neither", MST_ERR_MISSING,
        mst_unsubscribe(&session.pair.clients[0], MST_MARKET_DATA, "BTCUSD"));
}

/* The service sends a close frame to the leader, which is read to its end. The
 * follower leads at once, although it is not ready yet. */
TEST_CASE(test_goodbye_to_the_leader) {
    static const char going_away[] = "\x03\xE9";

    begin(0, 0);
    session_run(5000);
    session.service.rules.no_snapshot = true;
    session.service.rules.no_echo = true;
    expect_int("rotates", 0, mst_pair_rotate(&session.pair));
    session_run(1000);
    expect_int("leads", 0, leader());
    expect_int("follows", MST_STATE_OPEN, state_of(1));
    session_stall_after(0);
    service_link_frame(&session.service, 0, 0x80, 8, going_away, 2);
    session_run(1);
    expect_int("leads", 1, leader());
    expect_int("is read to its end", MST_STATE_CLOSING, state_of(0));
    session_unstall();
    session.service.rules.no_snapshot = false;
    session.service.rules.no_echo = false;
}

RUN_SESSIONS(NULL, NULL)
