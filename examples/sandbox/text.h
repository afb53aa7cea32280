/*
 * Reads the texts of times and decimal numbers in messages.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_TEXT_H
#define SANDBOX_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/* Reads a UTC time (ISO 8601) with up to 9 decimals of a second. Returns false
 * if it is invalid, or too far from 1970 for ns in 64 bits. */
bool text_time(const char *text, int64_t *time_ns);

/* Returns true for digits, optionally followed by a point and digits. */
bool text_is_decimal(const char *text);

/* Compares two such texts; the result is like that of strcmp. */
int text_compare_decimals(const char *a, const char *b);

/* Returns true if all digits before an exponent are 0. */
bool text_is_zero(const char *text);

#endif
