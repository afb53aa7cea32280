/*
 * AES-GCM and ChaCha20 for the POSIX port, on x86-64 processors with AVX-512
 * whose instructions for AES and for carry-less products take four blocks at a
 * time (VAES and VPCLMULQDQ). On others BearSSL's own stay.
 *
 * Constant time: no table, and no branch but on lengths.
 *
 * The round keys lie in BearSSL's context. All else that is secret stays in
 * registers as gcc 12 and clang 14 compile this at -O2, -O3 and -Os, since
 * every step becomes a part of the function that is called: no vector is
 * written to the stack. C promises nothing of the kind. At -O1 gcc does write
 * some there, as another compiler may, and a signal that is caught saves all
 * registers there. None of that is wiped, so it may outlast the client until
 * other calls overwrite it. That is accepted: BearSSL's own ciphers keep their
 * state on the stack and do not wipe it either, a key is of one connection
 * only, and who can read the stack can read the keys that are in use.
 *
 * In this order: vectors, GHASH, AES, ChaCha20, port.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_posix.h"

#ifndef MST_NO_TLS

#if defined(__x86_64__) && (__GNUC__ >= 8 || __clang_major__ >= 7)

#include <cpuid.h>
#include <immintrin.h>
#include <string.h>

/* For functions that the library calls, and for their steps. */
#define WIDE_TARGET target("aes,avx512bw,bmi2,vaes,vpclmulqdq")
#define WIDE_CALLED __attribute__((WIDE_TARGET))
#define WIDE inline __attribute__((WIDE_TARGET, always_inline))

/* ------------------------------------------------------------------------
 * Vectors
 * ------------------------------------------------------------------------ */

/* The first n bytes of a vector. */
static WIDE __mmask64 wide_mask(size_t n) {
    return _bzhi_u64(~0ull, n < 64 ? (unsigned)n : 64);
}

/* One block, four times. */
static WIDE __m512i wide_load(const void *block) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128(block));
}

/* One block, and zeros. */
static WIDE __m512i wide_first(__m128i block) {
    return _mm512_inserti32x4(_mm512_setzero_si512(), block, 0);
}

/* Encrypts up to 64 bytes. */
static WIDE void wide_encrypt(uint8_t *data, size_t len, __m512i with) {
    __mmask64 mask = wide_mask(len);
    __m512i bytes = _mm512_maskz_loadu_epi8(mask, data);

    _mm512_mask_storeu_epi8(data, mask, _mm512_xor_si512(bytes, with));
}

/* ------------------------------------------------------------------------
 * GHASH (NIST SP 800-38D, sections 6.3 and 6.4)
 *
 * A block's first bit is the coefficient of x^0. With its bytes reversed the
 * block is a number whose bit i is the coefficient of x^(127-i): of A it is the
 * mirror image A' = z^127 A(1/z), and of the field's x^128 + x^7 + x^2 + x + 1
 * it is P = 1 + z^121 + z^126 + z^127 + z^128. Hence A'B' = z^127 (AB)' mod P.
 * With one factor, a power of H, kept multiplied by z, that is z^128 (AB)', and
 * (AB)' is the upper half once multiples of P have cleared the lower one
 * (Montgomery's reduction).
 * ------------------------------------------------------------------------ */

/* The upper half of P, z^128 apart. */
#define GCM_P ((long long)0xc200000000000000u)

/* A sum of products, before its reduction: upper and lower halves with their
 * like, and one with the other. */
struct gcm_sum {
    __m512i low, middle, high;
};

/* Reverses the bytes of each block. */
static WIDE __m512i gcm_mirror(__m512i blocks) {
    __m128i order =
        _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

    return _mm512_shuffle_epi8(blocks, _mm512_broadcast_i32x4(order));
}

static WIDE __m512i gcm_swap_halves(__m512i blocks) {
    return _mm512_shuffle_epi32(blocks, _MM_PERM_BADC);
}

/* The first of four blocks, four times. */
static WIDE __m512i gcm_first(__m512i blocks) {
    return _mm512_shuffle_i64x2(blocks, blocks, 0);
}

