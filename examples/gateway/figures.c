/*
 * Figures of a gateway for Prometheus, beside those of its run.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "figures.h"

#include <stdint.h>

#include "metrics.h"
#include "publish.h"

#define COUNTER "counter"
#define GAUGE "gauge"

static uint64_t stored_of(const struct lanes *lanes, enum mst_channel channel) {
    uint64_t sum = 0;

    for (size_t i = 0; i < lanes->count; ++i) {
        sum += lanes->all[i].channel == channel ? lanes->all[i].ever : 0;
    }
    return sum;
}

void figures_write(void *context, FILE *file) {
    const struct publish *publish = context;
    const struct lanes *lanes = &publish->lanes;
    const struct keep *keep = &publish->keep;
    struct broker_stats stats;

    broker_stats(publish->broker, &stats);
    const struct {
        const char *name, *type, *help;
        uint64_t value;
    } figures[] = {
        {"broker_up", GAUGE, "Whether the broker takes messages.", keep->up},
        {"holds_lease", GAUGE, "Whether this gateway publishes books and tops.",
         lanes->epoch != 0},
        {"epoch", GAUGE, "Of the lease that it holds, or 0.", lanes->epoch},
        {"queue_messages", GAUGE, "Messages that wait to be stored.",
         keep_count(keep)},
        {"queue_size", GAUGE, "Messages that may wait.", keep->size},
        {"books_total", COUNTER, "Messages about books stored.",
         stored_of(lanes, MST_MARKET_DATA)},
        {"tops_total", COUNTER, "Tops of books stored.",
         stored_of(lanes, MST_TOP_OF_BOOK)},
        {"kept_total", COUNTER, "Executions, gaps and notes stored.",
         keep->kept},
        {"repeats_total", COUNTER,
         "Of these, those that were stored already, by whomever.", keep->again},
        {"executions_lost_total", COUNTER,
         "Executions that found no room in the queue.", publish->lost},
        {"notes_lost_total", COUNTER, "Notes that found no room in the queue.",
         publish->notes_lost},
        {"snapshots_total", COUNTER, "Requests for snapshots answered.",
         publish->answers},
        {"snapshots_turned_away_total", COUNTER,
         "Requests for snapshots beyond the rate.", stats.turned},
        {"broker_connections_total", COUNTER, "Connections to the broker.",
         stats.opens},
        {"broker_failures_total", COUNTER,
         "Messages that the broker refused or did not answer.", stats.failures},
        {"broker_conflicts_total", COUNTER,
         "Of these, those of a subject that another gateway has written to.",
         stats.conflicts},
    };

    for (size_t i = 0; i < sizeof figures / sizeof *figures; ++i) {
        char name[64];

        snprintf(name, sizeof name, "gateway_%s", figures[i].name);
        metrics_figure(file, name, figures[i].type, figures[i].help,
                       (double)figures[i].value);
    }
}
