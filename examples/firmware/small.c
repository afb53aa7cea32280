/*
 * The small image's TLS: only ChaCha20 and elliptic curves. BearSSL chooses its
 * implementations by functions. If the program has a function with the same
 * name, the linker takes it, and does not link what only BearSSL's one needs.
 * BearSSL's code for all NIST curves is smaller than that for P-256 alone, but
 * slower.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <bearssl.h>

const br_ec_impl *br_ec_get_default(void) {
    return &br_ec_prime_i31;
}

void br_ssl_engine_set_default_ecdsa(br_ssl_engine_context *engine) {
    br_ssl_engine_set_ec(engine, &br_ec_prime_i31);
    br_ssl_engine_set_ecdsa(engine, br_ecdsa_i31_vrfy_asn1);
}

/* Rejects all RSA signatures. */
static uint32_t no_rsa(const unsigned char *signature, size_t len,
                       const unsigned char *hash_oid, size_t hash_len,
                       const br_rsa_public_key *key, unsigned char *hash) {
    (void)signature;
    (void)len;
    (void)hash_oid;
    (void)hash_len;
    (void)key;
    (void)hash;
    return 0;
}

br_rsa_pkcs1_vrfy br_rsa_pkcs1_vrfy_get_default(void) {
    return no_rsa;
}

void br_ssl_engine_set_default_rsavrfy(br_ssl_engine_context *engine) {
    br_ssl_engine_set_rsavrfy(engine, no_rsa);
}

/* The linker redirects calls of br_ssl_engine_set_suites() to it (firmware.mk).
 * BearSSL rejects suites that it did not offer, so AES is never used. */
void __wrap_br_ssl_engine_set_suites(br_ssl_engine_context *engine,
                                     const uint16_t *suites, size_t count);
void __real_br_ssl_engine_set_suites(br_ssl_engine_context *engine,
                                     const uint16_t *suites, size_t count);

void __wrap_br_ssl_engine_set_suites(br_ssl_engine_context *engine,
                                     const uint16_t *suites, size_t count) {
    static const uint16_t only[] = {
        BR_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256};

    (void)suites;
    (void)count;
    __real_br_ssl_engine_set_suites(engine, only, 1);
}

void br_ssl_engine_set_default_aes_gcm(br_ssl_engine_context *engine) {
    (void)engine;
}