static WIDE __m512i gcm_xor3(__m512i a, __m512i b, __m512i c) {
    return _mm512_ternarylogic_epi64(a, b, c, 0x96);
}

static WIDE void gcm_add_product(struct gcm_sum *sum, __m512i a, __m512i b) {
    sum->low = _mm512_xor_si512(sum->low, _mm512_clmulepi64_epi128(a, b, 0x00));
    sum->middle = gcm_xor3(sum->middle, _mm512_clmulepi64_epi128(a, b, 0x01),
                           _mm512_clmulepi64_epi128(a, b, 0x10));
    sum->high =
        _mm512_xor_si512(sum->high, _mm512_clmulepi64_epi128(a, b, 0x11));
}

/* Each time 64 bits are cleared, the lowest: their product with P is added. */
static WIDE __m512i gcm_reduce(const struct gcm_sum *sum) {
    __m512i p = _mm512_set1_epi64(GCM_P);
    __m512i low =
        _mm512_xor_si512(sum->low, _mm512_bslli_epi128(sum->middle, 8));
    __m512i high =
        _mm512_xor_si512(sum->high, _mm512_bsrli_epi128(sum->middle, 8));

    low = _mm512_xor_si512(gcm_swap_halves(low),
                           _mm512_clmulepi64_epi128(low, p, 0x00));
    return gcm_xor3(high, gcm_swap_halves(low),
                    _mm512_clmulepi64_epi128(low, p, 0x00));
}

static WIDE __m512i gcm_multiply(__m512i a, __m512i b) {
    struct gcm_sum sum = {{0}, {0}, {0}};

    gcm_add_product(&sum, a, b);
    return gcm_reduce(&sum);
}

/* The sum of four blocks, in the first one's place. */
static WIDE __m512i gcm_fold(__m512i blocks) {
    __m256i two = _mm256_xor_si256(_mm512_castsi512_si256(blocks),
                                   _mm512_extracti64x4_epi64(blocks, 1));
    __m128i one = _mm_xor_si128(_mm256_castsi256_si128(two),
                                _mm256_extracti128_si256(two, 1));

    return wide_first(one);
}

/* H times z, four times. */
static WIDE __m512i gcm_key(const void *h) {
    __m512i key = gcm_mirror(wide_load(h));
    __m512i carry = _mm512_bslli_epi128(_mm512_srli_epi64(key, 63), 8);
    __m512i top =
        _mm512_srai_epi32(_mm512_shuffle_epi32(key, _MM_PERM_DDDD), 31);
    __m512i p = _mm512_broadcast_i32x4(_mm_set_epi64x(GCM_P, 1));

    return gcm_xor3(_mm512_slli_epi64(key, 1), carry, _mm512_and_si512(top, p));
}

/* H^32 to H^1, each times z, four in a vector, as far as so many blocks need
 * them. */
static WIDE void gcm_powers(__m512i power[8], const void *h, size_t blocks) {
    __m512i key = gcm_key(h);
    __m512i square = gcm_multiply(key, key);
    __m512i pairs = _mm512_mask_blend_epi64(0xcc, square, key);

#pragma GCC unroll 8
    for (size_t i = 0; i < 8; i++) {
        power[i] = key;
    }
    /* H^2, H, H^2, H become H^4, H^3, H^2, H. */
    power[7] =
        _mm512_mask_blend_epi64(0xf0, gcm_multiply(pairs, square), pairs);
    if (blocks > 4) {
        power[6] = gcm_multiply(power[7], gcm_first(power[7]));
    }
    if (blocks > 8) {
        power[5] = gcm_multiply(power[7], gcm_first(power[6]));
        power[4] = gcm_multiply(power[6], gcm_first(power[6]));
    }
    if (blocks > 64) {
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; i++) {
            power[i] = gcm_multiply(power[i + 4], gcm_first(power[4]));
        }
    }
}

/* br_ghash. A reduction is for 16 blocks, where there are many for 32. The
 * first vector and the first round take what is less than a full one, so that
 * the last block meets H^1. */
