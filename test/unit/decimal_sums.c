/*
 * Tests of decimal arithmetic: sums and differences, multiples of a unit,
 * doubles.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "support.h"

#include <float.h>
#include <limits.h>
#include <math.h>

#define MOST 999999999999999999

/* Returns a normal decimal with up to 18 digits. Its exponent is close to near,
 * so that numbers overlap, or anything. */
static struct mst_decimal random_decimal(uint64_t *seed, int near) {
    unsigned digits = 1 + (unsigned)(random_next(seed) % 18);
    bool anywhere = random_next(seed) % 4 == 0;
    int exponent = anywhere ? (int)(random_next(seed) % 128) - 64
                            : near - 20 + (int)(random_next(seed) % 41);
    struct mst_decimal value = {0};

    /* Many nines and zeros, for long carries. */
    for (unsigned i = 0; i < digits; i++) {
        static const int64_t kinds[] = {0, 0, 9, 9};
        uint64_t draw = random_next(seed);
        value.coefficient = value.coefficient * 10 +
                            (draw % 3 != 0 ? kinds[draw / 3 % COUNT(kinds)]
                                           : (int64_t)(draw / 3 % 10));
    }
    while (value.coefficient != 0 && value.coefficient % 10 == 0) {
        value.coefficient /= 10;
    }
    exponent = exponent < -64 ? -64 : exponent;
    exponent = exponent > 63 ? 63 : exponent;
    if (value.coefficient != 0) {
        value.exponent = (int8_t)exponent;
    }
    if (random_next(seed) % 2 == 0) {
        value.coefficient = -value.coefficient;
    }
    return value;
}

static const char *described(struct mst_decimal value) {
    return printed("%" PRId64 "e%d%s", value.coefficient, value.exponent,
                   value.inexact ? "~" : "");
}

/* ---- Sums: a reference that adds numbers digit by digit ---- */

#define PLACES 152 /* digits, from 10^-64 on */

struct wide {
    int8_t digits[PLACES]; /* each has the number's sign, or is 0 */
};

static struct wide wide_of(struct mst_decimal value) {
    struct wide wide = {{0}};
    int64_t rest = value.coefficient;

    for (int at = value.exponent + 64; rest != 0; at++, rest /= 10) {
        wide.digits[at] = (int8_t)(rest % 10);
    }
    return wide;
}

/* Adds the digits, then gives all of them the sign of the highest. */
static struct wide wide_add(struct wide a, const struct wide *b) {
    int sign = 0;

    for (int at = 0; at < PLACES; at++) {
        a.digits[at] = (int8_t)(a.digits[at] + b->digits[at]);
    }
    for (int at = 0; at < PLACES; at++) {
        sign = a.digits[at] != 0 ? (a.digits[at] > 0 ? 1 : -1) : sign;
    }
    for (int at = 0; at + 1 < PLACES; at++) {
        int digit = a.digits[at] * sign, carry = 0;
        for (; digit < 0; carry--) {
            digit += 10;
        }
        for (; digit > 9; carry++) {
            digit -= 10;
        }
        a.digits[at] = (int8_t)(digit * sign);
        a.digits[at + 1] = (int8_t)(a.digits[at + 1] + carry * sign);
    }
    return a;
}

/* Returns the result that the header promises. */
static struct mst_decimal wide_kept(const struct wide *wide, bool inexact) {
    struct mst_decimal value = {0, 0, inexact};
    int top = PLACES, at;

    while (top > 0 && wide->digits[top - 1] == 0) {
        top--;
    }
    for (at = top; at > 0 && at > top - 18; at--) {
        value.coefficient = value.coefficient * 10 + wide->digits[at - 1];
    }
    for (int i = 0; i < at; i++) {
        value.inexact |= wide->digits[i] != 0;
    }
    for (; value.coefficient != 0 && value.coefficient % 10 == 0; at++) {
        value.coefficient /= 10;
    }
    if (value.coefficient != 0 && at - 64 > 63) {
        value.coefficient = value.coefficient < 0 ? -MOST : MOST;
        value.inexact = true;
        at = 63 + 64;
    }
    value.exponent = (int8_t)(value.coefficient != 0 ? at - 64 : 0);
    return value;
}

static void expect_decimal(const char *what, struct mst_decimal a,
                           struct mst_decimal b, struct mst_decimal expected,
                           struct mst_decimal got) {
    if (got.coefficient != expected.coefficient ||
        got.exponent != expected.exponent || got.inexact != expected.inexact) {
        expect_failed("%s %s %s: expected %s, got %s", described(a), what,
                      described(b), described(expected), described(got));
    }
}

