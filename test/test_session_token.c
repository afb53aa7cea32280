/*
 * When tokens are fetched: a client by itself fetches one when it connects
 * without one that is good.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

#include <string.h>

#define TOKEN_BODY(expires)                            \
    "{\"access_token\":\"" SERVICE_TOKEN "\"," expires \
    "\"token_type\":\"bearer\"}"

/* The stream goes on beyond the end of its token: the next one is fetched when
 * the client must connect. */
static void test_fetched_to_connect(void **state)
{
    (void)state;
    session_begin();
    session_open();
    session_run(2 * SESSION_HOUR);
    session_expect_tokens("while it streams", 1);
    session_expect_undisturbed("while it streams");
    session.service.token_value = "the-second";
    service_end(&session.service, MST_ERR_EOF);
    assert_true(session_until(MST_EVENT_OPEN, 100));
    session_expect_tokens("in all", 2);
    assert_true(session_until_subscribed(5000));
    session_end();
}

/* A service that ends a stream with its token: it is opened anew at once,
 * with a fresh one. */
static void test_closed_at_expiry(void **state)
{
    (void)state;
    session_begin();
    session.service.rules.expire = true;
    session_open();
    for (int i = 0; i < 10; i++) {
        if (!session_until(MST_EVENT_CLOSED, 2 * SESSION_HOUR)) {
            expect_failed("was not closed");
        }
        expect_int("wait", 0, session.seen.closed.retry_ms);
        if (!session_until(MST_EVENT_OPEN, 100)) {
            expect_failed("not open at once");
            session_until(MST_EVENT_OPEN, SESSION_MINUTE);
        }
        if (!session_until_subscribed(5000)) {
            expect_failed("not subscribed");
        }
    }
    expect_int("opens", 11, mst_client_stats(&session.client)->opens);
    assert_in_range(session.service.tokens.count, 11, 12);
    session_end();
}

/* The same where there is no entropy then: that is looked at once a second. */
static void test_closed_at_expiry_without_entropy(void **state)
{
    uint64_t looks;

    (void)state;
    session_begin();
    session.service.rules.expire = true;
    session_open();
    session_run(3590 * 1000);
    session.mock.plan.entropy_none = true;
    assert_true(session_until(MST_EVENT_CLOSED, SESSION_MINUTE));
    expect_int("the service's", 1008, session.seen.closed.ws_code);
    looks = session.mock.calls[MST_MOCK_ENTROPY];
    session_run(SESSION_MINUTE);
    looks = session.mock.calls[MST_MOCK_ENTROPY] - looks;
    assert_in_range(looks, 58, 65);
    session.mock.plan.entropy_none = false;
    assert_true(session_until_subscribed(5000));
    session_end();
}

/* A service that ends it long before, over and over, is not stormed. */
static void test_not_stormed(void **state)
{
    (void)state;
    session_begin();
    session.service.token_body = TOKEN_BODY("\"expires_in\":1,");
    session_open();
    for (int i = 0; i < 200; i++) {
        service_end(&session.service, MST_ERR_EOF);
        session_run(1000);
    }
    assert_in_range(session.service.tokens.count, 5, 25);
    session_end();
}

/* Nor is one that refuses tokens which live for no longer than what is left for
 * safety. */
static void test_short_tokens_refused(void **state)
{
    (void)state;
    session_begin();
    session.service.expires_in = 30;
    session.service.upgrade.status = 401;
    session_start();
    session_subscribe();
    session_run(SESSION_HOUR);
    assert_in_range(session.service.tokens.count, 20, 250);
    session.service.upgrade.status = 0;
    assert_true(session_until_subscribed(2 * SESSION_MINUTE));
    session_end();
}

/* The next token comes in slowly while the last seconds of the one before it
 * pass: that one's end does no harm to the new one. */
static void test_next_comes_at_the_end(void **state)
{
    (void)state;
    for (uint32_t at = 55000; at < 60000; at += 250) {
        session_begin();
        session.service.expires_in = 60;
        session_open();
        session_run(at - (uint32_t)mst_mock_elapsed(&session.mock));
        session.service.token_value = "the-second-token-which-is-a-longer-one";
        session.mock.plan.drip = 50;
        service_end(&session.service, MST_ERR_EOF);
        session_run(8000);
        session.mock.plan.drip = 0;
        if (!session_until_subscribed(10000)) {
            expect_failed("at %u ms: not subscribed", at);
        }
        session_expect_tokens("with the second", 2);
        expect_int("closed", 1, session.seen.events[MST_EVENT_CLOSED]);
        session_end();
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_fetched_to_connect),
        TEST(test_closed_at_expiry),
        TEST(test_closed_at_expiry_without_entropy),
        TEST(test_not_stormed),
        TEST(test_short_tokens_refused),
        TEST(test_next_comes_at_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