static WIDE_CALLED void gcm_ghash(void *y, const void *h, const void *data,
                                  size_t len) {
    const uint8_t *at = data;
    size_t blocks = len / 16 + (len % 16 != 0);
    size_t left = (blocks + 3) / 4; /* vectors */
    size_t width = left > 16 ? 8 : 4;
    size_t missing = 4 * left - blocks;
    size_t n = len < 64 - 16 * missing ? len : 64 - 16 * missing;
    __m512i power[8];
    __m512i next = wide_first(_mm_loadu_si128(y));

    next = _mm512_xor_si512(next, _mm512_maskz_loadu_epi8(wide_mask(n), at));
    next = gcm_mirror(next);
    if (blocks == 1) {
        next = gcm_multiply(next, gcm_key(h));
        left = 0;
    } else {
        gcm_powers(power, h, blocks);
        next = _mm512_maskz_expand_epi64((__mmask8)(0xff << 2 * missing), next);
    }
    while (left > 0) {
        struct gcm_sum sum = {{0}, {0}, {0}};
        size_t skipped = 7 - (left - 1) % width;

        left -= 8 - skipped;
#pragma GCC unroll 8
        for (size_t i = 0; i < 8; i++) {
            if (i >= skipped) {
                gcm_add_product(&sum, next, power[i]);
                at += n;
                len -= n;
                n = len < 64 ? len : 64;
                next = gcm_mirror(_mm512_maskz_loadu_epi8(wide_mask(n), at));
            }
        }
        next = _mm512_xor_si512(next, gcm_fold(gcm_reduce(&sum)));
    }
    _mm_storeu_si128(y, _mm512_castsi512_si128(gcm_mirror(next)));
}

/* ------------------------------------------------------------------------
 * AES (FIPS 197) in counter mode
 * ------------------------------------------------------------------------ */

struct gcm_keys {
    const br_block_ctr_class *vtable;
    uint32_t words[60];
    uint32_t rounds;
};

static const br_block_ctr_class gcm_aes_ctr;

/* SubWord(): in a state of four equal columns ShiftRows() moves nothing. */
static WIDE uint32_t gcm_sub_word(uint32_t word) {
    __m128i state = _mm_set1_epi32((int)word);

    state = _mm_aesenclast_si128(state, _mm_setzero_si128());
    return (uint32_t)_mm_cvtsi128_si32(state);
}

/* Key expansion (section 5.2); a word's first byte is its lowest. */
static WIDE_CALLED void gcm_aes_init(const br_block_ctr_class **context,
                                     const void *key, size_t key_len) {
    struct gcm_keys *keys = (struct gcm_keys *)(void *)context;
    uint32_t *words = keys->words;
    uint32_t constant = 1;
    size_t n = key_len / 4;

    keys->vtable = &gcm_aes_ctr;
    keys->rounds = (uint32_t)n + 6;
    memcpy(words, key, key_len);
    for (size_t i = n; i < 4 * (n + 7); i++) {
        uint32_t word = words[i - 1];

        if (i % n == 0) {
            word = gcm_sub_word(word >> 8 | word << 24) ^ constant;
            constant = constant << 1 ^ (constant >> 7) * 0x11b;
        } else if (n > 6 && i % n == 4) {
            word = gcm_sub_word(word);
        }
        words[i] = words[i - n] ^ word;
    }
}

/* Encrypts 32 blocks. */
static WIDE void gcm_encrypt(const struct gcm_keys *keys, __m512i blocks[8]) {
    __m512i key = wide_load(keys->words);

#pragma GCC unroll 8
    for (size_t i = 0; i < 8; i++) {
        blocks[i] = _mm512_xor_si512(blocks[i], key);
    }
    for (size_t round = 1; round < keys->rounds; round++) {
        key = wide_load(&keys->words[4 * round]);
#pragma GCC unroll 8
        for (size_t i = 0; i < 8; i++) {
            blocks[i] = _mm512_aesenc_epi128(blocks[i], key);
        }
    }
    key = wide_load(&keys->words[4 * keys->rounds]);
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; i++) {
        blocks[i] = _mm512_aesenclast_epi128(blocks[i], key);
    }
}

