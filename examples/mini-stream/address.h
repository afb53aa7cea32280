/*
 * The parts of `mini-stream address put`: its arguments, and an address record,
 * or what went wrong, as a table, as JSON, as a line.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef ADDRESS_H
#define ADDRESS_H

#include "settings.h"

struct address_options {
    struct settings settings;
    struct mst_address_request request;
    struct mst_travelrule travelrule; /* the request's, if it has one */
    unsigned seconds;                 /* for all attempts */
    bool json;
};

/* Reads the arguments into options; ends the program where they are wrong or
 * break a rule of requests, or ask for help. */
void address_options_parse(struct address_options *options, int argc,
                           char **argv);

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
