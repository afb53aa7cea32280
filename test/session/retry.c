/*
 * How long the session waits when the service says how long, and what it
 * takes the service's clock for.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

#include <stdio.h>
#include <string.h>

#define DAY_S 86400

/* The client's wall clock is ahead of the service's. */
static int64_t ahead_s;
static bool clock_set;

static int wall(void *context, int64_t *ns) {
    *ns = mst_mock_wall(context) + ahead_s * 1000000000;
    return clock_set ? 0 : MST_ERR_CLOCK;
}

static void begin(void) {
    session_begin();
    ahead_s = 0;
    clock_set = true;
    session.port.unix_ns = wall;
}

enum place { TOKEN, UPGRADE };

static struct service_script *script_of(enum place place) {
    return place == TOKEN ? &session.service.token : &session.service.upgrade;
}

static struct service_count *count_of(enum place place) {
    return place == TOKEN ? &session.service.tokens : &session.service.upgrades;
}

/* Fails once; says after how many ms the next request came. */
static uint32_t waited(enum place place) {
    struct service_script *script = script_of(place);
    const struct service_count *count = count_of(place);
    uint64_t first_ms;

    session_start();
    session_subscribe();
    session_run(0);
    expect_int("requests", 1, (long long)count->count);
    first_ms = count->last_ms;
    memset(script, 0, sizeof *script);
    while (count->count < 2 &&
           mst_mock_elapsed(&session.mock) < first_ms + 3u * SESSION_DAY) {
        session_run(1000);
    }
    assert_true(session_until_subscribed(10000));
    return (uint32_t)(count->last_ms - first_ms);
}

/* Waits for least_s, and the backoff's jitter at most. */
static void expect_wait(const char *name, enum place place, uint32_t least_s,
                        uint32_t most_s) {
    uint32_t ms = waited(place);

    expect_int(name, (long long)session.seen.closed.retry_ms, ms);
    if (ms < least_s * 1000 || ms > most_s * 1000) {
        expect_failed("%s: waited %u ms, not %u to %u s", name, ms, least_s,
                      most_s);
    }
    session_end();
}

/* ---- Retry-After ---- */

/* The first request comes at MST_MOCK_WALL_NS, on a Friday. */
#define DATE "Date: Fri, 02 Jan 2026 03:04:05 GMT\r\n"

static void test_retry_after(void **state) {
    static const struct {
        const char *headers;
        uint32_t least_s, most_s;
    } cases[] = {
        {"Retry-After: 0\r\n", 0, 1},
        {"Retry-After: 1\r\n", 1, 2},
        {"Retry-After: 120\r\n", 120, 120},
        {"Retry-After: 86400\r\n", DAY_S, DAY_S},
        {"Retry-After: Fri, 02 Jan 2026 03:06:05 GMT\r\n", 120, 120},
        {"Retry-After: Friday, 02-Jan-26 03:06:05 GMT\r\n", 120, 120},
        {"Retry-After: Fri Jan  2 03:06:05 2026\r\n", 120, 120},
        {DATE "Retry-After: Fri, 02 Jan 2026 03:06:05 GMT\r\n", 120, 120},
        {"Retry-After: Friday, 02-Jan-26 03:06:05 GMT\r\n" DATE, 120, 120},
        {DATE "Retry-After: Fri Jan  2 03:06:05 2026\r\n", 120, 120},
        /* Not for longer than a day, and not in the past. */
        {"Retry-After: 4294967295\r\n", DAY_S, DAY_S},
        {"Retry-After: 99999999999999999999999\r\n", DAY_S, DAY_S},
        {"Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n", DAY_S, DAY_S},
        {"Retry-After: Fri, 02 Jan 2026 03:04:05 GMT\r\n", 0, 1},
        {"Retry-After: Thu, 01 Jan 1970 00:00:01 GMT\r\n", 0, 1},
        {"Date: Fri, 31 Dec 9999 23:59:59 GMT\r\n"
         "Retry-After: Fri, 02 Jan 2026 03:06:05 GMT\r\n",
         0, 1},
        {"Date: Thu, 01 Jan 1970 00:00:01 GMT\r\n"
         "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n",
         DAY_S, DAY_S},
        /* Whatever is wrong with its body. */
        {"Content-Encoding: gzip\r\nRetry-After: 120\r\n", 120, 120},
        {"Transfer-Encoding: gzip\r\nRetry-After: 120\r\n", 120, 120},
        {"Content-Length: many\r\nRetry-After: 120\r\n", 120, 120},
        {"Content-Length: 1\r\nContent-Length: 2\r\nRetry-After: 120\r\n", 120,
         120},
        /* A Date that is none does not count. */
        {"Date: soon\r\nRetry-After: Fri, 02 Jan 2026 03:06:05 GMT\r\n", 120,
         120},
        /* None of these says anything. */
        {"Retry-After: soon\r\n", 0, 1},
        {"Retry-After: -120\r\n", 0, 1},
        {"Retry-After: 1 1994 3 4 5: Nov\r\n", 0, 1},
        {"", 0, 1},
    };

    (void)state;
    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        enum place place = i % 2 ? UPGRADE : TOKEN;
        struct service_script *script;

        begin();
        script = script_of(place);
        script->status = 503;
        script->headers = cases[i / 2].headers;
        expect_wait(cases[i / 2].headers, place, cases[i / 2].least_s,
                    cases[i / 2].most_s);
    }
}

