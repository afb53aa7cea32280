/*
 * Names on the broker: subjects, streams and buckets, all below one prefix.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SUBJECT_H
#define SUBJECT_H

#include <stdbool.h>

#include "mini_stream.h"

/* Bytes of a market's name in a subject, including the NUL. */
#define SUBJECT_TOKEN_LEN (3 * MST_MARKET_MAX + 1)

/* Bytes of a prefix, without the NUL. */
#define SUBJECT_PREFIX_MAX 32

/* Bytes of any subject, including the NUL. */
#define SUBJECT_LEN (SUBJECT_PREFIX_MAX + 32 + SUBJECT_TOKEN_LEN)

/* Writes a market's name as a token of a subject, which is also a key of a
 * bucket and a level of an MQTT topic. Any byte except letters, digits, '-' and
 * '_' becomes '=' and two hexadecimal digits. */
void subject_encode(const char *market, char token[SUBJECT_TOKEN_LEN]);

/* Returns true if a prefix or a gateway's name is a valid token. */
bool subject_is_plain(const char *text);

#endif
