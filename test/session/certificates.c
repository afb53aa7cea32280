/*
 * Certificates that a client must reject or accept, with BearSSL and with
 * port/openssl: the same chains from the same server. A bad certificate is
 * rejected before anything is sent.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mst_openssl.h"
#include "openssl_peer.h"
#include "session.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#define NAMES "DNS:" SERVICE_AUTH_HOST ",DNS:" SERVICE_WS_HOST
#define LEAF "basicConstraints=CA:false\\n"
#define EKU(uses) "extendedKeyUsage=" uses "\\n"
#define SIGNS "keyUsage=digitalSignature\\n" EKU("serverAuth")
#define SAN(names) "subjectAltName=" names "\\n"
#define NAMED(names) LEAF SIGNS SAN(names)
#define FOR(uses) LEAF "keyUsage=digitalSignature\\n" EKU(uses) SAN(NAMES)
/* SAN is the last extension: OpenSSL adds no key identifiers after it. */
#define LAST                            \
    LEAF "subjectKeyIdentifier=none\\n" \
         "authorityKeyIdentifier=none\\n" SAN(NAMES)
#define ISSUER "basicConstraints=critical,CA:true\\nkeyUsage=keyCertSign\\n"
/* A name that contains a NUL and then another domain. */
#define NAME_WITH_NUL                                                        \
    "DER:30:1A:82:18:61:75:74:68:2E:65:78:61:6D:70:6C:65:00:2E:65:76:69:6C:" \
    "2E:65:78:61:6D:70:6C:65"

enum client { BEARSSL, OPENSSL, CLIENTS };

/* A certificate, and the expected result of each client: 0 if accepted. */
struct certificate {
    const char *name;
    const char *extensions; /* NULL: a good one's */
    const char *issuer;     /* NULL: ca */
    const char *subject;    /* NULL: x */
    const char *key;        /* bits of RSA; NULL: P-256 */
    const char *digest;     /* NULL: sha256 */
    const char *years;      /* from and until; NULL: 2020 2040 */
    bool chained;           /* the server also sends the issuer's certificate */
    bool issues;            /* not used by test_chains() */
    int errors[CLIENTS];
};

#define EACH(bearssl, openssl) \
    { bearssl, openssl }
#define BOTH(error) EACH(error, error)
#define NOT_NAMED BOTH(MST_ERR_TLS_NAME)
#define NOT_NOW BOTH(MST_ERR_TLS_TIME)
#define NOT_TRUSTED BOTH(MST_ERR_TLS_ISSUER)
#define UNFIT BOTH(MST_ERR_TLS_CERTIFICATE)

