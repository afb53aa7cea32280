/*
 * A new connection takes over from an old one: no gaps in books, no lost
 * executions, and what happens if something fails meanwhile.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "service_private.h"
#include "session.h"
#include "truth.h"

#define STEP_MS 20

#define PRICES 6     /* on each side of the true books */
#define LATE_MS 1000 /* older states of a book are wrong */

/* ---- events and books ---- */

#define EXECUTIONS 8192

static struct {
    bool live; /* books must always be live */
    unsigned gaps, lies;
    unsigned events[MST_EVENT_UNKNOWN + 1];
    uint32_t generation; /* the newest */
    unsigned stray;      /* events of a closed generation */
    uint32_t closed[2];  /* the generation that each link closed last */
    struct mst_failure failure;
    int failure_link;
    /* Executions by the time in ms at which they were pushed. */
    uint8_t pushed[EXECUTIONS], seen[EXECUTIONS];
    uint8_t taken[EXECUTIONS]; /* of those seen: not marked */
    unsigned unmarked;         /* repeats that are not marked */
    unsigned marked;
    uint64_t executions_ms;
} seen;

static void books_look(void) {
    for (size_t i = 0; i < 2; i++) {
        const struct mst_book *book = session_book(i);
        bool live = book != NULL && mst_book_state(book) == MST_BOOK_LIVE;
        seen.gaps += seen.live && !live;
        if (live && !truth_is(book, LATE_MS)) {
            seen.lies++;
        }
    }
}

static void execution_look(const struct mst_execution *execution) {
    int64_t at = (execution->time_ns - MST_MOCK_WALL_NS) / 1000000 -
                 (int64_t)seen.executions_ms;

    if (seen.executions_ms == 0 || strcmp(execution->market, "BTCUSD") != 0) {
        return; /* not counted */
    }
    assert_in_range(at, 0, EXECUTIONS - 1);
    seen.marked += execution->repeat;
    seen.taken[at] += !execution->repeat;
    seen.unmarked += seen.taken[at] > 1 && !execution->repeat;
    seen.seen[at]++;
}

static bool on_event(void *context, const struct mst_event *event) {
    (void)context;
    seen.events[event->type]++;
    assert_in_range(event->link, 0, 1);
    if (event->generation > seen.generation) {
        seen.generation = event->generation;
    }
    if (event->generation != 0 &&
        event->generation == seen.closed[event->link]) {
        seen.stray++;
    }
    if (event->type == MST_EVENT_CLOSED) {
        seen.failure = event->as.failure;
        seen.failure.text = seen.failure.market = "";
        seen.failure_link = event->link;
        seen.closed[event->link] = event->generation;
    }
    if (event->type == MST_EVENT_EXECUTION) {
        execution_look(&event->as.execution);
    }
    books_look();
    return true;
}

static void run(uint32_t ms) {
    session_run_with(ms, on_event);
    books_look();
}

/* Runs while books change from time to time. */
static void run_changing(uint32_t ms) {
    uint64_t end = mst_mock_elapsed(&session.mock) + ms;

    while (mst_mock_elapsed(&session.mock) + STEP_MS <= end) {
        run(STEP_MS - 1);
        truth_change();
    }
    run(1);
}

/* The sums of both clients' counts. */
static const struct mst_stats *stats(void) {
    static struct mst_stats sum;

    memset(&sum, 0, sizeof sum);
    for (int i = 0; i < 2; i++) {
        const struct mst_stats *one =
            mst_link_stats(&session.pair.clients[i].link);
        sum.opens += one->opens;
        sum.failures += one->failures;
        sum.tokens += one->tokens;
        sum.resyncs += one->resyncs;
        sum.drifts += one->drifts;
        sum.rotations += one->rotations;
    }
    return &sum;
}

static bool is_well(void) {
    uint64_t late_ms = 200 + session.mock.plan.data_ms;

    return session_subscribed() && truth_is(session_book(0), late_ms) &&
           truth_is(session_book(1), late_ms) &&
           session_state() == MST_STATE_OPEN;
}

static bool well_within(uint32_t ms) {
    uint64_t end = mst_mock_elapsed(&session.mock) + ms;

    while (!is_well() && mst_mock_elapsed(&session.mock) < end) {
        run_changing(100);
    }
    return is_well();
}

static void expect_truth(const char *name) {
    if (seen.lies + seen.gaps + seen.stray > 0) {
        expect_failed("%s: %u lies, %u gaps, %u events of the dead", name,
                      seen.lies, seen.gaps, seen.stray);
    }
}

