/*
 * What the files of the service that acts on a plan share: see plan.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef PLAN_PRIVATE_H
#define PLAN_PRIVATE_H

#include "plan.h"
#include "service_private.h"

/* A line of the trace. */
#define NOTE(x, ...)                \
    do {                            \
        if ((x)->note != NULL) {    \
            (x)->note(__VA_ARGS__); \
        }                           \
    } while (0)

/* Sends a message on a connection, which ends where there is no room for it;
 * false where it was not sent whole. */
bool exchange_send(struct exchange *x, int link, const char *text, size_t len,
                   unsigned opcode, const struct plan_message *message);

/* The same after so many ms; 0: now. */
void exchange_send_later(struct exchange *x, int link, const char *text,
                         size_t len, const struct plan_message *message,
                         uint32_t ms);

/* Sends the true book as it is now, after so many ms. */
void exchange_snapshot(struct exchange *x, int link, unsigned market,
                       uint32_t ms);

/* How much later something is done: mostly little. */
uint32_t exchange_delay(struct exchange *x, uint32_t most_ms);

/* What a clock of the service says, with its text. */
int64_t exchange_time(struct exchange *x, enum plan_clock clock,
                      char text[MST_MOCK_TIME_LEN]);

/* The clocks may jump; the true books begin; one changes, and those who have
 * subscribed it are told. */
void exchange_clocks(struct exchange *x);
void exchange_books(struct exchange *x);
void exchange_feed(struct exchange *x, unsigned market);

/* A connection ends, in an orderly way or not. */
void exchange_link_end(struct exchange *x, int link);

/* A line that is slow, or takes nothing, is to blame if a request fails. */
void exchange_blame(struct exchange *x);

/* What the service says now is waited out for so long. */
void exchange_waits(struct exchange *x, uint32_t ms);

/* How the service answers changes, as the strengths of this moment are; how it
 * answers requests for addresses. */
void exchange_change(struct exchange *x);
void exchange_address(struct exchange *x);

/* Ends all faults, and the errors of all clocks. */
void exchange_calm(struct exchange *x);

/* Keeps the first thing that is wrong. */
void exchange_wrong(struct exchange *x, const char *what);

/* The client looks at a message; its connection has ended. */
void exchange_look(struct exchange *x, int link,
                   const struct plan_message *message);
void exchange_ended(struct exchange *x, int link);

/* Is handed each request of the client. */
void exchange_request(void *context, int link, const char *text);

#endif
