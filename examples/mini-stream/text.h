/*
 * Text for people: times, errors, and text from a service, made safe for
 * terminals.
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

/* Write a Unix time in ns, with milliseconds or nanoseconds. */
void text_time(int64_t ns, char out[TEXT_TIME_LEN]);
void text_time_ns(int64_t ns, char out[MST_TIME_TEXT_LEN]);

/* Returns an ASCII letter in upper case. Compares up to len bytes of two names
 * (of protocols, hosts, settings), ignoring case. Independent of the locale: in
 * Turkish, toupper('i') is not 'I'. */
char text_upper(char c);
bool text_is_name(const char *a, const char *b, size_t len);

/* True if the environment forbids colours (https://no-color.org). */
bool text_no_color(void);

/* Bytes that hold any text_span() and a NUL. */
#define TEXT_SPAN_LEN 24

/* Writes a duration in a suitable unit: "12 s". */
const char *text_span(uint64_t ms, char out[TEXT_SPAN_LEN]);

/* Decimals that a number is padded to, at most. */
#define TEXT_PLACES_MAX 18
#define TEXT_DECIMAL_LEN (MST_DECIMAL_TEXT_LEN + TEXT_PLACES_MAX + 1)

/* Writes a number exactly, padded to at least places decimals. */
void text_decimal(struct mst_decimal value, int places,
                  char out[TEXT_DECIMAL_LEN]);

/* Copies text from a service: up to len - 1 bytes, in whole characters. Bytes
 * of control characters and invalid UTF-8 become '?'. Returns out. */
const char *text_clean(const char *in, char *out, size_t len);

/* The names of events, of an event's channel or "", of actions, and of a doubt
 * about a book, as in the output. */
const char *text_event(const struct mst_event *event);
const char *text_event_channel(const struct mst_event *event);
const char *text_action(enum mst_action action);
const char *text_doubt(unsigned flag);

/* Returns a word's number among the known ones, or that of the NULL, their
 * end. */
size_t text_find(const char *word, const char *const *known);

/* Returns the known word that is most similar to a mistyped one: in another
 * case, or with one or two letters wrong; or NULL. known ends with NULL. */
const char *text_close(const char *word, const char *const *known);

/* Writes "did you mean" with the known word that text_close() finds, or else all
 * known words. Returns out. */
#define TEXT_SUGGEST_LEN 512
const char *text_suggest(const char *word, const char *const *known,
                         char out[TEXT_SUGGEST_LEN]);

/* Returns the pointer, or aborts if it is NULL. */
void *text_must(void *pointer);

/* Formats a text into allocated memory, or aborts. */
__attribute__((format(printf, 1, 2))) char *text_new(const char *format, ...);

/* Prints an error, which may contain text from others, on standard error. */
void text_say(const char *error);

/* Sets the TLS library: OpenSSL, or else BearSSL. */
void detail_of_openssl(bool is);

/* Returns the text for the detail of an error, or ""; static. */
const char *detail_text(int error, int detail);

/* Writes a failure in one line: error, place, numbers, next attempt. */
void text_failure(const struct mst_failure *failure, int link,
                  char out[TEXT_FAILURE_LEN]);
/* A function for traces: keeps where each link goes, for text_failure(). */
void text_trace(void *context, const struct mst_trace *trace);

/* Returns where a link goes, as "HOST:PORT", or "". */
const char *text_target(int link);

#endif