static const struct certificate certificates[] = {
    {.name = "good"},
    /* Names. */
    {"another host", NAMED("DNS:other.example"), .errors = NOT_NAMED},
    {"a common name beside other names", NAMED("DNS:other.example"),
     .subject = SERVICE_AUTH_HOST, .errors = NOT_NAMED},
    {"a common name alone", LEAF SIGNS, .subject = "*.example",
     .errors = {0, MST_ERR_TLS_NAME}},
    {"a wildcard for the label", NAMED("DNS:*.example"),
     .errors = {0, MST_ERR_TLS_NAME}},
    {"a wildcard below the name", NAMED("DNS:*." SERVICE_AUTH_HOST),
     .errors = NOT_NAMED},
    {"a wildcard within a label", NAMED("DNS:a*.example"), .errors = NOT_NAMED},
    {"a wildcard for everything", NAMED("DNS:*,DNS:*.*"), .errors = NOT_NAMED},
    {"a name with a NUL", NAMED(NAME_WITH_NUL),
     .errors = {MST_ERR_TLS_CERTIFICATE, MST_ERR_TLS_NAME}},
    /* Only for test_names_of_several_labels(). */
    {"labels, a wildcard", NAMED("DNS:*.deep.example"), .issues = true},
    {"labels, a part of one", NAMED("DNS:w*.deep.example"), .issues = true},
    {"labels, a common name", LEAF SIGNS, .subject = "www.deep.example",
     .issues = true},
    /* Times. */
    {"expired", .years = "2020 2021", .errors = NOT_NOW},
    {"not yet valid", .years = "2039 2040", .errors = NOT_NOW},
    /* Chains. */
    {"between", ISSUER, .issues = true},
    {"below", .issuer = "between", .chained = true},
    {"intermediate missing", .issuer = "between", .errors = NOT_TRUSTED},
    {"old between", ISSUER, .years = "2020 2021", .issues = true},
    {"intermediate expired", .issuer = "old between", .chained = true,
     .errors = NOT_NOW},
    {"between clients", ISSUER EKU("clientAuth"), .issues = true},
    {"between other names",
     ISSUER "nameConstraints=permitted;DNS:other.example\\n", .issues = true},
    {"below other names", /* which BearSSL does not check */
     .issuer = "between other names", .chained = true,
     .errors = {0, MST_ERR_TLS_CERTIFICATE}},
    {"another root", .issuer = "other", .errors = NOT_TRUSTED},
    {"self-signed", .issuer = "self-signed", .errors = NOT_TRUSTED},
    {"root for clients", ISSUER EKU("clientAuth"), .issuer = "root for clients",
     .issues = true},
    {"below a root for clients", .issuer = "root for clients", .issues = true},
    {"old root", ISSUER, .issuer = "old root", .years = "2020 2021",
     .issues = true},
    {"below an old root", .issuer = "old root", .issues = true},
    {"root for other names",
     ISSUER "nameConstraints=permitted;DNS:other.example\\n",
     .issuer = "root for other names", .issues = true},
    {"below a root for other names", .issuer = "root for other names",
     .issues = true},
    /* Version 1 has no extensions. */
    {"root of version 1", "", .issuer = "root of version 1", .issues = true},
    {"below a root of version 1", .issuer = "root of version 1",
     .issues = true},
    {"root by key usage alone", "keyUsage=keyCertSign\\n",
     .issuer = "root by key usage alone", .issues = true},
    {"below a root by key usage alone", .issuer = "root by key usage alone",
     .issues = true},
    {"issued by a server", .issuer = "good", .chained = true, .errors = UNFIT},
    /* Usage. The first needs a server that does not check its own key. */
    {"a key for encryption alone",
     LEAF "keyUsage=critical,keyEncipherment\\n" SAN(NAMES), .issues = true},
    {"for clients alone", FOR("clientAuth"), .errors = UNFIT},
    {.name = "for clients, then servers",
     .extensions = FOR("clientAuth,serverAuth")},
    /* BearSSL does not support this extension if it is critical. */
    {"for servers, and critical", FOR("critical,serverAuth"),
     .errors = {MST_ERR_TLS_CERTIFICATE, 0}},
    {"for clients, and said last", LAST EKU("clientAuth"), .errors = UNFIT},
    {"for clients, and said first", EKU("clientAuth") LEAF SAN(NAMES),
     .errors = UNFIT},
    {.name = "for servers, and said last",
     .extensions = LAST EKU("serverAuth")},
    {"for clients, and what names the extension",
     LAST EKU("clientAuth,2.5.29.37"), .errors = UNFIT},
    {.name = "for servers, and what names the extension",
     .extensions = LAST EKU("serverAuth,2.5.29.37")},
    {"for what is no list", LAST "2.5.29.37=DER:05:00\\n", .issues = true},
    {"for what is no usage",
     LAST "2.5.29.37=DER:30:0A:04:08:2B:06:01:05:05:07:03:01\\n",
     .issues = true},
    {"for a set of servers",
     LAST "2.5.29.37=DER:31:0A:06:08:2B:06:01:05:05:07:03:01\\n",
     .issues = true},
    {"for what has no end", LAST "2.5.29.37=DER:30:80\\n", .issues = true},
    {"for whatever there is", FOR("anyExtendedKeyUsage"), .errors = UNFIT},
    {"for servers above clients", .issuer = "between clients", .chained = true,
     .errors = UNFIT},
    {"an unknown critical extension",
     NAMED(NAMES) "1.2.3.4=critical,ASN1:NULL\\n", .errors = UNFIT},
    /* Strength. */
    {"RSA of 2048 bits", .key = "2048"},
    {"RSA of 1024 bits", .key = "1024", .errors = UNFIT},
    {"signed with SHA-1", .digest = "sha1", .errors = UNFIT},
};

