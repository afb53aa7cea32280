/*
 * The tables of small objects, and the records for their values. Include it
 * after mini_stream.c.
 * SPDX-License-Identifier: 0BSD
 */
#ifndef EVA_TABLES_H
#define EVA_TABLES_H

static const struct {
    const struct object_field *fields;
    unsigned count;
} tables[] = {
    {message_entry_fields, COUNT_OF(message_entry_fields)},
    {message_service_fields, COUNT_OF(message_service_fields)},
    {address_fields, COUNT_OF(address_fields)},
    {problem_fields, COUNT_OF(problem_fields)},
};

static union {
    struct mst_said said;
    struct mst_address address;
    struct mst_problem problem;
} into;

#endif
