/*
 * A long plan (plan.h): a client, or a pair that rotates or is in hot standby,
 * runs unattended for 25 days, or a year (`make year`), in virtual time,
 * with faults of every kind several times a day.
 *
 * Besides the checks of every plan (plans.c): after each fault all is well
 * within a bound that follows from the configuration, and messages arrive.
 * Until the next fault no stream ends except with its token. No request is
 * repeated in a storm, memory use does not grow, and links change state only as
 * the tables in mini_stream.c allow.
 *
 * YEAR_SEED: a seed other than the default; YEAR_DAYS: days of the client,
 * those of pairs are fewer; YEAR_TOLD: prints all events from this day on.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "plan_run.h"

#define SECOND PLAN_SECOND
#define MINUTE (60 * SECOND)
#define DAY (1440 * MINUTE)

/* The configuration (ms)... */
#define SILENCE_MS (5 * MINUTE)
#define AUDIT_MS (10 * MINUTE)
#define ANSWER_MS (10 * SECOND)
#define BACKOFF_MS MINUTE
/* ...what the service does... */
#define FEED_MS (30 * MINUTE)   /* between faults, at most twice that */
#define TOKEN_MS (200 * SECOND) /* the longest life of a short token */
/* ...and the bounds that follow: for a stage that hangs (two addresses); for an
 * attempt that does not (latencies, gaps between requests); for several
 * unanswered requests in a row, with their audits. */
#define STAGE_MS (20 * SECOND)
#define ATTEMPT_MS (5 * SECOND)
#define UNANSWERED_MS (4 * (ANSWER_MS + SECOND))

static const struct trouble {
    enum plan_fault fault;
    uint32_t most_ms;   /* its longest duration */
    uint32_t detect_ms; /* from its end until the client notices */
    int after;          /* an error that may still follow, or 0 */
} troubles[] = {
    {FAULT_NO_CONNECT, 4 * MINUTE, 0, 0},
    {FAULT_RESET, MINUTE, 0, 0},
    {FAULT_CLOSE, MINUTE, 0, 0},
    {FAULT_TORN, MINUTE, 0, 0},
    {FAULT_FREEZE, MINUTE, SILENCE_MS, 0},
    {FAULT_SLICES, MINUTE, 0, 0},
    {FAULT_SLOW, 4 * MINUTE, UNANSWERED_MS, 0},
    {FAULT_DRIP, 15 * MINUTE, SILENCE_MS, 0},
    {FAULT_STALL, 4 * MINUTE, UNANSWERED_MS, 0},
    {FAULT_PORT, 4 * MINUTE, UNANSWERED_MS, 0},
    {FAULT_ENTROPY, 4 * MINUTE, 0, 0},
    {FAULT_TOKEN, 4 * MINUTE, 0, 0},
    {FAULT_UPGRADE, 15 * MINUTE, 0, 0},
    {FAULT_SHORT_TOKENS, 15 * MINUTE, 0, 0},
    {FAULT_NO_BEATS, 15 * MINUTE, 0, MST_ERR_HEARTBEAT},
    {FAULT_SILENCE, 15 * MINUTE, 0, MST_ERR_HEARTBEAT},
    {FAULT_GARBAGE, MINUTE, MST_RESYNC_EVERY_MS, 0},
    {FAULT_WITHHOLD, 4 * MINUTE, UNANSWERED_MS, 0},
    {FAULT_UNSAID, 4 * MINUTE, UNANSWERED_MS, 0},
    {FAULT_LATE, 4 * MINUTE, MST_RESYNC_EVERY_MS, 0},
    {FAULT_REFUSE, 4 * MINUTE, MINUTE, 0},
    {FAULT_FAIL_ENTRY, 4 * MINUTE, MINUTE, 0},
    {FAULT_FORGET, MINUTE, AUDIT_MS, 0},
    {FAULT_INVENT, MINUTE, AUDIT_MS, 0},
    {FAULT_WALL, 4 * MINUTE, 0, 0},
    {FAULT_SLOW_CALLER, 4 * MINUTE, 0, 0},
    {FAULT_CALLS, 4 * MINUTE, 0, 0},
    {FAULT_ADDRESS, MINUTE, MINUTE, 0}, /* the last: only for a pair */
};

