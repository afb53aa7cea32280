/*
 * Tests of timestamps (RFC 3339): reading and writing.
 *
 * SPDX-License-Identifier: 0BSD
 */
/* On a 32-bit machine the C library's times end in 2038 without these. */
#define _FILE_OFFSET_BITS 64
#define _TIME_BITS 64

#include "support.h"

#include <regex.h>
#include <time.h>

/* Converts a UTC date and time to seconds with the C library. */
static int64_t utc(int year, int month, int day, int hour, int minute,
                   int second) {
    struct tm tm = {.tm_year = year - 1900,
                    .tm_mon = month - 1,
                    .tm_mday = day,
                    .tm_hour = hour,
                    .tm_min = minute,
                    .tm_sec = second};

    return timegm(&tm);
}

static void expect_refused(const char *text, size_t len) {
    int64_t ns = -1;
    int rc = mst_time_parse(guarded(text, len), len, &ns);

    if (rc != MST_ERR_TIME) {
        expect_failed("%.*s: %s, %" PRId64, (int)len, text, error_name(rc), ns);
    }
}

static void expect_time(const char *text, int64_t expected) {
    int64_t ns = -1;
    int rc = mst_time_parse(guarded(text, strlen(text)), strlen(text), &ns);

    if (rc != 0 || ns != expected) {
        expect_failed("%s: %s, %" PRId64 " instead of %" PRId64, text,
                      error_name(rc), ns, expected);
    }
}

TEST_CASE(every_form_of_rfc_3339_is_read) {
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01T00:00:00.000000001Z", 1},
        {"2026-01-02T03:04:05Z", 1767323045000000000},
        {"2026-01-02T03:04:05.6Z", 1767323045600000000},
        {"2026-01-02T03:04:05.67Z", 1767323045670000000},
        {"2026-01-02T03:04:05.678Z", 1767323045678000000},
        {"2026-01-02T03:04:05.6789Z", 1767323045678900000},
        {"2026-01-02T03:04:05.67890Z", 1767323045678900000},
        {"2026-01-02T03:04:05.678901Z", 1767323045678901000},
        {"2026-01-02T03:04:05.6789012Z", 1767323045678901200},
        {"2026-01-02T03:04:05.67890123Z", 1767323045678901230},
        {"2026-01-02T03:04:05.678901234Z", 1767323045678901234},
        {"2026-01-02T03:04:05.000000000Z", 1767323045000000000},
        /* Digits after the ninth are truncated, not rounded. */
        {"2026-01-02T03:04:05.6789012349Z", 1767323045678901234},
        {"2026-01-02T03:04:05.99999999999999999999999Z", 1767323045999999999},
        {"2026-01-02t03:04:05z", 1767323045000000000},
        {"2026-01-02T03:04:05+00:00", 1767323045000000000},
        {"2026-01-02T03:04:05-00:00", 1767323045000000000},
        {"2026-01-02T04:34:05.5+01:30", 1767323045500000000},
        {"2026-01-01T21:04:05.5-06:00", 1767323045500000000},
        {"2026-01-03T03:03:05+23:59", 1767323045000000000},
        {"2026-01-01T03:05:05-23:59", 1767323045000000000},
        /* The examples of RFC 3339, section 5.8. */
        {"1985-04-12T23:20:50.52Z", 482196050520000000},
        {"1996-12-19T16:39:57-08:00", 851042397000000000},
        /* Bounds. */
        {"1970-01-01T00:00:00+00:00", 0},
        {"2261-12-31T23:59:59.999999999Z", 9214646399999999999},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        expect_time(cases[i].text, cases[i].ns);
    }
}

TEST_CASE(a_leap_second_is_the_first_of_the_next_minute) {
    expect_time("1990-12-31T23:59:60Z", utc(1991, 1, 1, 0, 0, 0) * 1000000000);
    expect_time("1990-12-31T15:59:60-08:00",
                utc(1991, 1, 1, 0, 0, 0) * 1000000000);
    expect_time("2015-06-30T23:59:60.25Z",
                utc(2015, 7, 1, 0, 0, 0) * 1000000000 + 250000000);
    expect_refused(BYTES("1990-12-31T23:59:61Z"));
}

