/*
 * From the bytes that a server sent on a WebSocket connection, its messages.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_FRAMES_H
#define SANDBOX_FRAMES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* A connection with a longer message is given up. */
#define FRAMES_MESSAGE_MAX ((gsize)16 << 20)

struct frames;

typedef void (*frames_message)(void *user_data, const char *text, gsize len);

struct frames *frames_new(frames_message message, void *user_data);
void frames_free(struct frames *frames);

/* Another connection begins. */
void frames_reset(struct frames *frames);

/* Takes what comes next; each text message goes to the callback. What is no
 * WebSocket is passed over up to the next reset. */
void frames_take(struct frames *frames, const uint8_t *data, gsize len);

/* Whether the handshake was accepted, and all since was well. */
bool frames_open(const struct frames *frames);

#endif