/* The first four counter blocks: the nonce, then the counter, lowest byte first
 * for now. */
static WIDE __m512i gcm_counters(const void *iv, uint32_t counter) {
    int nonce[3];
    __m128i first;

    memcpy(nonce, iv, sizeof nonce);
    first = _mm_set_epi32((int)counter, nonce[2], nonce[1], nonce[0]);
    return _mm512_add_epi32(
        _mm512_broadcast_i32x4(first),
        _mm512_set_epi32(3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0));
}

/* inc32() (SP 800-38D, section 6.2) leaves the nonce alone. */
static WIDE_CALLED uint32_t
gcm_aes_run(const br_block_ctr_class *const *context, const void *iv,
            uint32_t counter, void *data, size_t len) {
    const __m512i big_endian = _mm512_broadcast_i32x4(
        _mm_set_epi8(12, 13, 14, 15, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
    const __m512i four = _mm512_broadcast_i32x4(_mm_set_epi32(4, 0, 0, 0));
    __m512i next = gcm_counters(iv, counter);
    uint8_t *at = data;

    counter += (uint32_t)(len / 16 + (len % 16 != 0));
    while (len > 0) {
        size_t n = len < 512 ? len : 512;
        __m512i blocks[8];

#pragma GCC unroll 8
        for (size_t i = 0; i < 8; i++) {
            blocks[i] = _mm512_shuffle_epi8(next, big_endian);
            next = _mm512_add_epi32(next, four);
        }
        gcm_encrypt((const struct gcm_keys *)(const void *)context, blocks);
#pragma GCC unroll 8
        for (size_t i = 0; i < 8; i++) {
            if (n > 64 * i) {
                wide_encrypt(at + 64 * i, n - 64 * i, blocks[i]);
            }
        }
        at += n;
        len -= n;
    }
    return counter;
}

static const br_block_ctr_class gcm_aes_ctr = {sizeof(struct gcm_keys), 16, 4,
                                               gcm_aes_init, gcm_aes_run};

/* ------------------------------------------------------------------------
 * ChaCha20 (RFC 8439, section 2.4)
 *
 * Each vector has the same row of four blocks' matrices. Two such sets go side
 * by side, for a set's steps wait for each other.
 * ------------------------------------------------------------------------ */

struct chacha {
    __m512i a, b, c, d;
};

/* Quarter rounds (section 2.1) of all columns. */
static WIDE void chacha_columns(struct chacha *s) {
    s->a = _mm512_add_epi32(s->a, s->b);
    s->d = _mm512_rol_epi32(_mm512_xor_si512(s->d, s->a), 16);
    s->c = _mm512_add_epi32(s->c, s->d);
    s->b = _mm512_rol_epi32(_mm512_xor_si512(s->b, s->c), 12);
    s->a = _mm512_add_epi32(s->a, s->b);
    s->d = _mm512_rol_epi32(_mm512_xor_si512(s->d, s->a), 8);
    s->c = _mm512_add_epi32(s->c, s->d);
    s->b = _mm512_rol_epi32(_mm512_xor_si512(s->b, s->c), 7);
}

/* Columns, and diagonals, which the rows make columns by turning. */
static WIDE void chacha_double_round(struct chacha *s) {
    chacha_columns(s);
    s->b = _mm512_shuffle_epi32(s->b, _MM_PERM_ADCB);
    s->c = _mm512_shuffle_epi32(s->c, _MM_PERM_BADC);
    s->d = _mm512_shuffle_epi32(s->d, _MM_PERM_CBAD);
    chacha_columns(s);
    s->b = _mm512_shuffle_epi32(s->b, _MM_PERM_CBAD);
    s->c = _mm512_shuffle_epi32(s->c, _MM_PERM_BADC);
    s->d = _mm512_shuffle_epi32(s->d, _MM_PERM_ADCB);
}

/* The first four blocks' matrices (section 2.3). */
static WIDE struct chacha chacha_begin(const uint8_t *key, const void *iv,
                                       uint32_t counter) {
    static const char constants[] = "expand 32-byte k";
    struct chacha s;
    int nonce[3];

    memcpy(nonce, iv, sizeof nonce);
    s.a = wide_load(constants);
    s.b = wide_load(key);
    s.c = wide_load(key + 16);
    s.d = _mm512_broadcast_i32x4(
        _mm_set_epi32(nonce[2], nonce[1], nonce[0], (int)counter));
    s.d = _mm512_add_epi32(
        s.d, _mm512_set_epi32(0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0));
    return s;
}

static WIDE void chacha_add(struct chacha *s, const struct chacha *begin) {
    s->a = _mm512_add_epi32(s->a, begin->a);
    s->b = _mm512_add_epi32(s->b, begin->b);
    s->c = _mm512_add_epi32(s->c, begin->c);
    s->d = _mm512_add_epi32(s->d, begin->d);
}

/* Encrypts up to four blocks: a block's rows, one behind the other. */
static WIDE void chacha_encrypt(uint8_t *data, size_t len,
                                const struct chacha *s) {
    __m512i ab = _mm512_shuffle_i64x2(s->a, s->b, 0x44);
    __m512i cd = _mm512_shuffle_i64x2(s->c, s->d, 0x44);
    __m512i ab2 = _mm512_shuffle_i64x2(s->a, s->b, 0xee);
    __m512i cd2 = _mm512_shuffle_i64x2(s->c, s->d, 0xee);
    const __m512i blocks[4] = {_mm512_shuffle_i64x2(ab, cd, 0x88),
                               _mm512_shuffle_i64x2(ab, cd, 0xdd),
                               _mm512_shuffle_i64x2(ab2, cd2, 0x88),
                               _mm512_shuffle_i64x2(ab2, cd2, 0xdd)};

#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) {
        if (len > 64 * i) {
            wide_encrypt(data + 64 * i, len - 64 * i, blocks[i]);
        }
    }
}

/* br_chacha20_run. */
static WIDE_CALLED uint32_t chacha_run(const void *key, const void *iv,
                                       uint32_t counter, void *data,
                                       size_t len) {
    const __m512i four = _mm512_broadcast_i32x4(_mm_set_epi32(0, 0, 0, 4));
    struct chacha begin = chacha_begin(key, iv, counter);
    uint8_t *at = data;

    counter += (uint32_t)(len / 64 + (len % 64 != 0));
    while (len > 0) {
        size_t n = len < 512 ? len : 512;
        struct chacha s = begin, s2 = begin;

        s2.d = _mm512_add_epi32(s2.d, four);
        for (int i = 0; i < 10; i++) {
            chacha_double_round(&s);
            chacha_double_round(&s2);
        }
        chacha_add(&s, &begin);
        chacha_encrypt(at, n, &s);
        begin.d = _mm512_add_epi32(begin.d, four);
        if (n > 256) {
            chacha_add(&s2, &begin);
            chacha_encrypt(at + 256, n - 256, &s2);
        }
        begin.d = _mm512_add_epi32(begin.d, four);
        at += n;
        len -= n;
    }
    return counter;
}

/* ------------------------------------------------------------------------
 * Port
 * ------------------------------------------------------------------------ */

/* cpuid, some us in a virtual machine, is for what not every compiler knows
 * by name. */
static bool wide_is_supported(void) {
    unsigned a, b, c, d;

    return __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("aes") && __builtin_cpu_supports("bmi2") &&
           __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 &&
           (c & bit_VAES) != 0 && (c & bit_VPCLMULQDQ) != 0;
}

void mst_posix_ciphers(struct mst_port *port) {
    if (wide_is_supported()) {
        port->aes_ctr = &gcm_aes_ctr;
        port->ghash = gcm_ghash;
        port->chacha20 = chacha_run;
    }
}

#else

void mst_posix_ciphers(struct mst_port *port) {
    (void)port;
}

#endif
#endif
