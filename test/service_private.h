/*
 * What service.c and service_stream.c share.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SERVICE_PRIVATE_H
#define SERVICE_PRIVATE_H

#include "service.h"

/* Keeps the first thing that a client did wrong. */
void service_wrong(struct service *service, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Notes that something was seen, now. */
void service_note(struct service *service, struct service_count *count);

/* A text message of the client. */
void service_request(struct service *service, const char *text);

/* Begins to push to a new connection, where the rules say so. */
void service_feed_begin(struct service *service);

/* Does what is due on the connection that streams. */
void service_stream_tick(struct service *service, uint64_t now_ms);

#endif
