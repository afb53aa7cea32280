/*
 * Tests of the errors: their texts, and which are permanent.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "support.h"

#include <limits.h>

TEST_CASE(every_error_has_its_own_text) {
    for (size_t i = 0; i < error_cases_len; i++) {
        for (size_t j = 0; j < error_cases_len; j++) {
            bool has = strstr(mst_strerror(error_cases[j].error),
                              error_cases[i].words);

            if (has != (i == j)) {
                expect_failed("%s: %s", error_name(error_cases[j].error),
                              mst_strerror(error_cases[j].error));
            }
        }
    }
}

TEST_CASE(every_reason_of_a_doubt_has_its_own_name) {
    assert_string_equal(mst_book_reason_name((enum mst_book_reason)0), "");
    for (int i = MST_BOOK_NO_SNAPSHOT; i <= MST_BOOK_DETACHED; i++) {
        const char *name = mst_book_reason_name((enum mst_book_reason)i);

        assert_string_not_equal(name, "");
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(
                name, mst_book_reason_name((enum mst_book_reason)j));
        }
    }
    assert_string_equal(mst_book_reason_name(MST_BOOK_NO_SNAPSHOT),
                        "no snapshot yet");
}

TEST_CASE(a_number_that_is_no_error_is_unknown) {
    static const int edges[] = {1, 99, INT_MAX, INT_MIN, INT_MIN + 1};
    size_t known = 0;

    for (int error = 1; error > -100000; error--) {
        known += strcmp(mst_strerror(error), "unknown error") != 0;
    }
    assert_int_equal(known, error_cases_len);
    for (size_t i = 0; i < COUNT(edges); i++) {
        assert_string_equal(mst_strerror(edges[i]), "unknown error");
    }
}

/* Errors that are permanent in any state: the client retries slowly. */
TEST_CASE(what_is_permanent_by_itself_is_so_everywhere) {
    static const int permanent[] = {
        MST_ERR_TLS_ISSUER,      MST_ERR_TLS_NAME,    MST_ERR_TLS_TIME,
        MST_ERR_TLS_CERTIFICATE, MST_ERR_TLS_VERSION, MST_ERR_TOKEN_TYPE,
        MST_ERR_TOKEN_SCOPE,     MST_ERR_FORBIDDEN,   MST_ERR_TOKEN_TOO_LARGE,
        MST_ERR_PROXY_LOGIN,
    };

    for (int error = 1; error > -1000; error--) {
        bool expected = false;

        for (size_t i = 0; i < COUNT(permanent); i++) {
            expected |= permanent[i] == error;
        }
        expect_int(error_name(error), expected, mst_error_is_permanent(error));
    }
}

RUN_CASES(NULL, NULL)
