/*
 * Shared by the files of the tests' service.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SERVICE_PRIVATE_H
#define SERVICE_PRIVATE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service.h"

/* The hook for HTTP requests; returns true. */
bool service_http(void *context, int link, const char *request,
                  const char *body);

/* Expects a request to have this header, in any case. */
void service_header_expect(struct service *service, const char *request,
                           const char *name, const char *expected);

/* Responds now, later or never. */
void service_script_answer(struct service *service,
                           const struct service_script *script, int link);

/* Sends the script's response instead of the correct one; false if the script
 * has none. */
bool service_script_says(struct service *service, struct service_script *script,
                         int link);

/* Sends a response in the framing that the test has chosen. */
void service_respond(struct service *service,
                     const struct service_script *script, int link,
                     const char *status, const char *type, const char *body);

/* Handles a request to create or update an address. */
void service_address_request(struct service *service, int link,
                             const char *request, const char *body);
void service_address_answer(struct service *service, int link);

/* Send an unmasked frame, or a close frame, on a link. */
void service_link_frame(struct service *service, int link, unsigned flags,
                        unsigned opcode, const void *data, size_t len);
void service_link_close(struct service *service, int link, unsigned code,
                        const char *reason);

/* Records a client's error, unless there was one before. */
void service_wrong(struct service *service, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Counts something, with the current time. */
void service_note(struct service *service, struct service_count *count);

/* The hooks for a text message of the client, and for an entry in it. */
bool service_message(void *context, int link, const char *text);
const char *service_refuse(void *context, int link, bool subscribe,
                           const char *channel, const char *market);
bool service_snapshot(void *context, int link, const char *market);

/* Answer the outstanding request: of HTTP, of the stream. */
void service_http_answer(struct service *service, int link);
void service_request_answer(struct service *service, int link);

/* Starts to push to new connections if the rules say so. */
void service_feed_begin(struct service *service);
void service_beat_begin(struct service *service);

/* Sends the messages that are due. */
void service_feed(struct service *service, uint64_t now_ms);

#endif
