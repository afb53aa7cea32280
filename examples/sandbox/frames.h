/*
 * Decodes the bytes of a WebSocket server into messages.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_FRAMES_H
#define SANDBOX_FRAMES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* A longer message ends the decoding of its connection. */
#define FRAMES_MESSAGE_MAX ((gsize)16 << 20)

struct frames;

typedef void (*frames_message)(void *user_data, const char *text, gsize len);

struct frames *frames_new(frames_message message, void *user_data);
void frames_free(struct frames *frames);

/* Starts with a new connection. */
void frames_reset(struct frames *frames);

/* Decodes the next bytes; each text message goes to the callback. Bytes that
 * are no WebSocket are ignored until frames_reset(). */
void frames_take(struct frames *frames, const uint8_t *data, gsize len);

/* Returns true if the handshake was accepted and no error came since. */
bool frames_open(const struct frames *frames);

#endif
