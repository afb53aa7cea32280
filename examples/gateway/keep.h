/*
 * What is published for good: executions, gaps, notes. Each message is kept
 * here until the broker has stored it, up to a stated number; it has an
 * identifier, so that the broker stores it once, whoever sends it and however
 * often, as long as it remembers identifiers. What goes out later than that is
 * marked as a repeat.
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
    uint64_t first, next, send; /* numbers: the oldest one, the one to come, the
                                 * next to go out */
    size_t under_way;
    uint64_t repeat_ns;   /* from this age on a message is marked */
    uint64_t retry_ns;    /* monotonic: not before */
    bool up;              /* the broker takes messages */
    uint64_t kept, again; /* ever: stored, of these stored before */
};

/* A queue of so many messages. The broker and the name are borrowed. */
void keep_begin(struct keep *keep, struct broker *broker, const char *gateway,
                size_t size, unsigned duplicates_s);
void keep_end(struct keep *keep);

/* Whether one more finds room. */
bool keep_has_room(const struct keep *keep);

/* Adds a message, if there is room: the line of a JSON object, received at this
 * monotonic time. The subject is borrowed for good, id and line are copied.
 * repeat: the line says already that it may be a repeat. */
bool keep_add(struct keep *keep, const char *subject, const char *id,
              const char *line, size_t len, uint64_t received_ns, bool repeat);

/* Sends what may go out. */
void keep_send(struct keep *keep, uint64_t now_ns);

/* Takes a report about messages, or that the broker is there or not. */
void keep_report(struct keep *keep, const struct broker_report *report,
                 uint64_t now_ns);

/* When the oldest message that is not stored yet was received; UINT64_MAX: all
 * are stored. */
uint64_t keep_oldest_ns(const struct keep *keep);

/* How many are not stored yet. */
size_t keep_count(const struct keep *keep);

#endif
