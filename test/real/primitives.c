/*
 * Tests of other libraries' primitives against BearSSL's portable ones: each
 * reads what the other has written, and both refuse the same data.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_primitives.h"
#include "support.h"

#include <limits.h>
#include <openssl/err.h>

#define LEN_MAX 16384
#define BEFORE 13 /* bytes before a record's data: header, nonce */
#define TAG 16

/* AES256_PORTABLE: as on a processor without instructions for AES. */
enum suite { AES128, AES256, AES256_PORTABLE, CHACHA20, SUITES };

/* An end of a connection, with port/primitives or BearSSL's primitives. */
struct end {
    br_ssl_client_context tls;
    br_x509_minimal_context x509;
};

static struct mst_primitives fast;
static struct mst_port port;
static struct guard guard;
static uint64_t seed;
static struct end ours, theirs;

static void random_bytes(void *data, size_t len) {
    uint8_t *bytes = data;

    for (size_t i = 0; i < len; i++) {
        bytes[i] = (uint8_t)random_next(&seed);
    }
}

/* Each length up to 600, then in growing steps up to the longest. */
static size_t len_after(size_t len) {
    size_t next = len < 600 ? len + 1 : len + len / 9;

    return len < LEN_MAX && next > LEN_MAX ? LEN_MAX : next;
}

static int begin(void **state) {
    (void)state;
    guard_open(&guard, LEN_MAX + BEFORE + TAG);
    return mst_primitives_init(&fast, 2, &port);
}

static int end(void **state) {
    (void)state;
    guard_close(&guard);
    mst_primitives_free(&fast);
    return 0;
}

static void end_begin(struct end *e, int link) {
    memset(e, 0, sizeof *e);
    br_ssl_client_init_full(&e->tls, &e->x509, NULL, 0);
    br_ssl_engine_set_gcm(&e->tls.eng, &br_sslrec_in_gcm_vtable,
                          &br_sslrec_out_gcm_vtable);
    br_ssl_engine_set_chapol(&e->tls.eng, &br_sslrec_in_chapol_vtable,
                             &br_sslrec_out_chapol_vtable);
    if (link >= 0) {
        port.tls_setup(port.tls_context, link, &e->tls, &e->x509.vtable);
    }
}

/* ---- Records ---- */

/* Gives both directions of both ends the same key. */
static void keys_set(enum suite suite) {
    struct end *const ends[] = {&ours, &theirs};
    uint8_t key[32], iv[12];

    random_bytes(key, sizeof key);
    random_bytes(iv, sizeof iv);
    end_begin(&ours, 1);
    end_begin(&theirs, -1);
    if (suite == AES256_PORTABLE) {
        br_ssl_engine_set_aes_ctr(&ours.tls.eng, &br_aes_ct_ctr_vtable);
    }
    for (size_t i = 0; i < COUNT(ends); i++) {
        br_ssl_engine_context *e = &ends[i]->tls.eng;

        if (suite == CHACHA20) {
            e->ichapol_in->init(&e->in.chapol.vtable.in, br_chacha20_ct_run,
                                br_poly1305_ctmul_run, key, iv);
            e->ichapol_out->init(&e->out.chapol.vtable.out, br_chacha20_ct_run,
                                 br_poly1305_ctmul_run, key, iv);
        } else {
            size_t len = suite == AES128 ? 16 : 32;

            e->igcm_in->init(&e->in.gcm.vtable.in, &br_aes_ct_ctr_vtable, key,
                             len, br_ghash_ctmul, iv);
            e->igcm_out->init(&e->out.gcm.vtable.out, &br_aes_ct_ctr_vtable,
                              key, len, br_ghash_ctmul, iv);
        }
    }
}

static const br_sslrec_in_class **end_in(struct end *e) {
    return &e->tls.eng.in.vtable;
}

static const br_sslrec_out_class **end_out(struct end *e) {
    return &e->tls.eng.out.vtable;
}