/* Makes one: NAME.pem, followed by its issuer's, and NAME.key. */
static bool make(const struct certificate *c) {
    static const char script[] =
        "cd '%s' && exec 2>>log && set -e && export NAMES=DNS:none\n"
        "name='%s' issuer='%s' key=%s subject='%s' extensions='%s' md=%s\n"
        "set -- %s\n"
        "if [ $key = ec ]; then\n"
        "  openssl ecparam -genkey -name prime256v1 -noout -out \"$name.key\"\n"
        "else\n"
        "  openssl genrsa -out \"$name.key\" $key\n"
        "fi\n"
        "openssl req -new -config conf -key \"$name.key\" \\\n"
        "  -subj \"/CN=$subject\" -out csr\n"
        "printf \"$extensions\" >ext\n"
        "[ \"$name\" != \"$issuer\" ] || self=-selfsign\n"
        "[ ! -s ext ] || self=\"$self -extfile ext\"\n"
        "openssl ca -batch -config conf -notext -in csr -out new.pem $self \\\n"
        "  -cert \"$issuer.pem\" -keyfile \"$issuer.key\" -md $md \\\n"
        "  -startdate ${1}0101000000Z -enddate ${2}0101000000Z\n"
        "! %s || cat \"$issuer.pem\" >>new.pem\n"
        "mv new.pem \"$name.pem\"\n";
    return system(printed(script, tls_folder, c->name,
                          c->issuer != NULL ? c->issuer : "ca",
                          c->key != NULL ? c->key : "ec",
                          c->subject != NULL ? c->subject : "x",
                          c->extensions != NULL ? c->extensions : NAMED(NAMES),
                          c->digest != NULL ? c->digest : "sha256",
                          c->years != NULL ? c->years : "2020 2040",
                          c->chained ? "true" : "false")) == 0;
}

static int make_certificates(void **state) {
    bool made = tls_make_certificates(NAMES);

    (void)state;
    for (size_t i = 0; i < COUNT(certificates) && made; i++) {
        made = make(&certificates[i]);
        if (!made) {
            print_error("  %s: see %s/log\n", certificates[i].name, tls_folder);
        }
    }
    return made ? 0 : -1;
}

/* ---- a session of either client ---- */

static struct mst_openssl openssl;
static struct mst_openssl_link links[MST_MOCK_LINKS];
static struct mst_port below;
static struct openssl_peer peer;
static const char *anchor = "ca";

static void end(void) {
    session_end();
    mst_openssl_free(&openssl);
    openssl_peer_free(&peer);
}

static int tear_down(void **state) {
    end();
    return session_tear_down(state);
}

static void begin(enum client client) {
    const char *ca = printed("%s/%s.pem", tls_folder, anchor);

    end();
    session_begin();
    session.port.flags = 0;
    assert_true(tls_anchor_load(&session.anchor, anchor));
    if (client == OPENSSL) {
        session.config.anchors = NULL;
        session.config.anchors_len = 0;
        below = session.port;
        assert_int_equal(mst_openssl_init(&openssl, ca, &below, links,
                                          COUNT(links), &session.port),
                         0);
    }
}

static void begin_with(enum client client, const char *certificate,
                       int version) {
    begin(client);
    openssl_peer_init(&peer, &session.mock, certificate, version);
    session.service.core.sink =
        (struct mst_mock_sink){&peer, openssl_peer_write, openssl_peer_end};
}

/* Expects that nothing was sent, that no event reported a connection, and that
 * the client recovers once the certificate is good. */
static void expect_refused(const char *name, int error) {
    if (!session_until(MST_EVENT_CLOSED, SESSION_MINUTE)) {
        expect_failed("%s: is taken", name);
        return;
    }
    expect_int(name, error, session.seen.closed.error);
    expect_int(name, 0, session.service.tokens.count);
    expect_int(name, 0, session.seen.events[MST_EVENT_OPEN]);
}

static void expect_certificate(const struct certificate *c, enum client client,
                               int version) {
    const char *name = printed("%s, %s", c->name,
                               client == BEARSSL           ? "BearSSL"
                               : version == TLS1_3_VERSION ? "TLS 1.3"
                                                           : "TLS 1.2");

    begin_with(client, c->name, version);
    session_start_all();
    if (c->errors[client] != 0) {
        expect_refused(name, c->errors[client]);
        openssl_peer_anew(&peer, "localhost", version);
    }
    session_expect_subscribed(15 * SESSION_MINUTE, "%s", name);
}

TEST_CASE(test_chains) {
    for (size_t i = 0; i < COUNT(certificates); i++) {
        if (certificates[i].issues) {
            continue;
        }
        expect_certificate(&certificates[i], BEARSSL, TLS1_2_VERSION);
        expect_certificate(&certificates[i], OPENSSL, TLS1_2_VERSION);
        expect_certificate(&certificates[i], OPENSSL, TLS1_3_VERSION);
    }
}

/* Connects to a host with OpenSSL, without a client object. */
static int connect_to(const char *certificate, const char *host) {
    begin_with(OPENSSL, certificate, TLS1_2_VERSION);
    int rc = session_reach(host, 443);
    session.port.close(session.port.context, 0);
    return rc;
}

/* Uses this host as a BearSSL client's token endpoint. Returns 1 if a request
 * arrives there: the service does not know the host. */
