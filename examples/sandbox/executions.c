/* The latest executions. SPDX-License-Identifier: 0BSD */
#include "executions.h"

#include "writer.h"

struct executions {
    GArray *kept;    /* struct execution; a ring once it is full */
    guint max;       /* its size */
    guint oldest;    /* its index */
    int64_t lost_ns; /* latest time of those dropped */
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
    const struct writer *writer = &writer_plain;
    const struct market_spec *spec = &execution->market->spec;
    struct market_level taken = execution->taken;

    return json_pack(
        "{s:o, s:o, s:o}", "executed_at",
        writer_time(writer, execution->time_ns, 9), "price",
        writer_decimal(writer, taken.price, spec->price_decimals), "amount",
        writer_decimal(writer, taken.amount, spec->amount_decimals));
}

json_t *executions_json(const struct executions *executions,
                        const struct market *market, int64_t since_ns) {
    json_t *array = json_array();

    for (guint i = 0; i < executions->kept->len; i++) {
        const struct execution *each =
            at(executions, (executions->oldest + i) % executions->kept->len);

        if (each->market == market && each->time_ns >= since_ns) {
            json_array_append_new(array, execution_json(each));
        }
    }
    return json_pack("{s:s, s:o, s:b, s:o}", "market", market->spec.symbol,
                     "time", writer_time(&writer_plain, market->time_ns, 9),
                     "truncated", executions->lost_ns >= since_ns, "executions",
                     array);
}
