/*
 * Draws a plan from a seed: see plan.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "plan.h"

#define TEXT_OF(name, text) [FAULT_##name] = (text),
const char *const plan_fault_names[FAULTS] = {PLAN_FAULTS(TEXT_OF)};

static void pair_draw(struct plan *plan, uint64_t *seed) {
    plan->standby = random_below(seed, 2) == 0;
    if (plan->standby) {
        plan->config.flags |= MST_HOT_STANDBY;
    } else if (random_below(seed, 2) == 0) {
        plan->rotate_ms = (30 + random_below(seed, 600)) * PLAN_SECOND;
    }
}

/* Short times: the client waits for the same things as with the usual ones. */
static void config_draw(struct plan *plan, uint64_t *seed) {
    plan->message = (size_t)256 << random_below(seed, 5);
    plan->config = (struct mst_config){
        .resolve_ms = 5 * PLAN_SECOND,
        .connect_ms = 5 * PLAN_SECOND,
        .token_ms = 5 * PLAN_SECOND,
        .upgrade_ms = 5 * PLAN_SECOND,
        .answer_ms = 5 * PLAN_SECOND,
        .closing_ms = PLAN_SECOND,
        .ping_ms = 10 * PLAN_SECOND,
        .silence_ms = 30 * PLAN_SECOND,
        .backoff_max_ms = 20 * PLAN_SECOND,
        .backoff_slow_ms = 60 * PLAN_SECOND,
        .stable_ms = 15 * PLAN_SECOND,
        .audit_ms = 60 * PLAN_SECOND,
    };
    if (random_below(seed, 8) == 0) {
        plan->config.flags = MST_RESYNC_CROSSED;
    }
    if (random_below(seed, 16) == 0) {
        plan->config.lag_max_ms = 30 * PLAN_SECOND;
    }
    if (plan->links == 2) {
        pair_draw(plan, seed);
    }
    plan->port_flags = random_below(seed, 2) == 0 ? MST_PORT_DRAINS : 0;
}

static void spell_draw(struct plan *plan, uint64_t *seed) {
    static const uint32_t lasts_s[] = {5, 30, 120, 600, 3600};
    static const uint8_t strengths[] = {4, 16, 64, 128, 255};
    struct plan_spell *s = &plan->spells[plan->spells_len++];
    uint32_t last_ms =
        lasts_s[random_below(seed, COUNT(lasts_s))] * PLAN_SECOND;

    s->fault = (enum plan_fault)random_below(seed, FAULTS);
    s->strength = strengths[random_below(seed, COUNT(strengths))];
    s->from_ms =
        random_below(seed, 3) == 0 ? 0 : random_below(seed, plan->length_ms);
    s->until_ms = s->from_ms + last_ms;
    if (s->until_ms > plan->length_ms) {
        s->until_ms = plan->length_ms;
    }
}

void plan_draw(struct plan *plan, uint64_t seed) {
    static const uint32_t lengths_s[] = {60, 120, 300, 600, 1200, 3600};
    uint64_t random = seed;

    memset(plan, 0, sizeof *plan);
    plan->seed = seed;
    plan->markets = 1 + random_below(&random, PLAN_MARKETS);
    plan->links = random_below(&random, 4) == 0 ? 2 : 1;
    plan->tops = random_below(&random, 2) == 0;
    plan->executions = random_below(&random, 3) == 0;
    plan->beats = random_below(&random, 2) == 0;
    (void)random_below(&random, 2); /* so that a seed keeps its plan */
    plan->fine = random_below(&random, 2) == 0;
    plan->capacity = random_below(&random, 2) == 0
                         ? PLAN_PRICES
                         : 2 + random_below(&random, 20);
    plan->thin = random_below(&random, 2) == 0
                     ? random_below(&random, plan->capacity)
                     : 0;
    plan->depth = 2 + random_below(&random, PLAN_PRICES - 4);
    plan->length_ms =
        lengths_s[random_below(&random, COUNT(lengths_s))] * PLAN_SECOND;
    plan->feed_ms = plan->length_ms / (40 + random_below(&random, 160));
    plan->beat_ms = PLAN_SECOND + random_below(&random, 10 * PLAN_SECOND);
    config_draw(plan, &random);
    for (unsigned i = 1 + random_below(&random, PLAN_SPELLS); i > 0; i--) {
        spell_draw(plan, &random);
    }
    plan->addresses = random_below(&random, 2) == 0;
    plan->shares = random_below(&random, 2) == 0;
    plan->put_ms = (10 + random_below(&random, 50)) * PLAN_SECOND;
    plan->leaves = random_below(&random, 2) == 0;
    plan->away_ms = 60000;
}

void plan_describe(const struct plan *plan, struct text *text) {
    text_add(text,
             "  %u markets%s%s%s, %s%s%s, books of %u levels, thin below %u, "
             "%u s, an update each %u ms, message buffer %zu\n",
             plan->markets, plan->tops ? ", tops" : "",
             plan->executions ? ", executions" : "",
             plan->beats ? ", heartbeats" : "",
             plan->links == 1 ? "a client"
             : plan->standby  ? "a pair in hot standby"
                              : "a pair",
             plan->addresses ? ", addresses" : "",
             plan->shares ? ", a shared access" : "", plan->capacity,
             plan->thin, plan->length_ms / PLAN_SECOND, plan->feed_ms,
             plan->message);
    if (plan->links == 2) {
        text_add(text, "  it rotates after %u ms\n", plan->rotate_ms);
    }
    for (unsigned i = 0; i < plan->spells_len; i++) {
        const struct plan_spell *s = &plan->spells[i];
        text_add(text, "  %u to %u ms: %s, %u/256\n", s->from_ms, s->until_ms,
                 plan_fault_names[s->fault], s->strength);
    }
}