/* Begins a pair on a line with some latency. */
static void begin(void) {
    memset(&seen, 0, sizeof seen);
    session_begin();
    session.mock.plan.resolve_ms = 15;
    session.mock.plan.connect_ms = 25;
    session.mock.plan.data_ms = 10;
    truth_begin(PRICES);
}

/* Expects that all is well within ms, and still later_ms after that. */
static void expect_recovery(const char *name, uint32_t ms, uint32_t later_ms) {
    if (!well_within(ms)) {
        expect_failed("%s: not well", name);
    }
    run_changing(later_ms);
    if (!is_well()) {
        expect_failed("%s: not well in the end", name);
    }
}

static void start_rotating(uint32_t rotate_ms) {
    session_start_pair(rotate_ms);
    session_subscribe();
    assert_true(well_within(5000));
    run_changing(2000);
    seen.live = true;
}

static void start(void) {
    start_rotating(0);
}

static void new_pair(void) {
    begin();
    start();
}

/* The longest time that a handover takes here. */
#define HANDOVER_MS 4000

static int old_link(void) {
    return (int)session.pair.leads;
}

/* Begins a rotation, and runs while books change. */
static void rotate_and_run(uint32_t ms) {
    assert_int_equal(mst_pair_rotate(&session.pair), 0);
    run_changing(ms);
}

/* ---- no faults ---- */

TEST_CASE(test_no_gap) {
    begin();
    start_rotating(30000);
    for (uint32_t i = 1; i <= 20; i++) {
        run_changing(33000);
        assert_in_range(stats()->rotations, i, i + 1);
    }
    expect_truth("rotations by age");
    assert_in_range(stats()->opens, 1 + stats()->rotations,
                    2 + stats()->rotations);
    expect_int("failures", 0, stats()->failures);
    expect_int("drifts", 0, stats()->drifts);
    expect_int("tokens", 1, stats()->tokens);
    expect_int("generations", stats()->opens, seen.generation);
    expect_int("duplicates", 0, session.service.core.duplicates);
    expect_int("unsubscribes", 0, session.service.unsubscribes);
    expect_int("closes", stats()->rotations, session.service.closes.count);
    expect_int("close code", 1000, session.service.close_code);
    expect_int("how they ended", MST_OK, seen.failure.error);
    assert_true(session.service.requests.gap_min_ms >= 1000);
}

TEST_CASE(test_by_call) {
    new_pair();
    for (uint32_t i = 1; i <= 10; i++) {
        assert_int_equal(mst_pair_rotate(&session.pair), 0);
        rotate_and_run(1000);
        expect_int("meanwhile", i, 1 + stats()->rotations);
        rotate_and_run(HANDOVER_MS);
        expect_int("rotations", i, stats()->rotations);
        expect_int("generation", i + 1, seen.generation);
        run_changing(5000);
        expect_int("only one", i, stats()->rotations);
    }
    expect_truth("rotations by call");
}

/* At other times between two changes, and with other latencies. */
TEST_CASE(test_no_gap_at_any_time) {
    static const uint32_t latencies[] = {0, 1, 7, 60, 300};

    for (size_t i = 0; i < COUNT(latencies); i++) {
        begin();
        session.mock.plan.data_ms = latencies[i];
        start();
        for (uint32_t at = 0; at < STEP_MS; at++) {
            run(at);
            rotate_and_run(HANDOVER_MS + 8 * latencies[i]);
            expect_int("rotations", at + 1, stats()->rotations);
        }
        expect_truth("at any time");
    }
}

TEST_CASE(test_not_possible) {
    begin();
    session.config.flags |= MST_HOT_STANDBY;
    start();
    expect_int("standby", MST_ERR_ARGUMENT, mst_pair_rotate(&session.pair));
    new_pair();
    session_end();
    expect_int("closed", MST_ERR_CLOSED, mst_pair_rotate(&session.pair));
}

/* ---- executions ---- */

/* Runs with a caller that takes some time for each event. */
static void run_slowly(unsigned polls, uint32_t ms) {
    for (unsigned i = 0; i < polls; i++) {
        struct mst_event event;
        if (mst_pair_poll(&session.pair, &event) == 1) {
            (void)on_event(NULL, &event);
        }
        mst_mock_advance(&session.mock, ms);
    }
}

static void execution_push(void) {
    mst_mock_advance(&session.mock, 1);
    uint64_t at = mst_mock_elapsed(&session.mock) - seen.executions_ms;
    assert_in_range(at, 0, EXECUTIONS - 1);
    seen.pushed[at]++;
    service_push(&session.service, "execution_data", "BTCUSD");
}

