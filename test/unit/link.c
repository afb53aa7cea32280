/*
 * Parts of transport and access by themselves: what TLS's errors are called,
 * which sessions are kept, which scopes a token lacks.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "mini_stream.c" /* NOLINT(bugprone-suspicious-include) */

#include "support.h"

#include <stdio.h>

static br_ssl_client_context tls;

static void every_error_of_tls_has_a_name_of_ours(void **state) {
    static const struct {
        int detail;
        unsigned char record;
        int error;
    } cases[] = {
        {BR_ERR_OK, 0, 0},
        {BR_ERR_X509_NOT_TRUSTED, TLS_HANDSHAKE, MST_ERR_TLS_ISSUER},
        {BR_ERR_X509_BAD_SERVER_NAME, TLS_HANDSHAKE, MST_ERR_TLS_NAME},
        {BR_ERR_X509_EXPIRED, TLS_HANDSHAKE, MST_ERR_TLS_TIME},
        {BR_ERR_X509_BAD_SIGNATURE, TLS_HANDSHAKE, MST_ERR_TLS_CERTIFICATE},
        {BR_ERR_X509_WEAK_PUBLIC_KEY, TLS_HANDSHAKE, MST_ERR_TLS_CERTIFICATE},
        {BR_ERR_UNSUPPORTED_VERSION, TLS_HANDSHAKE, MST_ERR_TLS_VERSION},
        {BR_ERR_UNSUPPORTED_VERSION, 'H', MST_ERR_TLS_PROTOCOL},
        {BR_ERR_BAD_MAC, 0, MST_ERR_TLS_PROTOCOL},
        {BR_ERR_RECV_FATAL_ALERT + BR_ALERT_PROTOCOL_VERSION, 0,
         MST_ERR_TLS_VERSION},
        {BR_ERR_RECV_FATAL_ALERT + BR_ALERT_HANDSHAKE_FAILURE, 0,
         MST_ERR_TLS_HANDSHAKE},
        {BR_ERR_RECV_FATAL_ALERT + BR_ALERT_INTERNAL_ERROR, 0,
         MST_ERR_TLS_ALERT},
    };
    struct mst_transport t = {.tls = &tls, .secured = true};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char name[32];

        tls.eng.err = cases[i].detail;
        tls.eng.record_type_in = cases[i].record;
        (void)snprintf(name, sizeof name, "BearSSL's %d", cases[i].detail);
        expect_int(name, cases[i].error, transport_error(&t));
    }
    tls.eng.err = BR_ERR_OK;
}

/* A server that gives its sessions no number resumes none. */
static void a_session_without_a_number_is_not_resumed(void **state) {
    struct mst_transport t = {.tls = &tls, .secured = true};
    struct mst_resume resume = {0};

    (void)state;
    tls.eng.session.session_id_len = 0;
    assert_false(transport_keep(&t, &resume));
    assert_false(transport_keep(&t, &resume));
    tls.eng.session.session_id_len = 4;
    memcpy(tls.eng.session.session_id, "abcd", 4);
    assert_false(transport_keep(&t, &resume));
    assert_true(transport_keep(&t, &resume));
    memcpy(tls.eng.session.session_id, "abcx", 4);
    assert_false(transport_keep(&t, &resume));
}

/* What is kept of servers: of one more than fit, in the place of the first. */
static void the_oldest_session_gives_way(void **state) {
    struct mst_endpoint servers[MST_RESUMES + 2];
    struct mst_resume *kept[MST_RESUMES + 2];
    struct mst_access access = {0};

    (void)state;
    memset(servers, 0, sizeof servers);
    for (unsigned i = 0; i < MST_RESUMES + 2; i++) {
        (void)snprintf(servers[i].host, sizeof servers[i].host, "host-%u", i);
        kept[i] = access_resume(&access, &servers[i]);
        assert_int_equal(kept[i]->session.session_id_len, 0);
        kept[i]->session.session_id_len = 1;
        assert_ptr_equal(access_resume(&access, &servers[i]), kept[i]);
        assert_int_equal(kept[i]->session.session_id_len, 1);
    }
    assert_ptr_not_equal(kept[MST_RESUMES], kept[MST_RESUMES + 1]);
    assert_ptr_equal(access_resume(&access, &servers[MST_RESUMES]),
                     kept[MST_RESUMES]);
}

/* A scope is words between blanks, of which there may be any number. */
static void a_scope_is_its_words(void **state) {
    static const struct {
        const char *list, *scope, *lacks;
    } cases[] = {
        {"a b c", "", ""},   {"a b c", "c a", ""},  {"a b c", " b  a ", ""},
        {"a b c", "  ", ""}, {"a b c", "a d", "d"}, {"a b c", "ab", "ab"},
        {"ab", "a", "a"},    {"", "a b", "a b"},    {"a b", "b  d  a", "d  a"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        expect_text(cases[i].scope, cases[i].lacks,
                    access_lacks(cases[i].list, cases[i].scope));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_error_of_tls_has_a_name_of_ours),
        TEST(a_session_without_a_number_is_not_resumed),
        TEST(the_oldest_session_gives_way),
        TEST(a_scope_is_its_words),
    };

    return cmocka_run_group_tests_name("link", tests, NULL, NULL);
}