/* Decrypts a record in place. Returns its data, or NULL if it is refused. */
static uint8_t *open_record(struct end *e, int type, uint8_t *payload,
                            size_t *len) {
    return (*end_in(e))->decrypt(end_in(e), type, BR_TLS12, payload, len);
}

/* Encrypts a record of len random bytes at the end of the guarded memory, and
 * copies the bytes to plain. */
static uint8_t *seal_record(struct end *e, int type, size_t *len,
                            uint8_t *plain) {
    uint8_t *room = guard_room(&guard, BEFORE + *len + TAG);

    random_bytes(room, BEFORE + *len + TAG);
    memcpy(plain, room + BEFORE, *len);
    return (*end_out(e))
        ->encrypt(end_out(e), type, BR_TLS12, room + BEFORE, len);
}

/* Records of every length in a row, in both directions, in place. Nothing is
 * written beyond the tag. */
TEST_CASE(records_pass) {
    static uint8_t plain[LEN_MAX];

    for (int i = 0; i < 2 * SUITES; i++) {
        struct end *from = i % 2 == 0 ? &ours : &theirs;
        struct end *to = i % 2 == 0 ? &theirs : &ours;
        enum suite suite = (enum suite)(i / 2);

        keys_set(suite);
        for (size_t len = 0; len <= LEN_MAX; len = len_after(len)) {
            int type = len % 2 == 0 ? 23 : 21;
            size_t n = len;
            uint8_t *record = seal_record(from, type, &n, plain);

            assert_int_equal(n, len + 5 + TAG + (suite == CHACHA20 ? 0u : 8u));
            assert_int_equal(record[0], type);
            assert_int_equal(record[1] << 8 | record[2], BR_TLS12);
            assert_int_equal(record[3] << 8 | record[4], n - 5);
            n -= 5;
            const uint8_t *opened = open_record(to, type, record + 5, &n);
            if (opened == NULL || n != len || memcmp(opened, plain, n) != 0) {
                expect_failed("suite %d, way %d, %zu bytes", suite, i % 2, len);
            }
        }
    }
}

/* With a changed bit, another type, or a wrong place in the order. */
TEST_CASE(forged_records_are_refused) {
    static uint8_t plain[LEN_MAX];

    for (enum suite suite = AES128; suite < SUITES; suite++) {
        size_t len = 40, wire = len + TAG + (suite == CHACHA20 ? 0 : 8);

        for (size_t bit = 0; bit < 8 * wire; bit++) {
            size_t n = len;

            keys_set(suite);
            uint8_t *payload = seal_record(&theirs, 23, &n, plain) + 5;
            payload[bit / 8] ^= (uint8_t)(1u << bit % 8);
            n = wire;
            if (open_record(&ours, 23, payload, &n) != NULL) {
                expect_failed("suite %d, bit %zu", suite, bit);
            }
        }
        for (int turn = 0; turn < 2; turn++) {
            size_t n = len;

            keys_set(suite);
            if (turn == 1) { /* the first is lost */
                (void)seal_record(&theirs, 23, &n, plain);
                n = len;
            }
            uint8_t *payload = seal_record(&theirs, 23, &n, plain) + 5;
            n = wire;
            assert_null(open_record(&ours, turn == 0 ? 22 : 23, payload, &n));
        }
    }
}

/* After the end of a connection its keys decrypt nothing. */
TEST_CASE(keys_end_with_the_connection) {
    static uint8_t plain[LEN_MAX];

    for (enum suite suite = AES128; suite < SUITES; suite++) {
        for (int ended = 0; ended < 2; ended++) {
            size_t n = 40, wire = n + TAG + (suite == CHACHA20 ? 0 : 8);

            keys_set(suite);
            uint8_t *payload = seal_record(&theirs, 23, &n, plain) + 5;
            port.tls_end(port.tls_context, ended == 1 ? 1 : 0);
            port.tls_end(port.tls_context, -1);
            port.tls_end(port.tls_context, 2);
            if ((open_record(&ours, 23, payload, &wire) == NULL) !=
                (ended == 1)) {
                expect_failed("suite %d, ended %d", suite, ended);
            }
            ERR_clear_error(); /* libcrypto's, because it has no key */
        }
    }
}

