/*
 * A fuzz target: a file of trust anchors, after a byte that says if it is text
 * or one certificate to be put into PEM, and one for how much a read gives. It
 * must give the same anchors or error however it is read, and twice the anchors
 * if it has its certificate twice.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE /* memfd_create() */
#include "fuzz.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t read_most; /* bytes per read; 0 means any number */

static ssize_t read_some(int fd, void *data, size_t len) {
    return read(fd, data, read_most > 0 && read_most < len ? read_most : len);
}

#define read(fd, data, len) read_some((fd), (data), (len))
#include "mst_posix_anchors.c" /* NOLINT(bugprone-suspicious-include) */
#undef read

#define INPUT_MAX 4096

/* Writes a certificate as PEM; returns its length. */
static size_t write_pem(char *to, const uint8_t *data, size_t len) {
    char *at = to + sprintf(to, "-----BEGIN CERTIFICATE-----\n");

    at += EVP_EncodeBlock((unsigned char *)at, data, (int)len);
    at += sprintf(at, "\n-----END CERTIFICATE-----\n");
    return (size_t)(at - to);
}

/* Returns a file that repeats this content `times` times. */
static int file_of(const char *data, size_t len, int times) {
    int file = memfd_create("anchors", 0);

    FUZZ_EXPECT(file >= 0);
    for (int i = 0; i < times; i++) {
        FUZZ_EXPECT(write(file, data, len) == (ssize_t)len);
        FUZZ_EXPECT(write(file, "\n", 1) == 1);
    }
    return file;
}

static int load(struct mst_posix_anchors *anchors, int file, size_t most) {
    char path[40];
    int rc;

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    read_most = most;
    rc = mst_posix_anchors_load(anchors, path);
    FUZZ_EXPECT(rc == 0 || rc == MST_POSIX_ERR_PEM ||
                rc == MST_POSIX_ERR_CERTIFICATE ||
                rc == MST_POSIX_ERR_UNUSABLE || rc == MST_POSIX_ERR_EMPTY);
    FUZZ_EXPECT((rc == 0) == (anchors->len > 0));
    FUZZ_EXPECT((rc == 0) == (anchors->anchors != NULL));
    anchors->path = NULL; /* it is not valid after this function */
    return rc;
}

/* A name must be exactly one DER SEQUENCE. */
static void expect_name(const unsigned char *name, size_t len) {
    size_t bytes = len >= 2 && name[1] > 0x80 ? name[1] - 0x80u : 0, n = 0;

    FUZZ_EXPECT(len >= 2 + bytes && name[0] == 0x30);
    n = bytes == 0 ? name[1] : 0;
    for (size_t i = 0; i < bytes; i++) {
        n = n * 256 + name[2 + i];
    }
    FUZZ_EXPECT(2 + bytes + n == len);
}

static bool same(const unsigned char *a, size_t a_len, const unsigned char *b,
                 size_t b_len) {
    return a_len == b_len && memcmp(a, b, a_len) == 0;
}

static void expect_same(const br_x509_trust_anchor *a,
                        const br_x509_trust_anchor *b) {
    const br_x509_pkey *p = &a->pkey, *q = &b->pkey;

    FUZZ_EXPECT(a->flags == b->flags && p->key_type == q->key_type);
    FUZZ_EXPECT(same(a->dn.data, a->dn.len, b->dn.data, b->dn.len));
    expect_name(a->dn.data, a->dn.len);
    if (p->key_type == BR_KEYTYPE_RSA) {
        FUZZ_EXPECT(
            same(p->key.rsa.n, p->key.rsa.nlen, q->key.rsa.n, q->key.rsa.nlen));
        FUZZ_EXPECT(
            same(p->key.rsa.e, p->key.rsa.elen, q->key.rsa.e, q->key.rsa.elen));
    } else {
        FUZZ_EXPECT(p->key_type == BR_KEYTYPE_EC &&
                    p->key.ec.curve == q->key.ec.curve);
        FUZZ_EXPECT(
            same(p->key.ec.q, p->key.ec.qlen, q->key.ec.q, q->key.ec.qlen));
    }
}

/* Compares the anchors with those of a file that repeats their file. */
static void compare(const struct mst_posix_anchors *a, int file, size_t most,
                    int rc, size_t times) {
    struct mst_posix_anchors b;

    FUZZ_EXPECT(load(&b, file, most) == rc);
    if (rc == 0) {
        FUZZ_EXPECT(b.len == times * a->len);
        FUZZ_EXPECT(b.skipped == times * a->skipped);
    }
    for (size_t i = 0; i < b.len; i++) {
        FUZZ_EXPECT(a->len > 0);
        expect_same(&a->anchors[i % a->len], &b.anchors[i]);
    }
    mst_posix_anchors_free(&b);
}

static void test(const char *data, size_t len, uint8_t how, bool twice_too) {
    struct mst_posix_anchors anchors;
    int file = file_of(data, len, 1), rc = load(&anchors, file, 0), twice;

    compare(&anchors, file, 1 + how % 64u, rc, 1);
    if (rc == 0 && twice_too) {
        twice = file_of(data, len, 2);
        compare(&anchors, twice, 0, rc, 2);
        close(twice);
    }
    mst_posix_anchors_free(&anchors);
    close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    static char text[2 * INPUT_MAX];

    if (len < 2 || len > INPUT_MAX) {
        return 0;
    }
    if ((data[0] & 1) == 0) {
        test((const char *)data + 2, len - 2, data[1], false);
    } else {
        test(text, write_pem(text, data + 2, len - 2), data[1], true);
    }
    return 0;
}
