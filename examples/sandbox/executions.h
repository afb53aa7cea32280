/*
 * What was executed: the reference for those who compare what arrived.
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
    int64_t time_ns; /* as sent, but for what the message cuts off */
    struct market_level taken;
};

struct executions;

/* Keeps the last of all markets, so many together. */
struct executions *executions_new(guint kept);
void executions_free(struct executions *executions);

void executions_add(struct executions *executions,
                    const struct execution *execution);

/* Those of the market that are kept and not earlier, in the order in which
 * they were sent, never with a quirk; to be released. */
json_t *executions_json(const struct executions *executions,
                        const struct market *market, int64_t since_ns);

#endif
