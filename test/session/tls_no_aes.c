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

/* Of a service that takes the first of the suites that it is offered. */
static void suite_expect(int suite) {
    session_start();
    session_subscribe();
    assert_true(session_until_subscribed(SESSION_MINUTE));
    expect_int("suite", suite,
               session.tls.links[0].server.eng.session.cipher_suite);
    session_end();
}

static void test_chacha20_first(void **state) {
    (void)state;
    session_begin_tls("localhost");
    suite_expect(BR_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256);
}

/* A port's own is faster than that, or would not be there. */
static void test_aes_of_the_port_first(void **state) {
    (void)state;
    session_begin_tls("localhost");
    session.port.aes_ctr = &br_aes_ct64_ctr_vtable;
    session.port.ghash = br_ghash_ctmul64;
    suite_expect(BR_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_chacha20_first),
        TEST(test_aes_of_the_port_first),
    };

    return cmocka_run_group_tests(tests, session_certificates,
                                  session_no_certificates);
}
