/*
 * The queue of executions, gaps and notes, which must all be stored. A message
 * stays here until the broker has stored it. By its identifier, the broker
 * stores it once, whoever sends it and how often, while it remembers the
 * identifier. A message sent later than that is marked as a repeat.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef KEEP_H
#define KEEP_H

#include "broker.h"

struct keep_message;

struct keep {
    struct broker *broker;
    const char *gateway;       /* its name */
    struct keep_message *ring; /* by number, modulo size */
    size_t size;
    /* Numbers: of the oldest message, of the next to add, of the next to
     * send. */
    uint64_t first, next, send;
    size_t under_way;
    uint64_t repeat_ns;   /* older messages are marked as repeats */
    uint64_t retry_ns;    /* monotonic: time of the next attempt */
    bool up;              /* the broker is connected */
    uint64_t kept, again; /* totals: stored; of these, stored before */
};

/* Creates a queue of `size` messages. Borrows the broker and the name. */
void keep_begin(struct keep *keep, struct broker *broker, const char *gateway,
                size_t size, unsigned duplicates_s);
void keep_end(struct keep *keep);

/* Returns true if there is room for a message. */
bool keep_has_room(const struct keep *keep);

/* Adds the line of a JSON object, received at this monotonic time. Returns
 * false if there is no room. The subject is borrowed until keep_end(), id and
 * line are copied. repeat: the line is marked as a repeat already. */
bool keep_add(struct keep *keep, const char *subject, const char *id,
              const char *line, size_t len, uint64_t received_ns, bool repeat);

/* Sends waiting messages, as far as the broker allows. */
void keep_send(struct keep *keep, uint64_t now_ns);

/* Takes a report about a message or about the connection. */
void keep_report(struct keep *keep, const struct broker_report *report,
                 uint64_t now_ns);

/* Returns when the oldest unstored message was received, or UINT64_MAX. */
uint64_t keep_oldest_ns(const struct keep *keep);

/* Returns the number of messages not stored yet. */
size_t keep_count(const struct keep *keep);

#endif
