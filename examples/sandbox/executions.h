/*
 * The latest executions, for clients to compare with what they received.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_EXECUTIONS_H
#define SANDBOX_EXECUTIONS_H

#include "market.h"

#include <jansson.h>

#define EXECUTIONS_KEPT_MAX 10000000
#define EXECUTIONS_KEPT_DEFAULT 1000000

struct execution {
    const struct market *market;
    int64_t time_ns; /* as sent; the message cuts it to ms */
    struct market_level taken;
};

struct executions;

/* Keeps the last `kept` executions of all markets together. */
struct executions *executions_new(guint kept);
void executions_free(struct executions *executions);

void executions_add(struct executions *executions,
                    const struct execution *execution);

/* Returns the market's executions from since_ns on, as far as they are kept, in
 * the order of sending and without quirks; to be released. */
json_t *executions_json(const struct executions *executions,
                        const struct market *market, int64_t since_ns);

#endif