static void expect_sums(struct mst_decimal a, struct mst_decimal b) {
    struct mst_decimal minus_b = {-b.coefficient, b.exponent, b.inexact};
    bool inexact = a.inexact || b.inexact;
    struct wide left = wide_of(a), right = wide_of(b);
    struct wide sum = wide_add(left, &right), difference;

    right = wide_of(minus_b);
    difference = wide_add(left, &right);
    expect_decimal("+", a, b, wide_kept(&sum, inexact), mst_decimal_add(a, b));
    expect_decimal("+", b, a, wide_kept(&sum, inexact), mst_decimal_add(b, a));
    expect_decimal("-", a, b, wide_kept(&difference, inexact),
                   mst_decimal_sub(a, b));
}

TEST_CASE(sums_and_differences_are_those_of_numbers_written_out) {
    uint64_t seed = 4;

    for (int i = 0; i < 200000; i++) {
        struct mst_decimal a = random_decimal(&seed, 0);
        struct mst_decimal b = random_decimal(&seed, a.exponent);
        a.inexact = random_next(&seed) % 50 == 0;
        b.inexact = random_next(&seed) % 50 == 0;
        expect_sums(a, b);
    }
}

TEST_CASE(sums_keep_what_they_can_at_the_edges) {
    static const struct {
        struct mst_decimal a, b, sum, difference;
    } cases[] = {
        {{5, 4, 0}, {12, -5, 0}, {5000000012, -5, 0}, {4999999988, -5, 0}},
        {{5, -1, 0}, {2, 0, 0}, {25, -1, 0}, {-15, -1, 0}},
        {{7, 3, 0}, {7, 3, 0}, {14, 3, 0}, {0, 0, 0}},
        {{0, 0, 0}, {7, 3, 0}, {7, 3, 0}, {-7, 3, 0}},
        {{7, 3, 0}, {0, 0, 0}, {7, 3, 0}, {7, 3, 0}},
        /* The difference has 18 digits, the sum has 19. */
        {{1, 17, 0}, {5, -1, 0}, {1, 17, 1}, {999999999999999995, -1, 0}},
        {{MOST, 0, 0}, {2, 0, 0}, {1, 18, 1}, {MOST - 2, 0, 0}},
        /* A far smaller number shows in the last digit, or only as a flag. */
        {{1, 63, 0}, {1, -64, 0}, {1, 63, 1}, {MOST, 45, 1}},
        {{-1, 63, 0}, {1, -64, 0}, {-MOST, 45, 1}, {-1, 63, 1}},
        /* Beyond the exponent's range, the largest decimal of the sign. */
        {{MOST, 63, 0}, {1, 63, 0}, {MOST, 63, 1}, {MOST - 1, 63, 0}},
        {{-MOST, 63, 0}, {MOST, 63, 0}, {0, 0, 0}, {-MOST, 63, 1}},
        {{5, 63, 0}, {5, 63, 0}, {MOST, 63, 1}, {0, 0, 0}},
        /* An inexact number stays inexact. */
        {{5, 0, 1}, {2, 0, 0}, {7, 0, 1}, {3, 0, 1}},
        {{5, 0, 0}, {5, 0, 1}, {1, 1, 1}, {0, 0, 1}},
        {{0, 0, 1}, {5, 0, 0}, {5, 0, 1}, {-5, 0, 1}},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct mst_decimal a = cases[i].a, b = cases[i].b;

        expect_decimal("+", a, b, cases[i].sum, mst_decimal_add(a, b));
        expect_decimal("-", a, b, cases[i].difference, mst_decimal_sub(a, b));
    }
}

/* ---- Multiples of a unit ---- */

/* Returns what the header promises, computed from the digits as text. */
static int scaled(struct mst_decimal value, int exponent, int64_t *out) {
    const char *most =
        value.coefficient < 0 ? "9223372036854775808" : "9223372036854775807";
    char digits[64];
    int len = snprintf(digits, sizeof digits, "%" PRId64,
                       value.coefficient < 0 ? -value.coefficient
                                             : value.coefficient);

    *out = 0;
    if (value.inexact ||
        (value.coefficient != 0 && value.exponent < exponent)) {
        return MST_ERR_INEXACT;
    }
    if (value.coefficient == 0) {
        return 0;
    }
    if (len + value.exponent - exponent > 19) {
        return MST_ERR_DECIMAL_WIDE;
    }
    for (int zeros = value.exponent - exponent; zeros > 0; zeros--) {
        digits[len++] = '0';
    }
    digits[len] = '\0';
    if (len == 19 && strcmp(digits, most) > 0) {
        return MST_ERR_DECIMAL_WIDE;
    }
    *out = value.coefficient < 0 ? (int64_t)(0 - strtoull(digits, NULL, 10))
                                 : strtoll(digits, NULL, 10);
    return 0;
}

