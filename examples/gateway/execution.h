/*
 * Identifiers of executions: the service gives them none. Two gateways make the
 * same one: market, time in milliseconds, price, amount, and the number of
 * equal executions that the connection brought before.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef EXECUTION_H
#define EXECUTION_H

#include <glib.h>

#include "mini_stream.h"

/* Bytes of an identifier, including the NUL. */
#define EXECUTION_ID_LEN (MST_MARKET_MAX + 2 * MST_DECIMAL_TEXT_LEN + 80)

/* Counts of recent executions, in two halves; the older one expires first. */
struct executions {
    GHashTable *now, *before; /* text to count */
    uint64_t turned_ns;
};

void executions_begin(struct executions *executions);
void executions_end(struct executions *executions);

/* Writes an execution's identifier, and counts the execution. */
void execution_id(struct executions *executions, const struct mst_event *event,
                  char id[EXECUTION_ID_LEN]);

#endif
