/* Identifiers of executions. SPDX-License-Identifier: 0BSD */
#include "execution.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Equal executions have the same millisecond but may come out of order. Half of
 * the counts are dropped after HALF_NS, or when there are HALF_MAX. */
#define HALF_NS UINT64_C(60000000000)
#define HALF_MAX 200000

static GHashTable *half(void) {
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
}

void executions_begin(struct executions *executions) {
    *executions = (struct executions){.now = half(), .before = half()};
}

void executions_end(struct executions *executions) {
    g_hash_table_destroy(executions->now);
    g_hash_table_destroy(executions->before);
}

/* Writes a number without trailing zeros: the service may omit them on one
 * connection and not on another. */
static void number_text(struct mst_decimal value,
                        char text[MST_DECIMAL_TEXT_LEN]) {
    size_t len = mst_decimal_format(value, text);

    if (strchr(text, '.')) {
        while (text[len - 1] == '0') {
            --len;
        }
        text[text[len - 1] == '.' ? len - 1 : len] = '\0';
    }
}

static uint64_t count_of(GHashTable *counts, const char *key) {
    const uint64_t *count = g_hash_table_lookup(counts, key);

    return count ? *count : 0;
}

void execution_id(struct executions *executions, const struct mst_event *event,
                  char id[EXECUTION_ID_LEN]) {
    const struct mst_execution *execution = &event->as.execution;
    char price[MST_DECIMAL_TEXT_LEN], amount[MST_DECIMAL_TEXT_LEN];
    char key[EXECUTION_ID_LEN + 40];
    uint64_t count, next;
    int len;

    if (event->received_ns - executions->turned_ns > HALF_NS ||
        g_hash_table_size(executions->now) > HALF_MAX) {
        g_hash_table_destroy(executions->before);
        executions->before = executions->now;
        executions->now = half();
        executions->turned_ns = event->received_ns;
    }
    number_text(execution->price, price);
    number_text(execution->amount, amount);
    len = snprintf(id, EXECUTION_ID_LEN, "%s|%" PRId64 "|%s|%s|", event->market,
                   execution->time_ns / 1000000, price, amount);
    /* Each connection brings an execution once, so count per connection. */
    snprintf(key, sizeof key, "%d|%" PRIu32 "|%s", event->link,
             event->generation, id);
    count = count_of(executions->now, key);
    if (count == 0) {
        count = count_of(executions->before, key);
    }
    next = count + 1;
    g_hash_table_insert(executions->now, g_strdup(key),
                        g_memdup2(&next, sizeof next));
    snprintf(id + len, EXECUTION_ID_LEN - (size_t)len, "%" PRIu64, count);
}
