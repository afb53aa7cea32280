/*
 * One run of a scenario, and its checks: see torture.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "torture_private.h"
#include "truth.h"

/* From the caller's close to the end, with some time for a slow connection. */
#define CLOSING_MS (3000u + 100u)

#define OBJECTS 4 /* client, both of a pair, transfer */

/* The current scenario, and its results without a fault. */
static const struct torture_scenario *scenario;
static struct {
    struct mst_stats stats[OBJECTS];
    struct text record[MST_MOCK_LINKS];
} usual;

void torture_failed(const char *format, ...) {
    char what[400];
    va_list args;

    if (torture_seen.failed) {
        return;
    }
    torture_seen.failed = true;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    expect_failed("TORTURE=\"%s\", at %llu ms: %s", torture_seen.what,
                  (unsigned long long)session_now(), what);
}

const char *torture_what(void) {
    return torture_seen.what;
}

/* ---- for a scenario ---- */

static bool is_late(void) {
    return session_now() > torture_port.fired_ms + TORTURE_RECOVERY_MS;
}

void torture_pass(uint32_t ms) {
    if (torture_seen.failed) {
        return;
    }
    session_run_with(ms, torture_event);
    torture_stages_check();
    if (torture_is_held() && is_late()) {
        torture_failed("a connection that hangs is not given up");
    }
    if (session.mock.broken != NULL) {
        torture_failed("the port's contract: %s", session.mock.broken);
    }
    (void)torture_books_check(torture_is_held());
}

void torture_trade(void) {
    assert_true(torture_seen.trades < TORTURE_TRADES);
    torture_books_trade(torture_seen.trades++);
}

void torture_parts(void) {
    struct text levels = {0};

    for (int i = 0; i < MST_PART_LEVELS + 3; i++) {
        text_add(&levels, "%s{\"price\":\"%d\",\"amount\":\"1\"}",
                 i > 0 ? "," : "", 500 - i);
    }
    service_book(&session.service, "LTCUSD", "UPDATE",
                 mst_mock_wall(&session.mock), text_get(&levels), "");
    text_free(&levels);
}

void torture_put(void) {
    /* Wait for the previous one, unless it takes too long. */
    for (int i = 0; i < 60 && torture_seen.addresses < torture_seen.puts; i++) {
        torture_pass(1000);
    }
    torture_seen.puts++;
    torture_seen.put_ms = session_now();
    if (session_put() != 0) {
        torture_failed("a request for an address is refused");
    }
}

/* ---- recovery ---- */

static bool is_open(const struct mst_client *client) {
    return mst_link_state(&client->link) == MST_STATE_OPEN;
}

static bool is_well(void) {
    const struct session *s = &session;
    bool standby = (s->config.flags & MST_HOT_STANDBY) != 0;

    if (torture_is_held() || torture_seen.addresses < torture_seen.puts) {
        return false;
    }
    if (!s->has_client && !s->has_pair) {
        return true;
    }
    return is_open(session_leader()) && session_subscribed() &&
           (!standby ||
            (is_open(&s->pair.clients[0]) && is_open(&s->pair.clients[1])));
}

/* Lets time pass until everything is subscribed and the books follow changes.
 * Returns the time since the last fault, or 0 if this was so at once. */
static uint32_t recover(void) {
    bool good, waits = !is_well();
    uint64_t end_ms;

    do {
        while (!is_well() && !is_late() && !torture_seen.failed) {
            torture_pass(500);
        }
        end_ms = session_now();
        truth_change();
        torture_pass(50);
        good = torture_books_check(torture_is_held()) && is_well();
    } while (!good && !is_late() && !torture_seen.failed);
    if (!good) {
        torture_failed("not well %u ms after the last fault",
                       (unsigned)(session_now() - torture_port.fired_ms));
    }
    return waits && end_ms > torture_port.fired_ms
               ? (uint32_t)(end_ms - torture_port.fired_ms)
               : 0;
}

/* ---- results ---- */

static const struct mst_stats *stats_of(int object) {
    struct session *s = &session;

    return mst_link_stats(object == 0   ? &s->client.link
                          : object == 3 ? &s->transfer.link
                                        : &s->pair.clients[object - 1].link);
}

static void expect_same(const char *name, uint64_t expected, uint64_t got) {
    if (expected != got) {
        torture_failed("%s: %llu instead of %llu", name,
                       (unsigned long long)got, (unsigned long long)expected);
    }
}

/* Checks what no fault may change. After a long silence the client may request
 * an answer or a snapshot again. */
static void stats_check(int object) {
    const struct mst_stats *got = stats_of(object);
    const struct mst_stats *expected = &usual.stats[object];

    expect_same("bad messages", expected->bad_messages, got->bad_messages);
    expect_same("unknown messages", expected->unknown, got->unknown);
    if (torture_port.quick) {
        expect_same("resyncs", expected->resyncs, got->resyncs);
        expect_same("unanswered", expected->unanswered, got->unanswered);
        expect_same("drifts", expected->drifts, got->drifts);
    }
}

