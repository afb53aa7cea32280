/*
 * How long the session waits when the service says how long, and what it
 * takes the service's clock for.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "old_session.h"

#include <stdio.h>
#include <string.h>

#define DAY_S 86400

/* The client's wall clock is ahead of the service's. */
static int64_t ahead_s;
static bool clock_set;

static int wall(void *context, int64_t *ns)
{
    *ns = mst_mock_wall(context) + ahead_s * 1000000000;
    return clock_set ? 0 : MST_ERR_CLOCK;
}

static void begin(void)
{
    session_begin();
    ahead_s = 0;
    clock_set = true;
    session.port.unix_ns = wall;
}

enum place { TOKEN, UPGRADE };

/* ---- Retry-After ---- */

/* The first request comes at MST_MOCK_WALL_NS, on a Friday. */
#define DATE "Date: Fri, 02 Jan 2026 03:04:05 GMT\r\n"

/* ---- 429 ---- */

/* All day long, with any number of links, and streams that break. */
static void test_throttled_all_day(void **state)
{
    (void)state;
    for (int two = 0; two < 2; two++) {
        begin();
        if (two) {
            session_two_links();
        }
        session_start();
        session_subscribe();
        assert_true(session_until_subscribed(10000));
        session.service.token.status = 429;
        session_run(SESSION_HOUR + SESSION_MINUTE);
        service_end(&session.service, MST_ERR_EOF);
        for (int i = 0; i < 500; i++) {
            session_run(172800);
            /* Not even with other credentials: it is the address that is
             * throttled. */
            assert_int_equal(mst_old_set_credentials(
                                 &session.client, SERVICE_ID, SERVICE_SECRET),
                             0);
        }
        assert_in_range(session.service.tokens.count, 200, 295);
        assert_true(session.service.tokens.gap_min_ms >= 300000);
        session_end();
    }
}

/* One link was told to wait: the other does not ask in its place. */
static void test_throttled_across_links(void **state)
{
    (void)state;
    begin();
    session_two_links();
    session.service.expires_in = 600;
    session_start();
    session_subscribe();
    assert_true(session_until_subscribed(10000));
    session.service.token.status = 429;
    session.service.token.retry_s = 200;
    session_run(545 * 1000);
    expect_int("the second link's", 2, (long long)session.service.tokens.count);
    expect_int("link", 0, session.client.stream);
    session_run(40 * 1000);
    service_end(&session.service, MST_ERR_EOF);
    session.service.token = (struct service_script){0};
    session_run(140 * 1000);
    expect_int("none", 2, (long long)session.service.tokens.count);
    session_run(20 * 1000);
    assert_true(session_until_subscribed(5000));
    expect_int("then one", 3, (long long)session.service.tokens.count);
    assert_true(session.service.tokens.gap_min_ms >= 200000);
    session_end();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_throttled_all_day),
        TEST(test_throttled_across_links),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
