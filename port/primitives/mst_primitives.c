/*
 * Faster primitives for BearSSL, from libcrypto and IPsec-MB.
 *
 * In this order: ciphers, records, curves, signatures, port.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _POSIX_C_SOURCE 200809L

#include "mst_primitives.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>
#ifdef MST_PRIMITIVES_IPSEC_MB
#include <intel-ipsec-mb.h>
#endif

#define TAG_LEN 16
#define NONCE_LEN 12
#define FIXED_LEN 4    /* bytes of an AES-GCM nonce from the handshake */
#define EXPLICIT_LEN 8 /* bytes of it from each record */
#define HEADER_LEN 13  /* bytes that the tag covers besides the data */
#define PLAIN_MAX 16384

/* The numbers are lengths of the keys. */
enum kind { AES_128_GCM = 16, AES_256_GCM = 32, CHACHA20_POLY1305 = 33 };

static void store_16(uint8_t *to, size_t value) {
    to[0] = (uint8_t)(value >> 8);
    to[1] = (uint8_t)value;
}

/* Without a loop, compilers make one store of it. */
static void store_64(uint8_t *to, uint64_t value) {
    store_16(to, (size_t)(value >> 48));
    store_16(to + 2, (size_t)(value >> 32));
    store_16(to + 4, (size_t)(value >> 16));
    store_16(to + 6, (size_t)value);
}

/* ------------------------------------------------------------------------
 * Ciphers
 *
 * Each encrypts or decrypts in place, with the tag after the data. If the tag
 * is wrong, the bytes have been decrypted already and must not be used.
 * ------------------------------------------------------------------------ */

#ifdef MST_PRIMITIVES_IPSEC_MB

/* One direction of a link. */
struct cipher {
    __attribute__((aligned(64))) struct gcm_key_data gcm;
    uint8_t chacha20[32];
    enum kind kind;
    IMB_MGR *manager;
};

static bool cipher_begin(struct cipher *cipher, IMB_MGR *manager) {
    cipher->manager = manager;
    return true;
}

static void cipher_forget(struct cipher *cipher) {
    OPENSSL_cleanse(&cipher->gcm, sizeof cipher->gcm);
    OPENSSL_cleanse(cipher->chacha20, sizeof cipher->chacha20);
}

static void cipher_end(struct cipher *cipher) {
    cipher_forget(cipher);
}

static void cipher_set_key(struct cipher *cipher,
                           const br_ssl_engine_context *engine, enum kind kind,
                           const void *key, bool seal) {
    (void)engine;
    (void)seal;
    cipher->kind = kind;
    switch (kind) {
    case AES_128_GCM:
        IMB_AES128_GCM_PRE(cipher->manager, key, &cipher->gcm);
        break;
    case AES_256_GCM:
        IMB_AES256_GCM_PRE(cipher->manager, key, &cipher->gcm);
        break;
    case CHACHA20_POLY1305:
        memcpy(cipher->chacha20, key, sizeof cipher->chacha20);
        break;
    }
}

static void gcm_run(struct cipher *cipher, const uint8_t *nonce,
                    const uint8_t *header, uint8_t *data, size_t len,
                    uint8_t *tag, bool seal) {
    const struct IMB_MGR *m = cipher->manager;
    struct gcm_context_data state;
    aes_gcm_enc_dec_t run = cipher->kind == AES_128_GCM
                                ? (seal ? m->gcm128_enc : m->gcm128_dec)
                                : (seal ? m->gcm256_enc : m->gcm256_dec);

    run(&cipher->gcm, &state, data, data, len, nonce, header, HEADER_LEN, tag,
        TAG_LEN);
    OPENSSL_cleanse(&state, sizeof state);
}

