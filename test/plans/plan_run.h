/*
 * A plan that is played by test/session/plans.c or year.c, and what watches over
 * it.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef PLAN_RUN_H
#define PLAN_RUN_H

#include "plan.h"
#include "states.h"

#define PLAN_ATTEMPTS 64 /* that are remembered */

/* What the tops of a market have said of its book. */
struct plan_tops {
    unsigned disagreements;
    int64_t since_ns;
};

/* What a link owes its caller or the service, each within a bound: see
 * plan_watch.c. */
enum plan_owed {
    OWED_REQUEST,
    OWED_BYTES,
    OWED_RESULT,
    OWED_AUDIT,
    OWED_PING,
    OWED
};

/* The objects that are polled: a client or a pair, and a transfer. */
enum { POLLED_STREAM, POLLED_PUT, POLLED };

struct plan_run {
    struct plan plan;
    struct mst_mock mock;
    struct mst_port port;
    int (*connect)(void *context, int link, int address);
    int (*recv)(void *context, int link, void *data, size_t len);
    int (*unix_ns)(void *context, int64_t *ns);
    void (*on_event)(const struct mst_event *event); /* or NULL */
    struct exchange exchange;
    struct plan_object object;
    struct plan_put put;
    uint64_t closing_ms;       /* since when the object closes, or 0: present */
    bool over;                 /* the last poll said so */
    bool wished[PLAN_MARKETS]; /* for the market's book */
    struct plan_tops tops[PLAN_MARKETS + 1];
    uint64_t attempts, attempts_ms[PLAN_ATTEMPTS]; /* how many, and when */
    uint64_t request_ms;                           /* of the last, or 0 */
    uint64_t away_ms; /* time in which the caller was away, or slow */
    uint64_t owed_ms[PLAN_CLIENTS][OWED]; /* since when, or 0 */
    enum mst_action asked[PLAN_CLIENTS];  /* by the last request, and when */
    uint64_t asked_ms[PLAN_CLIENTS];
    bool unpolled[POLLED];
    uint64_t unpolled_ms[POLLED]; /* since when */
    bool failed, told;
    /* Of all plans. */
    uint64_t events, live, changes, closed;
    uint64_t recover_ms, recover_most_ms, recover_most_seed;
};
extern struct plan_run run;

/* Virtual ms of this plan; those in which the caller was present, from 1 on. */
uint64_t run_ms(void);
uint64_t run_present_ms(void);

/* A line of what happens; the plan has failed, for the first time. */
void run_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void run_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The book of a market that the caller sees, or NULL; is it live, without
 * doubt? All books as lines. */
struct mst_book *run_shown(unsigned market);
bool run_is_sure(const struct mst_book *book);
void run_books_note(struct text *text);

/* Looks at all books; at what the caller was told beside, and at what service
 * and port found wrong. */
void run_books_check(void);
void run_heard_check(void);

/* The caller does not poll for a while, at most so long; stops polling an
 * object; polls it again. */
void run_away(uint32_t most_ms);
void run_leave(unsigned object);
void run_return(unsigned object);

/* The caller wishes for a market's book, or no longer does. Checks what is owed,
 * and how long a link lets the caller sleep. */
void run_wish(bool wished);
void run_owed_check(void);
void run_sleep_check(const struct mst_link *link);

/* Begins the plan that is drawn. Runs until a moment of virtual time; to the
 * plan's end, with all that happens in it. */
void run_begin(void);
void run_until(uint64_t until_ms);
void run_play(void);

/* From now on the service behaves, and the caller wishes for all. Runs for a
 * second, in which an address is asked for until that was well. */
void run_behave(void);
void run_second(void);

/* Is everything subscribed, live and without doubt? Fails with this text, and
 * says what is not so. */
bool run_is_well(void);
void run_unwell(const char *what);

/* The caller closes and waits for the end. */
void run_end(void);

/* What the loop and the configuration are given. */
bool run_event(void *context, const struct mst_event *event);
void run_trace(void *context, const struct mst_trace *trace);

#endif
