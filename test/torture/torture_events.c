/*
 * The events of a scenario: see torture.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "torture_private.h"

#include <ctype.h>

struct torture_seen torture_seen;

/* Longer numbers are times, which a fault may change by a millisecond. */
#define DIGITS_MAX 15

/* The default deadline of a request for an address. */
#define PUT_MS 60000u

/* How late a state may end after its deadline, in ms, for a slow connection. */
#define LATE_MS 100u

static void record_add(struct text *record, const struct text *line) {
    const char *at = text_get(line);

    while (*at != '\0') {
        size_t digits = strspn(at, "0123456789");
        size_t len = digits > 0 ? digits : strcspn(at, "0123456789");
        text_add_bytes(record, at, digits > DIGITS_MAX ? 0 : len);
        at += len;
    }
}

static void event_record(const struct mst_event *event) {
    struct text line = {0};

    if (event->type == MST_EVENT_OPEN) {
        text_add(&line, "open\n");
    } else if (event->type == MST_EVENT_CLOSED) {
        text_add(&line, "closed %s in %s \"%s\"\n",
                 error_name(event->as.failure.error),
                 mst_state_name(event->as.failure.stage),
                 event->as.failure.text);
    } else if (event->type == MST_EVENT_ADDRESS) {
        text_add(&line, "address %s %d\n", error_name(event->as.address.error),
                 event->as.address.http_status);
    } else {
        record_event(&line, event);
    }
    record_add(&torture_seen.record[event->link], &line);
    if (torture_seen.loud) {
        printf("%8llu ms  link %d: %s", (unsigned long long)session_now(),
               event->link, text_get(&line));
    }
    text_free(&line);
}

/* A trade's amount is 0.N1, with its number N. */
static void execution_look(const struct mst_execution *execution) {
    int64_t number = execution->amount.coefficient / 10;

    if (execution->repeat) {
        return;
    }
    if (number < 0 || number >= TORTURE_TRADES) {
        torture_failed("a trade that was not made");
    } else if (++torture_seen.delivered[number] > 1) {
        torture_failed("trade %d was delivered twice", (int)number);
    }
}

static void address_look(const struct mst_address_result *result) {
    const struct torture_scenario *scenario = torture_seen.scenario;

    if (++torture_seen.addresses > torture_seen.puts) {
        torture_failed("a request for an address ended twice");
    }
    if (result->error == MST_ERR_JSON_SYNTAX && result->maybe_done &&
        (scenario->flags & TORTURE_OPEN) != 0 && torture_port.fired_len > 0) {
        return;
    }
    /* Each handshake that hangs takes half of a request's time. */
    if (result->error == MST_ERR_TIMEOUT && result->http_status == 0 &&
        (scenario->flags & TORTURE_TLS) != 0 && torture_port.fired_len == 2 &&
        session_now() - torture_seen.put_ms >= PUT_MS) {
        return;
    }
    if (scenario->error != result->error ||
        scenario->status != result->http_status) {
        torture_failed("address: %s, http %d", error_name(result->error),
                       result->http_status);
    }
}

/* Data of a connection may come only while it is open. */
static void data_look(const struct mst_event *event) {
    int link = event->link;

    if (!torture_seen.open[link]) {
        torture_failed("event %d after the end of its connection",
                       (int)event->type);
    } else if (event->generation != torture_seen.generation[link]) {
        torture_failed("event %d of generation %u while %u is open",
                       (int)event->type, event->generation,
                       torture_seen.generation[link]);
    }
}

bool torture_event(void *context, const struct mst_event *event) {
    struct torture_seen *seen = &torture_seen;

    (void)context;
    assert_in_range(event->link, 0, MST_MOCK_LINKS - 1);
    if (seen->recorded || seen->loud) {
        event_record(event);
    }
    switch (event->type) {
    case MST_EVENT_OPEN:
        if (seen->open[event->link]) {
            torture_failed("opened twice");
        }
        seen->open[event->link] = true;
        seen->generation[event->link] = event->generation;
        break;
    case MST_EVENT_CLOSED: seen->open[event->link] = false; break;
    case MST_EVENT_LEADER: break;
    case MST_EVENT_ADDRESS: address_look(&event->as.address); break;
    case MST_EVENT_EXECUTION:
        execution_look(&event->as.execution);
        data_look(event);
        break;
    default: data_look(event); break;
    }
    torture_books_look();
    return true;
}

/* Returns the longest time of a link in this state, in ms, from struct
 * mst_config in mini_stream.h; 0: any time. */
static uint64_t stage_most_ms(enum mst_state state) {
    unsigned addresses = (unsigned)session.mock.plan.addresses;

    switch (state) {
    case MST_STATE_RESOLVE: return 10000;
    case MST_STATE_CONNECT: return 10000 * (addresses > 0 ? addresses : 1);
    case MST_STATE_TLS: return 30000;
    case MST_STATE_TOKEN:
    case MST_STATE_UPGRADE:
    case MST_STATE_IDLE: return 15000;
    case MST_STATE_PUT: return PUT_MS;
    case MST_STATE_CLOSING: return 3000;
    default: return 0;
    }
}

static void stage_check(int link) {
    enum mst_state state = torture_seen.stages[link];
    uint64_t since_ms = torture_seen.stage_ms[link];
    uint64_t most_ms = stage_most_ms(state);

    if (state == MST_STATE_OPEN) {
        uint64_t heard_ms = torture_port.links[link].heard_ms;
        most_ms = 60000; /* of silence */
        since_ms = since_ms > heard_ms ? since_ms : heard_ms;
    }
    if (most_ms > 0 && session_now() > since_ms + most_ms + LATE_MS) {
        torture_failed("link %d: %u ms in the state \"%s\"", link,
                       (unsigned)(session_now() - since_ms),
                       mst_state_name(state));
    }
}

void torture_trace(void *context, const struct mst_trace *trace) {
    (void)context;
    if (trace->kind == MST_TRACE_STATE) {
        stage_check(trace->link);
        torture_seen.stages[trace->link] = trace->state;
        torture_seen.stage_ms[trace->link] = session_now();
    }
}

void torture_stages_check(void) {
    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        stage_check(i);
    }
}
