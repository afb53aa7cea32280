/*
 * Text for people: times, errors, and what a service sent, made harmless.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef TEXT_H
#define TEXT_H

#include "mini_stream.h"

/* Bytes that hold "2026-01-02T03:04:05.678Z" and a NUL. */
#define TEXT_TIME_LEN 25

/* Bytes that hold the longest text_failure() and a NUL. */
#define TEXT_FAILURE_LEN 720

/* Writes a Unix time in ns with milliseconds. */
void text_time(int64_t ns, char out[TEXT_TIME_LEN]);

/* Writes the wall clock's time. */
void text_now(char out[TEXT_TIME_LEN]);

/* Copies what a service sent, whole characters in up to len - 1 bytes, with '?'
 * for the bytes of characters that a terminal would obey, and for those that
 * are not UTF-8. Returns out. */
const char *text_clean(const char *in, char *out, size_t len);

/* Writes a failure in one line: what, where, the numbers known, what next. */
void text_failure(const struct mst_failure *failure,
                  char out[TEXT_FAILURE_LEN]);

#endif
