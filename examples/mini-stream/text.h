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
#define TEXT_FAILURE_LEN 1024

/* Writes a Unix time in ns with milliseconds. */
void text_time(int64_t ns, char out[TEXT_TIME_LEN]);

/* Writes it with nanoseconds. */
void text_time_ns(int64_t ns, char out[MST_TIME_TEXT_LEN]);

/* An ASCII letter as a capital; whether two names, of protocols, hosts or
 * settings, begin with the same len bytes in either case. In every locale: in
 * Turkish, toupper('i') is no 'I'. */
char text_upper(char c);
bool text_is_name(const char *a, const char *b, size_t len);

/* Whether the environment forbids colours (https://no-color.org). */
bool text_no_color(void);

/* Bytes that hold any text_span() and a NUL. */
#define TEXT_SPAN_LEN 24

/* Writes how long something takes or was, in a unit that suits: "12 s". */
const char *text_span(uint64_t ms, char out[TEXT_SPAN_LEN]);

/* Decimals that a number is filled up to, at most. */
#define TEXT_PLACES_MAX 18
#define TEXT_DECIMAL_LEN (MST_DECIMAL_TEXT_LEN + TEXT_PLACES_MAX + 1)

/* Writes a number exactly, with at least so many decimals. */
void text_decimal(struct mst_decimal value, int places,
                  char out[TEXT_DECIMAL_LEN]);

/* Copies what a service sent, whole characters in up to len - 1 bytes, with '?'
 * for the bytes of characters that a terminal would obey, and for those that
 * are not UTF-8. Returns out. */
const char *text_clean(const char *in, char *out, size_t len);

/* What output calls an event; the channel that it is of, or ""; the name of an
 * action, and of one of the doubts about a book. */
const char *text_event(const struct mst_event *event);
const char *text_event_channel(const struct mst_event *event);
const char *text_action(enum mst_action action);
const char *text_doubt(unsigned flag);

/* Of a word that is unknown, the known one that it was most likely to be: the
 * same in another case, or with one or two letters wrong. known ends with NULL.
 * Returns NULL if none is close. */
const char *text_close(const char *word, const char *const *known);

/* Returns the pointer; ends the program if it is NULL for lack of memory. */
void *text_must(void *pointer);

/* Formats a text into memory that the caller frees. */
__attribute__((format(printf, 1, 2))) char *text_new(const char *format, ...);

/* Says an error on standard error, in which there may be others' words. */
void text_say(const char *error);

/* Which library does TLS: OpenSSL, or BearSSL. */
void detail_of_openssl(bool is);

/* What the number with an error says, or "" if it says nothing; static. */
const char *detail_text(int error, int detail);

/* Writes a failure in one line: what, where, the numbers known, what next. */
void text_failure(const struct mst_failure *failure, int link,
                  char out[TEXT_FAILURE_LEN]);
/* A function for traces. Keeps where each link goes, for its failures. */
void text_trace(void *context, const struct mst_trace *trace);

/* Where a link goes, as "HOST:PORT", or "". */
const char *text_target(int link);

#endif
