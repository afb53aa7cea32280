/*
 * What a session reports about itself: the trace, and the statistics.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

/* ---- the trace ---- */

static struct {
    struct text text; /* one line per record */
    unsigned counts[MST_TRACE_RANDOM + 1];
    int others; /* links other than the client's */
    enum mst_state state[MST_MOCK_LINKS];
    int64_t wall_ns; /* the last one */
} seen;

/* That the states match the tables in mini_stream.c is tested in states.c. */
static void state_seen(const struct mst_trace *trace) {
    expect_int("from", seen.state[trace->link], trace->from);
    seen.state[trace->link] = trace->state;
    assert_int_not_equal(trace->from, trace->state);
}

static void on_trace(void *context, const struct mst_trace *trace) {
    static const char *const names[] = {"state", "error", "token", "request",
                                        "repair"};

    assert_ptr_equal(context, &seen);
    assert_in_range(trace->kind, MST_TRACE_STATE, MST_TRACE_RANDOM);
    assert_in_range(trace->link, session.config.link,
                    session.config.link + seen.others);
    seen.counts[trace->kind]++;
    if (trace->kind == MST_TRACE_STATE) {
        state_seen(trace);
        return;
    }
    if (trace->kind == MST_TRACE_CLOCK && trace->value2 == 1) {
        seen.wall_ns = trace->value;
    }
    if (trace->kind > MST_TRACE_REPAIR) {
        return;
    }
    expect_int("state", seen.state[trace->link], trace->state);
    expect_int("an error", trace->kind == MST_TRACE_ERROR, trace->error < 0);
    text_add(&seen.text, "%d %s %lld %s\n", trace->link, names[trace->kind],
             trace->kind == MST_TRACE_ERROR ? (long long)trace->error
                                            : (long long)trace->value,
             trace->text != NULL ? trace->text : "-");
}

static void trace_begin(void) {
    session_begin();
    text_free(&seen.text);
    memset(&seen, 0, sizeof seen);
    session.config.trace = on_trace;
    session.config.trace_context = &seen;
}

static bool told(const char *line) {
    return strstr(text_get(&seen.text), line) != NULL;
}

static void expect_told(const char *line) {
    if (!told(line)) {
        expect_failed("\"%s\" is not in\n%s", line, text_get(&seen.text));
    }
}

static void expect_no_secret(void) {
    session_expect_no_secret("the trace", &seen.text);
    if (told(SERVICE_ID) || told("client%20id")) {
        expect_failed("the trace has the client's id");
    }
}

/* A stored token that expires now is not used. */
TEST_CASE(test_token_that_ends_now) {
    trace_begin();
    session_stored_s = 0;
    session.port.token_load = session_token_load;
    session_open();
    expect_told("token 3600 obtained\n");
    assert_false(told("loaded"));
}

/* At least one record of every kind. */
TEST_CASE(test_trace) {
    trace_begin();
    session_stored_s = 1800;
    session.port.token_load = session_token_load;
    service_answer(&session.service.upgrade, SERVICE_EMPTY("401 Unauthorized"),
                   1, 0);
    session_open();
    expect_told("token 1800 loaded\n");
    expect_told("error -405 -\n"); /* MST_ERR_UNAUTHORIZED */
    expect_told("token -1 dropped\n");
    expect_told("token 3600 obtained\n");
    expect_told("request 7 subscribe\n");

    session_run(2000);
    service_forget(&session.service, "market_data", "BTCUSD");
    service_add(&session.service, "market_data", "LTCEUR");
    assert_int_equal(session_list(), 0);
    session_run(5000);
    expect_told("request 0 subscription_list\n");
    expect_told("repair 1 BTCUSD\n"); /* MST_REPAIR_MISSING */
    expect_told("repair 2 LTCEUR\n"); /* MST_REPAIR_STRAY */
    expect_told("request 1 unsubscribe\n");

    session_bad_update("ETHUSD");
    session_run(5000);
    expect_told("repair 0 ETHUSD\n"); /* MST_REPAIR_BOOK */

    session_new_credentials(&session.client.link.own);
    service_close(&session.service, 1011, "as told");
    session_run(10000);
    expect_told("error -510 -\n"); /* MST_ERR_WS_CLOSED */
    assert_true(session_until_subscribed(10000));
    for (int kind = 0; kind <= MST_TRACE_REPAIR; kind++) {
        assert_true(seen.counts[kind] > 0);
    }
    session_end();
    expect_no_secret();
}

/* A token with an unknown lifetime has -1. */
TEST_CASE(test_a_token_without_an_end) {
    trace_begin();
    session.service.token_body = SERVICE_ENDLESS;
    session_open();
    expect_told("token -1 obtained\n");
}