static void executions_begin(void) {
    memset(seen.pushed, 0, sizeof seen.pushed);
    memset(seen.seen, 0, sizeof seen.seen);
    memset(seen.taken, 0, sizeof seen.taken);
    seen.marked = seen.unmarked = 0;
    seen.executions_ms = mst_mock_elapsed(&session.mock);
}

static void executions_expect(const char *name, bool all) {
    for (size_t i = 0; i < EXECUTIONS; i++) {
        if (all && seen.pushed[i] > 0 && seen.seen[i] == 0) {
            expect_failed("%s: the one of ms %zu was lost", name, i);
            break;
        }
        if (seen.seen[i] > 2 || seen.seen[i] > 2 * seen.pushed[i]) {
            expect_failed("%s: the one of ms %zu came %u times", name, i,
                          seen.seen[i]);
        }
    }
    expect_int(name, 0, seen.unmarked);
}

/* The old connection is read to its end, however late the caller is. If the
 * service does not close it, an error is reported. */
TEST_CASE(test_executions_behind_a_slow_caller) {
    for (int closes = 0; closes < 2; closes++) {
        new_pair();
        session.service.rules.no_echo = closes == 0;
        executions_begin();
        for (int i = 0; i < 300; i++) {
            execution_push();
        }
        assert_int_equal(mst_pair_rotate(&session.pair), 0);
        run_slowly(1000, 20);
        expect_int("rotations", 1, stats()->rotations);
        executions_expect("behind a slow caller", true);
        expect_int("closed", 1, seen.events[MST_EVENT_CLOSED]);
        expect_int("link", 0, seen.failure_link);
        expect_int("how", closes ? MST_OK : MST_ERR_TIMEOUT,
                   seen.failure.error);
        expect_int("in", MST_STATE_CLOSING, seen.failure.stage);
        expect_int("failures", !closes, stats()->failures);
    }
}

/* The old connection breaks before its end is read: that is reported. */
TEST_CASE(test_cut_while_it_is_read_out) {
    static const struct {
        const char *bytes;
        size_t len;
        int end, error;
    } cases[] = {
        {"", 0, MST_ERR_RESET, MST_ERR_RESET},
        {"", 0, MST_ERR_EOF, MST_ERR_EOF},
        {BYTES("\xC1\x02{}"), 0, MST_ERR_WS_RESERVED},
        {BYTES("\x88\x00{}"), 0, MST_OK},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        new_pair();
        session.service.rules.no_echo = true;
        assert_int_equal(mst_pair_rotate(&session.pair), 0);
        while (stats()->rotations == 0) {
            run(1);
        }
        run(20);
        expect_int("closes at once", 1, session.service.closes.count);
        service_write(&session.service, 0, cases[i].bytes, cases[i].len);
        if (cases[i].end != 0) {
            service_link_end(&session.service, 0, cases[i].end);
        }
        run(1000);
        expect_int("closed", 1, seen.events[MST_EVENT_CLOSED]);
        expect_int("error", cases[i].error, seen.failure.error);
        expect_truth("the other one goes on");
        assert_true(is_well());
    }
}

TEST_CASE(test_executions) {
    new_pair();
    executions_begin();
    for (int i = 0; i < 20; i++) {
        run(40);
        execution_push();
    }
    run(100);
    expect_int("one connection", 0, seen.marked);
    assert_int_equal(mst_pair_rotate(&session.pair), 0);
    while (stats()->rotations == 0) {
        run(6);
        execution_push();
    }
    run(100);
    for (int i = 0; i < 20; i++) {
        run(6);
        execution_push();
    }
    run(100);
    executions_expect("in the overlap", true);
    assert_true(seen.marked > 100);

    run(9000);
    executions_begin();
    execution_push();
    run(100);
    expect_int("its copy may yet come", 1, seen.marked);

    run(15000);
    executions_begin();
    execution_push();
    run(100);
    executions_expect("after it", true);
    expect_int("after it", 0, seen.marked);
}

/* Sends an execution of time_ns on this connection, always the same one. */
static void execution_on(int link, int64_t time_ns) {
    char time[MST_TIME_TEXT_LEN];

    mst_time_format(time_ns, time);
    const char *text = printed(EXECUTION_AT("BTCUSD", "1", "1", "%s"), time);
    service_link_frame(&session.service, link, 0x80, 1, text, strlen(text));
}

static bool until_closed(void *context, const struct mst_event *event) {
    return on_event(context, event) && event->type != MST_EVENT_CLOSED;
}

