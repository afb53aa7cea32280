/*
 * The faults that there are, and how a set of them is written in JSON.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_FAULT_H
#define SANDBOX_FAULT_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

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
    FAULT_REVOKE,
    /* Of the stream: */
    FAULT_UPGRADE,
    FAULT_CLOSE,
    FAULT_NO_ANSWER,
    FAULT_NO_HEARTBEAT,
    FAULT_GARBAGE,
    FAULT_COUNT,
};

/* An object of parameters for each fault of the set, valid and with defaults
 * where it named none; NULL where the set lacks the fault. */
struct fault_set {
    json_t *parameters[FAULT_COUNT];
};

const char *fault_name(enum fault fault);

/* Reads a set: an object with a member for each fault, or {"clear":true},
 * which is the empty set. False, with the error naming the field and the set
 * empty, when anything is wrong with it. */
bool fault_set_read(struct fault_set *set, const json_t *json, GError **error);
void fault_set_clear(struct fault_set *set);

#endif
