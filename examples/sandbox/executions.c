/*
 * What was executed.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "executions.h"

#include "writer.h"

struct executions {
    GArray *kept;    /* struct execution; once it is full, a ring */
    guint max;       /* of it */
    guint oldest;    /* index */
    int64_t lost_ns; /* the latest time of those that are kept no more */
};

struct executions *executions_new(guint kept) {
    struct executions *executions = g_new0(struct executions, 1);

    executions->kept = g_array_new(FALSE, FALSE, sizeof(struct execution));
    executions->max = kept;
    executions->lost_ns = G_MININT64;
    return executions;
}

void executions_free(struct executions *executions) {
    g_array_unref(executions->kept);
    g_free(executions);
}

static struct execution *at(const struct executions *executions, guint index) {
    return &g_array_index(executions->kept, struct execution, index);
}

void executions_add(struct executions *executions,
                    const struct execution *execution) {
    struct execution *oldest;

    if (executions->kept->len < executions->max) {
        g_array_append_val(executions->kept, *execution);
        return;
    }
    oldest = at(executions, executions->oldest);
    executions->lost_ns = MAX(executions->lost_ns, oldest->time_ns);
    *oldest = *execution;
    executions->oldest = (executions->oldest + 1) % executions->max;
}

static json_t *execution_json(const struct execution *execution) {
    const struct writer plain = {.quirks = 0};
    const struct market_spec *spec = market_spec(execution->market);
    char time[WRITER_SIZE];
    char price[WRITER_SIZE];
    char amount[WRITER_SIZE];

    writer_time(&plain, time, execution->time_ns, 9);
    writer_decimal(&plain, price, execution->taken.price, spec->price_decimals);
    writer_decimal(&plain, amount, execution->taken.amount,
                   spec->amount_decimals);
    return json_pack("{s:s, s:s, s:s}", "executed_at", time, "price", price,
                     "amount", amount);
}

json_t *executions_json(const struct executions *executions,
                        const struct market *market, int64_t since_ns) {
    const struct writer plain = {.quirks = 0};
    json_t *array = json_array();
    char time[WRITER_SIZE];

    for (guint i = 0; i < executions->kept->len; i++) {
        const struct execution *each =
            at(executions, (executions->oldest + i) % executions->kept->len);

        if (each->market == market && each->time_ns >= since_ns) {
            json_array_append_new(array, execution_json(each));
        }
    }
    writer_time(&plain, time, market_time_ns(market), 9);
    return json_pack("{s:s, s:s, s:b, s:o}", "market",
                     market_spec(market)->symbol, "time", time, "truncated",
                     executions->lost_ns >= since_ns, "executions", array);
}
