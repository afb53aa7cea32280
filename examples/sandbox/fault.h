/* The kinds of faults, and JSON sets of them. SPDX-License-Identifier: 0BSD */
#ifndef SANDBOX_FAULT_H
#define SANDBOX_FAULT_H

#include "schema.h"

enum fault {
    /* Network: */
    FAULT_LATENCY,
    FAULT_BANDWIDTH,
    FAULT_SLICE,
    FAULT_FREEZE,
    FAULT_RESET,
    FAULT_HALF_OPEN,
    FAULT_RESTART,
    /* Tokens: */
    FAULT_TOKEN,
    FAULT_EXPIRES_IN,
    FAULT_GRANTED,
    FAULT_REVOKE,
    /* Stream: */
    FAULT_UPGRADE,
    FAULT_CLOSE,
    FAULT_NO_ANSWER,
    FAULT_INTERNAL_ERROR,
    FAULT_NO_HEARTBEAT,
    FAULT_GARBAGE,
    /* Addresses: */
    FAULT_ADDRESS,
    FAULT_ADDRESS_LOST,
    FAULT_COUNT,
};

const char *fault_name(enum fault fault);

/* Returns the fields of all faults, to be released: for each fault an array of
 * objects {"name", "kind", "required", "min", "max", "choices", "otherwise"};
 * the last two only if the field has them. */
json_t *fault_fields(void);

/* Reads a set: an object with a member for each fault, or {"clear":true}, the
 * empty set. Returns it, with defaults for absent fields, to be released. If it
 * is invalid, returns NULL and sets the error. */
json_t *fault_set_read(const json_t *json, struct schema_error *error);

#endif
