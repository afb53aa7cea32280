/*
 * A recording that is served: what the service of then sent, at its pace.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_PLAYED_H
#define SANDBOX_PLAYED_H

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

struct played;

/* A pushed message: its channel, its market ("" if it has none), its text. */
typedef void (*played_message)(const char *channel, const char *market,
                               const char *text, void *user_data);

/* Reads a whole recording once: NULL, with the error, where it is none or is
 * damaged. speed: times the pace of then. */
struct played *played_new(const char *path, double speed, GError **error);
void played_free(struct played *played);

/* The markets that were subscribed to: char *. */
const GPtrArray *played_markets(const struct played *played);

/* Lets it run; each message goes to the callback. */
void played_start(struct played *played, played_message message,
                  void *user_data);

/* What a subscription begins with, the market's book or last top of book, as a
 * message for g_free; NULL: the recording has none yet. */
char *played_snapshot(const struct played *played, const char *symbol);
char *played_top(const struct played *played, const char *symbol);

/* The book with at most so many levels of each side, to be released; NULL:
 * there is none yet. */
json_t *played_truth(const struct played *played, const char *symbol,
                     guint levels);

#endif
