/*
 * A plan that is played by test/session/plans.c, and what watches over it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef PLAN_RUN_H
#define PLAN_RUN_H

#include "plan.h"

#define PLAN_ATTEMPTS 64 /* that are remembered */

/* What the tops of a market have said of its book. */
struct plan_tops {
    unsigned disagreements;
    int64_t since_ns;
};

struct plan_run {
    struct plan plan;
    struct mst_mock mock;
    struct mst_port port;
    int (*recv)(void *context, int link, void *data, size_t len);
    int (*unix_ns)(void *context, int64_t *ns);
    struct exchange exchange;
    struct plan_object object;
    struct plan_put put;
    uint64_t closing_ms;       /* since when the object closes, or 0; time in
                                * which the caller is away does not count */
    bool over;                 /* the last poll said so */
    bool wished[PLAN_MARKETS]; /* for the market's book */
    struct plan_tops tops[PLAN_MARKETS + 1];
    uint64_t attempts, attempts_ms[PLAN_ATTEMPTS]; /* how many, and when */
    uint64_t request_ms;                           /* of the last, or 0 */
    bool failed, told;
    /* Of all plans. */
    uint64_t events, live, changes, closed;
    uint64_t recover_ms, recover_most_ms, recover_most_seed;
};
extern struct plan_run run;

/* Virtual ms of this plan. */
uint64_t run_ms(void);

/* A line of what happens; the plan has failed, for the first time. */
void run_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void run_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The book of a market that the caller sees, or NULL; is it live, without
 * doubt? All books as lines. */
struct mst_book *run_shown(unsigned market);
bool run_is_sure(const struct mst_book *book);
void run_books_note(struct text *text);

/* Looks at all books; at what the caller was told beside. */
void run_books_check(void);
void run_heard_check(void);

/* The caller does not poll for a while, at most so long. */
void run_away(uint32_t most_ms);

/* What the loop and the configuration are given. */
bool run_event(void *context, const struct mst_event *event);
void run_trace(void *context, const struct mst_trace *trace);

#endif