TEST_CASE(lengths_are_bearssls) {
    for (enum suite suite = AES128; suite < SUITES; suite++) {
        keys_set(suite);
        for (size_t len = 0; len < 17000; len++) {
            size_t start[] = {5, 5}, stop[] = {len + 40, len + 40};

            assert_int_equal(
                (*end_in(&ours))->check_length(end_in(&ours), len),
                (*end_in(&theirs))->check_length(end_in(&theirs), len));
            (*end_out(&ours))
                ->max_plaintext(end_out(&ours), &start[0], &stop[0]);
            (*end_out(&theirs))
                ->max_plaintext(end_out(&theirs), &start[1], &stop[1]);
            assert_int_equal(start[0], start[1]);
            assert_int_equal(stop[0], stop[1]);
        }
    }
}

/* Links have separate keys. A link that the port does not have uses BearSSL. */
TEST_CASE(links_are_apart) {
    static uint8_t plain[LEN_MAX];
    size_t n = 10;

    end_begin(&theirs, 2);
    assert_ptr_equal(theirs.tls.eng.igcm_in, &br_sslrec_in_gcm_vtable);
    end_begin(&theirs, -1);
    assert_ptr_equal(theirs.tls.eng.igcm_in, &br_sslrec_in_gcm_vtable);
    keys_set(AES128);
    uint8_t *payload = seal_record(&theirs, 23, &n, plain) + 5;
    end_begin(&theirs, 0);
    br_ssl_engine_context *other = &theirs.tls.eng;
    other->igcm_in->init(&other->in.gcm.vtable.in, NULL, plain, 16, NULL,
                         plain);
    n -= 5;
    assert_non_null(open_record(&ours, 23, payload, &n));
    assert_memory_equal(payload + 8, plain, 10);
}

/* ---- Curves ---- */

static const int curves[] = {BR_EC_secp256r1, BR_EC_secp384r1, BR_EC_secp521r1,
                             BR_EC_curve25519};

/* Writes a factor between 1 and the order, and returns its length. */
static size_t random_factor(int curve, uint8_t *factor) {
    size_t len;

    (void)br_ec_get_default()->order(curve, &len);
    random_bytes(factor, len);
    factor[0] = 0;
    factor[len - 1] |= 1;
    return len;
}

TEST_CASE(products_are_bearssls) {
    const br_ec_impl *bear = br_ec_get_default();

    end_begin(&ours, 0);
    assert_int_equal(ours.tls.eng.iec->supported_curves,
                     bear->supported_curves);
    for (size_t i = 0; i < 25 * COUNT(curves); i++) {
        const br_ec_impl *ec = ours.tls.eng.iec;
        int curve = curves[i % COUNT(curves)];
        uint8_t factor[66], point[133], expected[133];
        size_t factor_len = random_factor(curve, factor);
        size_t n = ec->mulgen(point, factor, factor_len, curve);

        assert_int_equal(n, bear->mulgen(expected, factor, factor_len, curve));
        assert_memory_equal(point, expected, n);
        factor_len = random_factor(curve, factor);
        assert_int_equal(ec->mul(point, n, factor, factor_len, curve), 1);
        assert_int_equal(bear->mul(expected, n, factor, factor_len, curve), 1);
        assert_memory_equal(point, expected, n);
    }
}