static void chacha20_run(struct cipher *cipher, const uint8_t *nonce,
                         const uint8_t *header, uint8_t *data, size_t len,
                         uint8_t *tag, bool seal) {
    const struct IMB_MGR *m = cipher->manager;
    struct chacha20_poly1305_context_data state;

    IMB_CHACHA20_POLY1305_INIT(m, cipher->chacha20, &state, nonce, header,
                               HEADER_LEN);
    if (seal) {
        IMB_CHACHA20_POLY1305_ENC_UPDATE(m, cipher->chacha20, &state, data,
                                         data, len);
        IMB_CHACHA20_POLY1305_ENC_FINALIZE(m, &state, tag, TAG_LEN);
    } else {
        IMB_CHACHA20_POLY1305_DEC_UPDATE(m, cipher->chacha20, &state, data,
                                         data, len);
        IMB_CHACHA20_POLY1305_DEC_FINALIZE(m, &state, tag, TAG_LEN);
    }
    OPENSSL_cleanse(&state, sizeof state);
}

static bool cipher_run(struct cipher *cipher, const uint8_t *nonce,
                       const uint8_t *header, uint8_t *data, size_t len,
                       bool seal) {
    uint8_t expected[TAG_LEN], *tag = seal ? data + len : expected;

    (cipher->kind == CHACHA20_POLY1305 ? chacha20_run : gcm_run)(
        cipher, nonce, header, data, len, tag, seal);
    return seal || CRYPTO_memcmp(tag, data + len, TAG_LEN) == 0;
}

#else

/* From this length on libcrypto is faster than BearSSL. If BearSSL does not use
 * the processor's AES instructions, libcrypto always is. */
#define GCM_LEAST 3000
#define CHACHA20_LEAST 400

struct cipher {
    EVP_CIPHER_CTX *context;
    struct short_records {
        size_t end; /* libcrypto does records of this length or more */
        enum kind kind;
        const br_ssl_engine_context *engine; /* has BearSSL's functions */
        br_aes_gen_ctr_keys aes;
        uint8_t ghash[16], chacha20[32]; /* keys */
    } shorts;
};

static bool cipher_begin(struct cipher *cipher, struct IMB_MGR *manager) {
    (void)manager;
    cipher->context = EVP_CIPHER_CTX_new();
    return cipher->context != NULL;
}

static void cipher_forget(struct cipher *cipher) {
    (void)EVP_CIPHER_CTX_reset(cipher->context);
    OPENSSL_cleanse(&cipher->shorts, sizeof cipher->shorts);
}

static void cipher_end(struct cipher *cipher) {
    cipher_forget(cipher);
    EVP_CIPHER_CTX_free(cipher->context);
}

/* If libcrypto fails here, each run fails. */
static void cipher_set_key(struct cipher *cipher,
                           const br_ssl_engine_context *engine, enum kind kind,
                           const void *key, bool seal) {
    const EVP_CIPHER *of = kind == AES_128_GCM   ? EVP_aes_128_gcm()
                           : kind == AES_256_GCM ? EVP_aes_256_gcm()
                                                 : EVP_chacha20_poly1305();
    const br_block_ctr_class *aes = engine->iaes_ctr;
    struct short_records *s = &cipher->shorts;

    cipher_forget(cipher);
    (void)EVP_CipherInit_ex(cipher->context, of, NULL, key, NULL, seal);
    s->kind = kind;
    s->engine = engine;
    if (kind == CHACHA20_POLY1305) {
        s->end = CHACHA20_LEAST;
        memcpy(s->chacha20, key, sizeof s->chacha20);
    } else if (aes != &br_aes_ct_ctr_vtable && aes != &br_aes_ct64_ctr_vtable) {
        s->end = GCM_LEAST;
        aes->init(&s->aes.vtable, key, (size_t)kind);
        aes->run(&s->aes.vtable, s->ghash, 0, s->ghash, sizeof s->ghash);
    }
}

