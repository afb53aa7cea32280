/* The CA and the server certificate. SPDX-License-Identifier: 0BSD */
#include "certificate.h"

#include "state.h"

#include <gnutls/crypto.h>
#include <gnutls/x509.h>
#include <stdbool.h>
#include <string.h>

#define DAY_S ((time_t)24 * 60 * 60)
#define CA_DAYS 3650
#define SERVER_DAYS 90
#define RENEW_DAYS 14 /* replaced if it expires sooner */
#define SKEW_S 3600   /* valid since then, because clocks differ */

#define SERIAL_SIZE 16
#define KEY_ID_SIZE 64

/* Makes a call and sets rc, unless an earlier call has failed. */
#define TRY(call) rc = rc < 0 ? rc : (call)

/* A certificate and its private key, with the files that hold them. */
struct identity {
    gnutls_x509_crt_t crt;
    gnutls_x509_privkey_t key;
    char *crt_path;
    char *key_path;
};

static void identity_init(struct identity *identity, const char *directory,
                          const char *crt_name, const char *key_name) {
    gnutls_x509_crt_init(&identity->crt);
    gnutls_x509_privkey_init(&identity->key);
    identity->crt_path = g_build_filename(directory, crt_name, NULL);
    identity->key_path = g_build_filename(directory, key_name, NULL);
}

static void identity_clear(struct identity *identity) {
    gnutls_x509_crt_deinit(identity->crt);
    gnutls_x509_privkey_deinit(identity->key);
    g_free(identity->crt_path);
    g_free(identity->key_path);
}

static bool identity_exists(const struct identity *identity) {
    return g_file_test(identity->crt_path, G_FILE_TEST_EXISTS) &&
           g_file_test(identity->key_path, G_FILE_TEST_EXISTS);
}

static bool succeeded(int rc, const char *path, GError **error) {
    if (rc < 0) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_FAILED, "%s: %s", path,
                    gnutls_strerror(rc));
    }
    return rc >= 0;
}

static bool keys_match(const struct identity *identity) {
    unsigned char crt_id[KEY_ID_SIZE];
    unsigned char key_id[KEY_ID_SIZE];
    size_t crt_len = sizeof crt_id;
    size_t key_len = sizeof key_id;

    return gnutls_x509_crt_get_key_id(identity->crt, 0, crt_id, &crt_len) ==
               0 &&
           gnutls_x509_privkey_get_key_id(identity->key, 0, key_id, &key_len) ==
               0 &&
           crt_len == key_len && memcmp(crt_id, key_id, crt_len) == 0;
}

static bool identity_load(struct identity *identity, GError **error) {
    gnutls_datum_t crt = {NULL, 0};
    gnutls_datum_t key = {NULL, 0};
    bool ok = succeeded(gnutls_load_file(identity->crt_path, &crt),
                        identity->crt_path, error) &&
              succeeded(gnutls_load_file(identity->key_path, &key),
                        identity->key_path, error) &&
              succeeded(gnutls_x509_crt_import(identity->crt, &crt,
                                               GNUTLS_X509_FMT_PEM),
                        identity->crt_path, error) &&
              succeeded(gnutls_x509_privkey_import2(
                            identity->key, &key, GNUTLS_X509_FMT_PEM, NULL, 0),
                        identity->key_path, error);

    if (ok && !keys_match(identity)) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_FAILED,
                    "%s is not the key of %s", identity->key_path,
                    identity->crt_path);
        ok = false;
    }
    gnutls_free(crt.data);
    gnutls_free(key.data);
    return ok;
}

static bool save_pem(const char *path, gnutls_datum_t *pem, int mode,
                     GError **error) {
    bool ok =
        state_write(path, (const char *)pem->data, pem->size, mode, error);

    gnutls_free(pem->data);
    pem->data = NULL;
    return ok;
}

/* Writes the key first: a certificate never exists without its key. */
static bool identity_save(const struct identity *identity, GError **error) {
    gnutls_datum_t pem;
    int rc = gnutls_x509_privkey_export2_pkcs8(
        identity->key, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN, &pem);

    if (!succeeded(rc, identity->key_path, error) ||
        !save_pem(identity->key_path, &pem, 0600, error)) {
        return false;
    }
    rc = gnutls_x509_crt_export2(identity->crt, GNUTLS_X509_FMT_PEM, &pem);
    return succeeded(rc, identity->crt_path, error) &&
           save_pem(identity->crt_path, &pem, 0644, error);
}

static int set_random_serial(gnutls_x509_crt_t crt) {
    unsigned char serial[SERIAL_SIZE];
    int rc = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof serial);

    /* A positive number without leading zeros (RFC 5280, 4.1.2.2). */
    serial[0] = (unsigned char)((serial[0] & 0x7f) | 0x40);
    return rc < 0 ? rc : gnutls_x509_crt_set_serial(crt, serial, sizeof serial);
}

static int set_subject_key_id(gnutls_x509_crt_t crt) {
    unsigned char id[KEY_ID_SIZE];
    size_t len = sizeof id;
    int rc = gnutls_x509_crt_get_key_id(crt, 0, id, &len);

    return rc < 0 ? rc : gnutls_x509_crt_set_subject_key_id(crt, id, len);
}

