/*
 * A script: the sandbox's markets, and faults at given times.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_SCRIPT_H
#define SANDBOX_SCRIPT_H

#include "faults.h"
#include "feed.h"

/* The events that a step may wait for. */
enum script_event {
    SCRIPT_START,
    SCRIPT_TOKEN,     /* a token was granted */
    SCRIPT_CONNECT,   /* a WebSocket was opened */
    SCRIPT_SUBSCRIBE, /* a request was carried out; also the next */
    SCRIPT_UNSUBSCRIBE,
    SCRIPT_DISCONNECT, /* a WebSocket was closed */
    SCRIPT_EVENTS,
};

struct script;

/* Returns a script without steps. The faults must outlive it. */
struct script *script_new(struct faults *faults);
void script_free(struct script *script);

/* Reads a file. Sets *markets to an array of struct feed_market, to be
 * released, or to NULL if the file has none. rate and levels are the
 * defaults. */
bool script_load(struct script *script, const char *path, int rate,
                 guint levels, GArray **markets, GError **error);

/* Starts the steps that wait for this event. */
void script_happened(struct script *script, enum script_event event);

/* Reads a market of the script. *market has the default rate and levels. If the
 * JSON is invalid, returns false and sets the error. */
bool script_market_read(const json_t *json, const char *path,
                        struct feed_market *market, struct schema_error *error);

#endif
