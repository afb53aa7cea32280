/*
 * The run of a plan by test/session/plans.c or year.c, and its checks.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef PLAN_RUN_H
#define PLAN_RUN_H

#include "plan.h"
#include "states.h"

#define PLAN_ATTEMPTS 64 /* remembered */

/* Tops of a market that contradict its book. */
struct plan_tops {
    unsigned disagreements;
    int64_t since_ns;
};

/* What a link must do within a time: see plan_watch.c. */
enum plan_owed {
    OWED_REQUEST,
    OWED_BYTES,
    OWED_RESULT,
    OWED_AUDIT,
    OWED_PING,
    OWED
};

/* The polled objects: a client or pair, and a transfer. */
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
    uint64_t closing_ms;       /* run_present_ms() of the close, or 0 */
    bool over;                 /* the last poll returned MST_ERR_CLOSED */
    bool wished[PLAN_MARKETS]; /* the market's book */
    struct plan_tops tops[PLAN_MARKETS + 1];
    uint64_t attempts, attempts_ms[PLAN_ATTEMPTS]; /* number and times */
    uint64_t request_ms;                           /* of the last one, or 0 */
    uint64_t away_ms;                     /* the time of the caller's absence */
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

/* Virtual ms of this plan; those with the caller present, from 1 on. */
uint64_t run_ms(void);
uint64_t run_present_ms(void);

/* Print a line; report that the plan has failed, the first time. */
void run_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void run_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The caller's book of a market, or NULL; true if it is live and not in doubt;
 * appends all books as lines. */
struct mst_book *run_shown(unsigned market);
bool run_is_sure(const struct mst_book *book);
void run_books_note(struct text *text);

/* Check all books; the other events, and the errors that service and port have
 * found. */
void run_books_check(void);
void run_heard_check(void);

/* Let the caller not poll for at most this time; stop polling an object; poll
 * it again. */
void run_away(uint32_t most_ms);
void run_leave(unsigned object);
void run_return(unsigned object);

/* Takes in that a market was subscribed or unsubscribed. The others check what
 * is owed, and how long a link lets the caller sleep. */
void run_wish(bool wished);
void run_owed_check(void);
void run_sleep_check(const struct mst_link *link);

/* Starts the drawn plan; runs until a virtual time; runs to the plan's end with
 * all its events. */
void run_begin(void);
void run_until(uint64_t until_ms);
void run_play(void);

/* Makes the service correct, and subscribes everything. The second runs for a
 * second, and requests an address until that succeeds. */
void run_behave(void);
void run_second(void);

/* True if everything is subscribed, live and not in doubt. The second fails
 * with this text and the details. */
bool run_is_well(void);
void run_unwell(const char *what);

/* Closes the object and waits for its end. */
void run_end(void);

/* Callbacks for the loop and the configuration. */
bool run_event(void *context, const struct mst_event *event);
void run_trace(void *context, const struct mst_trace *trace);

#endif