/* One of two connections, the old one or the new one, sends an execution and
 * breaks. wait_ms later the other sends it too, while the caller does not poll
 * for away_ms. The copy is marked. */
static void execution_twice(bool old, uint32_t wait_ms, uint32_t away_ms) {
    new_pair();
    executions_begin();
    assert_int_equal(mst_pair_rotate(&session.pair), 0);
    run(1000); /* both are subscribed */
    int first = old ? old_link() : 1 - old_link();
    int64_t time_ns = mst_mock_wall(&session.mock);
    execution_on(first, time_ns);
    mst_mock_end(&session.mock, first, MST_ERR_RESET);
    session_run_with(500, until_closed);
    expect_int("broken", 1, seen.events[MST_EVENT_CLOSED]);
    if (wait_ms > 0) {
        run(wait_ms);
    }
    execution_on(1 - first, time_ns);
    mst_mock_advance(&session.mock, away_ms);
    run(100);
    expect_int("copies", 2, seen.events[MST_EVENT_EXECUTION]);
    expect_int("marked", 1, seen.marked > 0);
    expect_int("unmarked", 0, seen.unmarked);
}

TEST_CASE(test_execution_of_a_broken_one) {
    static const uint32_t pauses_ms[] = {0, 11000, SESSION_HOUR};

    for (size_t i = 0; i < 2 * COUNT(pauses_ms); i++) {
        execution_twice(i % 2 == 0, 0, pauses_ms[i / 2]);
    }
}

/* The same, if the caller was waiting when it stopped to poll. */
TEST_CASE(test_execution_after_a_long_sleep) {
    execution_twice(true, 50, 3 * SESSION_MINUTE);
}

/* ---- faults during a rotation ---- */

enum breaking { BREAK_OLD, BREAK_NEW, BREAK_BOTH, BREAK_CLOSE };

static void break_links(enum breaking what) {
    int old = old_link();

    if (what == BREAK_OLD || what == BREAK_BOTH) {
        mst_mock_end(&session.mock, old, MST_ERR_RESET);
    }
    if (what == BREAK_NEW || what == BREAK_BOTH) {
        mst_mock_end(&session.mock, 1 - old, MST_ERR_RESET);
    }
    if (what == BREAK_CLOSE && service_is_stream(&session.service, old)) {
        service_link_close(&session.service, old, 1001, "restart");
    }
}

static void break_at(enum breaking what, uint32_t at) {
    const char *name = printed("break %d, at %u ms", what, at);

    new_pair();
    seen.live = what == BREAK_NEW;
    rotate_and_run(at);
    break_links(what);
    run_changing(HANDOVER_MS);
    expect_recovery(name, 8000, 20000);
    expect_truth(name);
    expect_int(name, 0, stats()->drifts);
    expect_text(name, "", session.service.core.wrong);
}

/* At every stage, from before the resolve until after the handover. */
TEST_CASE(test_break_at_any_time) {
    for (int what = BREAK_OLD; what <= BREAK_CLOSE; what++) {
        for (uint32_t at = 0; at <= 4000; at += at < 200 ? 20 : 380) {
            break_at((enum breaking)what, at);
        }
    }
}

/* The new connection breaks just before it takes over, then the old one breaks.
 * Books of the new one must not count as live. */
TEST_CASE(test_break_one_after_the_other) {
    new_pair();
    seen.live = false;
    rotate_and_run(1500);
    break_links(BREAK_NEW);
    run_changing(40);
    session.service.upgrade.status = 500;
    break_links(BREAK_OLD);
    run(100);
    for (size_t i = 0; i < 2; i++) {
        expect_int("state", MST_BOOK_STALE, mst_book_state(session_book(i)));
    }
    session.service.upgrade.status = 0;
    assert_true(well_within(20000));
    expect_int("lies", 0, seen.lies);
}

/* The new connection hangs or fails at each stage. */
TEST_CASE(test_new_never_gets_there) {
    static const enum mst_state hangs[5] = {
        MST_STATE_RESOLVE, MST_STATE_CONNECT, MST_STATE_UPGRADE};

    for (int stage = 0; stage < 5; stage++) {
        new_pair();
        session_hang(hangs[stage]);
        session.service.upgrade.status = stage == 3 ? 500 : 0;
        if (stage == 4) {
            session.mock.plan.resolve_error = MST_ERR_RESOLVE;
        }
        rotate_and_run(SESSION_MINUTE);
        assert_true(is_well());
        expect_int("the old one", 1, stats()->opens);
        assert_in_range(stats()->failures, 1, 12);
        session_hang(MST_STATE_OFF);
        session.service.upgrade.status = 0;
        run_changing(SESSION_MINUTE + HANDOVER_MS);
        expect_int("the new one", 1, stats()->rotations);
        expect_truth("a stage");
    }
}