static int ask_at(const char *certificate, const char *host) {
    begin_with(BEARSSL, certificate, TLS1_2_VERSION);
    session.config.auth_url = printed("https://%s", host);
    session_start();
    assert_true(session_until(MST_EVENT_CLOSED, SESSION_MINUTE));
    int rc = session.seen.closed.error;
    if (session.service.core.wrong[0] != '\0') {
        assert_non_null(strstr(session.service.core.wrong, host));
        session.service.core.wrong[0] = '\0';
        rc = 1;
    }
    return rc;
}

/* OpenSSL rejects a wildcard directly below the top label, so the service's
 * hosts cannot test other wildcards. */
TEST_CASE(test_names_of_several_labels) {
    static const struct {
        const char *certificate, *host;
        int results[CLIENTS];
    } cases[] = {
        {"labels, a wildcard", "www.deep.example", BOTH(1)},
        {"labels, a wildcard", "deep.example", NOT_NAMED},
        {"labels, a wildcard", "www.very.deep.example", NOT_NAMED},
        {"labels, a part of one", "www.deep.example", NOT_NAMED},
        {"labels, a common name", "www.deep.example", {1, MST_ERR_TLS_NAME}},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        expect_int(cases[i].certificate, cases[i].results[BEARSSL],
                   ask_at(cases[i].certificate, cases[i].host));
        expect_int(cases[i].certificate, cases[i].results[OPENSSL],
                   connect_to(cases[i].certificate, cases[i].host));
    }
}

/* Certificates below a trust anchor that is for clients, has expired, or is for
 * other names. BearSSL knows only an anchor's name, key and CA flag. Without
 * that flag the anchor is valid for a server that uses it as its own. */
TEST_CASE(test_what_an_anchor_says) {
    static const struct {
        const char *anchor, *certificate;
        int errors[CLIENTS];
    } cases[] = {
        {"root for clients", "below a root for clients",
         EACH(0, MST_ERR_TLS_CERTIFICATE)},
        {"old root", "below an old root", EACH(0, MST_ERR_TLS_TIME)},
        {"root for other names", "below a root for other names",
         EACH(0, MST_ERR_TLS_CERTIFICATE)},
        {"root of version 1", "below a root of version 1",
         EACH(MST_ERR_TLS_ISSUER, MST_ERR_TLS_CERTIFICATE)},
        {"root by key usage alone", "below a root by key usage alone",
         EACH(MST_ERR_TLS_ISSUER, MST_ERR_TLS_CERTIFICATE)},
        {"good", "good", BOTH(0)},
        {"good", "issued by a server", UNFIT},
        {"good", "for clients, then servers", NOT_TRUSTED},
    };

    for (size_t i = 0; i < CLIENTS * COUNT(cases); i++) {
        enum client client = (enum client)(i % CLIENTS);
        const int error = cases[i / CLIENTS].errors[client];

        anchor = cases[i / CLIENTS].anchor;
        begin_with(client, cases[i / CLIENTS].certificate, TLS1_2_VERSION);
        session_start_all();
        if (error != 0) {
            expect_refused(anchor, error);
        } else {
            session_expect_subscribed(SESSION_MINUTE, "%s", anchor);
        }
        anchor = "ca";
    }
}

/* ---- chains that OpenSSL's server would not send ---- */

/* A BearSSL server, which sends any certificate. */
static void begin_below(enum client client, const char *certificate) {
    begin(client);
    assert_true(tls_identity_load(&session.identity, certificate));
    tls_peer_init(&session.tls, &session.mock, &session.identity);
    session.service.core.sink =
        (struct mst_mock_sink){&session.tls, tls_peer_write, tls_peer_end};
}

static void expect_below(const char *name, int error) {
    session_start_all();
    if (error == 0 ? !session_until_subscribed(SESSION_MINUTE)
                   : session.seen.events[MST_EVENT_OPEN] > 0) {
        expect_failed("%s: is not as it should be", name);
    }
    if (error != 0) {
        expect_refused(name, error);
    }
}

/* The key may not be used to sign, as ECDHE requires. */
TEST_CASE(test_key_usage) {
    begin_below(BEARSSL, "good");
    expect_below("good", 0);
    begin_below(BEARSSL, "a key for encryption alone");
    expect_below("BearSSL", MST_ERR_TLS_CERTIFICATE);
    begin_below(OPENSSL, "a key for encryption alone");
    expect_below("OpenSSL", MST_ERR_TLS_CERTIFICATE);
    begin_with(OPENSSL, "a key for encryption alone", TLS1_3_VERSION);
    session_start();
    expect_refused("TLS 1.3", MST_ERR_TLS_CERTIFICATE);
}

