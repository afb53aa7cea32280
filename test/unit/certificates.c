/*
 * Extended key usage in any certificate, with any subject, order and extensions
 * that an applicant may choose. A certificate that BearSSL accepts is rejected
 * if its usage excludes servers, and accepted otherwise. A usage that does not
 * end with its list is rejected.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mini_stream.c" /* NOLINT(bugprone-suspicious-include) */

#include "support.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>

#define HOST "ws.example"
#define UNIX_S 1767323045 /* in 2026 */
#define CASES 1000

static struct {
    EVP_PKEY *key, *leaf_key;
    X509_NAME *name;
    unsigned char *dn, point[65];
    br_x509_trust_anchor anchor;
} ca;

static uint64_t seed = 1;

static unsigned below(unsigned count) {
    return random_below(&seed, count);
}

static int make_ca(void **state) {
    size_t len;

    (void)state;
    ca.key = EVP_EC_gen("P-256");
    ca.leaf_key = EVP_EC_gen("P-256");
    ca.name = X509_NAME_new();
    if (X509_NAME_add_entry_by_txt(ca.name, "CN", MBSTRING_ASC,
                                   (const unsigned char *)"ca", -1, -1,
                                   0) != 1 ||
        EVP_PKEY_get_octet_string_param(ca.key, OSSL_PKEY_PARAM_PUB_KEY,
                                        ca.point, sizeof ca.point, &len) != 1) {
        return -1;
    }
    ca.anchor = (br_x509_trust_anchor){
        .dn.len = (size_t)i2d_X509_NAME(ca.name, &ca.dn),
        .flags = BR_X509_TA_CA,
        .pkey = {BR_KEYTYPE_EC,
                 {.ec = {BR_EC_secp256r1, ca.point, sizeof ca.point}}},
    };
    ca.anchor.dn.data = ca.dn;
    return 0;
}

static int free_ca(void **state) {
    (void)state;
    OPENSSL_free(ca.dn);
    X509_NAME_free(ca.name);
    EVP_PKEY_free(ca.key);
    EVP_PKEY_free(ca.leaf_key);
    return 0;
}

/* Fills in bytes; many of them have a meaning in DER. */
static int any_bytes(unsigned char *bytes, unsigned most) {
    static const unsigned char usual[] = {
        0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x08, 0x25, 0x2B, 0x30, 0x31,
        0x55, 0x1D, 0x7F, 0x80, 0x81, 0x82, 0x83, 0x84, 0x9F, 0xA0, 0xA3, 0xFF};
    unsigned len = below(most + 1);

    for (unsigned i = 0; i < len; i++) {
        bytes[i] = below(4) == 0 ? (unsigned char)below(256)
                                 : usual[below(COUNT(usual))];
    }
    return (int)len;
}

static void any_subject(X509_NAME *name) {
    static const char *const types[] = {"CN", "title", "1.2.3.4", "2.5.29.37",
                                        "1.3.6.1.5.5.7.3.1"};
    unsigned char bytes[16];

    for (unsigned i = below(4); i > 0; i--) {
        ASN1_OBJECT *type = OBJ_txt2obj(types[below(COUNT(types))], 0);
        int kind = below(2) == 0 ? V_ASN1_SEQUENCE : V_ASN1_OCTET_STRING;
        int len = any_bytes(bytes, sizeof bytes);

        X509_NAME_add_entry_by_OBJ(name, type, kind, bytes, len, -1, 0);
        ASN1_OBJECT_free(type);
    }
}

/* Adds an extension, at any place among the others. */
static void add(X509 *made, X509_EXTENSION *e) {
    assert_non_null(e);
    assert_int_equal(X509_add_ext(made, e, (int)below(4)), 1);
    X509_EXTENSION_free(e);
}

static void add_value(X509 *made, const char *type, const void *value,
                      int len) {
    ASN1_OBJECT *object = OBJ_txt2obj(type, 1);
    ASN1_OCTET_STRING *string = ASN1_OCTET_STRING_new();

    ASN1_OCTET_STRING_set(string, value, len);
    add(made, X509_EXTENSION_create_by_OBJ(NULL, object, 0, string));
    ASN1_OCTET_STRING_free(string);
    ASN1_OBJECT_free(object);
}

