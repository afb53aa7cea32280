/*
 * Tests of the POSIX port's own AES-GCM and ChaCha20, beside BearSSL's portable
 * ones. Where the processor lacks the instructions, only that the port has none.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mst_posix.h"
#include "support.h"

#define LEN_MAX 20000

static struct mst_posix_link links[1];
static struct mst_posix posix;
static struct mst_port port;
static struct guard guard;
static uint64_t seed;

static void random_bytes(void *data, size_t len) {
    uint8_t *bytes = data;

    for (size_t i = 0; i < len; i++) {
        bytes[i] = (uint8_t)random_next(&seed);
    }
}

/* Each length up to 1,200, then ever longer ones. */
static size_t len_after(size_t len) {
    return len < 1200 ? len + 1 : len + len / 9;
}

static void from_hex(const char *text, uint8_t *bytes, size_t len) {
    assert_int_equal(strlen(text), 2 * len);
    for (size_t i = 0; i < len; i++) {
        const char digits[3] = {text[2 * i], text[2 * i + 1]};

        bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
}

/* What the kernel says of the first processor. */
static bool processor_has(const char *feature) {
    char line[8192], name[32];
    FILE *file = fopen("/proc/cpuinfo", "r");
    bool found = false;

    snprintf(name, sizeof name, " %s ", feature);
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = ' ';
        found = strncmp(line, "flags", 5) == 0 && strstr(line, name) != NULL;
    }
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

static bool is_supported(void) {
    return processor_has("vaes") && processor_has("vpclmulqdq") &&
           processor_has("avx512bw") && processor_has("bmi2");
}

static int begin(void **state) {
    (void)state;
    guard_open(&guard, LEN_MAX + 64);
    return mst_posix_init(&posix, links, 1, &port);
}

static int end(void **state) {
    (void)state;
    guard_close(&guard);
    mst_posix_free(&posix);
    return 0;
}

static void the_port_has_it_where_the_processor_has(void **state) {
    (void)state;
    assert_int_equal(port.aes_ctr != NULL, is_supported());
    assert_int_equal(port.ghash != NULL, is_supported());
    assert_int_equal(port.chacha20 != NULL, is_supported());
}

/* Test cases 4 and 16 of "The Galois/Counter Mode of Operation (GCM)" by D.
 * McGrew and J. Viega. */
static void known_answers(void **state) {
    static const struct {
        size_t key_len;
        const char *ciphertext, *tag;
    } cases[] = {
        {16,
         "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
         "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
         "5bc94fbc3221a5db94fae95ae7121a47"},
        {32,
         "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
         "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
         "76fc6ece0f4e1768cddf8853bb2d551b"},
    };
    uint8_t key[32], iv[12], beside[20], data[60], expected[60], tag[16];

    (void)state;
    from_hex("feffe9928665731c6d6a8f9467308308"
             "feffe9928665731c6d6a8f9467308308",
             key, 32);
    from_hex("cafebabefacedbaddecaf888", iv, 12);
    from_hex("feedfacedeadbeeffeedfacedeadbeefabaddad2", beside, 20);
    for (size_t i = 0; i < COUNT(cases); i++) {
        br_aes_gen_ctr_keys keys;
        br_gcm_context gcm;

        from_hex("d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d"
                 "8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657"
                 "ba637b39",
                 data, 60);
        port.aes_ctr->init(&keys.vtable, key, cases[i].key_len);
        br_gcm_init(&gcm, &keys.vtable, port.ghash);
        br_gcm_reset(&gcm, iv, sizeof iv);
        br_gcm_aad_inject(&gcm, beside, sizeof beside);
        br_gcm_flip(&gcm);
        br_gcm_run(&gcm, 1, data, sizeof data);
        from_hex(cases[i].ciphertext, expected, 60);
        assert_memory_equal(data, expected, sizeof expected);
        from_hex(cases[i].tag, tag, 16);
        assert_int_equal(br_gcm_check_tag(&gcm, tag), 1);
    }
}

/* RFC 8439, section 2.4.2. */
static void known_answer_of_chacha20(void **state) {
    static const char text[] =
        "Ladies and Gentlemen of the class of '99: If I could offer you only "
        "one tip for the future, sunscreen would be it.";
    uint8_t key[32], iv[12], data[114], expected[114];

    (void)state;
    from_hex("000102030405060708090a0b0c0d0e0f"
             "101112131415161718191a1b1c1d1e1f",
             key, sizeof key);
    from_hex("000000000000004a00000000", iv, sizeof iv);
    from_hex("6e2e359a2568f98041ba0728dd0d6981e97e7aec1d4360c20a27afccfd9fae0b"
             "f91b65c5524733ab8f593dabcd62b3571639d624e65152ab8f530c359f0861d8"
             "07ca0dbf500d6a6156a38e088a22b65e52bc514d16ccf806818ce91ab7793736"
             "5af90bbf74a35be6b40b8eedf2785e42874d",
             expected, sizeof expected);
    memcpy(data, text, sizeof data);
    assert_int_equal(port.chacha20(key, iv, 1, data, sizeof data), 3);
    assert_memory_equal(data, expected, sizeof expected);
}

/* At every length, one call after the other, up to a protected page. */
static void hashes_as_the_portable_one(void **state) {
    uint8_t h[16], y[16], expected[16];

    (void)state;
    random_bytes(y, sizeof y);
    memcpy(expected, y, sizeof y);
    for (size_t len = 0; len <= LEN_MAX; len = len_after(len)) {
        uint8_t *data = guard_room(&guard, len);

        random_bytes(data, len);
        random_bytes(h, sizeof h);
        br_ghash_ctmul64(expected, h, data, len);
        port.ghash(y, h, data, len);
        if (memcmp(y, expected, sizeof y) != 0) {
            expect_failed("a hash of %zu bytes", len);
            memcpy(y, expected, sizeof y);
        }
    }
}

/* Keys whose bits are all one or single ones, where a carry would be lost. */
static void hashes_with_extreme_keys(void **state) {
    uint8_t h[16], y[16], expected[16];

    (void)state;
    for (unsigned bit = 0; bit <= 128; bit++) {
        uint8_t *data = guard_room(&guard, 1000);

        memset(data, 0xff, 1000);
        memset(h, bit < 128 ? 0 : 0xff, sizeof h);
        if (bit < 128) {
            h[bit / 8] = (uint8_t)(1u << bit % 8);
        }
        memset(y, 0xff, sizeof y);
        memset(expected, 0xff, sizeof expected);
        br_ghash_ctmul64(expected, h, data, 1000);
        port.ghash(y, h, data, 1000);
        assert_memory_equal(y, expected, sizeof y);
    }
}

static void encrypt_expect(size_t key_len, uint32_t counter, size_t len) {
    static uint8_t expected[LEN_MAX + 1];
    br_aes_ct64_ctr_keys portable;
    br_aes_gen_ctr_keys keys;
    uint8_t key[32], iv[12];
    uint8_t *before = guard_room(&guard, len + 1);

    random_bytes(key, sizeof key);
    random_bytes(iv, sizeof iv);
    random_bytes(before, len + 1);
    memcpy(expected, before, len + 1);
    br_aes_ct64_ctr_init(&portable, key, key_len);
    port.aes_ctr->init(&keys.vtable, key, key_len);
    br_aes_ct64_ctr_run(&portable, iv, counter, expected + 1, len);
    uint32_t next =
        keys.vtable->run(&keys.vtable, iv, counter, before + 1, len);
    /* Behind a partial block nothing follows. */
    bool counted = len % 16 != 0 || next == counter + (uint32_t)(len / 16);
    if (!counted || memcmp(before, expected, len + 1) != 0) {
        expect_failed("%zu bytes, key of %zu, from counter %lu", len, key_len,
                      (unsigned long)counter);
    }
}

/* At every length, in place, up to a protected page; the counter of 32 bits
 * wraps in some. */
static void encrypts_as_the_portable_one(void **state) {
    static const uint32_t counters[] = {0, 2, UINT32_MAX, UINT32_MAX - 2,
                                        UINT32_MAX - 30};

    (void)state;
    for (size_t key_len = 16; key_len <= 32; key_len += 8) {
        size_t turn = 0;

        for (size_t len = 0; len <= LEN_MAX; len = len_after(len)) {
            encrypt_expect(key_len, counters[turn++ % COUNT(counters)], len);
        }
    }
}

/* In the same way. */
static void chacha20_is_the_portable_one(void **state) {
    static const uint32_t counters[] = {0, 1, UINT32_MAX, UINT32_MAX - 6,
                                        UINT32_MAX - 20};
    static uint8_t expected[LEN_MAX + 1];
    uint8_t key[32], iv[12];
    size_t turn = 0;

    (void)state;
    for (size_t len = 0; len <= LEN_MAX; len = len_after(len)) {
        uint32_t counter = counters[turn++ % COUNT(counters)];
        uint8_t *before = guard_room(&guard, len + 1);

        random_bytes(key, sizeof key);
        random_bytes(iv, sizeof iv);
        random_bytes(before, len + 1);
        memcpy(expected, before, len + 1);
        uint32_t next = br_chacha20_ct_run(key, iv, counter, expected + 1, len);
        if (port.chacha20(key, iv, counter, before + 1, len) != next ||
            memcmp(before, expected, len + 1) != 0) {
            expect_failed("%zu bytes from counter %lu", len,
                          (unsigned long)counter);
        }
    }
}

int main(void) {
    static const struct CMUnitTest anywhere[] = {
        TEST(the_port_has_it_where_the_processor_has),
    };
    static const struct CMUnitTest tests[] = {
        TEST(the_port_has_it_where_the_processor_has),
        TEST(known_answers),
        TEST(known_answer_of_chacha20),
        TEST(hashes_as_the_portable_one),
        TEST(hashes_with_extreme_keys),
        TEST(encrypts_as_the_portable_one),
        TEST(chacha20_is_the_portable_one),
    };

    if (!is_supported()) {
        printf("This processor lacks VAES, VPCLMULQDQ or AVX-512, and the "
               "port has no ciphers of its own: they are not tested here.\n");
        return cmocka_run_group_tests(anywhere, begin, end);
    }
    return cmocka_run_group_tests(tests, begin, end);
}
