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
 * service left out. */
void address_print_json(const struct mst_address_result *result);

/* Says in a line on standard error what went wrong. */
void address_print_failure(const struct mst_address_result *result);

#endif