/* AES-GCM (NIST SP 800-38D) with BearSSL's CTR and GHASH. */
static void gcm_run(const struct short_records *s, const uint8_t *nonce,
                    const uint8_t *header, uint8_t *data, size_t len,
                    uint8_t *tag, bool seal) {
    const br_block_ctr_class *const *aes = &s->aes.vtable;
    br_ghash ghash = s->engine->ighash;
    uint8_t bits[16], sum[TAG_LEN] = {0};

    if (seal) {
        (*aes)->run(aes, nonce, 2, data, len);
    }
    store_64(bits, 8 * HEADER_LEN);
    store_64(bits + 8, 8 * (uint64_t)len);
    memset(tag, 0, TAG_LEN);
    (*aes)->run(aes, nonce, 1, tag, TAG_LEN);
    ghash(sum, s->ghash, header, HEADER_LEN);
    ghash(sum, s->ghash, data, len);
    ghash(sum, s->ghash, bits, sizeof bits);
    for (int i = 0; i < TAG_LEN; i++) {
        tag[i] ^= sum[i];
    }
    if (!seal) {
        (*aes)->run(aes, nonce, 2, data, len);
    }
}

static bool libcrypto_run(EVP_CIPHER_CTX *c, const uint8_t *nonce,
                          const uint8_t *header, uint8_t *data, size_t len,
                          bool seal) {
    int n = 0;

    return EVP_CipherInit_ex(c, NULL, NULL, NULL, nonce, seal) == 1 &&
           EVP_CipherUpdate(c, NULL, &n, header, HEADER_LEN) == 1 &&
           EVP_CipherUpdate(c, data, &n, data, (int)len) == 1 &&
           (seal || EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, TAG_LEN,
                                        data + len) == 1) &&
           EVP_CipherFinal_ex(c, data + len, &n) == 1 &&
           (!seal || EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, TAG_LEN,
                                         data + len) == 1);
}

static bool cipher_run(struct cipher *cipher, const uint8_t *nonce,
                       const uint8_t *header, uint8_t *data, size_t len,
                       bool seal) {
    const struct short_records *s = &cipher->shorts;
    uint8_t expected[TAG_LEN], *tag = seal ? data + len : expected;

    if (len >= s->end) {
        return libcrypto_run(cipher->context, nonce, header, data, len, seal);
    }
    if (s->kind == CHACHA20_POLY1305) {
        s->engine->ipoly(s->chacha20, nonce, data, len, header, HEADER_LEN, tag,
                         s->engine->ichacha, seal);
    } else {
        gcm_run(s, nonce, header, data, len, tag, seal);
    }
    return seal || CRYPTO_memcmp(tag, data + len, TAG_LEN) == 0;
}

#endif

/* The state of a link. */
struct mst_primitives_link {
    struct cipher in, out;
    struct curves {
        br_ec_impl ec; /* the engine points here */
        struct mst_primitives_link *link;
    } curves;
};

/* ------------------------------------------------------------------------
 * Records (RFC 5246, section 6.2.3.3; RFC 5288; RFC 7905)
 * ------------------------------------------------------------------------ */

/* Stored in BearSSL's engine for each direction, once the keys are known. It is
 * too small for the keys, and BearSSL does not say when it is no longer
 * used. */
struct record {
    const void *class; /* BearSSL calls through this pointer */
    struct cipher *cipher;
    uint64_t sequence;
    uint8_t explicit_len;  /* EXPLICIT_LEN, or 0 */
    uint8_t iv[NONCE_LEN]; /* FIXED_LEN bytes, or all */
};

/* Does not compile if it does not fit. */
typedef char record_fits[sizeof(struct record) <=
                                 sizeof(((br_ssl_engine_context *)0)->in)
                             ? 1
                             : -1];

/* data begins with the explicit part of the nonce, if there is one. */
static bool record_run(struct record *record, int type, unsigned version,
                       uint8_t *data, size_t len, bool seal) {
    uint8_t header[HEADER_LEN], nonce[NONCE_LEN];
    uint64_t fixed, varied;

    store_64(header, record->sequence++);
    memcpy(nonce, record->iv, sizeof nonce);
    memcpy(&fixed, nonce + FIXED_LEN, sizeof fixed);
    memcpy(&varied, record->explicit_len > 0 ? data : header, sizeof varied);
    fixed ^= varied;
    memcpy(nonce + FIXED_LEN, &fixed, sizeof fixed);
    header[8] = (uint8_t)type;
    store_16(header + 9, version);
    store_16(header + 11, len);
    return cipher_run(record->cipher, nonce, header,
                      data + record->explicit_len, len, seal);
}

