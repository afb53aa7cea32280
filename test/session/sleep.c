/*
 * How often a client wakes a device in an hour without market data, because of
 * a deadline or input. Prints the result; see "Sleeping" in port/README.md.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

static unsigned wakes; /* times with something to do */

/* The mock also polls when bytes reach the service. */
static int poll_counted(void *client, struct mst_event *event) {
    static uint64_t last_ms;
    bool due = mst_next_deadline_ms(&session.client.link) == 0;
    uint64_t before = session.mock.bytes_in;
    int rc = mst_poll(client, event);

    if ((due || session.mock.bytes_in != before) && session_now() != last_ms) {
        last_ms = session_now();
        wakes++;
    }
    return rc;
}

/* Measures the second hour, with answers after 50 ms. Pings after ping_ms of
 * silence (0: the default), a heartbeat every beat_ms (0: none). */
static unsigned wakes_per_hour(uint32_t ping_ms, uint32_t beat_ms) {
    const struct mst_mock_object object = {
        poll_counted, &session.client, {&session.client.link}};

    session_begin();
    session.config.ping_ms = ping_ms;
    session.config.silence_ms = 3 * ping_ms;
    session.mock.plan.data_ms = 25;
    session.service.rules.beat_ms = beat_ms;
    session_start();
    assert_int_equal(session_wish(MST_TOP_OF_BOOK, "BTCUSD"), 0);
    if (beat_ms > 0) {
        assert_int_equal(session_wish(MST_HEARTBEAT, NULL), 0);
    }
    session_run(SESSION_HOUR);
    assert_int_equal(session_state(), MST_STATE_OPEN);
    wakes = 0;
    mst_mock_run_objects(&session.mock, &object, 1, SESSION_HOUR, NULL, NULL);
    return wakes;
}

static void expect_wakes(uint32_t ping_ms, uint32_t beat_ms, unsigned least,
                         unsigned most) {
    unsigned count = wakes_per_hour(ping_ms, beat_ms);

    print_message("%u times an hour\n", count);
    assert_in_range(count, least, most);
}

/* At most 180 pings and 6 audits, with their answers. */
TEST_CASE(wakes_by_default) {
    expect_wakes(0, 0, 300, 384);
}

TEST_CASE(wakes_with_a_ping_after_5_minutes) {
    expect_wakes(300000, 0, 20, 48);
}

TEST_CASE(wakes_with_a_heartbeat_every_30_seconds) {
    expect_wakes(0, 30000, 300, 384);
}

RUN_SESSIONS(NULL, NULL)