/* The new connection never gets its snapshots: it is closed, and the old one
 * continues with its books. The second rotation is as the first. */
TEST_CASE(test_snapshot_never_comes) {
    new_pair();
    for (int link = 1; link >= 0; link--) {
        session.service.rules.no_snapshot = true;
        memset(seen.events, 0, sizeof seen.events);
        rotate_and_run(119000);
        expect_int("closed", 0, seen.events[MST_EVENT_CLOSED]);
        expect_int("rotations", 1 - link, stats()->rotations);
        session.service.rules.no_snapshot = false;
        run_changing(3000);
        expect_int("closed", 1, seen.events[MST_EVENT_CLOSED]);
        expect_int("error", MST_ERR_TIMEOUT, seen.failure.error);
        expect_int("link", link, seen.failure_link);
        assert_true(well_within(20000));
        expect_truth("without a snapshot");
        run_changing(10 * SESSION_MINUTE);
        expect_int("which leads then", link, session.pair.leads);
    }
}

/* A new token for each attempt does not remove the pause between attempts. */
TEST_CASE(test_refused_with_every_token) {
    static const struct {
        int status;
        uint32_t expires_in;
    } cases[] = {{401, 3600}, {503, 20}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        begin();
        session.service.expires_in = cases[i].expires_in;
        start();
        session.service.upgrade.status = cases[i].status;
        assert_int_equal(mst_pair_rotate(&session.pair), 0);
        run(SESSION_HOUR);
        assert_in_range(session.service.tokens.count, 60, 200);
        expect_truth("the old one goes on");
    }
}

/* The token endpoint fails from 150 s before the token expires until 150 s
 * after. Meanwhile a rotation is due, or one of two connections is lost. The
 * other one continues, and all recovers once there are tokens. */
TEST_CASE(test_without_tokens_around_expiry) {
    for (int standby = 0; standby < 2; standby++) {
        for (uint32_t lost_s = 10; lost_s < 300; lost_s += 140) {
            begin();
            session.config.flags |= standby ? MST_HOT_STANDBY : 0;
            session.service.expires_in = 400;
            start();
            run_changing(240 * 1000);
            session.service.token.status = 503;
            run_changing(lost_s * 1000);
            executions_begin();
            execution_push();
            if (standby) {
                mst_mock_end(&session.mock, (int)(lost_s / 140 % 2),
                             MST_ERR_RESET);
            } else {
                assert_int_equal(mst_pair_rotate(&session.pair), 0);
            }
            run_changing(4000);
            execution_push();
            run_changing(1000);
            executions_expect("without tokens", true);
            run_changing((295 - lost_s) * 1000);
            session.service.token.status = 0;
            run_changing(2 * SESSION_MINUTE);
            expect_int("rotations", !standby, stats()->rotations);
            expect_int("opens", 2 + standby, stats()->opens);
            expect_int("gaps and lies", 0, seen.gaps + seen.lies);
            assert_true(is_well());
        }
    }
}

/* If snapshots never arrive, attempts are rare. */
TEST_CASE(test_tried_again_slowly) {
    new_pair();
    session.service.rules.no_snapshot = true;
    assert_int_equal(mst_pair_rotate(&session.pair), 0);
    run(SESSION_HOUR);
    assert_in_range(stats()->opens, 5, 12);
    expect_int("rotations", 0, stats()->rotations);
    session.service.rules.no_snapshot = false;
    run(8 * SESSION_MINUTE);
    expect_int("rotations", 1, stats()->rotations);
    expect_truth("tried again");
    assert_true(well_within(1000));
}

/* A book that cannot be live on either connection, because of a number or a
 * missing snapshot, does not prevent a rotation. */
TEST_CASE(test_book_that_cannot_be_live) {
    for (int i = 0; i < 2; i++) {
        begin();
        if (i == 0) {
            session.service.rules.bids =
                "{\"price\":\"1.2345678901234567890123\",\"amount\":\"1\"}";
            session.service.rules.feed_ms = 100;
        } else {
            session.service.rules.no_snapshot = true;
            session.config.snapshot_ms = SESSION_HOUR;
        }
        session_start_pair(0);
        session_subscribe();
        run(SESSION_MINUTE);
        assert_int_not_equal(mst_book_state(session_book(0)), MST_BOOK_LIVE);
        assert_int_equal(mst_pair_rotate(&session.pair), 0);
        run(30000);
        expect_int("rotations", 1, stats()->rotations);
    }
}