/* The kinds of objects, for how many days they run, and how often each fault
 * occurs per day. (A pair in hot standby is polled twice a second.) */
static const struct shape {
    unsigned links, flags, rotate_ms, days, times;
} client = {1, 0, 0, 25, 1}, rotates = {2, 0, 40 * MINUTE, 15, 1},
  standby = {2, MST_HOT_STANDBY, 0, 3, 3};

static struct {
    const struct shape *shape;
    uint64_t random;
    const struct trouble *trouble; /* the last one, or NULL */
    bool spared;                   /* the stream survives it */
    uint64_t quiet_ms;             /* no fault from then on */
    uint64_t short_ms;   /* until then a stream may end with a short token */
    uint64_t revoked_ms; /* until then the next may get a revoked token */
    uint32_t marks[6];   /* high-water marks */
    struct outcome {
        unsigned count;
        uint64_t failures, most_ms; /* until all is well */
    } of[COUNT(troubles)];
} year;

static uint32_t pick(uint32_t n) {
    return random_below(&year.random, n);
}

static const struct mst_stats *stats(unsigned i) {
    return mst_link_stats(run.object.paired ? &run.object.pair.clients[i].link
                                            : &run.object.client.link);
}

/* Failures of connections, subscriptions and address requests. */
static uint64_t failures(void) {
    uint64_t sum = run.put.requests - run.put.done - run.put.under_way;

    for (unsigned i = 0; i < run.plan.links; i++) {
        sum += stats(i)->failures + stats(i)->drifts;
    }
    return sum;
}

/* ---- checks ---- */

/* Fails if 64 of these (SERVICE_TIMES) occur within ms. */
static void storm_check(const struct service_count *count, uint64_t ms) {
    uint64_t first = count->ms[count->count % SERVICE_TIMES];

    if (count->count >= SERVICE_TIMES && count->last_ms - first < ms) {
        run_fail("64 connections or requests of a kind in %" PRIu64 " ms",
                 count->last_ms - first);
    }
}

/* Between faults a stream may end only because of its token, for a new
 * connection, or as a late effect of the last fault. A connection that never
 * opened does not count. */
static void year_event(const struct mst_event *event) {
    const struct mst_failure *f = &event->as.failure;

    if (event->type != MST_EVENT_CLOSED) {
        return;
    }
    if (run_ms() >= year.quiet_ms && f->error != MST_OK && f->ws_code != 1008 &&
        f->error != year.trouble->after &&
        (f->error != MST_ERR_UNAUTHORIZED || run_ms() > year.revoked_ms) &&
        (f->stage >= MST_STATE_OPEN || !year.spared)) {
        run_fail("in quiet times: %s", mst_strerror(f->error));
    }
    storm_check(&run.exchange.service.connects, 64 * SECOND);
    storm_check(&run.exchange.service.tokens, 5 * MINUTE);
    storm_check(&run.exchange.service.upgrades, 5 * MINUTE);
}

/* How long the service still refuses upgrades. Its wait outlasts the fault, and
 * the stream may end in the next one. */
static uint32_t held_ms(void) {
    uint64_t until_ms = run.exchange.service.hold_ms[true] + SECOND;

    return until_ms > run_ms() ? (uint32_t)(until_ms - run_ms()) : 0;
}

/* True if the client has read all that was sent on its streams. */
static bool is_read(void) {
    bool read = true;

    for (unsigned i = 0; i < PLAN_CLIENTS; i++) {
        const struct plan_link *l = &run.exchange.links[i];
        read &= !l->open || l->messages_len == 0;
    }
    return read;
}

/* Sends market data now, and every every_ms. */
static void feed(uint32_t every_ms) {
    run.plan.feed_ms = every_ms;
    run.exchange.feed_due_ms = run_ms();
    mst_mock_wake(&run.mock, 1);
}

/* Runs until all is well and messages arrive, for most_ms at most. */
static void recover(uint32_t most_ms, const char *otherwise) {
    uint64_t end_ms = run_ms() + most_ms;

    do {
        while (!run_is_well() && run_ms() < end_ms && !run.failed) {
            run_second();
        }
        feed(FEED_MS);
        run_second();
    } while (!(run_is_well() && is_read()) && run_ms() < end_ms && !run.failed);
    if (!run_is_well() || !is_read()) {
        run_unwell(otherwise);
    }
}