/* A malformed list of usages includes no server. OpenSSL finds no issuer. */
TEST_CASE(test_usage_that_is_no_list) {
    static const char *const names[] = {
        "for what is no list", "for what is no usage", "for a set of servers",
        "for what has no end"};

    for (size_t i = 0; i < COUNT(names); i++) {
        for (int client = 0; client < CLIENTS; client++) {
            begin_below((enum client)client, names[i]);
            expect_below(names[i], client == BEARSSL ? MST_ERR_TLS_CERTIFICATE
                                                     : MST_ERR_TLS_ISSUER);
        }
    }
}

/* Certificates after the end of the chain are ignored. */
TEST_CASE(test_more_than_the_chain) {
    static struct tls_identity other;

    assert_true(tls_identity_load(&other, "for clients alone"));
    for (int client = 0; client < CLIENTS; client++) {
        begin_below((enum client)client, "good");
        session.identity.chain[1] = other.chain[0];
        session.identity.chain_len = 2;
        expect_below("more", 0);
    }
}

/* ---- subjects that an applicant may choose ---- */

/* Gives the peer's certificate a title, a sequence of these bytes, and signs it
 * again. Chains are verified without parsing the title. */
static void entitle(EVP_PKEY *ca, const char *title, size_t len) {
    br_x509_certificate *own = &session.identity.chain[0];
    const unsigned char *from = own->data;
    X509 *made = d2i_X509(NULL, &from, (long)own->data_len);

    assert_non_null(made);
    assert_int_equal(X509_NAME_add_entry_by_NID(X509_get_subject_name(made),
                                                NID_title, V_ASN1_SEQUENCE,
                                                (const unsigned char *)title,
                                                (int)len, -1, 0),
                     1);
    assert_true(X509_sign(made, ca, EVP_sha256()) > 0);
    assert_in_range(i2d_X509(made, NULL), 1, TLS_PEER_CERTIFICATE);
    unsigned char *to = own->data;
    own->data_len = (size_t)i2d_X509(made, &to);
    X509_free(made);
}

/* The title hides nothing that follows it: not with a length that is too large,
 * missing or truncated, nor with a tag of several bytes. */
TEST_CASE(test_subject_hides_nothing) {
    static const struct {
        const char *bytes;
        size_t len;
    } titles[] = {
        {BYTES("\x30\x05\x04\x83\xFF\xFF\xFF")},
        {BYTES("\x30\x02\x04\x80")},
        {BYTES("\x30\x01\x04")},
        {BYTES("\x30\x04\x9F\x84\x7F\x00")},
    };
    EVP_PKEY *ca;
    FILE *file;

    assert_non_null(file = fopen(printed("%s/ca.key", tls_folder), "r"));
    assert_non_null(ca = PEM_read_PrivateKey(file, NULL, NULL, NULL));
    fclose(file);
    for (size_t i = 0; i < COUNT(titles); i++) {
        for (int client = 0; client < CLIENTS; client++) {
            begin_below((enum client)client, "for clients alone");
            entitle(ca, titles[i].bytes, titles[i].len);
            expect_below("for clients", MST_ERR_TLS_CERTIFICATE);
        }
        begin_below(BEARSSL, "good");
        entitle(ca, titles[i].bytes, titles[i].len);
        expect_below("for servers", 0);
    }
    EVP_PKEY_free(ca);
}

/* A chain that ends within its certificate, or is empty. */
TEST_CASE(test_chain_cut_short) {
    for (int client = 0; client < CLIENTS; client++) {
        size_t whole = SIZE_MAX;
        for (size_t len = 0; len < whole; len += len < 8 ? 1 : 23) {
            begin_below((enum client)client, "good");
            whole = session.identity.chain[0].data_len;
            session.identity.chain[0].data_len = len;
            expect_below("cut", MST_ERR_TLS_CERTIFICATE);
        }
        begin_below((enum client)client, "good");
        session.identity.chain_len = 0;
        expect_below("empty", MST_ERR_TLS_PROTOCOL);
    }
}

/* ---- the server's name ---- */

/* The handshake names each server (RFC 6066, SNI). */
TEST_CASE(test_the_server_is_named) {
    begin_with(BEARSSL, "good", TLS1_2_VERSION);
    session_start();
    assert_true(session_until(MST_EVENT_OPEN, SESSION_MINUTE));
    expect_text("stream", SERVICE_WS_HOST, peer.name);
    expect_int("handshakes", 2, peer.full);
}

RUN_WITH(expect_begin, tear_down, make_certificates, tls_remove_certificates)