/* The end of a connection, or the handover, cuts off a message in parts. */
TEST_CASE(test_cut_in_a_message) {
    struct text *update = text_new();
    unsigned char head[10];

    text_add(update, "{\"channel\":\"market_data\",\"payload\":{\"market\":"
                     "\"BTCUSD\",\"type\":\"UPDATE\",\"time\":"
                     "\"2026-01-03T00:00:00.000Z\",\"asks\":[],\"bids\":[");
    for (int i = 0; i < 80; i++) {
        text_add(update, LEVEL("%d", "0") ",", 10 + i);
    }
    for (int what = BREAK_OLD; what <= BREAK_CLOSE; what++) {
        new_pair();
        seen.live = false;
        rotate_and_run(1500);
        assert_true(is_well());
        int link = what == BREAK_NEW ? 1 - old_link() : old_link();
        mst_mock_write(&session.mock, link, head,
                       mst_mock_service_head(head, 0x81, update->len + 1000));
        mst_mock_write(&session.mock, link, update->data, update->len);
        run(what == BREAK_CLOSE ? 5000 : 100);
        if (what != BREAK_CLOSE) { /* BREAK_CLOSE is the handover */
            break_links((enum breaking)what);
        }
        expect_recovery(printed("break %d", what), 12000, 30000);
        expect_int("lies", 0, seen.lies);
    }
}

/* The new connection is refused a subscription that the old one has: no
 * handover before it is granted. */
TEST_CASE(test_refused_on_the_new) {
    new_pair();
    session.service.rules.fail_code = "INTERNAL_SERVER_ERROR";
    session.service.rules.fail_market = "ETHUSD";
    session.service.rules.fail_type = "subscribe";
    rotate_and_run(20000);
    expect_int("not yet", 0, stats()->rotations);
    assert_true(is_well());
    session.service.rules.fail_code = NULL;
    run_changing(SESSION_MINUTE);
    expect_int("by now", 1, stats()->rotations);
    expect_truth("refused for a while");

    /* A subscription that the old one was refused as well does not count. */
    begin();
    session_start_pair(0);
    session_subscribe();
    assert_int_equal(session_wish(MST_TOP_OF_BOOK, "XYZ"), 0);
    session.service.rules.fail_code = "UNKNOWN_CHANNEL_PARAMS_CONFIGURATION";
    session.service.rules.fail_market = "XYZ";
    run_changing(5000);
    rotate_and_run(HANDOVER_MS);
    expect_int("refused by both", 1, stats()->rotations);
}

/* The stream is down when a rotation is due: there is one new connection, not
 * two. */
TEST_CASE(test_while_down) {
    new_pair();
    seen.live = false;
    session.service.upgrade.status = 503;
    mst_mock_end(&session.mock, old_link(), MST_ERR_RESET);
    run_changing(500);
    rotate_and_run(10000);
    session.service.upgrade.status = 0;
    expect_recovery("while down", 30000, 20000);
    expect_int("opens", 2, stats()->opens);
    expect_int("lies", 0, seen.lies);
}

/* ---- the caller changes its subscriptions meanwhile ---- */

enum wish {
    WISH_SUBSCRIBE,
    WISH_UNSUBSCRIBE,
    WISH_RESYNC,
    WISH_SWAP_BOOK,
    WISH_LIST,
    WISH_CLOSE,
    WISH_WIPE,
    WISH_CREDENTIALS,
    WISHES
};

static void wish_make(enum wish wish) {
    struct mst_pair *p = &session.pair;

    switch (wish) {
    case WISH_SUBSCRIBE:
        assert_int_equal(
            mst_pair_subscribe(p, MST_MARKET_DATA, "LTCEUR", NULL, NULL), 0);
        break;
    case WISH_UNSUBSCRIBE:
        assert_int_equal(session_leave(MST_MARKET_DATA, "ETHUSD"), 0);
        break;
    case WISH_RESYNC:
        assert_int_equal(session_resync(MST_MARKET_DATA, "BTCUSD"), 0);
        break;
    case WISH_SWAP_BOOK:
        assert_int_equal(session_leave(MST_MARKET_DATA, "ETHUSD"), 0);
        expect_int("detached", MST_BOOK_DETACHED,
                   mst_book_reason(&session.books[1]));
        /* The caller may use the levels for anything: nothing writes there. */
        memset(session.levels[1].of, 0x55, sizeof session.levels[1].of);
        memset(session.other_levels[1].of, 0x55,
               sizeof session.other_levels[1].of);
        assert_int_equal(
            mst_pair_subscribe(p, MST_MARKET_DATA, "ETHUSD", NULL, NULL), 0);
        break;
    case WISH_LIST: assert_int_equal(mst_pair_subscription_list(p), 0); break;
    case WISH_CLOSE: mst_pair_close(p); break;
    case WISH_WIPE: mst_pair_wipe(p); break;
    case WISH_CREDENTIALS: session_new_credentials(&p->access); break;
    case WISHES: break;
    }
}

