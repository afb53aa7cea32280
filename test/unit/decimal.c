/*
 * Tests of decimals: reading, comparing, writing.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "support.h"

#include <regex.h>

#define ZEROS_10 "0000000000"
#define ZEROS_60 ZEROS_10 ZEROS_10 ZEROS_10 ZEROS_10 ZEROS_10 ZEROS_10
#define ZEROS_300 ZEROS_60 ZEROS_60 ZEROS_60 ZEROS_60 ZEROS_60

struct decimal_case {
    const char *text, *expected;
};

/* Returns "5e4", "15e-1~" or an error's name, valid until the next call. */
static const char *parsed(const char *text, size_t len) {
    static struct text record;
    struct mst_decimal value;
    int rc = mst_decimal_parse(guarded(text, len), len, &value);

    text_clear(&record);
    if (rc != 0) {
        return error_name(rc);
    }
    record_decimal(&record, value);
    return text_get(&record);
}

static void expect_parsed(const struct decimal_case *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        expect_text(cases[i].text, cases[i].expected,
                    parsed(cases[i].text, strlen(cases[i].text)));
    }
}

TEST_CASE(numbers_are_kept_without_trailing_zeros) {
    static const struct decimal_case cases[] = {
        {"0", "0"},
        {"-0", "0"},
        {"0.00", "0"},
        {"-0.0", "0"},
        {"0E-8", "0"},
        {"0e+5", "0"},
        {"0.000e99", "0"},
        {"1", "1"},
        {"-1", "-1"},
        {"10", "1e1"},
        {"50000", "5e4"},
        {"50000.00", "5e4"},
        {"5e4", "5e4"},
        {"5E+4", "5e4"},
        {"0.5e5", "5e4"},
        {"500000000e-4", "5e4"},
        {"50000.10", "500001e-1"},
        {"0.00012", "12e-5"},
        {"0.00012000", "12e-5"},
        {"-12.50", "-125e-1"},
        {"1.5e-0003", "15e-4"},
        {"1e0000000000000000000000002", "1e2"},
    };

    expect_parsed(cases, COUNT(cases));
}

TEST_CASE(eighteen_digits_are_exact_and_further_ones_are_cut) {
    static const struct decimal_case cases[] = {
        {"123456789012345678", "123456789012345678"},
        {"-999999999999999999", "-999999999999999999"},
        {"0.123456789012345678", "123456789012345678e-18"},
        {"123456789.012345678", "123456789012345678e-9"},
        {"1234567890123456789", "123456789012345678e1~"},
        {"-9999999999999999999", "-999999999999999999e1~"},
        {"12345678901234567.89", "123456789012345678e-1~"},
        {"1000000000000000000.5", "1e18~"},
        {"1.0000000000000000001", "1~"},
        {"12345678901234567890123456789", "123456789012345678e11~"},
        /* Zeros beyond the 18th digit lose nothing. */
        {"1234567890123456780", "123456789012345678e1"},
        {"12345678901234567800000.0000", "123456789012345678e5"},
        {"1.234567890123456780000", "123456789012345678e-17"},
        {"100000000000000000000", "1e20"},
        {"1" ZEROS_60 "00.0", "1e62"},
        {"1." ZEROS_300, "1"},
        {"1." ZEROS_300 "1", "1~"},
        /* Leading zeros are not significant. */
        {"0." ZEROS_10 "123456789012345678", "123456789012345678e-28"},
        {"0." ZEROS_10 "1234567890123456789", "123456789012345678e-28~"},
        {"0." ZEROS_300 "123456789012345678e300", "123456789012345678e-18"},
    };

    expect_parsed(cases, COUNT(cases));
}

