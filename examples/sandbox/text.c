/* Reads times and decimal numbers. SPDX-License-Identifier: 0BSD */
#include "text.h"

#include <glib.h>
#include <string.h>

#define NS_PER_S INT64_C(1000000000)
#define SECONDS_LEN 19 /* of a time's text, without the fraction */

#define DIGITS "0123456789"

bool text_time(const char *text, int64_t *time_ns) {
    g_autofree char *whole = g_strdup_printf("%.*sZ", SECONDS_LEN, text);
    g_autoptr(GDateTime) date = g_date_time_new_from_iso8601(whole, NULL);
    int64_t seconds = date ? g_date_time_to_unix(date) : G_MAXINT64;
    const char *rest = text + MIN(strlen(text), SECONDS_LEN);
    int64_t fraction = 0;
    int digits = 0;

    if (*rest == '.' && g_ascii_isdigit(rest[1])) {
        for (rest++; g_ascii_isdigit(*rest) && digits < 9; rest++, digits++) {
            fraction = fraction * 10 + g_ascii_digit_value(*rest);
        }
    }
    for (; digits < 9; digits++) {
        fraction *= 10;
    }
    if (strcmp(rest, "Z") != 0 || ABS(seconds) >= G_MAXINT64 / NS_PER_S) {
        return false;
    }
    *time_ns = seconds * NS_PER_S + fraction;
    return true;
}

bool text_is_decimal(const char *text) {
    size_t whole = strspn(text, DIGITS);
    size_t fraction;

    if (whole == 0 || text[whole] == '\0') {
        return whole > 0;
    }
    fraction = strspn(text + whole + 1, DIGITS);
    return text[whole] == '.' && fraction > 0 &&
           text[whole + 1 + fraction] == '\0';
}

int text_compare_decimals(const char *a, const char *b) {
    size_t a_whole;
    size_t b_whole;
    int order;

    a += strspn(a, "0");
    b += strspn(b, "0");
    a_whole = strspn(a, DIGITS);
    b_whole = strspn(b, DIGITS);
    if (a_whole != b_whole) {
        return a_whole < b_whole ? -1 : 1;
    }
    order = strncmp(a, b, a_whole);
    a += a_whole + (a[a_whole] == '.');
    b += b_whole + (b[b_whole] == '.');
    while (order == 0 && (*a != '\0' || *b != '\0')) {
        char a_digit = *a != '\0' ? *a++ : '0';
        char b_digit = *b != '\0' ? *b++ : '0';

        order = a_digit - b_digit;
    }
    return order;
}

bool text_is_zero(const char *text) {
    size_t len = strspn(text, "0.");

    return len > 0 &&
           strchr("eE", text[len]) != NULL; /* strchr also finds the end */
}
