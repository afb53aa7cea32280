/*
 * Dates of HTTP in their three forms, and Retry-After in a response; each
 * date ends at a protected page, and one that is none is never read as one.
 * SPDX-License-Identifier: 0BSD
 */
#include "mini_stream.c" /* NOLINT(bugprone-suspicious-include) */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support.h"

/* 1994-11-06T08:49:37Z, the example of RFC 9110, section 5.6.7. */
#define EXAMPLE_S INT64_C(784111777)

static int64_t date_read(const char *text) {
    struct guard guard;
    size_t len = strlen(text);
    int64_t s;

    guard_open(&guard, len + 1);
    s = http_date((const char *)guard_put(&guard, text, len), len);
    guard_close(&guard);
    return s;
}

static void test_three_forms(void **state) {
    static const struct {
        const char *text;
        int64_t s;
    } cases[] = {
        {"Sun, 06 Nov 1994 08:49:37 GMT", EXAMPLE_S},
        {"Sunday, 06-Nov-94 08:49:37 GMT", EXAMPLE_S},
        {"Sun Nov  6 08:49:37 1994", EXAMPLE_S},
        {"Thu, 01 Jan 1970 00:00:01 GMT", 1},
        {"Thu Jan  1 00:00:01 1970", 1},
        {"Thursday, 01-Jan-70 00:00:01 GMT", 1},
        /* Two digits: 70 to 99 are of the last century. */
        {"Friday, 31-Dec-99 23:59:59 GMT", INT64_C(946684799)},
        {"Saturday, 01-Jan-00 00:00:00 GMT", INT64_C(946684800)},
        {"Sunday, 31-Dec-69 00:00:00 GMT", INT64_C(3155673600)},
        {"Thu, 29 Feb 2024 12:00:00 GMT", INT64_C(1709208000)},
        {"Wed Feb 29 12:00:00 2040", INT64_C(2214129600)},
        {"Fri, 02 Jan 2026 03:04:05 GMT", INT64_C(1767323045)},
        /* A leap second. */
        {"Sat, 31 Dec 2016 23:59:60 GMT", INT64_C(1483228800)},
        {"Fri, 31 Dec 9999 23:59:59 GMT", INT64_C(253402300799)},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        expect_int(cases[i].text, cases[i].s, date_read(cases[i].text));
    }
}

static void test_not_a_date(void **state) {
    static const char *const cases[] = {
        "",
        " ",
        ":",
        "-",
        "0",
        "120 s",
        "soon",
        "Nov",
        "GMT",
        "-5",
        "+5",
        "1e3",
        "12.5",
        "Sun, 06 Nov 1994 GMT",
        "Sun, 06 Nov 1994 08:49 GMT",
        "Sun, 06 Nov 1994 08:49:37:12 GMT",
        "Sun, 06 1994 08:49:37 GMT",
        "Sun, 06 Foo 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 32 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov 1969 08:49:37 GMT",
        "Sun, 06 Nov 0100 08:49:37 GMT",
        "Sun, 06 Nov 19941 08:49:37 GMT",
        "Sun, 99999999999999999999 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 +0100",
        "Sun, 06 Nov 1994 8h:49:37 GMT",
        "1994-11-06T08:49:37Z",
        /* Colons are not where they belong: behind hour and minute. */
        "08:49 37 06 1994 Nov",
        "08:09 10 06:1994 Nov",
        "1 1994 3 4: 5 Nov 6",
        "1: 2 3 4 5 Nov",
        "1 1994 3 4: 5 Nov",
        "1 1994 3 4 5: Nov",
        "1 2 3 4 5: Nov",
        "Nov 1 1994 08 49 37",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        expect_int(cases[i], 0, date_read(cases[i]));
    }
}

/* Whatever is in a header: the result is a time of a year of four digits. */
static void test_random(void **state) {
    static const char *const words[] = {
        "1",   "06", "37", "1994", "99999", "Nov",  "Sun", "GMT", ":",
        ": ",  "-",  ", ", " ",    "\t",    "0",    "60",  "31",  "\x80",
        "00:", "a1", "+1", "23:",  "Feb",   "1970", "/",   "\""};
    struct text text = {0};
    uint64_t seed = 1;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        unsigned count = (unsigned)(random_next(&seed) % 16);
        int64_t s;

        text_clear(&text);
        for (unsigned j = 0; j < count; j++) {
            text_add(&text, "%s", words[random_next(&seed) % COUNT(words)]);
        }
        s = date_read(text_get(&text));
        if (s < 0 || s > INT64_C(253402300800)) {
            expect_failed("%s: %lld", text_get(&text), (long long)s);
        }
    }
    text_free(&text);
}

