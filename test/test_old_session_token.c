/*
 * When tokens are fetched: ahead of expiry while a stream goes on, or when one
 * is needed; and what a failing refresh costs.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "old_session.h"

#include <string.h>

#define TOKEN_BODY(expires)                            \
    "{\"access_token\":\"" SERVICE_TOKEN "\"," expires \
    "\"token_type\":\"bearer\"}"

/* ---- ahead of its end ---- */

/* With a second link a token is fetched when a tenth of its life is left, or
 * 5 minutes, while the stream goes on. */
static void test_fetched_ahead(void **state)
{
    static const struct {
        const char *body;
        uint32_t ahead_s; /* when, after the token; 0: never */
    } cases[] = {
        {TOKEN_BODY("\"expires_in\":3600,"), 3300},
        {TOKEN_BODY("\"expires_in\":3599,"), 3299},
        {TOKEN_BODY("\"expires_in\":120,"), 108},
        {TOKEN_BODY("\"expires_in\":119,"), 0},
        {TOKEN_BODY("\"expires_in\":1,"), 0},
        {TOKEN_BODY("\"expires_in\":0,"), 0},
        {TOKEN_BODY(""), 0},
        {TOKEN_BODY("\"expires_in\":null,"), 0},
        {TOKEN_BODY("\"expires_in\":86401,"), 86100},
        {TOKEN_BODY("\"expires_in\":4294967295,"), 86100},
        {TOKEN_BODY("\"expires_in\":4294967297,"), 86100},
        {TOKEN_BODY("\"expires_in\":999999999999999999999999,"), 86100},
        {TOKEN_BODY("\"expires_in\":1e30,"), 86100},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t took_ms;

        session_begin_links(true);
        session.service.token_body = cases[i].body;
        session_open();
        took_ms = session.service.tokens.last_ms;
        session_run(cases[i].ahead_s > 0 ? cases[i].ahead_s * 1000 - 5000
                                         : 90000 * 1000u);
        session_expect_tokens(cases[i].body, 1);
        session_run(6000);
        session_expect_tokens(cases[i].body, cases[i].ahead_s > 0 ? 2 : 1);
        if (cases[i].ahead_s > 0) {
            expect_int(cases[i].body, cases[i].ahead_s,
                       (long long)(session.service.tokens.last_ms - took_ms) /
                           1000);
        }
        session_expect_undisturbed(cases[i].body);
        session_end();
    }
}

/* What was fetched ahead serves the next connection, which needs no other. */
static void test_used_at_next_connect(void **state)
{
    (void)state;
    session_begin_links(true);
    session_open();
    session_run(3000 * 1000);
    session.service.token_value = "the-second";
    session_run(400 * 1000);
    session_expect_tokens("ahead", 2);
    session_expect_undisturbed("ahead");
    service_end(&session.service, MST_ERR_EOF);
    assert_true(session_until(MST_EVENT_OPEN, 5000));
    assert_true(session_until_subscribed(5000));
    session_expect_tokens("in all", 2);
    session_end();
}

/* A service that ends a stream with its token: it is opened anew at once,
 * with a fresh one. */
static void test_closed_at_expiry(void **state)
{
    (void)state;
    for (int two = 0; two < 2; two++) {
        session_begin_links(two);
        session.service.rules.expire = true;
        session_open();
        for (int i = 0; i < 10; i++) {
            if (!session_until(MST_EVENT_CLOSED, 2 * SESSION_HOUR)) {
                expect_failed("was not closed");
            }
            expect_int("wait", 0, session.seen.closed.retry_ms);
            if (!session_until(MST_EVENT_OPEN, 100)) {
                expect_failed("%d links: not open at once", two + 1);
                session_until(MST_EVENT_OPEN, SESSION_MINUTE);
            }
            if (!session_until_subscribed(5000)) {
                expect_failed("not subscribed");
            }
        }
        expect_int("opens", 11, mst_old_client_stats(&session.client)->opens);
        assert_in_range(session.service.tokens.count, 11, 12);
        session_end();
    }
}

/* One that was fetched ahead, and has ended unused, is not offered: the next
 * ones could not be had. */
static void test_ended_unused(void **state)
{
    (void)state;
    session_begin_links(true);
    session_open();
    session_run(3400 * 1000);
    session_expect_tokens("ahead", 2);
    session.service.token.status = 500;
    session_run(2 * SESSION_HOUR);
    session.service.token.status = 0;
    session.service.token_value = "the-third";
    service_end(&session.service, MST_ERR_EOF);
    assert_true(session_until(MST_EVENT_OPEN, 5000));
    expect_int("upgrades", 2, (long long)session.service.upgrades.count);
    session_end();
}

/* One that lives for no time at all serves for a handover, once. */
static void test_handover_with_short_tokens(void **state)
{
    (void)state;
    session_begin_links(true);
    session.config.rotate_ms = SESSION_MINUTE;
    session.service.token_body = TOKEN_BODY("\"expires_in\":0,");
    session_open();
    session_run(SESSION_HOUR);
    assert_in_range(mst_old_client_stats(&session.client)->rotations, 50, 60);
    assert_in_range(session.service.tokens.count, 50, 62);
    session_end();
}

