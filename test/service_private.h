/*
 * What the files of the scripted service share.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SERVICE_PRIVATE_H
#define SERVICE_PRIVATE_H

#include "service.h"

/* What a link's bytes are (service_link.kind). */
enum { SERVICE_CLOSED, SERVICE_HTTP, SERVICE_STREAM };

/* Sends bytes on a link. */
void service_write(struct service *service, int link, const void *data,
                   size_t len);

/* Takes a whole request from a link's bytes and answers it; returns its
 * length, or 0 if there is none yet. */
size_t service_http_request(struct service *service, int number);

/* Answer the request that is due. */
void service_token_answer(struct service *service, int link);
void service_upgrade_answer(struct service *service, int link);

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
