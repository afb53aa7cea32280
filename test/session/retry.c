/*
 * How long the session waits if the service asks it to wait.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

#define DAY_S 86400

enum place { TOKEN, UPGRADE };

static struct service_script *script_of(enum place place) {
    return place == TOKEN ? &session.service.token : &session.service.upgrade;
}

/* Fails once. Returns the time until the next request, in ms. */
static uint32_t waited(enum place place) {
    struct service_script *script = script_of(place);
    const struct service_count *count =
        place == TOKEN ? &session.service.tokens : &session.service.upgrades;

    session_start_and_run(0);
    expect_int("requests", 1, count->count);
    uint64_t first_ms = count->last_ms;
    memset(script, 0, sizeof *script);
    while (count->count < 2 && session_now() < first_ms + 3u * SESSION_DAY) {
        session_run(1000);
    }
    assert_true(session_until_subscribed(10000));
    return (uint32_t)(count->last_ms - first_ms);
}

/* Expects a wait of least_s, plus the backoff's jitter at most. */
static void expect_wait(const char *name, enum place place, uint32_t least_s,
                        uint32_t most_s) {
    uint32_t ms = waited(place);

    expect_int(name, session.seen.closed.retry_ms, ms);
    if (ms < least_s * 1000 || ms > most_s * 1000) {
        expect_failed("%s: waited %u ms, not %u to %u s", name, ms, least_s,
                      most_s);
    }
}

/* ---- Retry-After ---- */

TEST_CASE(test_retry_after) {
    static const struct {
        const char *headers;
        uint32_t least_s, most_s;
    } cases[] = {
        {"Retry-After: 0\r\n", 0, 1},
        {"Retry-After: 1\r\n", 1, 2},
        {"Retry-After: 120\r\n", 120, 120},
        {"Retry-After: 86400\r\n", DAY_S, DAY_S},
        /* A day is the maximum. */
        {"Retry-After: 4294967295\r\n", DAY_S, DAY_S},
        {"Retry-After: 99999999999999999999999\r\n", DAY_S, DAY_S},
        /* Also if the body is invalid. */
        {"Content-Encoding: gzip\r\nRetry-After: 120\r\n", 120, 120},
        {"Transfer-Encoding: gzip\r\nRetry-After: 120\r\n", 120, 120},
        {"Content-Length: many\r\nRetry-After: 120\r\n", 120, 120},
        {"Content-Length: 1\r\nContent-Length: 2\r\nRetry-After: 120\r\n", 120,
         120},
        /* A value other than a number of seconds means five minutes. */
        {"Retry-After: Fri, 02 Jan 2026 03:06:05 GMT\r\n", 300, 300},
        {"Retry-After: Friday, 02-Jan-26 03:06:05 GMT\r\n", 300, 300},
        {"Retry-After: Fri Jan  2 03:06:05 2026\r\n", 300, 300},
        {"Retry-After: soon\r\n", 300, 300},
        {"Retry-After: -120\r\n", 300, 300},
        /* Without a value there is only the backoff. */
        {"Retry-After:\r\n", 0, 1},
        {"", 0, 1},
    };

    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        enum place place = i % 2 ? UPGRADE : TOKEN;

        session_begin();
        script_of(place)->status = 503;
        script_of(place)->headers = cases[i / 2].headers;
        expect_wait(cases[i / 2].headers, place, cases[i / 2].least_s,
                    cases[i / 2].most_s);
    }
}

/* Retry-After applies once: a later failure is not delayed by it. */
TEST_CASE(test_only_once) {
    session_begin();
    session.service.upgrade.status = 503;
    session.service.upgrade.retry_s = 600;
    session_start_and_run(1000);
    expect_int("told", 600000, session.seen.closed.retry_ms);
    session.service.upgrade = (struct service_script){0};
    session.mock.plan.resolve_error = MST_ERR_RESOLVE;
    session_run(601000);
    session_expect_closed("next", MST_ERR_RESOLVE, MST_STATE_RESOLVE);
    assert_in_range(session.seen.closed.retry_ms, 1, 60000);
    session.mock.plan.resolve_error = 0;
    assert_true(session_until_subscribed(2 * SESSION_MINUTE));
}

/* ---- 429 ---- */

TEST_CASE(test_throttled) {
    static const struct {
        const char *headers;
        uint32_t least_s;
    } cases[] = {{"", 300},
                 {"Retry-After: never\r\n", 300},
                 {"Retry-After: 20\r\n", 20},
                 {"Retry-After: 1000\r\n", 1000},
                 {"Retry-After: Fri, 02 Jan 2026 03:24:05 GMT\r\n", 300}};

    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        enum place place = i % 2 ? UPGRADE : TOKEN;
        uint32_t least_s = cases[i / 2].least_s;

        session_begin();
        script_of(place)->status = 429;
        script_of(place)->headers = cases[i / 2].headers;
        expect_wait(cases[i / 2].headers, place, least_s, least_s);
    }
}

/* All day, while streams break. */
static void throttled_all_day(enum session_kind kind) {
    session_begin();
    session_open_kind(kind);
    session.service.token.status = 429;
    session_run(SESSION_HOUR + SESSION_MINUTE);
    service_restart(&session.service, MST_ERR_EOF);
    for (int i = 0; i < 500; i++) {
        session_run(172800);
        /* Other credentials do not help: the client's address is throttled. */
        session_new_credentials(session_access());
    }
    assert_in_range(session.service.tokens.count, 200, 295);
    assert_true(session.service.tokens.gap_min_ms >= 300000);
}

TEST_CASE(test_throttled_all_day) {
    for (int kind = 0; kind < SESSION_KINDS; kind++) {
        throttled_all_day((enum session_kind)kind);
    }
}

/* If the endpoint throttles an early renewal, the stream's link does not ask
 * before the wait is over either. */
TEST_CASE(test_throttled_ahead) {
    static const enum session_kind kinds[] = {SESSION_PAIR, SESSION_BESIDE};

    for (size_t i = 0; i < COUNT(kinds); i++) {
        session_begin();
        session.service.expires_in = 600;
        session_open_kind(kinds[i]);
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
    }
}

RUN_SESSIONS(NULL, NULL)