static void add_text(X509 *made, int nid, const char *text) {
    add(made, X509V3_EXT_conf_nid(NULL, NULL, nid, text));
}

/* Begins a certificate of the host; more can be added. */
static X509 *begin_certificate(void) {
    X509 *made = X509_new();

    X509_set_version(made, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made), 1 + (long)below(1000000));
    ASN1_TIME_set_string(X509_getm_notBefore(made), "20200101000000Z");
    ASN1_TIME_set_string(X509_getm_notAfter(made), "20400101000000Z");
    X509_set_issuer_name(made, ca.name);
    X509_set_pubkey(made, ca.leaf_key);
    add_text(made, NID_subject_alt_name, "DNS:" HOST);
    return made;
}

static int end_certificate(X509 *made, unsigned char **der) {
    int len;

    *der = NULL;
    assert_true(X509_sign(made, ca.key, EVP_sha256()) > 0);
    len = i2d_X509(made, der);
    X509_free(made);
    return len;
}

/* Makes any certificate of the host. Returns true if it is for servers. */
static bool any_certificate(unsigned char **der, int *len) {
    static const struct {
        const char *list;
        bool server;
    } usages[] = {{"clientAuth", false},
                  {"serverAuth", true},
                  {"clientAuth,serverAuth", true},
                  {"serverAuth,2.5.29.37", true},
                  {"clientAuth,2.5.29.37", false},
                  {"2.5.29.37", false},
                  {"1.3.6.1.5.5.7.3.1.1,1.3.6.1.5.5.7.3", false},
                  {"anyExtendedKeyUsage,codeSigning", false}};
    X509 *made = begin_certificate();
    unsigned usage = below(COUNT(usages) + 1);
    unsigned char bytes[32];

    any_subject(X509_get_subject_name(made));
    if (usage < COUNT(usages)) {
        add_text(made, NID_ext_key_usage, usages[usage].list);
    }
    if (below(2) == 0) {
        add_text(made, NID_basic_constraints, "critical,CA:false");
    }
    if (below(2) == 0) {
        add_value(made, "1.2.3.4", bytes, any_bytes(bytes, sizeof bytes));
    }
    *len = end_certificate(made, der);
    return usage == COUNT(usages) || usages[usage].server;
}

/* Returns a validator's verdict on a certificate, in pieces of any length. */
static unsigned verdict(const br_x509_class **validator,
                        const unsigned char *der, size_t len) {
    const br_x509_class *class = *validator;

    class->start_chain(validator, HOST);
    class->start_cert(validator, (uint32_t)len);
    for (size_t at = 0, n; at < len; at += n) {
        n = 1 + below(256);
        n = n < len - at ? n : len - at;
        class->append(validator, der + at, n);
    }
    class->end_cert(validator);
    return class->end_chain(validator);
}

/* Gets BearSSL's verdict on a certificate, and the library's. */
static void verdicts(const unsigned char *der, int len, unsigned *bearssl,
                     unsigned *own) {
    static br_ssl_client_context tls;
    static struct mst_validator validator;
    const struct mst_access access = {.anchors = &ca.anchor, .anchors_len = 1};
    struct mst_transport t = {.tls = &tls, .validator = &validator};
    const br_x509_class **class = &validator.minimal.vtable, *checks;

    transport_validator(&t, &access, UNIX_S);
    checks = *class;
    assert_int_equal(checks->context_size, sizeof validator);
    *class = &br_x509_minimal_vtable;
    *bearssl = verdict(class, der, (size_t)len);
    *class = checks;
    *own = verdict(class, der, (size_t)len);
}

TEST_CASE(usage_is_read_whatever_is_around_it) {
    unsigned taken[2] = {0, 0};

    for (unsigned i = 0; i < CASES; i++) {
        unsigned char *der;
        unsigned expected, error;
        int len;
        bool serves = any_certificate(&der, &len);

        verdicts(der, len, &expected, &error);
        taken[serves] += expected == 0;
        if (expected == 0 && !serves) {
            expected = BR_ERR_X509_FORBIDDEN_KEY_USAGE;
        }
        if (error != expected) {
            expect_failed("certificate %u: %u, expected %u", i, error,
                          expected);
        }
        OPENSSL_free(der);
    }
    assert_in_range(taken[false], CASES / 10, CASES); /* by BearSSL */
    assert_in_range(taken[true], CASES / 10, CASES);
}