TEST_CASE(exponents_out_of_range_are_named_as_wide) {
    static const char *const wide[] = {
        /* Next to the bounds. */
        "1e64", "10e63", "1e-65", "0.1e-64", "1234567890123456789e63",
        "1" ZEROS_60 "0000", "0." ZEROS_60 "00001", "0." ZEROS_300 "1",
        "1" ZEROS_300,
        /* Far beyond them. */
        "1e128", "1e256", "1e-256", "1e65536", "1e2147483648", "1e-2147483649",
        "1e4294967296", "1e999999999999", "1e-999999999999",
        "1e18446744073709551616", "-1e" ZEROS_60 "99999999999999999999999"};
    static const struct decimal_case cases[] = {
        {"1e63", "1e63"},
        {"10e62", "1e63"},
        {"1e-64", "1e-64"},
        {"10e-65", "1e-64"},
        {"0.1e-63", "1e-64"},
        {"123456789012345678e63", "123456789012345678e63"},
        {"1234567890123456789e62", "123456789012345678e63~"},
        {"123456789012345678e-64", "123456789012345678e-64"},
        {"1234567890123456789e-65", "123456789012345678e-64~"},
        {"1" ZEROS_60 "000", "1e63"},
        {"0." ZEROS_60 "0001", "1e-64"},
        {"0." ZEROS_300 "1e301", "1"},
        {"1" ZEROS_300 "e-300", "1"},
        /* Zero is zero at every exponent. */
        {"0e999999999999", "0"},
        {"0.0e-18446744073709551616", "0"},
        {"0." ZEROS_300, "0"},
    };

    for (size_t i = 0; i < COUNT(wide); i++) {
        expect_text(wide[i], "DECIMAL_WIDE", parsed(wide[i], strlen(wide[i])));
    }
    expect_parsed(cases, COUNT(cases));
}

/* Digits are counted in 32 bits, but a million are enough for any number. */
TEST_CASE(a_text_of_more_than_a_million_bytes_is_wide) {
    static char text[1000002];
    struct mst_decimal number;

    memset(text, '0', sizeof text);
    text[1] = '.';
    assert_int_equal(mst_decimal_parse(text, 1000000, &number), 0);
    assert_int_equal(number.coefficient, 0);
    assert_int_equal(mst_decimal_parse(text, 1000001, &number),
                     MST_ERR_DECIMAL_WIDE);
}

TEST_CASE(texts_that_are_not_json_numbers_are_refused) {
    static const char *const texts[] = {
        "",      "-",     "+1",   "007",  "00",         "-01",   "01.5",
        "5.",    ".5",    "-.5",  ".",    "5.e1",       "1e",    "1e+",
        "1e-",   "e5",    "E",    "1.5e", "1e1.5",      "1e1e1", "1ee1",
        "1..5",  "1.5.5", "--1",  "1-",   "1+1",        " 1",    "1 ",
        "\t1",   "1\n",   "1 0",  "NaN",  "nan",        "Inf",   "Infinity",
        "-inf",  "0x10",  "0X1",  "1f",   "1,000",      "1_000", "1d",
        "\"1\"", "null",  "true", "١",    "1e\xC2\xB2", "$5",    "5%",
    };

    for (size_t i = 0; i < COUNT(texts); i++) {
        expect_text(texts[i], "DECIMAL", parsed(texts[i], strlen(texts[i])));
    }
    expect_text("1 and NUL", "DECIMAL", parsed(BYTES("1\0")));
    expect_text("1, NUL and 2", "DECIMAL", parsed(BYTES("1\0002")));
}

/* Every text of up to 6 characters from an alphabet of all kinds. */
TEST_CASE(the_grammar_is_that_of_json_and_no_other) {
    static const char alphabet[] = "059.eE+-";
    const size_t kinds = sizeof alphabet - 1;
    regex_t grammar;
    char text[7];

    assert_int_equal(regcomp(&grammar,
                             "^-?(0|[1-9][0-9]*)(\\.[0-9]+)?"
                             "([eE][+-]?[0-9]+)?$",
                             REG_EXTENDED | REG_NOSUB),
                     0);
    for (size_t len = 1, all = kinds; len < sizeof text; len++, all *= kinds) {
        text[len] = '\0';
        for (size_t n = 0; n < all; n++) {
            for (size_t i = 0, rest = n; i < len; i++, rest /= kinds) {
                text[i] = alphabet[rest % kinds];
            }
            bool good = regexec(&grammar, text, 0, NULL, 0) == 0;

            if (good == (strcmp(parsed(text, len), "DECIMAL") == 0)) {
                expect_failed("%s: %s", text, parsed(text, len));
            }
        }
    }
    regfree(&grammar);
}

/* ---- A reference that writes numbers out in full ---- */

#define FULL_LEN 160

