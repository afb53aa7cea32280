/*
 * The sum of an event of mini_stream.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef EVENT_H
#define EVENT_H

#include "bench.h"
#include "mini_stream.h"

static inline uint64_t event_level(const struct mst_level *level) {
    return bench_sum_level(
        (enum bench_side)level->side,
        (struct bench_number){level->price_coefficient, level->price_exponent},
        (struct bench_number){level->amount_coefficient,
                              level->amount_exponent});
}

static inline uint64_t event_part(const struct mst_part *part) {
    uint64_t sum = 0;

    for (size_t i = 0; i < part->count; i++) {
        sum += event_level(&part->levels[i]);
    }
    if (part->last) {
        sum += bench_sum_message(part->snapshot ? BENCH_SNAPSHOT : BENCH_UPDATE,
                                 part->market, part->time_ns);
    }
    return sum;
}

static inline uint64_t event_top(const struct mst_top *top) {
    return (top->has_bid ? event_level(&top->bid) : 0) +
           (top->has_ask ? event_level(&top->ask) : 0) +
           bench_sum_message(BENCH_TOP, top->market, top->time_ns);
}

/* Adds an event's sum to *sum. True if the event ends a message. */
static inline bool event_sum(const struct mst_event *event, uint64_t *sum) {
    const struct mst_execution *execution = &event->as.execution;

    switch (event->type) {
    case MST_EVENT_PART:
        *sum += event_part(&event->as.part);
        return event->as.part.last;
    case MST_EVENT_TOP: *sum += event_top(&event->as.top); return true;
    case MST_EVENT_EXECUTION:
        *sum +=
            bench_sum_level(BENCH_TRADE,
                            (struct bench_number){execution->price.coefficient,
                                                  execution->price.exponent},
                            (struct bench_number){execution->amount.coefficient,
                                                  execution->amount.exponent}) +
            bench_sum_message(BENCH_EXECUTION, execution->market,
                              execution->time_ns);
        return true;
    case MST_EVENT_HEARTBEAT:
        *sum += bench_sum_message(BENCH_HEARTBEAT, "\0\0\0",
                                  event->as.heartbeat.time_ns);
        return true;
    default: return false;
    }
}

#endif
