/*
 * A fuzz target: a server's certificate with any subject and extensions. The
 * library refuses what BearSSL refuses. It accepts the rest if each extended
 * key usage, as OpenSSL reads it, names servers; a usage that OpenSSL cannot
 * read must at least contain their name. Each signature counts as good, so that
 * BearSSL checks the rest.
 *
 * An input is a byte for the length of the certificate's pieces, then parts. A
 * part is a byte with its kind (enum) and its length (in units of eight bytes
 * for a value), and its bytes. The first part is the subject, the others are
 * extensions, the last one first.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE      /* memmem() */
#include "mini_stream.c" /* NOLINT(bugprone-suspicious-include) */

#include "fuzz.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#define INPUT_MAX 1024
#define UNIX_S 1767323045 /* in 2026 */

/* DER tags; the last is that of extensions. */
#define OCTET_STRING 0x04
#define SEQUENCE 0x30
#define SET 0x31
#define EXTENSIONS 0xA3

/* Version 3, serial number 1, ECDSA with SHA-256; names of objects. */
#define ALGORITHM "\x30\x0A\x06\x08\x2A\x86\x48\xCE\x3D\x04\x03\x02"
#define BEGIN "\xA0\x03\x02\x01\x02\x02\x01\x01" ALGORITHM
#define ISSUER "\x30\x0C\x31\x0A\x30\x08\x06\x03\x55\x04\x03\x0C\x01\x41"
#define VALIDITY "\x30\x1E\x17\r200101000000Z\x17\r400101000000Z"
#define USAGE_NAME "\x06\x03\x55\x1D\x25"
#define OTHER "\x06\x03\x2A\x03\x04"
#define NAME_LEN 5
#define SIGNATURE "\x03\x03\x00\x30\x00"
#define SERVERS "\x2B\x06\x01\x05\x05\x07\x03\x01"

/* A key on P-256: this head, then a point of zeros. */
#define KEY_HEAD                                           \
    "\x30\x59\x30\x13\x06\x07\x2A\x86\x48\xCE\x3D\x02\x01" \
    "\x06\x08\x2A\x86\x48\xCE\x3D\x03\x01\x07\x03\x42\x00\x04"

/* A certificate, written from its end to its beginning. */
static struct {
    uint8_t bytes[32 * INPUT_MAX];
    size_t at;
} der;

static void put(const void *data, size_t len) {
    der.at -= len;
    memcpy(der.bytes + der.at, data, len);
}

#define PUT(text) put(text, sizeof(text) - 1)

/* Puts an element's tag and length before its content, which ends at `end`. */
static void put_head(uint8_t tag, size_t end) {
    size_t len = end - der.at;
    uint8_t head[4] = {tag, 0x82, (uint8_t)(len >> 8), (uint8_t)len};

    if (len < 0x80) {
        head[1] = (uint8_t)len;
    } else if (len <= 0xFF) {
        head[1] = 0x81;
        head[2] = (uint8_t)len;
    }
    put(head, len < 0x80 ? 2 : len <= 0xFF ? 3 : 4);
}

/* A part of an input: its bytes as they are, or wrapped in valid DER. */
enum { AS_IS, VALUE, USAGE, USAGES };
struct part {
    unsigned kind;
    const uint8_t *data;
    size_t len;
};

static struct part next_part(const uint8_t **at, const uint8_t *end) {
    struct part part = {AS_IS, *at, 0};

    if (*at < end) {
        part.kind = **at >> 6;
        part.data = ++*at;
        part.len = part.data[-1] & 63u;
        part.len *= part.kind == VALUE ? 8 : 1;
        if (part.len > (size_t)(end - *at)) {
            part.len = (size_t)(end - *at);
        }
        *at += part.len;
    }
    return part;
}

/* Wraps the bytes up to `end` as a value, preceded by its name: an unknown one,
 * or that of the usage. */
static void put_value(const struct part *part, size_t end) {
    put_head(OCTET_STRING, end);
    put(part->kind == VALUE ? OTHER : USAGE_NAME, NAME_LEN);
    put_head(SEQUENCE, end);
}

/* A subject, or an attribute of it with this value, whose name is unknown or
 * that of the usage. */
static void put_subject(const struct part *part) {
    size_t end = der.at;

    put(part->data, part->len);
    if (part->kind != AS_IS) {
        put_value(part, end);
        put_head(SET, end);
    }
    put_head(SEQUENCE, end);
}

/* An extension; or an unknown one with this value; or a usage with this value
 * or a list of these names. */
static void put_extension(const struct part *part) {
    size_t end = der.at;

    put(part->data, part->len);
    if (part->kind == USAGES) {
        put_head(SEQUENCE, end);
    }
    if (part->kind != AS_IS) {
        put_value(part, end);
    }
}

static void write_certificate(const uint8_t *at, const uint8_t *end) {
    static const uint8_t key[sizeof KEY_HEAD - 1 + 64] = KEY_HEAD;
    struct part subject = next_part(&at, end), part;
    size_t ends = der.at = sizeof der.bytes, tbs_ends;

    PUT(ALGORITHM SIGNATURE);
    tbs_ends = der.at;
    while (at < end) {
        part = next_part(&at, end);
        put_extension(&part);
    }
    put_head(SEQUENCE, tbs_ends);
    put_head(EXTENSIONS, tbs_ends);
    put(key, sizeof key);
    put_subject(&subject);
    PUT(BEGIN ISSUER VALIDITY);
    put_head(SEQUENCE, tbs_ends);
    put_head(SEQUENCE, ends);
}

