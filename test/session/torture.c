/*
 * Transport torture: faults at every call of the port and every byte of the
 * line, in every scenario (test/torture/torture.h): one byte, not now, never,
 * the end, an error; and at two points of one run.
 *
 * By default plays a share of the single points, in some seconds. Otherwise:
 *
 * - TORTURE="rotation call:17:end in:812:later"    plays and prints that run
 * - TORTURE_PART="list"                prints all parts, a line each
 * - TORTURE_PART="NAME calls FROM TO"  single calls of these numbers
 * - TORTURE_PART="NAME in FROM TO"     single offsets of the input
 * - TORTURE_PART="NAME out FROM TO"    single offsets of the output (a further
 *                                      number, STEP: one of STEP points and
 *                                      actions)
 * - TORTURE_PART="NAME pairs FROM TO"  pairs of calls; the first has one of
 *                                      these numbers
 * - TORTURE_PART="any random SEED N"   N pairs of offsets
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "torture.h"

#define SHARE 60     /* of each scenario and kind of point */
#define FAILURES 10u /* after this many, a part ends */

static struct torture_result usual; /* without faults */

static bool is_tls; /* true if the scenario has TLS */

static bool has_certificates;

static void begin(const struct torture_scenario *scenario) {
    is_tls = (scenario->flags & TORTURE_TLS) != 0;
    if (is_tls && !has_certificates) {
        assert_int_equal(session_certificates(NULL), 0);
        has_certificates = true;
    }
    torture_reference(scenario, &usual);
}

static struct {
    uint64_t runs, failed;
    uint32_t recovery_ms;
} done;

static bool stopped(void) {
    return done.failed >= FAILURES;
}

static void run(const struct torture_fault *faults, size_t len,
                struct torture_result *result) {
    torture_run(faults, len, false, result);
    done.failed += result->failed;
    if (result->recovery_ms > done.recovery_ms) {
        done.recovery_ms = result->recovery_ms;
    }
}

/* ---- single points ---- */

static bool applies(const struct torture_result *result,
                    const struct torture_fault *fault) {
    return fault->where != TORTURE_CALL ||
           torture_applies((enum torture_kind)result->kinds[fault->at - 1],
                           fault->action);
}

static void single(const struct torture_fault *fault) {
    struct torture_result result;

    if (!applies(&usual, fault)) {
        return;
    }
    run(fault, 1, &result);
    done.runs++;
    if (result.fired == 0 && !is_tls) { /* lengths vary with TLS */
        expect_failed("%s: call or byte %u is missing", torture_what(),
                      fault->at);
        done.failed++;
    }
}

/* The number of points of this kind, times their actions. */
static uint32_t points(enum torture_where where) {
    return usual.at[where] * TORTURE_ACTIONS;
}

static void singles(enum torture_where where, uint32_t from, uint32_t to,
                    uint32_t step) {
    uint32_t end = to < points(where) ? to : points(where);

    for (uint32_t i = from; i < end && !stopped(); i += step) {
        const struct torture_fault fault = {
            where, i / TORTURE_ACTIONS + (where == TORTURE_CALL),
            (enum torture_action)(i % TORTURE_ACTIONS)};
        single(&fault);
    }
}

/* ---- pairs ---- */

/* This call, paired with each later call of the run that it leads to. */
static void pairs_of(const struct torture_fault *first) {
    struct torture_fault faults[2] = {*first};
    struct torture_result one, two;

    if (!applies(&usual, first)) {
        return;
    }
    run(first, 1, &one);
    for (uint32_t at = first->at + 1;
         at <= one.at[TORTURE_CALL] && at <= TORTURE_CALLS; at++) {
        for (int action = 0; action < TORTURE_ACTIONS && !stopped(); action++) {
            faults[1] = (struct torture_fault){TORTURE_CALL, at,
                                               (enum torture_action)action};
            if (applies(&one, &faults[1])) {
                run(faults, 2, &two);
                done.runs++;
            }
        }
    }
}

static void pairs(uint32_t from, uint32_t to) {
    uint32_t end = to < points(TORTURE_CALL) ? to : points(TORTURE_CALL);

    for (uint32_t i = from; i < end && !stopped(); i++) {
        const struct torture_fault first = {
            TORTURE_CALL, i / TORTURE_ACTIONS + 1,
            (enum torture_action)(i % TORTURE_ACTIONS)};
        pairs_of(&first);
    }
}

/* ---- random pairs ---- */

static struct torture_fault offset_draw(uint64_t *seed) {
    enum torture_where where = random_below(seed, 2) ? TORTURE_IN : TORTURE_OUT;

    return (struct torture_fault){
        where, random_below(seed, usual.at[where]),
        (enum torture_action)random_below(seed, TORTURE_ACTIONS)};
}

/* Plays count pairs that take effect, of all scenarios; of those with TLS,
 * whose handshakes take long, one in eight. */