/* |value| * 10^64 as digits without leading zeros. */
static void full_digits(struct mst_decimal value, char *full) {
    uint64_t magnitude = value.coefficient < 0 ? 0 - (uint64_t)value.coefficient
                                               : (uint64_t)value.coefficient;
    int len = snprintf(full, FULL_LEN, "%" PRIu64, magnitude);

    for (int zeros = value.exponent + 64; magnitude != 0 && zeros > 0;
         zeros--) {
        full[len++] = '0';
    }
    full[len] = '\0';
}

static int full_cmp(struct mst_decimal a, struct mst_decimal b) {
    char left[FULL_LEN], right[FULL_LEN];
    int sign_a = (a.coefficient > 0) - (a.coefficient < 0);
    int sign_b = (b.coefficient > 0) - (b.coefficient < 0);
    size_t len_a, len_b;
    int order;

    if (sign_a != sign_b) {
        return sign_a < sign_b ? -1 : 1;
    }
    full_digits(a, left);
    full_digits(b, right);
    len_a = strlen(left);
    len_b = strlen(right);
    order = len_a != len_b ? (len_a > len_b) - (len_a < len_b)
                           : strcmp(left, right);
    return sign_a * ((order > 0) - (order < 0));
}

static void expect_cmp(struct mst_decimal a, struct mst_decimal b) {
    int got = mst_decimal_cmp(a, b), back = mst_decimal_cmp(b, a);
    int expected = full_cmp(a, b);

    if ((got > 0) - (got < 0) != expected ||
        (back > 0) - (back < 0) != -expected) {
        expect_failed("%" PRId64 "e%d and %" PRId64 "e%d: %d and %d",
                      a.coefficient, a.exponent, b.coefficient, b.exponent, got,
                      back);
    }
}

TEST_CASE(comparing_is_exact_at_all_exponents) {
    static const int64_t coefficients[] = {
        /* With few digits, 18, 19. */
        0, 1, 9, 10, 11, 999999999999999999, 100000000000000001,
        100000000000000000, INT64_MAX, INT64_MAX - 1,
        /* Negative. */
        INT64_MIN, -1, -9, -999999999999999999};

    for (size_t i = 0; i < COUNT(coefficients); i++) {
        for (size_t j = 0; j < COUNT(coefficients); j++) {
            for (int e = -64; e <= 63; e++) {
                for (int f = -64; f <= 63; f += e % 8 == 0 ? 1 : 21) {
                    expect_cmp(
                        (struct mst_decimal){coefficients[i], (int8_t)e, 0},
                        (struct mst_decimal){coefficients[j], (int8_t)f, 0});
                }
            }
        }
    }
}

static struct mst_decimal random_decimal(uint64_t *seed) {
    struct mst_decimal value = {
        .exponent = (int8_t)((int)(random_next(seed) % 128) - 64)};
    uint64_t most = 10;

    for (uint64_t digits = random_next(seed) % 18; digits > 0; digits--) {
        most *= 10;
    }
    value.coefficient = (int64_t)(random_next(seed) % most);
    while (value.coefficient != 0 && value.coefficient % 10 == 0) {
        value.coefficient /= 10;
    }
    if (value.coefficient == 0) {
        value.exponent = 0;
    }
    if (random_next(seed) % 2 == 0) {
        value.coefficient = -value.coefficient;
    }
    return value;
}

/* Returns the same number with more digits: 5e4 as 5000e1. */
static struct mst_decimal widened(struct mst_decimal value, unsigned zeros) {
    while (zeros-- > 0 && value.exponent > -64 &&
           value.coefficient < INT64_MAX / 10 &&
           value.coefficient > INT64_MIN / 10) {
        value.coefficient *= 10;
        value.exponent--;
    }
    return value;
}

TEST_CASE(comparing_agrees_with_numbers_written_out) {
    uint64_t seed = 1;

    for (int i = 0; i < 100000; i++) {
        struct mst_decimal a = random_decimal(&seed);
        struct mst_decimal b = random_decimal(&seed);
        struct mst_decimal same =
            widened(a, (unsigned)(random_next(&seed) % 19));

        expect_cmp(a, b);
        expect_int("widened", 0, mst_decimal_cmp(a, same));
        same.coefficient += 1;
        expect_cmp(a, same);
    }
}

TEST_CASE(comparing_ignores_the_inexact_flag) {
    struct mst_decimal a = {5, 4, false}, b = {5, 4, true};

    assert_int_equal(mst_decimal_cmp(a, b), 0);
}