static uint32_t any_signature(const br_ec_impl *curves, const void *hash,
                              size_t hash_len, const br_ec_public_key *key,
                              const void *signature, size_t len) {
    (void)curves, (void)hash, (void)hash_len, (void)key, (void)signature;
    (void)len;
    return 1;
}

/* A validator's result for the certificate, which it gets in pieces. */
static unsigned verdict(const br_x509_class **validator, uint8_t how) {
    const br_x509_class *class = *validator;
    const uint8_t *data = der.bytes + der.at;
    size_t len = sizeof der.bytes - der.at;

    class->start_chain(validator, NULL);
    class->start_cert(validator, (uint32_t)len);
    for (size_t at = 0, n; at < len; at += n) {
        n = fuzz_piece(how, at, len);
        class->append(validator, fuzz_put(data + at, n), n);
    }
    class->end_cert(validator);
    return class->end_chain(validator);
}

/* The results of BearSSL and of the library. */
static void verdicts(uint8_t how, unsigned *bearssl, unsigned *own) {
    static const uint8_t point[65] = {4};
    const br_x509_trust_anchor anchor = {
        .dn = {(unsigned char *)ISSUER, sizeof ISSUER - 1},
        .flags = BR_X509_TA_CA,
        .pkey = {BR_KEYTYPE_EC,
                 {.ec = {BR_EC_secp256r1, (unsigned char *)point,
                         sizeof point}}},
    };
    const struct mst_access access = {.anchors = &anchor, .anchors_len = 1};
    static br_ssl_client_context tls;
    static struct mst_validator validator;
    struct mst_transport t = {.tls = &tls, .validator = &validator};
    br_x509_minimal_context *x509 = &validator.minimal;
    const br_x509_class *class;

    memset(&validator, 0xA5, sizeof validator); /* any earlier content */
    transport_validator(&t, &access, UNIX_S);
    br_x509_minimal_set_ecdsa(x509, br_ec_get_default(), any_signature);
    class = x509->vtable;
    x509->vtable = &br_x509_minimal_vtable;
    *bearssl = verdict(&x509->vtable, how);
    x509->vtable = class;
    *own = verdict(&x509->vtable, how);
}

static bool names_servers(const EXTENDED_KEY_USAGE *usage) {
    for (int i = 0; i < sk_ASN1_OBJECT_num(usage); i++) {
        if (OBJ_obj2nid(sk_ASN1_OBJECT_value(usage, i)) == NID_server_auth) {
            return true;
        }
    }
    return false;
}

/* True if a usage is encoded as DER. */
static bool is_der(const EXTENDED_KEY_USAGE *usage, const uint8_t *value,
                   size_t len) {
    unsigned char *der_of = NULL;
    int der_len = i2d_EXTENDED_KEY_USAGE(usage, &der_of);
    bool same = der_len == (int)len && memcmp(der_of, value, len) == 0;

    OPENSSL_free(der_of);
    return same;
}

/* Checks a usage, an extension's value, of an accepted or refused certificate.
 * Returns true if it names servers; *certain if it is DER. */
static bool compare_usage(const ASN1_OCTET_STRING *value, bool taken,
                          bool *certain) {
    const uint8_t *data = ASN1_STRING_get0_data(value), *at = data;
    size_t len = (size_t)ASN1_STRING_length(value);
    EXTENDED_KEY_USAGE *usage = d2i_EXTENDED_KEY_USAGE(NULL, &at, (long)len);
    bool serves = false;

    *certain = false;
    if (usage != NULL) {
        serves = at == data + len && names_servers(usage);
        FUZZ_EXPECT(!taken || serves);
        *certain = is_der(usage, data, len);
    }
    FUZZ_EXPECT(!taken ||
                memmem(data, len, SERVERS, sizeof SERVERS - 1) != NULL);
    EXTENDED_KEY_USAGE_free(usage);
    return serves;
}

/* Checks a certificate that BearSSL accepts as OpenSSL reads it. If a usage is
 * not DER, it may be refused whatever it names. */
static void compare(const X509 *certificate, bool taken) {
    bool serves = true, certain = true, certain_too;

    for (int i = -1;
         (i = X509_get_ext_by_NID(certificate, NID_ext_key_usage, i)) >= 0;) {
        serves &=
            compare_usage(X509_EXTENSION_get_data(X509_get_ext(certificate, i)),
                          taken, &certain_too);
        certain &= certain_too;
    }
    FUZZ_EXPECT(!certain || taken == serves);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    unsigned bearssl, own;
    const uint8_t *at;
    X509 *certificate;

    if (len == 0 || len > INPUT_MAX) {
        return 0;
    }
    write_certificate(data + 1, data + len);
    verdicts(data[0], &bearssl, &own);
    FUZZ_EXPECT(own == bearssl ||
                (bearssl == 0 && own == BR_ERR_X509_FORBIDDEN_KEY_USAGE));
    if (bearssl != 0) {
        return 0;
    }
    at = der.bytes + der.at;
    certificate = d2i_X509(NULL, &at, (long)(sizeof der.bytes - der.at));
    if (certificate != NULL) {
        compare(certificate, own == 0);
    }
    X509_free(certificate);
    ERR_clear_error();
    return 0;
}
