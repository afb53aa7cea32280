/*
 * A script: the markets that there are, and faults at stated times.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_SCRIPT_H
#define SANDBOX_SCRIPT_H

#include "faults.h"
#include "feed.h"

/* What a step may wait for. */
enum script_event {
    SCRIPT_START,
    SCRIPT_TOKEN,     /* one was granted */
    SCRIPT_CONNECT,   /* a WebSocket is open */
    SCRIPT_SUBSCRIBE, /* a request was carried out; so the next */
    SCRIPT_UNSUBSCRIBE,
    SCRIPT_DISCONNECT, /* a WebSocket is open no more */
    SCRIPT_EVENTS,
};

struct script;

/* Without steps; the faults must outlive it. */
struct script *script_new(struct faults *faults);
void script_free(struct script *script);

/* Reads a file. *markets: of struct feed_market, to be released; NULL where the
 * file names none. rate, levels: of those that do not say. */
bool script_load(struct script *script, const char *path, int rate,
                 guint levels, GArray **markets, GError **error);

/* Something happened: the steps that wait for it begin. */
void script_happened(struct script *script, enum script_event event);

/* Reads the JSON object of one of its markets; market has the rate and the
 * levels of one that does not say. False, with the error, when anything is
 * wrong. */
bool script_market_read(const json_t *json, const char *path,
                        struct feed_market *market, struct schema_error *error);

#endif