static void expect_scaled(struct mst_decimal value, int exponent) {
    int64_t expected, got = 1;
    int expected_rc = scaled(value, exponent, &expected);
    int rc = mst_decimal_to_scaled(value, exponent, &got);

    if (rc != expected_rc || got != expected) {
        expect_failed("%s in 1e%d: %s and %" PRId64, described(value), exponent,
                      error_name(rc), got);
    }
}

TEST_CASE(a_multiple_of_a_unit_is_exact_or_an_error) {
    static const struct {
        struct mst_decimal value;
        int exponent, rc;
        int64_t expected;
    } cases[] = {
        {{5, -1, 0}, -8, 0, 50000000},
        {{-125, -2, 0}, -2, 0, -125},
        {{5, 4, 0}, 0, 0, 50000},
        {{5, 4, 0}, 4, 0, 5},
        {{5, 4, 0}, 5, MST_ERR_INEXACT, 0},
        {{5, -1, 0}, 0, MST_ERR_INEXACT, 0},
        {{5, 0, 1}, 0, MST_ERR_INEXACT, 0},
        /* Only 0 is a multiple of any unit. */
        {{0, 0, 0}, INT_MIN, 0, 0},
        {{0, 0, 0}, INT_MAX, 0, 0},
        {{1, 0, 0}, INT_MAX, MST_ERR_INEXACT, 0},
        {{1, 63, 0}, INT_MIN, MST_ERR_DECIMAL_WIDE, 0},
        /* The bounds of 64 bits, also of numbers that are not normal. */
        {{9, 0, 0}, -18, 0, INT64_C(9000000000000000000)},
        {{10, 0, 0}, -18, MST_ERR_DECIMAL_WIDE, 0},
        {{1, 1, 0}, -18, MST_ERR_DECIMAL_WIDE, 0},
        {{92233720368547758, 2, 0}, 0, 0, INT64_C(9223372036854775800)},
        {{922337203685477580, 1, 0}, 0, 0, INT64_C(9223372036854775800)},
        {{922337203685477581, 1, 0}, 0, MST_ERR_DECIMAL_WIDE, 0},
        {{INT64_MIN, 0, 0}, 0, 0, INT64_MIN},
        {{INT64_MAX, 0, 0}, 0, 0, INT64_MAX},
        {{1000, 0, 0}, 3, 0, 1},
        {{MOST, -18, 0}, -19, MST_ERR_DECIMAL_WIDE, 0},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *name = described(cases[i].value);
        int64_t got = 1;

        expect_int(
            name, cases[i].rc,
            mst_decimal_to_scaled(cases[i].value, cases[i].exponent, &got));
        expect_int(name, cases[i].expected, got);
    }
}

TEST_CASE(multiples_are_those_of_numbers_written_out) {
    uint64_t seed = 5;

    for (int i = 0; i < 200000; i++) {
        struct mst_decimal value = random_decimal(&seed, 0);
        value.inexact = random_next(&seed) % 16 == 0;
        expect_scaled(value,
                      value.exponent - 21 + (int)(random_next(&seed) % 24));
    }
}

/* ---- Doubles ---- */

static void expect_double(struct mst_decimal value, bool nearest) {
    /* A machine that computes with more digits than a double, such as the x87,
     * rounds twice. */
    const long double twice = FLT_EVAL_METHOD == 0 ? 0 : DBL_EPSILON;
    long double bound = nearest ? twice : 5e-16L + LDBL_EPSILON, expected;
    double got = mst_decimal_to_double(value);
    char text[32];

    snprintf(text, sizeof text, "%" PRId64 "e%d", value.coefficient,
             value.exponent);
    expected = nearest ? (long double)strtod(text, NULL) : strtold(text, NULL);
    if (!(fabsl(got - expected) <= bound * fabsl(expected))) {
        expect_failed("%s: %.17g, not %.20Lg", text, got, expected);
    }
}

TEST_CASE(doubles_are_the_nearest_for_prices_and_near_for_all) {
    static const struct mst_decimal edges[] = {
        {0, 0, 0},
        {1, -1, 0},
        {3, -1, 0},
        {-12345, -2, 0},
        {INT64_C(9007199254740992), 22, 0},
        {-INT64_C(9007199254740991), -22, 0},
    };
    uint64_t seed = 6;

    for (size_t i = 0; i < COUNT(edges); i++) {
        expect_double(edges[i], true);
    }
    for (int i = 0; i < 200000; i++) {
        struct mst_decimal value = random_decimal(&seed, 0);
        expect_double(value,
                      llabs(value.coefficient) <= INT64_C(9007199254740992) &&
                          abs(value.exponent) <= 22);
    }
}

RUN_CASES(NULL, NULL)