/* ---- a fault ---- */

static void spell_add(enum plan_fault fault, uint32_t from_ms,
                      uint32_t until_ms, uint32_t strength) {
    run.plan.spells[run.plan.spells_len++] =
        (struct plan_spell){fault, from_ms, until_ms, (uint8_t)strength};
}

/* Garbage is rare: a book is resynced only three times in a row. */
static uint32_t strength_draw(enum plan_fault fault) {
    return fault == FAULT_GARBAGE ? 32 : pick(2) == 0 ? 255 : 64 + pick(192);
}

/* Draws a plan with this fault, for 5 s, a minute or its longest duration.
 * Usually it begins with the end of all connections; the caller may be slow. */
static void trouble_draw(const struct trouble *t) {
    static const uint32_t most[] = {5 * SECOND, MINUTE, UINT32_MAX};
    uint32_t ms = most[pick(COUNT(most))];
    bool cuts = t->fault == FAULT_TOKEN || pick(3) > 0;
    bool turns = year.shape == &rotates && pick(3) == 0;

    ms = SECOND + pick(ms < t->most_ms ? ms : t->most_ms);
    year.spared = t->fault == FAULT_UPGRADE && turns && !cuts;
    year.quiet_ms = year.spared ? run_ms() : UINT64_MAX;
    if (turns) {
        assert_int_equal(mst_pair_rotate(&run.object.pair), 0);
    }
    run.plan.addresses =
        run.plan.shares && (t->fault == FAULT_ADDRESS || pick(4) == 0);
    run.plan.length_ms = ms;
    run.plan.spells_len = 0;
    if (cuts) {
        spell_add(pick(2) == 0 ? FAULT_RESET : FAULT_CLOSE, 0, 2, 255);
    }
    spell_add(t->fault, cuts ? 2 : 0, ms, strength_draw(t->fault));
    if (pick(2) == 0 && !year.spared) {
        spell_add(FAULT_CALLS, 2, ms, 255);
    }
    exchange_spells(&run.exchange);
    feed(SECOND + pick(ms / 4));
}

/* Plays a fault from its begin to its end, and expects recovery in time. */
static void trouble_test(const struct trouble *t) {
    struct outcome *of = &year.of[t - troubles];
    bool ends = run_ms() <= year.short_ms + BACKOFF_MS;

    recover(held_ms() + ATTEMPT_MS + (ends ? BACKOFF_MS : 0),
            "not subscribed any more");
    year.trouble = t;
    uint64_t before = failures();
    trouble_draw(t);
    run_play();
    run_behave();
    uint64_t end_ms = run_ms();
    uint32_t bound_ms = run.exchange.wait_ms;
    bound_ms = t->detect_ms + (bound_ms > BACKOFF_MS ? bound_ms : BACKOFF_MS) +
               STAGE_MS + ATTEMPT_MS + held_ms();
    if (t->fault == FAULT_SHORT_TOKENS) {
        year.short_ms = end_ms + TOKEN_MS;
    }
    if (t->fault == FAULT_SHORT_TOKENS || t->fault == FAULT_TOKEN ||
        t->fault == FAULT_SLOW_CALLER) { /* counts lifetimes from too late */
        year.revoked_ms = end_ms + 60 * MINUTE;
    }
    year.quiet_ms = end_ms + bound_ms;
    recover(bound_ms, "not well in time");
    of->count++;
    of->failures += failures() - before;
    if (run_ms() - end_ms > of->most_ms) {
        of->most_ms = run_ms() - end_ms;
    }
}

/* ---- a year ---- */

/* Plays all faults, each several times, in random order. */
static void day_test(uint64_t begin_ms) {
    const struct trouble *deck[3 * COUNT(troubles)];
    uint32_t kinds = COUNT(troubles) - (run.plan.shares ? 0 : 1);
    uint32_t len = kinds * year.shape->times, slot_ms = DAY / len;

    for (uint32_t i = 0; i < len; i++) {
        uint32_t at = pick(i + 1);
        deck[i] = deck[at];
        deck[at] = &troubles[i % kinds];
    }
    for (uint32_t i = 0; i < len && !run.failed; i++) {
        run_until(begin_ms + i * slot_ms + pick(slot_ms / 4));
        trouble_test(deck[i]);
    }
}

