/*
 * Reports about clocks and memory (README.md, 61 and 95), in virtual time. The
 * sanitizers find an access that is not aligned.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

/* The monotonic clock stops while a machine sleeps, the wall clock does not.
 * The token, which the client believes to be valid, is refused once, and the
 * stream opens with another one within a second. */
TEST_CASE(test_a_token_expires_in_sleep) {
    session_begin();
    session_open();
    session_expect_subscribed(10000, "open");
    mst_mock_set_wall(&session.mock, mst_mock_wall(&session.mock) +
                                         INT64_C(2000000) * SESSION_HOUR);
    service_answer(&session.service.upgrade, SERVICE_EMPTY("401 Unauthorized"),
                   1, 0);
    service_end(&session.service, MST_ERR_RESET);
    session_run(2000); /* the first attempt is due within one */
    session_expect_subscribed(1000, "after the sleep");
    session_expect_tokens("renewed", 2);
}

TEST_CASE(test_memory_at_any_address) {
    for (size_t at = 0; at < 16; at++) {
        session_begin_tls("localhost");
        session_lengths(2048, 4096);
        session.lengths.data = session.memory + at;
        session_start();
        session_subscribe();
        session_expect_subscribed(10000, "memory at %zu", at);
    }
}

RUN_SESSIONS(session_certificates, tls_remove_certificates)
