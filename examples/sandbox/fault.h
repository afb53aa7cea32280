/* The kinds of faults, and JSON sets of them. SPDX-License-Identifier: 0BSD */
#ifndef SANDBOX_FAULT_H
#define SANDBOX_FAULT_H

#include "schema.h"

enum fault {
    /* Of the network: */
    FAULT_LATENCY,
    FAULT_BANDWIDTH,
    FAULT_SLICE,
    FAULT_FREEZE,
    FAULT_RESET,
    FAULT_HALF_OPEN,
    FAULT_RESTART,
    /* Of tokens: */
    FAULT_TOKEN,
    FAULT_EXPIRES_IN,
    FAULT_GRANTED,
    FAULT_REVOKE,
    /* Of the stream: */
    FAULT_UPGRADE,
    FAULT_CLOSE,
    FAULT_NO_ANSWER,
    FAULT_INTERNAL_ERROR,
    FAULT_NO_HEARTBEAT,
    FAULT_GARBAGE,
    /* Of addresses: */
    FAULT_ADDRESS,
    FAULT_ADDRESS_LOST,
    FAULT_COUNT,
};

const char *fault_name(enum fault fault);

/* What may stand in a set, to be released: for each fault an array with its
 * fields, each as {"name", "kind", "required", "min", "max", "choices",
 * "otherwise"}; "choices" and "otherwise" only where there are any. */
json_t *fault_fields(void);

/* Reads a set: an object with a member for each fault, or {"clear":true},
 * which is the empty set. Returns it with defaults for what it does not name,
 * to be released; NULL, with the error set, when anything is wrong. */
json_t *fault_set_read(const json_t *json, struct schema_error *error);

#endif
