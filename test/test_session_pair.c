/*
 * Two clients that are one stream: which of them leads, and what the caller
 * sees of a change.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

#include <string.h>

static unsigned changes(void)
{
    return session.seen.events[MST_EVENT_LEADER];
}

static void begin(unsigned flags, uint32_t rotate_ms)
{
    session_begin();
    session.config.flags |= flags;
    session.service.rules.feed_ms = 100;
    session.service.rules.beat_ms = 1000;
    session_start_pair(rotate_ms);
    session_subscribe();
    assert_true(session_until_subscribed(10000));
}

/* A rotation costs nothing but a connection. */
static void test_rotation(void **state)
{
    (void)state;
    begin(0, 10 * SESSION_MINUTE);
    session_run(35 * SESSION_MINUTE);
    assert_in_range(changes(), 3, 3);
    expect_int("closed", 3, session.seen.events[MST_EVENT_CLOSED]);
    expect_int("without an error", MST_OK, session.seen.closed.error);
    assert_true(session_subscribed());
    session_end();
}

/* A lost connection costs no gap in a book. */
static void test_hot_standby(void **state)
{
    (void)state;
    begin(MST_HOT_STANDBY, 0);
    session_run(10000);
    expect_int("opens", 2, session.seen.events[MST_EVENT_OPEN]);
    for (unsigned i = 0; i < 10; i++) {
        int link = (int)session.pair.leads;
        mst_mock_end(&session.mock, link, MST_ERR_RESET);
        for (unsigned ms = 0; ms < 20000; ms += 10) {
            session_run(10);
            expect_int("books", true, session_subscribed());
        }
        expect_int("changes", i + 1, changes());
    }
    session_end();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_rotation),
        TEST(test_hot_standby),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
