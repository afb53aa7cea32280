/*
 * An address record, or what went wrong, as a table, as JSON, as a line.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef ADDRESS_PRINT_H
#define ADDRESS_PRINT_H

#include "mini_stream.h"

/* Prints the record to standard output, a field a line; "-" for what the
 * service left out. */
void address_print_table(const struct mst_address *record);

/* Prints the record, or what went wrong, as a JSON object; null for what the
 * service left out. error_code is an mst_error. */
void address_print_json(const struct mst_address_result *result);

/* Says on standard error, in a line, what went wrong, and through what; in
 * another one, whether the record may have been changed all the same. */
void address_print_failure(const struct mst_address_result *result,
                           const char *via);

#endif
