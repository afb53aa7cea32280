/*
 * The differences of the two images. The build (firmware.mk) selects one, and
 * sets the library's limits. IMAGE_LIMITS is a text with those that it lowers,
 * as "NAME=value NAME=value" or "none". SPDX-License-Identifier: 0BSD
 */
#ifndef IMAGE_H
#define IMAGE_H

#include "mini_stream.h"

/* The message buffer shares its memory with the check of a certificate: this
 * size costs no extra memory. */
#define IMAGE_MESSAGE sizeof(struct mst_validator)

#ifdef IMAGE_SMALL
/* One book, from a server that sends small records on request. Errors are
 * numbers. See small.c for its TLS. */
#define IMAGE_NAME "small"
#define IMAGE_MARKETS \
    { "BTCUSD" }
#define IMAGE_BOOKS 1
#define IMAGE_LEVELS 25
#define IMAGE_PUTS 0
#define IMAGE_TEXTS 0
#define IMAGE_LENGTHS MST_RECORD_IN_MIN, MST_RECORD_OUT_MIN, IMAGE_MESSAGE, 0
#else
/* Any server, two books, executions, and address requests. */
#define IMAGE_NAME "any"
#define IMAGE_MARKETS \
    { "BTCUSD", "ETHUSD" }
#define IMAGE_BOOKS 2
#define IMAGE_LEVELS 50
#define IMAGE_PUTS 1
#define IMAGE_TEXTS 1
#define IMAGE_LENGTHS MST_RECORD_IN_ANY, MST_RECORD_OUT_MIN, IMAGE_MESSAGE, 0
#endif

#endif
