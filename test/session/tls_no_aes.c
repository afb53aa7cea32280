/*
 * TLS on a processor without instructions for AES: BearSSL finds none in this
 * program, whatever the processor.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

const br_block_ctr_class *br_aes_x86ni_ctr_get_vtable(void) {
    return NULL;
}

const br_block_ctr_class *br_aes_pwr8_ctr_get_vtable(void) {
    return NULL;
}

/* The service takes the first of the suites that it is offered. */
static void test_chacha20_first(void **state) {
    (void)state;
    session_begin_tls("localhost");
    session_start();
    session_subscribe();
    assert_true(session_until_subscribed(SESSION_MINUTE));
    expect_int("suite", BR_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
               session.tls.links[0].server.eng.session.cipher_suite);
    session_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_chacha20_first),
    };

    return cmocka_run_group_tests(tests, session_certificates,
                                  session_no_certificates);
}