static int record_check_length(const br_sslrec_in_class *const *class,
                               size_t len) {
    const struct record *record = (const void *)class;
    size_t least = record->explicit_len + (size_t)TAG_LEN;

    return len >= least && len <= PLAIN_MAX + least;
}

static unsigned char *record_decrypt(const br_sslrec_in_class **class, int type,
                                     unsigned version, void *data,
                                     size_t *len) {
    struct record *record = (void *)class;

    *len -= record->explicit_len + (size_t)TAG_LEN;
    return record_run(record, type, version, data, *len, false)
               ? (unsigned char *)data + record->explicit_len
               : NULL;
}

static void record_max_plaintext(const br_sslrec_out_class *const *class,
                                 size_t *start, size_t *end) {
    const struct record *record = (const void *)class;
    size_t room;

    *start += record->explicit_len;
    room = *end - *start - TAG_LEN;
    *end = *start + (room < PLAIN_MAX ? room : PLAIN_MAX);
}

static unsigned char *record_encrypt(const br_sslrec_out_class **class,
                                     int type, unsigned version, void *plain,
                                     size_t *len) {
    struct record *record = (void *)class;
    uint8_t *data = (uint8_t *)plain - record->explicit_len;
    uint8_t *header = data - 5;

    if (record->explicit_len > 0) {
        store_64(data, record->sequence);
    }
    if (!record_run(record, type, version, data, *len, true)) {
        memset(plain, 0, *len + TAG_LEN); /* plaintext must not be sent */
    }
    *len += record->explicit_len + (size_t)TAG_LEN;
    header[0] = (uint8_t)type;
    store_16(header + 1, version);
    store_16(header + 3, *len);
    *len += 5;
    return header;
}

/* Finds the link of a record: from its position in the engine, which points to
 * the link's curves. */
static void record_begin(struct record *record, enum kind kind, const void *key,
                         const void *iv, bool seal) {
    const br_ssl_engine_context *engine =
        (void *)((uint8_t *)record -
                 (seal ? offsetof(br_ssl_engine_context, out)
                       : offsetof(br_ssl_engine_context, in)));
    const struct curves *curves = (const void *)engine->iec;
    bool is_gcm = kind != CHACHA20_POLY1305;

    record->cipher = seal ? &curves->link->out : &curves->link->in;
    record->sequence = 0;
    record->explicit_len = is_gcm ? EXPLICIT_LEN : 0;
    memset(record->iv, 0, sizeof record->iv);
    memcpy(record->iv, iv, is_gcm ? FIXED_LEN : NONCE_LEN);
    cipher_set_key(record->cipher, engine, kind, key, seal);
}

static const br_sslrec_in_gcm_class gcm_in;
static const br_sslrec_out_gcm_class gcm_out;
static const br_sslrec_in_chapol_class chacha20_in;
static const br_sslrec_out_chapol_class chacha20_out;

static void gcm_begin_in(const br_sslrec_in_gcm_class **class,
                         const br_block_ctr_class *aes, const void *key,
                         size_t key_len, br_ghash ghash, const void *iv) {
    (void)aes;
    (void)ghash;
    *class = &gcm_in;
    record_begin((void *)class, (enum kind)key_len, key, iv, false);
}

static void gcm_begin_out(const br_sslrec_out_gcm_class **class,
                          const br_block_ctr_class *aes, const void *key,
                          size_t key_len, br_ghash ghash, const void *iv) {
    (void)aes;
    (void)ghash;
    *class = &gcm_out;
    record_begin((void *)class, (enum kind)key_len, key, iv, true);
}

static void chacha20_begin_in(const br_sslrec_in_chapol_class **class,
                              br_chacha20_run chacha20,
                              br_poly1305_run poly1305, const void *key,
                              const void *iv) {
    (void)chacha20;
    (void)poly1305;
    *class = &chacha20_in;
    record_begin((void *)class, CHACHA20_POLY1305, key, iv, false);
}