static bool has(const char *market) {
    return service_link_has(&session.service, old_link(), "market_data",
                            market);
}

static bool is_scribbled(void) {
    const unsigned char *levels = (const unsigned char *)session.levels[1].of;
    const unsigned char *others =
        (const unsigned char *)session.other_levels[1].of;

    for (size_t i = 0; i < sizeof session.levels[1].of; i++) {
        if (levels[i] != 0x55 || others[i] != 0x55) {
            return false;
        }
    }
    return true;
}

static void wish_check(const char *name, enum wish wish) {
    const struct mst_book *book = session_book(1);
    if (wish == WISH_CLOSE || wish == WISH_WIPE) {
        struct mst_event event;
        expect_int(name, MST_ERR_CLOSED, mst_pair_poll(&session.pair, &event));
        expect_int(name, false, mst_mock_in_use(&session.mock, 0));
        expect_int(name, false, mst_mock_in_use(&session.mock, 1));
        return;
    }
    expect_int(name, wish == WISH_SUBSCRIBE, has("LTCEUR"));
    expect_int(name, wish != WISH_UNSUBSCRIBE, has("ETHUSD"));
    expect_int(name, true, truth_is(session_book(0), 200));
    expect_int(name, MST_BOOK_LIVE, mst_book_state(session_book(0)));
    if (wish != WISH_UNSUBSCRIBE && wish != WISH_SWAP_BOOK) {
        expect_int(name, true, truth_is(book, 200));
        expect_int(name, MST_BOOK_LIVE, mst_book_state(book));
    } else {
        expect_int(name, MST_BOOK_DETACHED, mst_book_reason(&session.books[1]));
        expect_int(name, MST_BOOK_DETACHED,
                   mst_book_reason(&session.others[1]));
    }
    expect_int(name, wish != WISH_SWAP_BOOK || is_scribbled(), true);
    expect_int(name, 1, stats()->rotations);
    expect_int(name, 0, stats()->drifts);
    expect_int(name, 0, session.service.core.duplicates);
    expect_int(name, 0, seen.lies);
}

TEST_CASE(test_wishes_at_any_time) {
    for (int wish = 0; wish < WISHES; wish++) {
        for (uint32_t at = 0; at <= 3800; at += at < 160 ? 20 : 455) {
            const char *name = printed("wish %d, at %u ms", wish, at);
            new_pair();
            seen.live = false;
            rotate_and_run(at);
            wish_make((enum wish)wish);
            run_changing(12000);
            wish_check(name, (enum wish)wish);
        }
    }
}

/* Closes during a rotation: each connection has a closing handshake. */
TEST_CASE(test_close_both) {
    new_pair();
    rotate_and_run(1500);
    mst_pair_close(&session.pair);
    run(5000);
    expect_int("close frames", 2, session.service.closes.count);
    expect_int("code", 1000, session.service.close_code);
    expect_int("error", MST_OK, seen.failure.error);
    expect_int("told", 2, seen.events[MST_EVENT_CLOSED]);
}

/* Closing an idle link reports no event. */
TEST_CASE(test_close_with_an_idle_link) {
    new_pair();
    mst_pair_close(&session.pair);
    run(5000);
    expect_int("told", 1, seen.events[MST_EVENT_CLOSED]);
    expect_int("link", 0, seen.failure_link);
    expect_int("error", MST_OK, seen.failure.error);
}

/* ---- hot standby ---- */

/* Begins with both connections open and all subscribed on both. */
static void new_standby(void) {
    begin();
    session.config.flags |= MST_HOT_STANDBY;
    session.config.silence_ms = 15000;
    start();
    run_changing(2000);
    expect_int("opens", 2, seen.events[MST_EVENT_OPEN]);
    memset(seen.events, 0, sizeof seen.events);
}

/* Changes the books every step_ms, with an execution each time. */
static void run_executing(uint32_t ms, uint32_t step_ms) {
    uint64_t end = mst_mock_elapsed(&session.mock) + ms;

    while (mst_mock_elapsed(&session.mock) + step_ms <= end) {
        run(step_ms - 2);
        truth_change();
        execution_push();
    }
    run(100);
}

