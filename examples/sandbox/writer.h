/*
 * Writes JSON values, with the quirks that concern their form. Does not know
 * the meaning of messages.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_WRITER_H
#define SANDBOX_WRITER_H

#include "quirk.h"

#include <glib.h>
#include <jansson.h>
#include <stdint.h>

/* Shapes of errors outside a response: the specification leaves them open. */
enum writer_error_shape {
    WRITER_ERROR_PLAIN,  /* {"type":"error","error":CODE} */
    WRITER_ERROR_OBJECT, /* {"type":"error","code":CODE,"message":...} */
    WRITER_ERROR_NESTED, /* {"error":{"code":CODE,"message":...}} */
    WRITER_ERROR_SHAPES,
};

struct writer {
    quirk_set quirks;
    enum writer_error_shape error_shape;
    GRand *random; /* may be NULL without quirks */
    uint32_t seed; /* of all random choices */
};

extern const struct writer writer_plain; /* without quirks */

/* Makes further random choices depend only on the seed and these arguments, not
 * on what was written before, and for whom. */
void writer_begin(const struct writer *writer, const char *kind,
                  const char *subject, uint32_t number);

/* Returns true once in n times if the quirk is on, else false. */
bool writer_chance(const struct writer *writer, enum quirk quirk, int n);

/* Returns the string of value * 10^-decimals. 0 marks a removed level. */
json_t *writer_decimal(const struct writer *writer, int64_t value,
                       int decimals);

/* Returns the string of a UTC time (ISO 8601) with this number of decimals, 1
 * to 9. */
json_t *writer_time(const struct writer *writer, int64_t time_ns, int digits);

/* Returns the JSON value's text; free it with g_free(). Releases the value. */
char *writer_text(const struct writer *writer, json_t *json);

#endif