static void chacha20_begin_out(const br_sslrec_out_chapol_class **class,
                               br_chacha20_run chacha20,
                               br_poly1305_run poly1305, const void *key,
                               const void *iv) {
    (void)chacha20;
    (void)poly1305;
    *class = &chacha20_out;
    record_begin((void *)class, CHACHA20_POLY1305, key, iv, true);
}

#define IN_CLASS \
    { sizeof(struct record), record_check_length, record_decrypt }
#define OUT_CLASS \
    { sizeof(struct record), record_max_plaintext, record_encrypt }
static const br_sslrec_in_gcm_class gcm_in = {IN_CLASS, gcm_begin_in};
static const br_sslrec_out_gcm_class gcm_out = {OUT_CLASS, gcm_begin_out};
static const br_sslrec_in_chapol_class chacha20_in = {IN_CLASS,
                                                      chacha20_begin_in};
static const br_sslrec_out_chapol_class chacha20_out = {OUT_CLASS,
                                                        chacha20_begin_out};

/* ------------------------------------------------------------------------
 * Curves
 *
 * P-256 and P-384. BearSSL does Curve25519 and P-521.
 * ------------------------------------------------------------------------ */

#define POINT_MAX 97 /* bytes of an uncompressed point of P-384 */

/* OpenSSL's number of a curve, or NID_undef. */
static int curve_nid(int curve) {
    return curve == BR_EC_secp256r1   ? NID_X9_62_prime256v1
           : curve == BR_EC_secp384r1 ? NID_secp384r1
                                      : NID_undef;
}

static const unsigned char *curve_generator(int curve, size_t *len) {
    return br_ec_get_default()->generator(curve, len);
}

static const unsigned char *curve_order(int curve, size_t *len) {
    return br_ec_get_default()->order(curve, len);
}

static size_t curve_x(int curve, size_t *len) {
    return br_ec_get_default()->xoff(curve, len);
}

/* Multiplies a point, or the generator if there is none. Returns the product's
 * length, or 0 if the point is not on the curve or memory ran out. */
static size_t curve_multiply(unsigned char *product, const unsigned char *point,
                             size_t point_len, const unsigned char *factor,
                             size_t factor_len, int curve) {
    EC_GROUP *group = EC_GROUP_new_by_curve_name(curve_nid(curve));
    BIGNUM *x = BN_bin2bn(factor, (int)factor_len, NULL);
    EC_POINT *p = group != NULL ? EC_POINT_new(group) : NULL;
    BN_CTX *room = BN_CTX_secure_new();
    size_t len = 0;
    bool good = p != NULL && x != NULL && room != NULL;

    ERR_set_mark();
    if (good) {
        BN_set_flags(x, BN_FLG_CONSTTIME);
        good =
            point == NULL
                ? EC_POINT_mul(group, p, x, NULL, NULL, room) == 1
                : EC_POINT_oct2point(group, p, point, point_len, room) == 1 &&
                      EC_POINT_mul(group, p, NULL, p, x, room) == 1;
    }
    if (good) {
        len = EC_POINT_point2oct(group, p, POINT_CONVERSION_UNCOMPRESSED,
                                 product, POINT_MAX, room);
    }
    ERR_pop_to_mark();
    BN_CTX_free(room);
    EC_POINT_clear_free(p);
    BN_clear_free(x);
    EC_GROUP_free(group);
    return len;
}

static uint32_t curve_mul(unsigned char *point, size_t len,
                          const unsigned char *factor, size_t factor_len,
                          int curve) {
    if (curve_nid(curve) == NID_undef) {
        return br_ec_get_default()->mul(point, len, factor, factor_len, curve);
    }
    return len > 0 && point[0] == POINT_CONVERSION_UNCOMPRESSED &&
           curve_multiply(point, point, len, factor, factor_len, curve) == len;
}

static size_t curve_mulgen(unsigned char *product, const unsigned char *factor,
                           size_t factor_len, int curve) {
    if (curve_nid(curve) == NID_undef) {
        return br_ec_get_default()->mulgen(product, factor, factor_len, curve);
    }
    return curve_multiply(product, NULL, 0, factor, factor_len, curve);
}

