/*
 * Writes trust anchors from a PEM file as C source, for firmware: pem2c FILE
 * [NAME]. The anchors are those of the POSIX port's loader, each with its name
 * and expiry as a comment.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_posix.h"

#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "start.h"

/* The file's certificates, for what an anchor does not contain. */
struct certificates {
    gnutls_x509_crt_t *list;
    unsigned count;
};

static struct certificates certificates_load(const char *path) {
    struct certificates certificates = {NULL, 0};
    gnutls_datum_t text;

    if (gnutls_load_file(path, &text) == 0) {
        if (gnutls_x509_crt_list_import2(&certificates.list,
                                         &certificates.count, &text,
                                         GNUTLS_X509_FMT_PEM, 0) < 0) {
            certificates.count = 0;
            fprintf(stderr, "pem2c: %s: names and dates are unknown\n", path);
        }
        gnutls_free(text.data);
    }
    return certificates;
}

static void certificates_free(struct certificates *certificates) {
    for (unsigned i = 0; i < certificates->count; i++) {
        if (certificates->list[i] != NULL) {
            gnutls_x509_crt_deinit(certificates->list[i]);
        }
    }
    gnutls_free(certificates->list);
}

/* Takes the next certificate of this subject, or NULL: a renewed root has a
 * second one. */
static gnutls_x509_crt_t take(const struct certificates *certificates,
                              const br_x500_name *subject) {
    for (unsigned i = 0; i < certificates->count; i++) {
        gnutls_datum_t name;
        bool same;

        if (certificates->list[i] == NULL ||
            gnutls_x509_crt_get_raw_dn(certificates->list[i], &name) != 0) {
            continue;
        }
        same = name.size == subject->len &&
               memcmp(name.data, subject->data, name.size) == 0;
        gnutls_free(name.data);
        if (same) {
            gnutls_x509_crt_t taken = certificates->list[i];
            certificates->list[i] = NULL;
            return taken;
        }
    }
    return NULL;
}

/* Writes a comment with the name, which its owner chose freely. */
static void write_comment(gnutls_x509_crt_t certificate) {
    time_t end = gnutls_x509_crt_get_expiration_time(certificate);
    const struct tm *utc = gmtime(&end);
    gnutls_datum_t name;
    char date[sizeof "9999-12-31"];

    if (gnutls_x509_crt_get_dn3(certificate, &name, 0) != 0) {
        return;
    }
    for (unsigned i = 0; i < name.size; i++) {
        unsigned char c = name.data[i];

        name.data[i] = c < ' ' || c > '~' || c == '*' || c == '\\' ? '?' : c;
    }
    if (utc == NULL || strftime(date, sizeof date, "%Y-%m-%d", utc) == 0) {
        strcpy(date, "?");
    }
    printf("/* %.*s, until %s */\n", (int)name.size, (const char *)name.data,
           date);
    gnutls_free(name.data);
}

static void write_bytes(const char *what, size_t number,
                        const unsigned char *data, size_t len) {
    printf("static const unsigned char %s_%zu[] = {", what, number);
    for (size_t i = 0; i < len; i++) {
        printf("%s0x%02X",
               i == 0        ? "\n    "
               : i % 12 == 0 ? ",\n    "
                             : ", ",
               data[i]);
    }
    printf("};\n");
}

static void write_parts(const br_x509_trust_anchor *anchor, size_t number) {
    const br_x509_pkey *key = &anchor->pkey;

    write_bytes("name", number, anchor->dn.data, anchor->dn.len);
    if (key->key_type == BR_KEYTYPE_EC) {
        write_bytes("point", number, key->key.ec.q, key->key.ec.qlen);
    } else {
        write_bytes("modulus", number, key->key.rsa.n, key->key.rsa.nlen);
        write_bytes("exponent", number, key->key.rsa.e, key->key.rsa.elen);
    }
}

/* BearSSL's structs point to writable bytes, but BearSSL never writes to them,
 * so they stay in flash. */
static void write_pointer(const char *what, size_t number) {
    printf("(unsigned char *)%s_%zu, sizeof %s_%zu", what, number, what,
           number);
}

static void write_anchor(const br_x509_trust_anchor *anchor, size_t number) {
    printf("    {{");
    write_pointer("name", number);
    printf("},\n     %s,\n",
           (anchor->flags & BR_X509_TA_CA) != 0 ? "BR_X509_TA_CA" : "0");
    if (anchor->pkey.key_type == BR_KEYTYPE_EC) {
        printf("     {BR_KEYTYPE_EC,\n      {.ec = {%d, ",
               anchor->pkey.key.ec.curve);
        write_pointer("point", number);
    } else {
        printf("     {BR_KEYTYPE_RSA,\n      {.rsa = {");
        write_pointer("modulus", number);
        printf(",\n               ");
        write_pointer("exponent", number);
    }
    printf("}}}},\n");
}

static bool is_identifier(const char *name) {
    return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                        "0123456789") == strlen(name) &&
           name[0] != '\0' && strchr("0123456789", name[0]) == NULL;
}

int main(int argc, char **argv) {
    const char *name = argc > 2 ? argv[2] : "anchors";
    struct certificates certificates;
    struct mst_posix_anchors anchors;
    int rc;

    start("pem2c");
    if (argc < 2 || argc > 3 || argv[1][0] == '-' || !is_identifier(name)) {
        bool help = argc == 2 && strcmp(argv[1], "--help") == 0;

        fputs("Usage: pem2c FILE [NAME]\n"
              "Writes the trust anchors of a PEM file as C source: NAME and "
              "NAME_len\n(default NAME: anchors).\n",
              help ? stdout : stderr);
        return help ? EXIT_SUCCESS : 2;
    }
    rc = mst_posix_anchors_load(&anchors, argv[1]);
    if (rc != 0) {
        fprintf(stderr, "pem2c: %s: %s\n", argv[1], mst_posix_strerror(rc));
        mst_posix_anchors_free(&anchors);
        return EXIT_FAILURE;
    }
    certificates = certificates_load(argv[1]);
    printf("#include <bearssl.h>\n\n");
    for (size_t i = 0; i < anchors.len; i++) {
        gnutls_x509_crt_t certificate =
            take(&certificates, &anchors.anchors[i].dn);

        if (certificate != NULL) {
            write_comment(certificate);
            gnutls_x509_crt_deinit(certificate);
        }
        write_parts(&anchors.anchors[i], i);
    }
    printf("\nextern const br_x509_trust_anchor %s[];\n"
           "extern const size_t %s_len;\n"
           "const br_x509_trust_anchor %s[] = {\n",
           name, name, name);
    for (size_t i = 0; i < anchors.len; i++) {
        write_anchor(&anchors.anchors[i], i);
    }
    printf("};\nconst size_t %s_len = %zu;\n", name, anchors.len);
    if (anchors.leaves + anchors.skipped > 0) {
        fprintf(stderr,
                "pem2c: left out %zu certificates that cannot issue others, "
                "and %zu more\n",
                anchors.leaves, anchors.skipped);
    }
    certificates_free(&certificates);
    mst_posix_anchors_free(&anchors);
    return EXIT_SUCCESS;
}
