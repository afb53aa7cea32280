/*
 * Shared by the files of the service that acts on a plan: see plan.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef PLAN_PRIVATE_H
#define PLAN_PRIVATE_H

#include "plan.h"
#include "service_private.h"

/* Writes a line of the trace. */
#define NOTE(x, ...)                \
    do {                            \
        if ((x)->note != NULL) {    \
            (x)->note(__VA_ARGS__); \
        }                           \
    } while (0)

/* Sends a message on a connection, and ends the connection if its buffer is
 * full. Returns false if the message was not sent completely. */
bool exchange_send(struct exchange *x, int link, const char *text, size_t len,
                   unsigned opcode, const struct plan_message *message);

/* The same after ms; 0: now. */
void exchange_send_later(struct exchange *x, int link, const char *text,
                         size_t len, const struct plan_message *message,
                         uint32_t ms);

/* Sends the current true book after ms. */
void exchange_snapshot(struct exchange *x, int link, unsigned market,
                       uint32_t ms);

/* Returns a random delay, usually a short one. */
uint32_t exchange_delay(struct exchange *x, uint32_t most_ms);

/* Returns the time of a clock of the service, with its text. */
int64_t exchange_time(struct exchange *x, enum plan_clock clock,
                      char text[MST_MOCK_TIME_LEN]);

/* May make clocks jump; start the true books; change one and send the update to
 * its subscribers. */
void exchange_clocks(struct exchange *x);
void exchange_books(struct exchange *x);
void exchange_feed(struct exchange *x, unsigned market);

/* Ends a connection, orderly or with a reset. */
void exchange_link_end(struct exchange *x, int link);

/* Blames slow and stalled connections for failed requests. */
void exchange_blame(struct exchange *x);

/* Notes that the service makes the client wait for ms. */
void exchange_waits(struct exchange *x, uint32_t ms);

/* Set how the service responds with the current strengths; how it responds to
 * requests for addresses. */
void exchange_change(struct exchange *x);
void exchange_address(struct exchange *x);

/* Ends all faults, and the errors of all clocks. */
void exchange_calm(struct exchange *x);

/* Notes an error, if it is the first. */
void exchange_wrong(struct exchange *x, const char *what);

/* Take in that the client has read a message; that its connection has ended. */
void exchange_look(struct exchange *x, int link,
                   const struct plan_message *message);
void exchange_ended(struct exchange *x, int link);

/* Handles a request of the client. */
void exchange_request(void *context, int link, const char *text);

#endif