/* Needed only by BearSSL's own check of a signature. */
static uint32_t curve_muladd(unsigned char *a, const unsigned char *b,
                             size_t len, const unsigned char *x, size_t x_len,
                             const unsigned char *y, size_t y_len, int curve) {
    return br_ec_get_default()->muladd(a, b, len, x, x_len, y, y_len, curve);
}

/* ------------------------------------------------------------------------
 * Signatures
 * ------------------------------------------------------------------------ */

/* A context for a public key with these parameters, or NULL. */
static EVP_PKEY_CTX *key_open(const char *kind, OSSL_PARAM_BLD *builder) {
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY_CTX *maker = EVP_PKEY_CTX_new_from_name(NULL, kind, NULL);
    EVP_PKEY_CTX *context = NULL;
    EVP_PKEY *key = NULL;

    if (params != NULL && maker != NULL && EVP_PKEY_fromdata_init(maker) == 1 &&
        EVP_PKEY_fromdata(maker, &key, EVP_PKEY_PUBLIC_KEY, params) == 1) {
        context = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
    }
    EVP_PKEY_free(key); /* the context has its own reference */
    EVP_PKEY_CTX_free(maker);
    OSSL_PARAM_free(params);
    return context;
}

/* A br_ecdsa_vrfy. */
static uint32_t verify_ecdsa(const br_ec_impl *curves, const void *hash,
                             size_t hash_len, const br_ec_public_key *public,
                             const void *signature, size_t len) {
    OSSL_PARAM_BLD *builder;
    EVP_PKEY_CTX *context = NULL;
    bool good;

    if (curve_nid(public->curve) == NID_undef) {
        return br_ecdsa_vrfy_asn1_get_default()(curves, hash, hash_len, public,
                                                signature, len);
    }
    ERR_set_mark();
    builder = OSSL_PARAM_BLD_new();
    if (builder != NULL &&
        OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME,
                                        OBJ_nid2sn(curve_nid(public->curve)),
                                        0) == 1 &&
        OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY,
                                         public->q, public->qlen) == 1) {
        context = key_open("EC", builder);
    }
    good = context != NULL && EVP_PKEY_verify_init(context) == 1 &&
           EVP_PKEY_verify(context, signature, len, hash, hash_len) == 1;
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_BLD_free(builder);
    ERR_pop_to_mark();
    return good;
}

/* The hash of this length: TLS 1.2 and certificates use only one of each length
 * with RSA. NULL for other lengths. */
static const EVP_MD *hash_of(size_t len) {
    switch (len) {
    case br_sha1_SIZE: return EVP_sha1();
    case br_sha224_SIZE: return EVP_sha224();
    case br_sha256_SIZE: return EVP_sha256();
    case br_sha384_SIZE: return EVP_sha384();
    case br_sha512_SIZE: return EVP_sha512();
    default: return NULL;
    }
}

/* A br_rsa_pkcs1_vrfy: returns the hash that was signed. */
static uint32_t verify_rsa(const unsigned char *signature, size_t len,
                           const unsigned char *oid, size_t hash_len,
                           const br_rsa_public_key *public,
                           unsigned char *hash) {
    const EVP_MD *kind = hash_of(hash_len);
    OSSL_PARAM_BLD *builder;
    EVP_PKEY_CTX *context = NULL;
    BIGNUM *n, *e;
    size_t found_len = hash_len;
    bool good;

    if (kind == NULL || oid == NULL) {
        return 0;
    }
    ERR_set_mark();
    builder = OSSL_PARAM_BLD_new();
    n = BN_bin2bn(public->n, (int)public->nlen, NULL);
    e = BN_bin2bn(public->e, (int)public->elen, NULL);
    if (builder != NULL && n != NULL && e != NULL &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n) == 1 &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e) == 1) {
        context = key_open("RSA", builder);
    }
    good = context != NULL && EVP_PKEY_verify_recover_init(context) == 1 &&
           EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1 &&
           EVP_PKEY_CTX_set_signature_md(context, kind) == 1 &&
           EVP_PKEY_verify_recover(context, hash, &found_len, signature, len) ==
               1 &&
           found_len == hash_len;
    EVP_PKEY_CTX_free(context);
    BN_free(n);
    BN_free(e);
    OSSL_PARAM_BLD_free(builder);
    ERR_pop_to_mark();
    return good;
}