/* Expects an existing day to be read, and another to be refused. Returns 1 if
 * the day exists. */
static int expect_day(int year, int month, int day) {
    int64_t s = utc(year, month, day, 12, 34, 56);
    time_t back = (time_t)s;
    struct tm tm;
    char text[64];

    snprintf(text, sizeof text, "%04d-%02d-%02dT12:34:56Z", year, month, day);
    gmtime_r(&back, &tm);
    if (tm.tm_mday != day) {
        expect_refused(text, strlen(text));
        return 0;
    }
    expect_time(text, s * 1000000000);
    return 1;
}

TEST_CASE(every_day_from_1970_to_2261_is_read) {
    int days = 0;

    for (int year = 1970; year <= 2261; year++) {
        for (int month = 1; month <= 12; month++) {
            for (int day = 1; day <= 31; day++) {
                days += expect_day(year, month, day);
            }
        }
    }
    assert_int_equal(days, utc(2262, 1, 1, 0, 0, 0) / 86400);
}

TEST_CASE(malformed_and_impossible_times_are_refused) {
    static const char *const texts[] = {
        /* Incomplete. */
        "", "now", "2026", "2026-01-02", "2026-01-02T03:04Z",
        "2026-01-02T03:04:05", "2026-01-02T03:04:05.678",
        /* Something else in the fraction, or around the text. */
        "2026-01-02T03:04:05.Z", "2026-01-02T03:04:05,678Z",
        "2026-01-02T03:04:05.67 8Z", "2026-01-02T03:04:05.-78Z",
        "2026-01-02T03:04:05ZZ", "2026-01-02T03:04:05Z ",
        " 2026-01-02T03:04:05Z", "2026-01-02T03:04:05 Z",
        "2026-01-02T03:04:05UTC",
        /* Invalid time zones. */
        "2026-01-02T03:04:05+01", "2026-01-02T03:04:05+0100",
        "2026-01-02T03:04:05+1:00", "2026-01-02T03:04:05+01:0",
        "2026-01-02T03:04:05+01:000", "2026-01-02T03:04:05+01-00",
        "2026-01-02T03:04:05+24:00", "2026-01-02T03:04:05+01:60",
        "2026-01-02T03:04:05-99:99", "2026-01-02T03:04:05Z+01:00",
        /* Another form. */
        "2026/01/02T03:04:05Z", "2026-1-2T03:04:05Z", "2026-01-2T03:04:05Z",
        "26-01-02T03:04:05Z", "02026-01-02T03:04:05Z", "+2026-01-02T03:04:05Z",
        "-026-01-02T03:04:05Z", "20260102T030405Z", "2026-W01-5T03:04:05Z",
        "2026-002T03:04:05Z",
        /* No such day. */
        "2026-00-02T03:04:05Z", "2026-13-02T03:04:05Z", "2026-01-00T03:04:05Z",
        "2026-01-32T03:04:05Z", "2026-02-29T03:04:05Z", "2100-02-29T03:04:05Z",
        "2024-02-30T03:04:05Z", "2026-04-31T03:04:05Z",
        /* No such time. */
        "2026-01-02T24:00:00Z", "2026-01-02T25:04:05Z", "2026-01-02T03:60:05Z",
        "2026-01-02T03:04:61Z", "2026-01-02T3:04:05Z",
        /* Unsupported years. */
        "1969-12-31T23:59:59Z", "0000-01-01T00:00:00Z", "2262-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
        /* A number. */
        "1767323045678"};

    for (size_t i = 0; i < COUNT(texts); i++) {
        expect_refused(texts[i], strlen(texts[i]));
    }
    expect_refused(BYTES("2026-01-02T03:04:05\0Z"));
    expect_refused(BYTES("2026-01-02T03:04:05Z\0"));
}

/* An offset may lead to a year out of range, but never to a time before the
 * epoch, or to an overflow. */