/* Each record names its link of the pair. */
TEST_CASE(test_trace_of_a_pair) {
    trace_begin();
    seen.others = 1;
    session_open_pair(0);
    expect_told("0 token 3600 obtained\n");
    expect_told("0 request 7 subscribe\n");
    expect_int("the follower", MST_STATE_WAIT, seen.state[1]);
    session_run(3310 * 1000);
    expect_told("1 token 3600 obtained\n"); /* early */

    session.service.upgrade.status = 500;
    assert_int_equal(mst_pair_rotate(&session.pair), 0);
    session_run(10);
    expect_told("1 error -500 -\n"); /* MST_ERR_WS_UPGRADE */
    session.service.upgrade.status = 0;
    session_run(SESSION_MINUTE);
    expect_told("1 request 7 subscribe\n");
    expect_int("leads", 1, session.pair.leads);
    expect_int("leads", MST_STATE_OPEN, seen.state[1]);
    expect_int("is over", MST_STATE_WAIT, seen.state[0]);

    session_bad_update("ETHUSD");
    session_run(5000);
    expect_told("1 repair 0 ETHUSD\n"); /* MST_REPAIR_BOOK */
    session_end();
    expect_no_secret();
}

/* Bytes, clocks and random numbers are shown only on request. */
TEST_CASE(test_what_is_asked_for) {
    for (unsigned all = 0; all < 2; all++) {
        trace_begin();
        session.config.flags |= all ? MST_TRACE_ALL : 0;
        session.config.link = 1;
        session_open();
        session_run(SESSION_MINUTE);
        service_end(&session.service, MST_ERR_RESET);
        session_run(SESSION_MINUTE);
        session_end();
        for (int kind = MST_TRACE_OPEN; kind <= MST_TRACE_RANDOM; kind++) {
            if ((seen.counts[kind] > 0) != all) {
                expect_failed("%u records of kind %d", seen.counts[kind], kind);
            }
        }
    }
}

/* Runs an hour with an outage, for comparison. */
static void run_for_comparison(bool traced, unsigned flags, struct text *record,
                               struct mst_stats *stats, struct mst_mock *mock) {
    trace_begin();
    session.config.trace = traced ? on_trace : NULL;
    session.config.flags |= flags;
    session.service.rules.feed_ms = 1000;
    session_start_and_run(SESSION_HOUR / 2);
    service_end(&session.service, MST_ERR_RESET);
    session_run(SESSION_HOUR / 2);
    session_record_copy(record);
    *stats = *session_stats();
    *mock = session.mock;
}

/* The trace changes nothing. Without a trace function the port is not called
 * for it, even if all flags are set. */
TEST_CASE(test_trace_changes_nothing) {
    static const struct {
        bool traced;
        unsigned flags;
    } cases[] = {{false, MST_TRACE_ALL}, {true, 0}, {true, MST_TRACE_ALL}};
    static struct mst_mock mock, first_mock;
    struct mst_stats stats, first_stats;
    struct text *first = text_new();

    run_for_comparison(false, 0, first, &first_stats, &first_mock);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct text *record = text_new();
        run_for_comparison(cases[i].traced, cases[i].flags, record, &stats,
                           &mock);
        expect_text("events", text_get(first), text_get(record));
        assert_memory_equal(&stats, &first_stats, sizeof stats);
        assert_memory_equal(mock.calls, first_mock.calls, sizeof mock.calls);
    }
}

/* Each failure is traced, even if the caller gets only one event. */
TEST_CASE(test_trace_of_errors) {
    trace_begin();
    session.service.token.raw = SERVICE_BAD_CLIENT;
    session_start_and_run(SESSION_HOUR);
    expect_int("events", 1, session.seen.events[MST_EVENT_CLOSED]);
    assert_in_range(seen.counts[MST_TRACE_ERROR], 10, 20);
    expect_int("failures", session_stats()->failures,
               seen.counts[MST_TRACE_ERROR]);
    expect_told("error -400 -\n");
    expect_no_secret();
}

static int no_clock(void *context, int64_t *ns) {
    (void)context;
    *ns = 5;
    return MST_ERR_CLOCK;
}

/* Each attempt's reading of the wall clock; -1 if there is none. */
TEST_CASE(test_trace_of_the_wall_clock) {
    int (*real)(void *context, int64_t *ns);

    trace_begin();
    real = session.port.unix_ns;
    session.config.flags |= MST_TRACE_ALL;
    session.port.unix_ns = no_clock;
    session_open();
    assert_true(seen.wall_ns == -1);
    session.port.unix_ns = real;
    session_break(MST_ERR_EOF);
    assert_true(session_until_subscribed(SESSION_MINUTE));
    assert_true(seen.wall_ns > INT64_C(1000000000) * MST_CLOCK_MIN);
}

/* Bytes that the port did not accept, and its errors, are traced. */
TEST_CASE(test_trace_of_the_port) {
    trace_begin();
    session.config.flags |= MST_TRACE_ALL;
    session.mock.plan.send_max = 50;
    session_open();
    assert_in_range(seen.counts[MST_TRACE_PORT], 2, 200);
    session.mock.plan.send_max = 0;
    unsigned before = seen.counts[MST_TRACE_PORT];
    service_frame(&session.service, 0x80, MST_WS_PING, "", 0);
    session_run(10);
    expect_int("all was taken", before, seen.counts[MST_TRACE_PORT]);
}