/* ------------------------------------------------------------------------
 * Port
 * ------------------------------------------------------------------------ */

static void set_up(void *tls_context, int number, br_ssl_client_context *tls,
                   const br_x509_class **x509) {
    const struct mst_primitives *primitives = tls_context;
    br_x509_minimal_context *minimal = (void *)x509;
    const br_ec_impl *curves;

    if (number < 0 || (size_t)number >= primitives->count) {
        return;
    }
    curves = &primitives->links[number].curves.ec;
    br_ssl_engine_set_gcm(&tls->eng, &gcm_in, &gcm_out);
    br_ssl_engine_set_chapol(&tls->eng, &chacha20_in, &chacha20_out);
    br_ssl_engine_set_ec(&tls->eng, curves);
    br_ssl_engine_set_ecdsa(&tls->eng, verify_ecdsa);
    br_ssl_engine_set_rsavrfy(&tls->eng, verify_rsa);
    br_x509_minimal_set_ecdsa(minimal, curves, verify_ecdsa);
    br_x509_minimal_set_rsa(minimal, verify_rsa);
}

static void forget(void *tls_context, int number) {
    const struct mst_primitives *primitives = tls_context;

    if (number >= 0 && (size_t)number < primitives->count) {
        cipher_forget(&primitives->links[number].in);
        cipher_forget(&primitives->links[number].out);
    }
}

/* IPsec-MB's functions for this processor. It tests itself first: 4 ms. */
static bool manager_begin(struct mst_primitives *primitives) {
#ifdef MST_PRIMITIVES_IPSEC_MB
    primitives->manager = alloc_mb_mgr(0);
    if (primitives->manager == NULL) {
        return false;
    }
    init_mb_mgr_auto(primitives->manager, NULL);
    return imb_get_errno(primitives->manager) == 0;
#else
    primitives->manager = NULL;
    return true;
#endif
}

static void manager_end(struct mst_primitives *primitives) {
#ifdef MST_PRIMITIVES_IPSEC_MB
    if (primitives->manager != NULL) {
        free_mb_mgr(primitives->manager);
    }
#else
    (void)primitives;
#endif
}

int mst_primitives_init(struct mst_primitives *primitives, size_t count,
                        struct mst_port *port) {
    void *links;

    if (primitives == NULL || port == NULL || count == 0 || count > INT_MAX) {
        return MST_ERR_ARGUMENT;
    }
    memset(primitives, 0, sizeof *primitives);
    if (!manager_begin(primitives) ||
        posix_memalign(&links, 64, count * sizeof *primitives->links) != 0) {
        mst_primitives_free(primitives);
        return MST_ERR_PORT;
    }
    memset(links, 0, count * sizeof *primitives->links);
    primitives->links = links;
    primitives->count = count;
    for (size_t i = 0; i < count; i++) {
        struct mst_primitives_link *link = &primitives->links[i];

        link->curves.link = link;
        link->curves.ec = (br_ec_impl){
            br_ec_get_default()->supported_curves,
            curve_generator,
            curve_order,
            curve_x,
            curve_mul,
            curve_mulgen,
            curve_muladd,
        };
        if (!cipher_begin(&link->in, primitives->manager) ||
            !cipher_begin(&link->out, primitives->manager)) {
            mst_primitives_free(primitives);
            return MST_ERR_PORT;
        }
    }
    port->tls_setup = set_up;
    port->tls_end = forget;
    port->tls_context = primitives;
    return 0;
}

void mst_primitives_free(struct mst_primitives *primitives) {
    for (size_t i = 0; i < primitives->count; i++) {
        cipher_end(&primitives->links[i].in);
        cipher_end(&primitives->links[i].out);
    }
    free(primitives->links);
    manager_end(primitives);
    memset(primitives, 0, sizeof *primitives);
}
