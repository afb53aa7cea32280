/*
 * Serves a recording: what the recorded service sent, at its pace.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_PLAYED_H
#define SANDBOX_PLAYED_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

struct played;

/* Takes a message: its channel, its market or "", its text. */
typedef void (*played_message)(const char *channel, const char *market,
                               const char *text, void *user_data);

/* Opens a recording and reads all of it once. If it is damaged or no recording,
 * returns NULL and sets the error. speed: 2 is twice the recorded pace. */
struct played *played_new(const char *path, double speed, GError **error);
void played_free(struct played *played);

/* Returns the recorded markets (char *). */
const GPtrArray *played_markets(const struct played *played);

/* Starts the recording; each message goes to the callback. */
void played_start(struct played *played, played_message message,
                  void *user_data);

/* Return the first message of a new subscription: the market's book, or its
 * last top of book. Free it with g_free(). NULL if the recording has none
 * yet. */
char *played_snapshot(const struct played *played, const char *symbol);
char *played_top(const struct played *played, const char *symbol);

/* Returns the book with at most `levels` levels per side, to be released; NULL
 * if there is none yet. */
json_t *played_truth(const struct played *played, const char *symbol,
                     guint levels);

#endif