/* Makes a P-256 key and an unsigned certificate for it. */
static int identity_generate(struct identity *identity, const char *name,
                             int days) {
    gnutls_x509_crt_t crt = identity->crt;
    time_t now = time(NULL);
    int rc = gnutls_x509_privkey_generate(
        identity->key, GNUTLS_PK_ECDSA,
        GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);

    TRY(gnutls_x509_crt_set_version(crt, 3));
    TRY(set_random_serial(crt));
    TRY(gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, name,
                                      (unsigned)strlen(name)));
    TRY(gnutls_x509_crt_set_activation_time(crt, now - SKEW_S));
    TRY(gnutls_x509_crt_set_expiration_time(crt, now + days * DAY_S));
    TRY(gnutls_x509_crt_set_key(crt, identity->key));
    TRY(set_subject_key_id(crt));
    return rc;
}

static int generate_ca(struct identity *ca) {
    int rc = identity_generate(ca, "mini_stream sandbox CA", CA_DAYS);

    TRY(gnutls_x509_crt_set_basic_constraints(ca->crt, 1, 0));
    TRY(gnutls_x509_crt_set_key_usage(ca->crt, GNUTLS_KEY_KEY_CERT_SIGN));
    TRY(gnutls_x509_crt_sign2(ca->crt, ca->crt, ca->key, GNUTLS_DIG_SHA256, 0));
    return rc;
}

static int add_name(gnutls_x509_crt_t crt, const char *name) {
    g_autoptr(GInetAddress) address = g_inet_address_new_from_string(name);

    if (address) {
        return gnutls_x509_crt_set_subject_alt_name(
            crt, GNUTLS_SAN_IPADDRESS, g_inet_address_to_bytes(address),
            (unsigned)g_inet_address_get_native_size(address),
            GNUTLS_FSAN_APPEND);
    }
    return gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, name,
                                                (unsigned)strlen(name),
                                                GNUTLS_FSAN_APPEND);
}

static int generate_server(struct identity *server, const struct identity *ca,
                           char **names) {
    gnutls_x509_crt_t crt = server->crt;
    unsigned char id[KEY_ID_SIZE];
    size_t len = sizeof id;
    int rc = identity_generate(server, "localhost", SERVER_DAYS);

    TRY(add_name(crt, "localhost"));
    TRY(gnutls_x509_crt_set_basic_constraints(crt, 0, -1));
    TRY(gnutls_x509_crt_set_key_usage(crt, GNUTLS_KEY_DIGITAL_SIGNATURE));
    TRY(gnutls_x509_crt_set_key_purpose_oid(crt, GNUTLS_KP_TLS_WWW_SERVER, 0));
    TRY(gnutls_x509_crt_get_subject_key_id(ca->crt, id, &len, NULL));
    TRY(gnutls_x509_crt_set_authority_key_id(crt, id, len));
    for (; names && *names; names++) {
        TRY(add_name(crt, *names));
    }
    TRY(gnutls_x509_crt_sign2(crt, ca->crt, ca->key, GNUTLS_DIG_SHA256, 0));
    return rc;
}

static bool valid_for_days(gnutls_x509_crt_t crt, int days) {
    time_t now = time(NULL);

    return gnutls_x509_crt_get_activation_time(crt) <= now &&
           gnutls_x509_crt_get_expiration_time(crt) - now > days * DAY_S;
}

static bool server_still_good(const struct identity *server,
                              const struct identity *ca, char **names) {
    unsigned status = 0;

    if (!valid_for_days(server->crt, RENEW_DAYS) ||
        gnutls_x509_crt_verify(server->crt, &ca->crt, 1, 0, &status) < 0 ||
        status != 0 ||
        !gnutls_x509_crt_check_hostname(server->crt, "localhost")) {
        return false;
    }
    for (; names && *names; names++) {
        if (!gnutls_x509_crt_check_hostname(server->crt, *names)) {
            return false;
        }
    }
    return true;
}

/* An existing CA that is unusable is not replaced: clients may trust it. */
static bool obtain_ca(struct identity *ca, GError **error) {
    if (!identity_exists(ca)) {
        return succeeded(generate_ca(ca), ca->crt_path, error) &&
               identity_save(ca, error);
    }
    if (!identity_load(ca, error)) {
        return false;
    }
    if (!valid_for_days(ca->crt, SERVER_DAYS)) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_FAILED,
                    "%s is near expiry; remove it to get a new one",
                    ca->crt_path);
        return false;
    }
    return true;
}

static bool obtain_server(struct identity *server, const struct identity *ca,
                          char **names, GError **error) {
    if (identity_exists(server) && identity_load(server, NULL) &&
        server_still_good(server, ca, names)) {
        return true;
    }
    /* GnuTLS cannot overwrite a certificate or a key that was loaded. */
    gnutls_x509_crt_deinit(server->crt);
    gnutls_x509_privkey_deinit(server->key);
    gnutls_x509_crt_init(&server->crt);
    gnutls_x509_privkey_init(&server->key);
    return succeeded(generate_server(server, ca, names), server->crt_path,
                     error) &&
           identity_save(server, error);
}

GTlsCertificate *certificate_obtain(const char *directory, char **names,
                                    GError **error) {
    struct identity ca;
    struct identity server;
    GTlsCertificate *certificate = NULL;

    identity_init(&ca, directory, "ca.pem", "ca-key.pem");
    identity_init(&server, directory, "server.pem", "server-key.pem");
    if (obtain_ca(&ca, error) && obtain_server(&server, &ca, names, error)) {
        certificate = g_tls_certificate_new_from_files(server.crt_path,
                                                       server.key_path, error);
    }
    identity_clear(&server);
    identity_clear(&ca);
    return certificate;
}