/* Data that an attacker could send instead of a point. */
TEST_CASE(bad_points_are_refused) {
    end_begin(&ours, 0);
    for (size_t i = 0; i < 2; i++) {
        const br_ec_impl *ec = ours.tls.eng.iec;
        uint8_t factor[66], good[133], point[133];
        size_t len = random_factor(curves[i], factor);
        size_t n = ec->mulgen(good, factor, len, curves[i]);

        memcpy(point, good, n);
        assert_int_equal(ec->mul(point, n, factor, len, curves[i]), 1);
        for (size_t bit = 0; bit < 8 * n; bit++) {
            memcpy(point, good, n);
            point[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_int_equal(ec->mul(point, n, factor, len, curves[i]), 0);
        }
        for (size_t cut = 0; cut < n; cut++) {
            memcpy(point, good, n);
            assert_int_equal(ec->mul(point, cut, factor, len, curves[i]), 0);
        }
        memcpy(point, good, n); /* compressed; hybrid; infinity */
        point[0] = (uint8_t)(2 + (good[n - 1] & 1));
        assert_int_equal(ec->mul(point, n / 2 + 1, factor, len, curves[i]), 0);
        point[0] = (uint8_t)(6 + (good[n - 1] & 1));
        assert_int_equal(ec->mul(point, n, factor, len, curves[i]), 0);
        memset(point, 0, sizeof point);
        assert_int_equal(ec->mul(point, 1, factor, len, curves[i]), 0);
        memcpy(point, good, n); /* times the order is infinity */
        const uint8_t *order = ec->order(curves[i], &len);
        assert_int_equal(ec->mul(point, n, order, len, curves[i]), 0);
    }
    assert_int_equal(ERR_peek_error(), 0);
}

/* ---- Signatures ---- */

TEST_CASE(ecdsa_is_verified) {
    static const size_t lens[] = {br_sha1_SIZE, br_sha256_SIZE, br_sha384_SIZE,
                                  br_sha512_SIZE};
    static const br_hash_class *const hashes[] = {
        &br_sha1_vtable, &br_sha256_vtable, &br_sha384_vtable,
        &br_sha512_vtable};

    end_begin(&ours, 0);
    for (size_t i = 0; i < 3 * COUNT(lens); i++) {
        int curve = curves[i % 3];
        size_t len = lens[i / 3], n;
        uint8_t factor[66], point[133], hash[64], signature[160];
        br_ec_private_key key = {curve, factor, random_factor(curve, factor)};
        br_ec_public_key public = {curve, point, 0};
        br_ecdsa_vrfy verify = ours.tls.eng.iecdsa;
        const br_ec_impl *ec = ours.tls.eng.iec;

        assert_ptr_equal(ours.x509.iecdsa, verify);
        assert_ptr_equal(ours.x509.iec, ec);
        public.qlen = ec->mulgen(point, factor, key.xlen, curve);
        random_bytes(hash, sizeof hash);
        n = br_ecdsa_i31_sign_asn1(br_ec_get_default(), hashes[i / 3], hash,
                                   &key, signature);
        assert_int_not_equal(n, 0);
        assert_int_equal(verify(ec, hash, len, &public, signature, n), 1);
        if (curve == BR_EC_secp521r1) {
            continue; /* BearSSL's own */
        }
        for (size_t bit = 0; bit < 8 * n; bit++) {
            signature[bit / 8] ^= (uint8_t)(1u << bit % 8);
            if (verify(ec, hash, len, &public, signature, n) != 0) {
                expect_failed("curve %d, hash of %zu, bit %zu", curve, len,
                              bit);
            }
            signature[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        assert_int_equal(verify(ec, hash, len, &public, signature, n - 1), 0);
        assert_int_equal(verify(ec, hash, len, &public, signature, 0), 0);
        hash[0] ^= 1;
        assert_int_equal(verify(ec, hash, len, &public, signature, n), 0);
        hash[0] ^= 1;
        public.qlen--;
        assert_int_equal(verify(ec, hash, len, &public, signature, n), 0);
        public.qlen++;
        public.curve = curves[1 - i % 3];
        assert_int_equal(verify(ec, hash, len, &public, signature, n), 0);
    }
    assert_int_equal(ERR_peek_error(), 0);
}

TEST_CASE(rsa_is_verified) {
    static const struct {
        const unsigned char *oid;
        size_t len;
    } hashes[] = {
        {BR_HASH_OID_SHA1, br_sha1_SIZE},
        {BR_HASH_OID_SHA224, br_sha224_SIZE},
        {BR_HASH_OID_SHA256, br_sha256_SIZE},
        {BR_HASH_OID_SHA384, br_sha384_SIZE},
        {BR_HASH_OID_SHA512, br_sha512_SIZE},
    };
    static uint8_t private_bits[BR_RSA_KBUF_PRIV_SIZE(2048)];
    static uint8_t public_bits[BR_RSA_KBUF_PUB_SIZE(2048)];
    br_rsa_private_key key;
    br_rsa_public_key public;
    br_hmac_drbg_context random;
    const br_ssl_engine_context *e = &ours.tls.eng;

    end_begin(&ours, 0);
    br_hmac_drbg_init(&random, &br_sha256_vtable, "seed", 4);
    assert_int_equal(br_rsa_keygen_get_default()(&random.vtable, &key,
                                                 private_bits, &public,
                                                 public_bits, 2048, 65537),
                     1);
    assert_ptr_equal(ours.x509.irsa, e->irsavrfy);
    for (size_t i = 0; i < COUNT(hashes); i++) {
        uint8_t hash[64], found[64], signature[256];
        const unsigned char *oid = hashes[i].oid;
        size_t len = hashes[i].len, other = (i + 1) % COUNT(hashes);

        random_bytes(hash, sizeof hash);
        assert_int_equal(
            br_rsa_pkcs1_sign_get_default()(oid, hash, len, &key, signature),
            1);
        assert_int_equal(
            e->irsavrfy(signature, sizeof signature, oid, len, &public, found),
            1);
        assert_memory_equal(found, hash, len);
        assert_int_equal(e->irsavrfy(signature, sizeof signature,
                                     hashes[other].oid, hashes[other].len,
                                     &public, found),
                         0);
        assert_int_equal(e->irsavrfy(signature, sizeof signature - 1, oid, len,
                                     &public, found),
                         0);
        for (size_t bit = 0; bit < 8 * sizeof signature; bit += 7) {
            signature[bit / 8] ^= (uint8_t)(1u << bit % 8);
            if (e->irsavrfy(signature, sizeof signature, oid, len, &public,
                            found) != 0) {
                expect_failed("hash of %zu, bit %zu", len, bit);
            }
            signature[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
    assert_int_equal(ERR_peek_error(), 0);
}

/* ---- Port ---- */

/* By default the sanitizer ends the program if there is no memory. */
const char *
__asan_default_options(void) { /* NOLINT(bugprone-reserved-identifier) */
    return "allocator_may_return_null=1";
}

TEST_CASE(arguments_are_checked) {
    struct mst_primitives none;
    struct mst_port untouched = {.context = &none};

    assert_int_equal(mst_primitives_init(NULL, 1, &untouched),
                     MST_ERR_ARGUMENT);
    assert_int_equal(mst_primitives_init(&none, 0, &untouched),
                     MST_ERR_ARGUMENT);
    assert_int_equal(mst_primitives_init(&none, 1, NULL), MST_ERR_ARGUMENT);
    assert_int_equal(mst_primitives_init(&none, SIZE_MAX / 8, &untouched),
                     MST_ERR_ARGUMENT);
    assert_null(untouched.tls_setup);
    memset(&none, 0, sizeof none);
    mst_primitives_free(&none);
    assert_int_equal(mst_primitives_init(&none, 1, &untouched), 0);
    assert_non_null(untouched.tls_setup);
    assert_ptr_equal(untouched.context, &none);
    mst_primitives_free(&none);
    mst_primitives_free(&none);
    /* More memory than there is. */
    assert_int_equal(mst_primitives_init(&none, INT_MAX, &untouched),
                     MST_ERR_PORT);
    mst_primitives_free(&none);
}

RUN_CASES(begin, end)