static void random_pairs(uint64_t seed, uint64_t count) {
    while (done.runs < count && !stopped()) {
        const struct torture_scenario *scenario =
            &torture_scenarios[random_below(&seed,
                                            (uint32_t)torture_scenarios_len)];
        uint32_t row = 50;
        if ((scenario->flags & TORTURE_TLS) != 0 &&
            random_below(&seed, 8) != 0) {
            continue;
        }
        begin(scenario);
        while (row-- > 0 && done.runs < count && !stopped()) {
            struct torture_fault faults[2] = {offset_draw(&seed),
                                              offset_draw(&seed)};
            struct torture_result result;
            run(faults, 2, &result);
            done.runs += result.fired == 2;
        }
    }
}

/* ---- parts ---- */

static void list(void) {
    for (size_t i = 0; i < torture_scenarios_len; i++) {
        begin(&torture_scenarios[i]);
        printf("scenario %s calls %u in %u out %u tls %d\n",
               torture_scenarios[i].name, usual.at[TORTURE_CALL],
               usual.at[TORTURE_IN], usual.at[TORTURE_OUT], is_tls);
    }
}

static void share(void) {
    for (size_t i = 0; i < torture_scenarios_len; i++) {
        begin(&torture_scenarios[i]);
        uint32_t count = is_tls ? SHARE / 8 : SHARE;
        for (int w = 0; w < TORTURE_WHERES; w++) {
            enum torture_where where = (enum torture_where)w;
            uint32_t step = points(where) / count | 1u;
            singles(where, 0, points(where), step);
        }
    }
}

static void part(const char *text) {
    char *words = strdup(text), *rest = NULL;
    const char *name = strtok_r(words, " ", &rest);
    const char *mode = strtok_r(NULL, " ", &rest);
    const struct torture_scenario *scenario;

    assert_non_null(mode);
    uint64_t from = strtoull(rest, &rest, 10), to = strtoull(rest, &rest, 10);
    uint32_t step = (uint32_t)strtoul(rest, NULL, 10);

    step = step > 0 ? step : 1;
    uint32_t first = (uint32_t)from * TORTURE_ACTIONS;
    uint32_t last = (uint32_t)to * TORTURE_ACTIONS;
    if (strcmp(mode, "random") == 0) {
        random_pairs(from, to);
    } else {
        scenario = torture_scenario(name);
        assert_non_null(scenario);
        begin(scenario);
        if (strcmp(mode, "pairs") == 0) {
            pairs(first, last);
        } else {
            singles(strcmp(mode, "calls") == 0 ? TORTURE_CALL
                    : strcmp(mode, "in") == 0  ? TORTURE_IN
                                               : TORTURE_OUT,
                    first, last, step);
        }
    }
    free(words);
}

/* Plays one run, and prints its events. */
static void play(const char *text) {
    struct torture_fault faults[TORTURE_FAULTS];
    struct torture_result result;
    char *words = strdup(text), *rest = NULL;
    const char *word = strtok_r(words, " ", &rest);
    size_t len = 0;

    assert_non_null(word);
    const struct torture_scenario *scenario = torture_scenario(word);
    assert_non_null(scenario);
    while ((word = strtok_r(NULL, " ", &rest)) != NULL) {
        assert_true(len < TORTURE_FAULTS &&
                    torture_fault_read(word, &faults[len++]));
    }
    begin(scenario);
    torture_run(faults, len, true, &result);
    printf("%u calls, %u bytes in, %u out, %u faults, well after %u ms\n",
           result.at[TORTURE_CALL], result.at[TORTURE_IN],
           result.at[TORTURE_OUT], result.fired, result.recovery_ms);
    free(words);
}

static bool finished;

TEST_CASE(test_torture) {
    const char *one = getenv("TORTURE"), *some = getenv("TORTURE_PART");

    if (one != NULL) {
        play(one);
    } else if (some != NULL && strcmp(some, "list") == 0) {
        list();
    } else {
        if (some != NULL) {
            part(some);
        } else {
            share();
        }
        printf("part %s: %llu runs, %llu failed, well after %u ms\n",
               some != NULL ? some : "of all", (unsigned long long)done.runs,
               (unsigned long long)done.failed, done.recovery_ms);
    }
    finished = true;
}

/* Called if a sanitizer or an assertion ends the process. */
static void tell(void) {
    if (!finished) {
        fprintf(stderr, "stopped in TORTURE=\"%s\"\n", torture_what());
    }
}

static int end(void **state) {
    tell();
    return expect_end(state);
}

static int no_certificates(void **state) {
    return has_certificates ? tls_remove_certificates(state) : 0;
}

/* From the sanitizers, if they are linked. */
void __sanitizer_set_death_callback(void (*callback)(void))
    __attribute__((weak));

int main(void) {
    if (__sanitizer_set_death_callback != NULL) {
        __sanitizer_set_death_callback(tell);
    }
    return cases_run(NULL, expect_begin, end, NULL, no_certificates);
}
