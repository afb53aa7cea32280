/*
 * TLS on a processor without AES instructions, and on one with those of POWER8.
 * The test replaces BearSSL's detection, so any processor will do.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "session.h"

const br_block_ctr_class *br_aes_x86ni_ctr_get_vtable(void) {
    return NULL;
}

static const br_block_ctr_class *power8;

const br_block_ctr_class *br_aes_pwr8_ctr_get_vtable(void) {
    return power8;
}

/* The service takes the first suite that it is offered. */
static void expect_suite(uint16_t suite) {
    session_begin_tls("localhost");
    session_open();
    expect_int("suite", suite,
               session.tls.links[0].server.eng.session.cipher_suite);
}

TEST_CASE(test_chacha20_first) {
    power8 = NULL;
    expect_suite(BR_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256);
}

TEST_CASE(test_aes_first) {
    power8 = &br_aes_ct64_ctr_vtable;
    expect_suite(BR_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256);
}

RUN_SESSIONS(session_certificates, tls_remove_certificates)