/* Every date without one byte, and with another one in its place. */
static void test_damaged(void **state) {
    static const char *const dates[] = {"Sun, 06 Nov 1994 08:49:37 GMT",
                                        "Sunday, 06-Nov-94 08:49:37 GMT",
                                        "Sun Nov  6 08:49:37 1994"};

    (void)state;
    for (size_t i = 0; i < COUNT(dates); i++) {
        size_t len = strlen(dates[i]);

        for (size_t at = 0; at < len; at++) {
            for (unsigned c = 0x20; c < 0x100; c++) {
                char text[64];
                int64_t s;

                memcpy(text, dates[i], len + 1);
                text[at] = (char)c;
                s = date_read(text);
                if (s < 0 || s > INT64_C(253402300800)) {
                    expect_failed("%s: %lld", text, (long long)s);
                }
            }
            (void)date_read(dates[i] + at);
        }
    }
}

/* ---- a response with Retry-After ---- */

static void retry_read(struct mst_http *http, const char *headers) {
    char response[1024];
    size_t used = 0, piece;

    snprintf(response, sizeof response,
             "HTTP/1.1 503 Later\r\n%sContent-Length: 0\r\n\r\n", headers);
    memset(http, 0, sizeof *http);
    expect_int(headers, HTTP_HEAD,
               http_read(http, (const uint8_t *)response, strlen(response),
                         &used, &piece));
}

static void test_retry_after(void **state) {
    static const struct {
        const char *headers;
        bool has;
        uint32_t s;
        int64_t at_s;
    } cases[] = {
        {"", false, 0, 0},
        {"Retry-After: 120\r\n", true, 120, 0},
        {"retry-AFTER:0\r\n", true, 0, 0},
        {"Retry-After: \t7 \t\r\n", true, 7, 0},
        {"Retry-After: 99999999999999999999\r\n", true, UINT32_MAX, 0},
        {"Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n", false, 0, EXAMPLE_S},
        {"Retry-After: Sunday, 06-Nov-94 08:49:37 GMT\r\n", false, 0,
         EXAMPLE_S},
        {"Retry-After: Sun Nov  6 08:49:37 1994\r\n", false, 0, EXAMPLE_S},
        {"Retry-After: -5\r\n", false, 0, 0},
        {"Retry-After: +5\r\n", false, 0, 0},
        {"Retry-After: 5s\r\n", false, 0, 0},
        {"Retry-After: 1.5\r\n", false, 0, 0},
        {"Retry-After:\r\n", false, 0, 0},
        {"Retry-After: soon\r\n", false, 0, 0},
        {"X-Retry-After: 5\r\n", false, 0, 0},
    };
    struct mst_http http;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        retry_read(&http, cases[i].headers);
        expect_int(cases[i].headers, cases[i].has, http.has_retry_after);
        expect_int(cases[i].headers, cases[i].at_s, http.retry_at_s);
        if (cases[i].has) {
            expect_int(cases[i].headers, cases[i].s, http.retry_after_s);
        }
    }
    retry_read(&http, "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
    expect_int("Date", EXAMPLE_S, http.date_s);
}

/* What an interim response says is not of the final one. */
static void test_interim(void **state) {
    static const char response[] =
        "HTTP/1.1 103 Early Hints\r\nRetry-After: 9\r\n"
        "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n"
        "HTTP/1.1 103 Early Hints\r\n"
        "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n"
        "HTTP/1.1 429 No\r\nContent-Length: 0\r\n\r\n";
    struct mst_http http;
    size_t used = 0, piece;

    (void)state;
    memset(&http, 0, sizeof http);
    expect_int("head", HTTP_HEAD,
               http_read(&http, (const uint8_t *)response, sizeof response - 1,
                         &used, &piece));
    expect_int("status", 429, http.status);
    expect_int("Retry-After", false, http.has_retry_after);
    expect_int("its date", 0, http.retry_at_s);
    expect_int("Date", 0, http.date_s);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        TEST(test_three_forms), TEST(test_not_a_date),  TEST(test_random),
        TEST(test_damaged),     TEST(test_retry_after), TEST(test_interim),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
