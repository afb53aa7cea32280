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

/* Value of a header in a NUL-terminated request, in out; "" if absent. */
void service_header_get(const char *request, const char *name, char *out,
                        size_t out_len);

/* It has to be this one, the case of letters apart. */
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
                             const char *request, const char *body, size_t len);
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

/* Writes an RFC 3339 time with 9 digits of a fraction, or with 3. */
#define SERVICE_TIME 40
void service_time(char out[SERVICE_TIME], int64_t ns, bool fine);

/* A text message of the client. */
void service_request(struct service *service, int link, const char *text);

/* The outstanding request is answered. */
void service_request_answer(struct service *service, int link);

/* Begins to push to new connections, where the rules say so. */
void service_feed_begin(struct service *service);
void service_beat_begin(struct service *service);

/* Pushes what is due. */
void service_feed(struct service *service, uint64_t now_ms);

#endif