/* It is of the response at hand: a later failure is not delayed by it. */
static void test_only_once(void **state) {
    uint64_t after_ms;

    (void)state;
    begin();
    session.service.upgrade.status = 503;
    session.service.upgrade.retry_s = 600;
    session_start();
    session_subscribe();
    session_run(1000);
    expect_int("told", 600000, session.seen.closed.retry_ms);
    session.service.upgrade = (struct service_script){0};
    session.mock.plan.resolve_error = MST_ERR_RESOLVE;
    session_run(601000);
    session_expect_closed("next", MST_ERR_RESOLVE, MST_STATE_RESOLVE);
    after_ms = session.seen.closed.retry_ms;
    assert_in_range(after_ms, 1, 60000);
    session.mock.plan.resolve_error = 0;
    assert_true(session_until_subscribed(2 * SESSION_MINUTE));
    session_end();
}

/* The wall clock is wrong: a Date beside it makes the difference good. */
static void test_wrong_clock(void **state) {
    static const int64_t offsets_s[] = {-3600, 3600, -400 * DAY_S,
                                        400 * (int64_t)DAY_S};

    (void)state;
    for (size_t i = 0; i < COUNT(offsets_s); i++) {
        begin();
        ahead_s = offsets_s[i];
        session.service.token.status = 503;
        session.service.token.headers =
            DATE "Retry-After: Fri, 02 Jan 2026 03:06:05 GMT\r\n";
        expect_wait("wrong clock", TOKEN, 120, 120);
    }

    /* No clock: a date alone says nothing then. */
    for (int dated = 0; dated < 2; dated++) {
        begin();
        clock_set = false;
        session.service.token.status = 503;
        session.service.token.headers =
            dated ? DATE "Retry-After: Fri, 02 Jan 2026 03:06:05 GMT\r\n"
                  : "Retry-After: Fri, 02 Jan 2026 03:06:05 GMT\r\n";
        expect_wait("no clock", TOKEN, dated ? 120 : 0, dated ? 120 : 1);
    }
}

/* ---- 429 ---- */

static void test_throttled(void **state) {
    static const struct {
        const char *headers;
        uint32_t least_s;
    } cases[] = {{"", 300},
                 {"Retry-After: never\r\n", 300},
                 {"Retry-After: 20\r\n", 20},
                 {"Retry-After: 1000\r\n", 1000},
                 {DATE "Retry-After: Fri, 02 Jan 2026 03:24:05 GMT\r\n", 1200}};

    (void)state;
    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        enum place place = i % 2 ? UPGRADE : TOKEN;
        uint32_t least_s = cases[i / 2].least_s;

        begin();
        script_of(place)->status = 429;
        script_of(place)->headers = cases[i / 2].headers;
        expect_wait(cases[i / 2].headers, place, least_s, least_s);
    }
}

/* All day long, with streams that break. */
static void throttled_all_day(enum session_kind kind) {
    begin();
    session_start_kind(kind);
    session_subscribe();
    assert_true(session_until_subscribed(10000));
    session.service.token.status = 429;
    session_run(SESSION_HOUR + SESSION_MINUTE);
    service_restart(&session.service, MST_ERR_EOF);
    for (int i = 0; i < 500; i++) {
        session_run(172800);
        /* Not even with other credentials: it is the address that is
         * throttled. */
        assert_int_equal(mst_access_set_credentials(session_access(),
                                                    SERVICE_ID, SERVICE_SECRET),
                         0);
    }
    assert_in_range(session.service.tokens.count, 200, 295);
    assert_true(session.service.tokens.gap_min_ms >= 300000);
    session_end();
}

