/*
 * Executions have no identifier. Two gateways give an execution the same one:
 * its market, its time cut to the millisecond, price and amount, and how many
 * equal ones the connection has brought before it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef EXECUTION_H
#define EXECUTION_H

#include <glib.h>

#include "mini_stream.h"

/* Bytes of an identifier, with a NUL. */
#define EXECUTION_ID_LEN (MST_MARKET_MAX + 2 * MST_DECIMAL_TEXT_LEN + 80)

/* What has been counted: the executions of late, in two halves of which the
 * older one is forgotten now and then. */
struct executions {
    GHashTable *now, *before; /* text: how many */
    uint64_t turned_ns;
};

void executions_begin(struct executions *executions);
void executions_end(struct executions *executions);

/* Writes the identifier of an execution, and counts it. */
void execution_id(struct executions *executions, const struct mst_event *event,
                  char id[EXECUTION_ID_LEN]);

#endif
