/*
 * The session's deadlines: every stage's, liveness, dripping peers, the waits
 * before the next attempt.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "old_session.h"

#include <string.h>

/* ---- two links ---- */

/* What the service wants of one link, the other one does as well, and the
 * event says how long it will be. */
static void test_retry_after_holds_the_stream(void **state)
{
    (void)state;
    session_begin();
    session_two_links();
    session_start();
    session_subscribe();
    assert_true(session_until_subscribed(SESSION_MINUTE));
    session.service.upgrade.raw = "HTTP/1.1 429 No\r\nRetry-After: 600\r\n"
                                  "Content-Length: 0\r\n\r\n";
    session.service.upgrade.raw_times = 1;
    expect_int("rotate", 0, mst_old_rotate(&session.client));
    session_run(5000);
    expect_int("refused", MST_ERR_THROTTLED, session.seen.closed.error);
    uint64_t refused_ms = session.service.upgrades.last_ms;
    service_end(&session.service, MST_ERR_RESET);
    assert_true(session_until(MST_EVENT_CLOSED, 1000));
    assert_in_range(session.seen.closed.retry_ms, 594000, 600000);
    assert_true(session_until(MST_EVENT_OPEN, 2 * SESSION_HOUR));
    assert_true(session.service.upgrades.last_ms >= refused_ms + 600000);
    session_end();
}

/* A link that always has an event does not keep the other one from working. */
static void test_links_take_turns(void **state)
{
    struct mst_event event;
    enum mst_state seen = MST_STATE_WAIT;

    (void)state;
    session_begin();
    session_two_links();
    session_start();
    session_subscribe();
    assert_true(session_until_subscribed(SESSION_MINUTE));
    for (int i = 0; i < 200; i++) {
        service_push(&session.service, "execution_data", "BTCUSD");
    }
    expect_int("rotate", 0, mst_old_rotate(&session.client));
    for (int i = 0; i < 100; i++) {
        expect_int("event", 1, mst_old_poll(&session.client, &event));
        if (session.client.links[1].state > seen) {
            seen = session.client.links[1].state;
        }
    }
    assert_true(seen > MST_STATE_CONNECT);
    session_end();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_retry_after_holds_the_stream),
        TEST(test_links_take_turns),
    };

    return cmocka_run_group_tests(tests, session_certificates,
                                  session_no_certificates);
}