/* A service that ends it long before, over and over, is not stormed. */
static void test_not_stormed(void **state)
{
    (void)state;
    session_begin_links(true);
    session.service.token_body = TOKEN_BODY("\"expires_in\":1,");
    session_open();
    for (int i = 0; i < 200; i++) {
        service_end(&session.service, MST_ERR_EOF);
        session_run(1000);
    }
    assert_in_range(session.service.tokens.count, 5, 25);
    session_end();
}

/* ---- a refresh that fails ---- */

static const char refused[] = "HTTP/1.1 401 Unauthorized\r\n"
                              "Content-Length: 26\r\n\r\n"
                              "{\"error\":\"invalid_client\"}";

/* The stream goes on with the token it has, and reconnects with it. */
static void test_failing_refresh(void **state)
{
    static const struct {
        const char *name;
        struct service_script script;
    } cases[] = {
        {"500", {.status = 500}},
        {"401", {.status = 401}},
        {"403", {.status = 403}},
        {"404", {.status = 404}},
        {"429", {.status = 429}},
        {"429, 20 s", {.status = 429, .retry_s = 20}},
        {"invalid_client", {.raw = refused}},
        {"no answer", {.never = true}},
        {"not HTTP", {.raw = "hello\r\n"}},
        {"cut off",
         {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"
                 "{\"access_token\":\"bad-token-bad",
          .raw_end = MST_ERR_RESET}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        session_begin_links(true);
        session_open();
        session_run(3200 * 1000);
        session.service.token = cases[i].script;
        session_run(200 * 1000);
        assert_true(session.service.tokens.count >= 2);
        session_expect_undisturbed(cases[i].name);
        expect_int(cases[i].name, 1,
                   mst_old_client_stats(&session.client)->tokens);
        assert_true(session.seen.events[MST_EVENT_CLOSED] > 0);

        service_end(&session.service, MST_ERR_EOF);
        if (!session_until(MST_EVENT_OPEN, 2000) ||
            !session_until_subscribed(5000)) {
            expect_failed("%s: not with the token it has", cases[i].name);
        }
        expect_int(cases[i].name, 1,
                   mst_old_client_stats(&session.client)->tokens);

        session.service.token = (struct service_script){0};
        session_run(10 * SESSION_MINUTE);
        expect_int(cases[i].name, 2,
                   mst_old_client_stats(&session.client)->tokens);
        session_end();
    }
}

/* A permanent error of the refresh is reported once, not at each attempt. */
static void test_permanent_refresh_error(void **state)
{
    (void)state;
    session_begin_links(true);
    session_open();
    session.service.token.raw = refused;
    session_run(3 * SESSION_HOUR);
    expect_int("closed", 1, session.seen.events[MST_EVENT_CLOSED]);
    expect_int("permanent", true, session.seen.closed.permanent);
    assert_in_range(session.service.tokens.count, 20, 45);
    session.service.token.raw = NULL;
    session_run(SESSION_HOUR);
    session.service.token.raw = refused;
    session_run(3 * SESSION_HOUR);
    expect_int("closed once more", 2, session.seen.events[MST_EVENT_CLOSED]);
    session_expect_undisturbed("stream");
    session_end();
}

/* ---- two links, two rooms for tokens ---- */

static struct {
    int (*send)(void *context, int link, const void *data, size_t len);
    size_t left;
} stall;

/* Link 0 takes so many bytes, link 1 all. */
static int send_of_one_link(void *context, int link, const void *data,
                            size_t len)
{
    bool *stalled = &session.mock.plan.send_stall;
    int n;

    if (link != 0) {
        bool was = *stalled;
        *stalled = false;
        n = stall.send(context, link, data, len);
        *stalled = was;
        return n;
    }
    *stalled = stall.left == 0;
    n = stall.send(context, link, data,
                   len < stall.left || stall.left == 0 ? len : stall.left);
    stall.left -= n > 0 ? (size_t)n : 0;
    *stalled = stall.left == 0;
    return n;
}

static void stall_begin(void)
{
    stall.send = session.port.send;
    stall.left = SIZE_MAX;
    session.port.send = send_of_one_link;
}

static void stall_after(size_t bytes)
{
    stall.left = bytes;
    session.mock.plan.send_stall = bytes == 0;
}

/* A token that comes while the other link writes its upgrade request, which is
 * longer than its buffer: it has one token, whole, wherever it stalls. */
static void test_token_while_upgrading(void **state)
{
    static char token[1501];

    (void)state;
    memset(token, 't', sizeof token - 1);
    for (size_t at = 0; at < 1700; at += 23) {
        session_begin_links(true);
        session.service.expires_in = 600;
        session.service.token_value = token;
        stall_begin();
        session_open();
        session_run((600 - 60 - 3) * 1000);
        session_expect_tokens("before", 1);
        stall_after(at);
        service_end(&session.service, MST_ERR_EOF);
        session_run(6000);
        session_expect_tokens("ahead", 2);
        stall_after(SIZE_MAX);
        if (!session_until_subscribed(3000)) {
            expect_failed("at %zu: not subscribed", at);
        }
        if (session.service.wrong[0] != '\0') {
            expect_failed("at %zu: %s", at, session.service.wrong);
            session.service.wrong[0] = '\0';
        }
        session_end();
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_fetched_ahead),
        TEST(test_used_at_next_connect),
        TEST(test_closed_at_expiry),
        TEST(test_ended_unused),
        TEST(test_handover_with_short_tokens),
        TEST(test_not_stormed),
        TEST(test_failing_refresh),
        TEST(test_permanent_refresh_error),
        TEST(test_token_while_upgrading),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