/* Checks what a harmless fault may not change. */
static void stats_compare(int object) {
    const struct mst_stats *got = stats_of(object);
    const struct mst_stats *expected = &usual.stats[object];

    expect_same("bytes in", expected->bytes_in, got->bytes_in);
    expect_same("bytes out", expected->bytes_out, got->bytes_out);
    expect_same("messages", expected->messages, got->messages);
    expect_same("opens", expected->opens, got->opens);
    expect_same("failures", expected->failures, got->failures);
    expect_same("resumed", expected->resumed, got->resumed);
    expect_same("rotations", expected->rotations, got->rotations);
    expect_same("last error", 0,
                (uint64_t)(expected->last_error - got->last_error));
}

static unsigned tokens_of(const struct mst_stats stats[OBJECTS]) {
    unsigned tokens = 0;

    for (int i = 0; i < OBJECTS; i++) {
        tokens += stats[i].tokens;
    }
    return tokens;
}

static void state_check(bool equal) {
    for (int i = 0; i < OBJECTS; i++) {
        stats_check(i);
        if (equal) {
            stats_compare(i);
        }
    }
    if ((scenario->flags & TORTURE_RENEWS) == 0 || equal) {
        expect_same("tokens", tokens_of(usual.stats), session_tokens());
    }
}

static void close_all(void) {
    uint64_t begin_ms = session_now();

    session_close();
    session_run_with(SESSION_MINUTE, torture_event);
    if (session_now() > begin_ms + CLOSING_MS) {
        torture_failed("closed after %u ms",
                       (unsigned)(session_now() - begin_ms));
    }
}

/* Closes all objects, and checks what is left. */
static void finish(void) {
    unsigned failures = expect_failures();

    if (torture_seen.failed) { /* it may never end */
        session_wipe();
        return;
    }
    close_all();
    expect_same("requests for an address", torture_seen.puts,
                torture_seen.addresses);
    session_end();
    session_expect_clean(torture_seen.what);
    if (torture_port.broken != NULL) {
        torture_failed("the port's contract: %s", torture_port.broken);
    }
    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        if (torture_seen.open[i] || torture_port.links[i].in_use ||
            mst_mock_in_use(&session.mock, i)) {
            torture_failed("link %d is not closed", i);
        }
    }
    if (expect_failures() != failures) {
        torture_failed("see above");
    }
}

/* ---- runs ---- */

static void what_write(const struct torture_fault *faults, size_t len) {
    char *out = torture_seen.what;
    size_t at =
        (size_t)snprintf(out, sizeof torture_seen.what, "%s", scenario->name);

    for (size_t i = 0; i < len; i++) {
        char text[40];
        torture_fault_write(text, &faults[i]);
        at += (size_t)snprintf(out + at, sizeof torture_seen.what - at, " %s",
                               text);
    }
}

static void run_begin(const struct torture_fault *faults, size_t len,
                      bool equal, bool loud) {
    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        text_free(&torture_seen.record[i]);
    }
    memset(&torture_seen, 0, sizeof torture_seen);
    torture_seen.loud = loud;
    torture_seen.scenario = scenario;
    what_write(faults, len);
    scenario->begin();
    session.config.trace = torture_trace;
    torture_port_begin(faults, len);
    torture_seen.recorded = equal && torture_port.harmless;
    truth_begin(TORTURE_PRICES);
    scenario->start();
    scenario->play();
}

static void run_end(struct torture_result *result) {
    memcpy(result->at, torture_port.at, sizeof result->at);
    memcpy(result->kinds, torture_port.kinds, sizeof result->kinds);
    result->fired = torture_port.fired_len;
    result->failed = torture_seen.failed;
}

void torture_reference(const struct torture_scenario *of,
                       struct torture_result *result) {
    scenario = of;
    run_begin(NULL, 0, true, false);
    result->recovery_ms = recover();
    for (int i = 0; i < OBJECTS; i++) {
        usual.stats[i] = *stats_of(i);
    }
    finish();
    for (int i = 0; i < MST_MOCK_LINKS; i++) {
        text_free(&usual.record[i]);
        usual.record[i] = torture_seen.record[i];
        torture_seen.record[i] = (struct text){0};
    }
    run_end(result);
}

void torture_run(const struct torture_fault *faults, size_t len, bool loud,
                 struct torture_result *result) {
    bool equal = (scenario->flags & TORTURE_EITHER) == 0;

    run_begin(faults, len, equal, loud);
    equal &= torture_port.harmless;
    result->recovery_ms = recover();
    state_check(equal);
    finish();
    for (int i = 0; i < MST_MOCK_LINKS && equal && !torture_seen.failed; i++) {
        if (strcmp(text_get(&usual.record[i]),
                   text_get(&torture_seen.record[i])) != 0) {
            torture_failed("events differ");
            expect_text("events", text_get(&usual.record[i]),
                        text_get(&torture_seen.record[i]));
        }
    }
    run_end(result);
}
