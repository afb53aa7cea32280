/*
 * What the files of the scripted service share.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SERVICE_PRIVATE_H
#define SERVICE_PRIVATE_H

#include "service.h"

/* An HTTP request, for the hook of this name; true. */
bool service_http(void *context, int link, const char *request,
                  const char *body);

/* A request has this header, the case of letters apart. */
void service_header_expect(struct service *service, const char *request,
                           const char *name, const char *expected);

/* Answers now, later or never. */
void service_script_answer(struct service *service,
                           const struct service_script *script, int link);

/* Sends the response that a script has instead of the proper one; false
 * where it has none. */
bool service_script_says(struct service *service, struct service_script *script,
                         int link);

/* Sends a response, in the framing that the test asks for. */
void service_respond(struct service *service,
                     const struct service_script *script, int link,
                     const char *status, const char *type, const char *body);

/* A request to create or update an address, and its answer. */
void service_address_request(struct service *service, int link,
                             const char *request, const char *body);
void service_address_answer(struct service *service, int link);

/* Answers the request that is due. */
void service_http_answer(struct service *service, int link);

/* Sends an unmasked frame on a link. */
void service_link_frame(struct service *service, int link, unsigned flags,
                        unsigned opcode, const void *data, size_t len);

/* Sends a close frame on a link. */
void service_link_close(struct service *service, int link, unsigned code,
                        const char *reason);

/* Keeps the first thing that a client did wrong. */
void service_wrong(struct service *service, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Notes that something was seen, now. */
void service_note(struct service *service, struct service_count *count);

/* A text message of the client, and what an entry of it comes to, for the hooks
 * of these names. */
bool service_message(void *context, int link, const char *text);
const char *service_refuse(void *context, int link, bool subscribe,
                           const char *channel, const char *market);
bool service_snapshot(void *context, int link, const char *market);

/* The outstanding request is answered. */
void service_request_answer(struct service *service, int link);

/* Begins to push to new connections, where the rules say so. */
void service_feed_begin(struct service *service);
void service_beat_begin(struct service *service);

/* Pushes what is due. */
void service_feed(struct service *service, uint64_t now_ms);

#endif