/* Ends a certificate that BearSSL accepts. Returns the library's verdict. */
static unsigned own_verdict(X509 *made) {
    unsigned bearssl, own;
    unsigned char *der;
    int len = end_certificate(made, &der);

    verdicts(der, len, &bearssl, &own);
    assert_int_equal(bearssl, 0);
    OPENSSL_free(der);
    return own;
}

#define SERVERS "\x06\x08\x2B\x06\x01\x05\x05\x07\x03\x01"
#define CLIENTS "\x06\x08\x2B\x06\x01\x05\x05\x07\x03\x02"
#define USAGE(text, serves) \
    { text, sizeof(text) - 1, serves }

/* The values of one of two usages, in any order. The other usage names servers:
 * reading beyond the end of the first one would find them. */
TEST_CASE(usage_is_one_list) {
    static const struct {
        const char *value;
        int len;
        bool serves;
    } usages[] = {
        USAGE("\x30\x0A" SERVERS, true),
        USAGE("\x30\x14" SERVERS CLIENTS, true),
        USAGE("\x30\x14" CLIENTS SERVERS, true),
        USAGE("\x30\x82\x00\x0A" SERVERS, true),
        USAGE("\x30\x0C\x05\x00" SERVERS, true), /* not a name */
        USAGE("\x30\x0A" CLIENTS, false),
        USAGE("", false),
        USAGE("\x30", false),
        USAGE("\x30\x00", false),
        USAGE("\x30\x82", false),
        USAGE(SERVERS, false),                    /* not a list */
        USAGE("\x03\x02", false),                 /* not a list */
        USAGE("\x04\x0B", false),                 /* not a list */
        USAGE("\x30\x02\x04\x0B", false),         /* too long a list */
        USAGE("\x30\x0B" SERVERS, false),         /* too short a list */
        USAGE("\x30\x0B" SERVERS "\x06", false),  /* a truncated name */
        USAGE("\x30\x0A" CLIENTS SERVERS, false), /* after the list */
        USAGE("\x30\x0A" SERVERS CLIENTS, false), /* after the list */
        USAGE("\x30\x0A" SERVERS "\x05", false),  /* after the list */
        USAGE("\x30\x0A" CLIENTS "\x30\x0A" SERVERS, false), /* a second list */
        USAGE("\x30\x0C\x30\x0A" SERVERS, false),            /* a nested list */
        USAGE("\x30\x80" SERVERS "\x00\x00", false), /* indefinite length */
    };

    for (unsigned round = 0; round < 10 * COUNT(usages); round++) {
        unsigned i = round % COUNT(usages), own;
        X509 *made = begin_certificate();

        add_value(made, "2.5.29.37", usages[i].value, usages[i].len);
        add_value(made, "2.5.29.37", usages[0].value, usages[0].len);
        own = own_verdict(made);
        if ((own == 0) != usages[i].serves) {
            expect_failed("usage %u: %u", i, own);
        }
    }
}

/* Returns the library's verdict on a longer usage than is common. */
static unsigned long_usage(const unsigned char *value, int len) {
    X509 *made = begin_certificate();

    add_value(made, "2.5.29.37", value, len);
    return own_verdict(made);
}

/* 65,536 bytes at most, with as many names as fit. */
TEST_CASE(usage_is_long) {
    static unsigned char behind[65536 + 12] = "\x30\x0A" SERVERS;
    static unsigned char list[65536] =
        "\x30\x82\xFF\xFC" SERVERS "\x06\x02\x2A\x03\x06\x02\x2A\x03";

    for (size_t at = 22; at < sizeof list; at += 3) {
        memcpy(list + at, "\x06\x01\x2A", 3);
    }
    assert_int_equal(long_usage(list, sizeof list), 0);
    assert_int_equal(long_usage(behind, sizeof behind),
                     BR_ERR_X509_FORBIDDEN_KEY_USAGE);
}

RUN_CASES(make_ca, free_ca)
