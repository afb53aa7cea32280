/*
 * Names on the broker: subjects, streams and buckets, all below one prefix.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SUBJECT_H
#define SUBJECT_H

#include <stdbool.h>

#include "mini_stream.h"

/* Bytes of a market's name in a subject, with a NUL. */
#define SUBJECT_TOKEN_LEN (3 * MST_MARKET_MAX + 1)

/* Bytes of a prefix, without the NUL. */
#define SUBJECT_PREFIX_MAX 32

/* Bytes of any subject, with a NUL. */
#define SUBJECT_LEN (SUBJECT_PREFIX_MAX + 32 + SUBJECT_TOKEN_LEN)

/* Writes a market's name as one token of a subject, which is also a key of a
 * bucket and a level of an MQTT topic: letters, digits, '-' and '_' stand for
 * themselves, any other byte is '=' and two hexadecimal digits. */
void subject_encode(const char *market, char token[SUBJECT_TOKEN_LEN]);

/* Whether a text may stand as one token as it is: a prefix, a gateway's name.
 */
bool subject_is_plain(const char *text);

#endif
