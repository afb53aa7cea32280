/*
 * How the texts in messages are read: times and decimal numbers.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_TEXT_H
#define SANDBOX_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/* ISO 8601, UTC, with up to 9 digits of a second's fraction; a year that ns
 * since 1970 have no room for is none. */
bool text_time(const char *text, int64_t *time_ns);

/* Whether it is digits, perhaps with a point and more digits. */
bool text_is_decimal(const char *text);

/* Of two such texts: below 0, 0 or above 0, as strcmp. */
int text_compare_decimals(const char *a, const char *b);

/* Whether all its digits before an exponent are 0. */
bool text_is_zero(const char *text);

#endif