/* The high-water marks of all links grow in the first third of a year, and then
 * by less than a quarter: which link has which fault is random, and so is the
 * effect of garbage. */
static void marks_check(bool begins) {
    for (unsigned i = 0; i < COUNT(year.marks) * run.plan.links; i++) {
        const struct mst_high_water *h = &stats(i % run.plan.links)->high;
        const uint32_t high[COUNT(year.marks)] = {h->subscriptions, h->token,
                                                  h->headers,       h->body,
                                                  h->received,      h->unsent};
        unsigned k = i / run.plan.links;
        uint32_t *mark = &year.marks[k];
        if (begins) {
            *mark = high[k] > *mark ? high[k] : *mark;
        } else if (high[k] > *mark + *mark / 4) {
            run_fail("high-water mark %u: %u, and was %u", k, high[k], *mark);
        }
    }
}

/* Expects that every fault occurred, and had an effect. */
static void year_show(void) {
    for (unsigned i = 0; i < run.plan.links; i++) {
        print_message("  link %u: %u tokens, %u streams, %u failures, %u "
                      "drifts, %u unanswered\n",
                      i, stats(i)->tokens, stats(i)->opens, stats(i)->failures,
                      stats(i)->drifts, stats(i)->unanswered);
    }
    for (size_t i = 0; i < COUNT(troubles); i++) {
        const struct outcome *of = &year.of[i];
        const char *name = plan_fault_names[troubles[i].fault];
        print_message("  %-24s %4u times, %6" PRIu64
                      " failures, over after %3" PRIu64 " s at most\n",
                      name, of->count, of->failures, of->most_ms / 1000);
        if (of->count >= 9 && of->failures == 0) {
            expect_failed("%s: without effect", name);
        }
    }
}

/* Begins like any other plan, except for times, and with large books. */
static void year_begin(void) {
    struct plan *plan = &run.plan;

    plan_draw(plan, year.random);
    plan->links = year.shape->links;
    plan->shares = plan->links == 2;
    plan->tops = plan->executions = plan->beats = plan->stays = true;
    plan->leaves = false;
    plan->standby = year.shape->flags != 0;
    plan->rotate_ms = year.shape->rotate_ms;
    plan->capacity = PLAN_PRICES;
    plan->thin = plan->spells_len = 0;
    plan->beat_ms = 200 * SECOND;
    plan->away_ms = 15 * MINUTE;
    plan->config = (struct mst_config){
        .ping_ms = 150 * SECOND,
        .silence_ms = SILENCE_MS,
        .audit_ms = AUDIT_MS,
        .answer_ms = ANSWER_MS,
        .backoff_max_ms = BACKOFF_MS,
        .backoff_slow_ms = 5 * MINUTE,
        .flags = year.shape->flags,
    };
    run.on_event = year_event;
    run_begin();
    run_behave();
}

static void year_test(const struct shape *shape) {
    uint64_t seed = setting("YEAR_SEED", 1);
    uint64_t all = setting("YEAR_DAYS", client.days);
    unsigned days =
        (unsigned)((all * shape->days + client.days - 1) / client.days);

    print_message("YEAR_SEED=%" PRIu64 " YEAR_DAYS=%u\n", seed, days);
    memset(&year, 0, sizeof year);
    year.shape = shape;
    year.random = seed;
    year.quiet_ms = UINT64_MAX; /* until the first fault is over */
    year_begin();
    for (unsigned day = 0; day < days && !run.failed; day++) {
        run.told = day >= setting("YEAR_TOLD", UINT64_MAX);
        day_test(day * (uint64_t)DAY);
        marks_check(day <= days / 3);
    }
    year_show();
    run_end();
}

TEST_CASE(test_client) {
    year_test(&client);
}

TEST_CASE(test_rotation) {
    year_test(&rotates);
}

TEST_CASE(test_hot_standby) {
    year_test(&standby);
}

/* Links changed state only as the tables in mini_stream.c allow. */
TEST_CASE(test_states) {
    static const char *const sections[] = {"link", "client: the stream", "pair",
                                           NULL};

    states_check("mini_stream.c", sections, false);
}

RUN_CASES(NULL, NULL)
