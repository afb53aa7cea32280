/*
 * How values are written, with the quirks of form. Knows nothing of what the
 * messages mean.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_WRITER_H
#define SANDBOX_WRITER_H

#include "quirk.h"

#include <glib.h>
#include <jansson.h>
#include <stdint.h>

/* The specification does not show how an error outside a response looks. */
enum writer_error_shape {
    WRITER_ERROR_PLAIN,  /* {"type":"error","error":CODE} */
    WRITER_ERROR_OBJECT, /* {"type":"error","code":CODE,"message":...} */
    WRITER_ERROR_NESTED, /* {"error":{"code":CODE,"message":...}} */
    WRITER_ERROR_SHAPES,
};

struct writer {
    quirk_set quirks;
    enum writer_error_shape error_shape;
    GRand *random; /* NULL only without quirks */
    uint32_t seed; /* of what is left to chance */
};

extern const struct writer writer_plain; /* without quirks */

/* From here on chance depends on the seed and on this alone: what is written of
 * a subject does not depend on what else was written, and for whom. */
void writer_begin(const struct writer *writer, const char *kind,
                  const char *subject, uint32_t number);

/* True once in n times, where the quirk is on. */
bool writer_chance(const struct writer *writer, enum quirk quirk, int n);

/* The string value * 10^-decimals; 0 is the amount of a level that is gone. */
json_t *writer_decimal(const struct writer *writer, int64_t value,
                       int decimals);

/* The string of a time: ISO 8601, UTC, with this many digits (1 to 9) of a
 * second's fraction. */
json_t *writer_time(const struct writer *writer, int64_t time_ns, int digits);

/* Text of the JSON value, for g_free; the value is released. */
char *writer_text(const struct writer *writer, json_t *json);

#endif