/* However and whenever the leader is lost, there is no gap in a book, no
 * execution is lost, and possible copies are marked. */
TEST_CASE(test_standby_leader_lost) {
    for (int how = 0; how < 4; how++) {
        new_standby();
        for (uint32_t at = 0; at < 12; at++) {
            int link = old_link();
            executions_begin();
            run_executing(400, STEP_MS);
            run(at);
            if (how < 2) {
                mst_mock_end(&session.mock, link,
                             how == 0 ? MST_ERR_RESET : MST_ERR_EOF);
            } else if (how == 2) {
                service_link_close(&session.service, link, 1001, "restart");
            } else {
                service_write(&session.service, link, "\xC1\x02{}", 4);
            }
            run_executing(2000, STEP_MS);
            executions_expect("leader lost", true);
            expect_int("leads", 1 - link, old_link());
            run_changing(20000);
            expect_int("changes", at + 1, seen.events[MST_EVENT_LEADER]);
            expect_int("opens", at + 1, seen.events[MST_EVENT_OPEN]);
        }
        expect_truth("leader lost");
    }
}

/* The loss of the follower is not reported. */
TEST_CASE(test_standby_follower_lost) {
    new_standby();
    executions_begin();
    for (int i = 0; i < 3; i++) {
        mst_mock_end(&session.mock, 1 - old_link(), MST_ERR_RESET);
        run_executing(1000, STEP_MS);
    }
    executions_expect("follower lost", true);
    run_changing(20000);
    expect_int("changes", 0, seen.events[MST_EVENT_LEADER]);
    expect_truth("follower lost");
}

/* The leader's connection is half-open: it is silent, the other one is not. */
TEST_CASE(test_standby_half_open) {
    new_standby();
    for (unsigned i = 0; i < 3; i++) {
        int link = old_link();
        uint64_t begin_ms = mst_mock_elapsed(&session.mock);
        executions_begin();
        mst_mock_freeze(&session.mock, link);
        while (old_link() == link) {
            run_executing(200, 200);
        }
        assert_in_range(mst_mock_elapsed(&session.mock) - begin_ms, 3000, 4500);
        executions_expect("half-open", true);
        assert_true(is_well());
        seen.lies = 0; /* those until the change */
        for (int j = 0; j < 30 && seen.events[MST_EVENT_CLOSED] == i; j++) {
            run(498);
            truth_change();
        }
        run_changing(20000);
        expect_truth("half-open");
        expect_int("changes", i + 1, seen.events[MST_EVENT_LEADER]);
        expect_int("closed", i + 1, seen.events[MST_EVENT_CLOSED]);
        expect_int("error", MST_ERR_SILENCE, seen.failure.error);
    }
}

/* A slow caller does not cause a change, however late it is. */
TEST_CASE(test_standby_slow_caller) {
    new_standby();
    seen.live = false;
    for (int i = 0; i < 180; i++) {
        truth_change();
        run_slowly(1, 100);
    }
    expect_int("changes", 0, seen.events[MST_EVENT_LEADER]);
    mst_mock_advance(&session.mock, SESSION_MINUTE);
    run_changing(10000);
    expect_int("changes", 0, seen.events[MST_EVENT_LEADER]);
    assert_true(is_well());
}

/* Markets that were unsubscribed, and then subscribed in another slot, do not
 * prevent a change. */
TEST_CASE(test_after_unsubscribing) {
    for (int standby = 0; standby < 2; standby++) {
        begin();
        session.config.flags |= standby ? MST_HOT_STANDBY : 0;
        start();
        assert_int_equal(session_wish(MST_TOP_OF_BOOK, "X"), 0);
        assert_int_equal(session_wish(MST_TOP_OF_BOOK, "Y"), 0);
        run_changing(5000);
        assert_int_equal(session_leave(MST_TOP_OF_BOOK, "X"), 0);
        assert_int_equal(session_leave(MST_TOP_OF_BOOK, "Y"), 0);
        run_changing(5000);
        assert_int_equal(session_wish(MST_TOP_OF_BOOK, "Y"), 0);
        run_changing(5000);
        if (standby) {
            mst_mock_freeze(&session.mock, 0);
        } else {
            assert_int_equal(mst_pair_rotate(&session.pair), 0);
        }
        executions_begin();
        run_executing(5400, 200);
        expect_int("leads", 1, old_link());
        expect_int("gaps", 0, seen.gaps);
    }
}

RUN_SESSIONS(NULL, NULL)