/* ---- Writing ---- */

/* Writes it before a protected page. The result must be the text's length. */
static const char *formatted(struct mst_decimal value) {
    char *text = guarded_room(MST_DECIMAL_TEXT_LEN);
    size_t len = mst_decimal_format(value, text);

    assert_true(len < MST_DECIMAL_TEXT_LEN);
    assert_int_equal(strlen(text), len);
    return text;
}

TEST_CASE(numbers_are_written_in_plain_notation) {
    static const struct {
        int64_t coefficient;
        int8_t exponent;
        const char *expected;
    } cases[] = {
        {0, 0, "0"},
        {5, 4, "50000"},
        {12, -5, "0.00012"},
        {500001, -1, "50000.1"},
        {-125, -1, "-12.5"},
        {-5, -1, "-0.5"},
        {7, 0, "7"},
        {999999999999999999, 0, "999999999999999999"},
        {-999999999999999999, -18, "-0.999999999999999999"},
        {-999999999999999999, -17, "-9.99999999999999999"},
        {INT64_MAX, 0, "9223372036854775807"},
        {INT64_MIN, -1, "-922337203685477580.8"},
        {1, 63, "1" ZEROS_60 "000"},
        {-999999999999999999, 63, "-999999999999999999" ZEROS_60 "000"},
        {1, -64, "0." ZEROS_60 "0001"},
        {-123456789012345678, -64,
         "-0." ZEROS_10 ZEROS_10 ZEROS_10 ZEROS_10 "000000123456789012345678"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct mst_decimal value = {cases[i].coefficient, cases[i].exponent,
                                    false};

        expect_text("format", cases[i].expected, formatted(value));
    }
}

TEST_CASE(numbers_out_of_range_are_cut_off_to_fit) {
    for (int exponent = INT8_MIN; exponent <= INT8_MAX; exponent++) {
        struct mst_decimal value = {INT64_MIN, (int8_t)exponent, false};

        (void)formatted(value);
    }
}

TEST_CASE(what_is_written_reads_back_member_by_member) {
    char text[MST_DECIMAL_TEXT_LEN];
    uint64_t seed = 2;

    for (int i = 0; i < 100000; i++) {
        struct mst_decimal value = random_decimal(&seed), back;
        size_t len = mst_decimal_format(value, text);

        assert_int_equal(mst_decimal_parse(text, len, &back), 0);
        if (back.coefficient != value.coefficient ||
            back.exponent != value.exponent || back.inexact) {
            expect_failed("%" PRId64 "e%d: %s", value.coefficient,
                          value.exponent, text);
        }
    }
}

/* Spellings of one number: zeros on both ends, another point, an exponent. */
TEST_CASE(every_spelling_of_a_number_is_the_same_number) {
    uint64_t seed = 3;
    char text[400];

    for (int i = 0; i < 50000; i++) {
        struct mst_decimal value = random_decimal(&seed), back;
        uint64_t magnitude = (uint64_t)llabs(value.coefficient);
        int before = (int)(random_next(&seed) % 150);
        int after = (int)(random_next(&seed) % 150);
        int exponent = value.exponent, len;

        if (random_next(&seed) % 2 == 0) { /* 0.000DIGITS000eN */
            len = snprintf(text, sizeof text, "%s0.%0*d%" PRIu64 "%0*de%d",
                           value.coefficient < 0 ? "-" : "", before + 1, 0,
                           magnitude, after + 1, 0,
                           exponent + before + 1 +
                               snprintf(NULL, 0, "%" PRIu64, magnitude));
        } else { /* DIGITS000.000EN */
            len = snprintf(text, sizeof text, "%" PRId64 "%0*d.%0*dE%+d",
                           value.coefficient, before + 1, 0, after + 1, 0,
                           exponent - before - 1);
        }
        if (magnitude == 0 && strncmp(text, "0.", 2) != 0) {
            continue; /* "000" is not a number */
        }
        int rc = mst_decimal_parse(text, (size_t)len, &back);

        if (rc != 0 || back.coefficient != value.coefficient ||
            back.exponent != value.exponent || back.inexact) {
            expect_failed("%s: %s, %" PRId64 "e%d%s", text, error_name(rc),
                          back.coefficient, back.exponent,
                          back.inexact ? " inexact" : "");
        }
    }
}

RUN_CASES(NULL, NULL)