TEST_CASE(an_offset_never_leads_to_a_negative_time) {
    static const char *const texts[] = {
        "1970-01-01T00:00:00+00:01",
        "1970-01-01T00:00:00+23:59",
        "1970-01-01T23:58:59.999999999+23:59",
        "2261-12-31T23:59:59.999999999-23:59",
        "2261-12-31T23:59:60-23:59",
    };

    for (size_t i = 0; i < COUNT(texts); i++) {
        int64_t ns = 0;
        int rc = mst_time_parse(guarded(texts[i], strlen(texts[i])),
                                strlen(texts[i]), &ns);

        if (rc != MST_ERR_TIME && (rc != 0 || ns < 0)) {
            expect_failed("%s: %s, %" PRId64, texts[i], error_name(rc), ns);
        }
    }
}

/* Converts digits of a text to a number. */
static int number(const char *text, size_t from, size_t digits) {
    char copy[8] = "";

    memcpy(copy, text + from, digits);
    return (int)strtol(copy, NULL, 10);
}

/* Converts a text with three fraction digits. False if it is invalid. */
static bool oracle(const regex_t *grammar, const char *text, int64_t *ns) {
    int year = number(text, 0, 4), month = number(text, 5, 2);
    int day = number(text, 8, 2), hour = number(text, 11, 2);
    int minute = number(text, 14, 2), second = number(text, 17, 2);
    struct tm tm;
    time_t s;

    if (regexec(grammar, text, 0, NULL, 0) != 0 || year < 1970 || year > 2261) {
        return false;
    }
    s = (time_t)utc(year, month, day, hour, minute, second);
    gmtime_r(&s, &tm);
    *ns = (int64_t)s * 1000000000 + number(text, 20, 3) * 1000000;
    return tm.tm_sec == second && tm.tm_min == minute && tm.tm_hour == hour &&
           tm.tm_mday == day && tm.tm_mon + 1 == month;
}

TEST_CASE(one_wrong_character_is_one_too_many) {
    static const char good[] = "2028-02-29T13:14:15.678Z";
    regex_t grammar;

    assert_int_equal(regcomp(&grammar,
                             "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:"
                             "[0-9]{2}:[0-9]{2}\\.[0-9]{3}[Zz]$",
                             REG_EXTENDED | REG_NOSUB),
                     0);
    for (size_t at = 0; at < sizeof good - 1; at++) {
        expect_refused(good, at);
        for (int c = 1; c < 256; c++) {
            char text[sizeof good];
            int64_t ns;

            memcpy(text, good, sizeof good);
            text[at] = (char)c;
            if (oracle(&grammar, text, &ns)) {
                expect_time(text, ns);
            } else if (at != 19 && at != 23) { /* other forms begin there */
                expect_refused(text, sizeof good - 1);
            }
        }
    }
    regfree(&grammar);
}

TEST_CASE(what_is_written_is_the_c_librarys_and_reads_back) {
    uint64_t seed = 1;

    for (int i = 0; i < 100000; i++) {
        int64_t ns = (int64_t)(random_next(&seed) % 9214646400000000000u);
        char *text = guarded_room(MST_TIME_TEXT_LEN);
        char expected[48];
        int64_t back = -1;
        struct tm tm;
        time_t s;

        if (i < 4) { /* and the bounds */
            ns = (const int64_t[]){0, 1, 9214646399999999999, 999999999}[i];
        }
        s = (time_t)(ns / 1000000000);
        gmtime_r(&s, &tm);
        strftime(expected, sizeof expected, "%Y-%m-%dT%H:%M:%S", &tm);
        snprintf(expected + 19, sizeof expected - 19, ".%09dZ",
                 (int)(ns % 1000000000));
        assert_int_equal(mst_time_format(ns, text), 30);
        expect_text("format", expected, text);
        assert_int_equal(mst_time_parse(text, 30, &back), 0);
        expect_int(text, ns, back);
    }
}

RUN_CASES(NULL, NULL)