/* The trace has each end once, even if the client is closed right after it. */
TEST_CASE(test_each_attempt_ends_once) {
    trace_begin();
    session.config.flags |= MST_TRACE_ALL;
    session_open();
    session_break(MST_ERR_EOF);
    session_close();
    expect_int("ends", seen.counts[MST_TRACE_OPEN], seen.counts[MST_TRACE_END]);
}

/* ---- statistics ---- */

static void expect_failure(unsigned band, int error) {
    expect_int(mst_strerror(error), 1, session_stats()->errors[band]);
    expect_int(mst_strerror(error), error, session_stats()->last_error);
}

TEST_CASE(test_errors_by_band) {
    unsigned sum = 0;

    session_begin_open();
    expect_int("none", 0, session_stats()->last_error);
    service_end(&session.service, MST_ERR_RESET);
    assert_true(session_until(MST_EVENT_OPEN, 5000));
    expect_failure(1, MST_ERR_RESET);

    session_new_credentials(&session.client.link.own);
    session.service.token.status = 500;
    service_frame(&session.service, 0xF0, 1, "", 0);
    assert_true(session_until(MST_EVENT_CLOSED, 5000));
    expect_failure(5, MST_ERR_WS_RESERVED);
    assert_true(session_until(MST_EVENT_CLOSED, 10000));
    expect_failure(3, MST_ERR_HTTP_STATUS);
    session.service.token.status = 0;
    session.service.token_body = "{}";
    assert_true(session_until(MST_EVENT_CLOSED, 10000));
    expect_failure(4, MST_ERR_TOKEN_SHAPE);
    session.service.token_body = NULL;
    session.service.upgrade.never = true;
    assert_true(session_until(MST_EVENT_CLOSED, SESSION_MINUTE));
    expect_failure(7, MST_ERR_TIMEOUT);
    session.service.upgrade.never = false;
    assert_true(session_until_subscribed(SESSION_MINUTE));

    /* An invalid message counts as none of these. */
    service_text(&session.service, "{\"channel\":\"heartbeat\"}");
    service_text(&session.service, "nonsense");
    session_run(10000);
    expect_int("bad messages", 2, session_stats()->bad_messages);
    for (unsigned i = 0; i < MST_BANDS; i++) {
        sum += session_stats()->errors[i];
    }
    expect_int("failures", session_stats()->failures, sum);
    expect_int("failures", 5, sum);
}

TEST_CASE(test_counts) {
    session_begin();
    session.service.rules.feed_ms = 1000;
    session_start_and_run(SESSION_HOUR + 500);
    expect_int("in", session.mock.bytes_in, session_stats()->bytes_in);
    expect_int("out", session.mock.bytes_out, session_stats()->bytes_out);
    /* A response, two snapshots, seven updates each second, and audits. */
    expect_int("messages", 1 + 2 + 7 * 3600 + (long long)session.service.lists,
               session_stats()->messages);
    expect_int("tokens", 1, session_stats()->tokens);
    expect_int("opens", 1, session_stats()->opens);
    expect_int("failures", 0, session_stats()->failures);
    expect_int("unknown", 0, session_stats()->unknown);
    service_text(&session.service, "{\"channel\":\"new\",\"payload\":{}}");
    session_run(10);
    expect_int("unknown", 1, session_stats()->unknown);
    /* What follows the close frame counts, too. */
    mst_close(&session.client);
    service_bytes(&session.service, "\x88\x02\x03\xE8\x81\x02{}", 8);
    session_run(1000);
    expect_int("state", MST_STATE_OFF, session_state());
    expect_int("in", session.mock.bytes_in, session_stats()->bytes_in);
}

TEST_CASE(test_high_water) {
    const struct mst_high_water *high = &session.client.link.stats.high;

    session_begin();
    session.lengths.record_in = MST_RECORD_IN_MIN; /* messages are cut */
    session.service.rules.feed_ms = 500;
    session_open();
    session_run(SESSION_MINUTE);
    expect_int("subscriptions", 7, high->subscriptions);
    expect_int("token", strlen(SERVICE_TOKEN), high->token);
    assert_in_range(high->headers, 80, 300);
    assert_in_range(high->line, 30, 80);
    assert_in_range(high->body, 100, 300);
    assert_in_range(high->message, 10, 2048);
    assert_in_range(high->depth, 1, MST_JSON_DEPTH);
    assert_in_range(high->received, 100, MST_RECORD_IN_MIN);
    expect_int("nothing is staged in the clear", 0, high->staged);
    assert_in_range(high->unsent, 100, MST_RECORD_OUT_MIN);

    /* Repetition uses no more memory. */
    struct mst_high_water after = *high;
    for (int i = 0; i < 20; i++) {
        session_run(SESSION_MINUTE);
        service_end(&session.service, MST_ERR_EOF);
        session_run(5000);
        assert_true(session_until_subscribed(SESSION_MINUTE));
    }
    assert_memory_equal(&after, high, sizeof after);
}

RUN_SESSIONS(NULL, NULL)