static void test_throttled_all_day(void **state) {
    (void)state;
    for (int kind = 0; kind < SESSION_KINDS; kind++) {
        throttled_all_day((enum session_kind)kind);
    }
}

/* Who fetched a token ahead of its end was told to wait: the stream's link does
 * not ask in its place. */
static void test_throttled_ahead(void **state) {
    static const enum session_kind kinds[] = {SESSION_PAIR, SESSION_BESIDE};

    (void)state;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        begin();
        session.service.expires_in = 600;
        session_start_kind(kinds[i]);
        session_subscribe();
        assert_true(session_until_subscribed(10000));
        session.service.token.status = 429;
        session.service.token.retry_s = 200;
        session_run(545 * 1000);
        session_expect_tokens("asked ahead", 2);
        session_expect_undisturbed("asked ahead");
        session_run(40 * 1000);
        service_end(&session.service, MST_ERR_EOF);
        session.service.token = (struct service_script){0};
        session_run(140 * 1000);
        session_expect_tokens("none", 2);
        session_run(20 * 1000);
        assert_true(session_until_subscribed(5000));
        session_expect_tokens("then one", 3);
        assert_true(session.service.tokens.gap_min_ms >= 200000);
        session_end();
    }
}

/* ---- the service's clock ---- */

static void test_skew(void **state) {
    static const int64_t offsets_s[] = {0,    1,     -1,
                                        3600, -3600, 400 * (int64_t)DAY_S};

    (void)state;
    for (size_t i = 0; i < COUNT(offsets_s); i++) {
        begin();
        ahead_s = offsets_s[i];
        session_open();
        expect_int("no date yet", false, session_stats()->has_skew);

        session.service.upgrade.dated = true;
        service_end(&session.service, MST_ERR_EOF);
        assert_true(session_until(MST_EVENT_OPEN, 10000));
        expect_int("has", true, session_stats()->has_skew);
        expect_int("skew", offsets_s[i], session_stats()->skew_s);
        session_end();

        begin();
        ahead_s = offsets_s[i];
        session.service.token.dated = true;
        session_start();
        session_run(100);
        expect_int("of a token", offsets_s[i], session_stats()->skew_s);
        session_end();
    }
}

/* A response that refuses tells the time just as well, when a wrong clock may
 * be the reason. */
static void test_skew_of_a_refusal(void **state) {
    (void)state;
    for (int place = TOKEN; place <= UPGRADE; place++) {
        begin();
        ahead_s = 7200;
        script_of((enum place)place)->status = 401;
        script_of((enum place)place)->dated = true;
        session_start();
        session_run(500);
        assert_true(session.seen.events[MST_EVENT_CLOSED] > 0);
        expect_int("has", true, session_stats()->has_skew);
        expect_int("skew", 7200, session_stats()->skew_s);
        session_end();
    }
}

/* The last date counts, however odd; one that is none leaves it as it is. */
static void test_skew_of_odd_dates(void **state) {
    static const struct {
        const char *headers;
        int64_t skew_s;
    } cases[] = {
        {"Date: Fri, 31 Dec 9999 23:59:59 GMT\r\n",
         INT64_C(1767323045) - INT64_C(253402300799)},
        {"Date: Thu, 01 Jan 1970 00:00:01 GMT\r\n", INT64_C(1767323044)},
        {"Date: Fri Jan  2 03:04:06 2026\r\n", -1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        begin();
        session.service.token.headers = cases[i].headers;
        session.service.upgrade.headers = "Date: yesterday\r\n";
        session_start();
        session_run(0);
        expect_int("opens", 1, session_stats()->opens);
        expect_int(cases[i].headers, cases[i].skew_s, session_stats()->skew_s);
        session_end();
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        TEST(test_retry_after),
        TEST(test_only_once),
        TEST(test_wrong_clock),
        TEST(test_throttled),
        TEST(test_throttled_all_day),
        TEST(test_throttled_ahead),
        TEST(test_skew),
        TEST(test_skew_of_a_refusal),
        TEST(test_skew_of_odd_dates),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
