/*
 * Writes a recording (see recording.h) of the calls of a program and the trace
 * of the library. The trace masks the client's secrets, but not what the
 * service sends back. The recorder never gets the credentials.
 *
 * In short:
 *
 *     recorder_open(&r, path, rotate_bytes);
 *     recorder_configure(&r, &config);
 *     recorder_object(&r, 0, &config, 0, -1, &memory, NULL);
 *     mst_client_init(&client, &config, &port, &memory);
 *     recorder_market(&r, RECORDING_SUBSCRIBE, 0, MST_MARKET_DATA, "BTCUSD",
 *                     &shape);
 *     mst_subscribe(&client, MST_MARKET_DATA, "BTCUSD", &book);
 *     ...
 *     recorder_poll(&r, 0, monotonic_ns, unix_ns);
 *     mst_poll(&client, &event);
 *     ...
 *     recorder_close(&r);
 *
 * Each of these comes directly before the call that it records.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef RECORDER_H
#define RECORDER_H

#include "recording.h"

#include <zstd.h>

struct recorder {
    /* Gets each trace event as well; or NULL. */
    void (*then)(void *context, const struct mst_trace *trace);
    void *then_context;
    int status;  /* for the end: the exit status */
    bool failed; /* and if the run has failed */
    /* Private, except trouble: "", or why recording has stopped. */
    char trouble[4200 + 120];
    int fd;
    char path[4096];
    uint64_t rotate_bytes, size, number;
    uint64_t flushed_ns;
    uint8_t id[RECORDING_ID];
    struct recording_last last;
    uint64_t received_ns[RECORDING_NUMBERS];
    ZSTD_CCtx *zstd;
    uint8_t *content, *packed;
    size_t len;
};

/* Creates a new file that only its owner can read; path NULL: records nothing.
 * Starts another file whenever one has reached rotate_bytes; 0: never. Returns
 * 0, or -1 with a text in r->trouble. */
int recorder_open(struct recorder *r, const char *path, uint64_t rotate_bytes);
/* Ends the recording. Returns 0, or -1 with a text in r->trouble. */
int recorder_close(struct recorder *r);

/* Makes a configuration trace to the recorder, which passes the events on to
 * the trace function that was set before, unless that is the recorder. */
void recorder_configure(struct recorder *r, struct mst_config *config);

/* Records calls. object: the number of the program's object: a client, or a pair
 * with other memory. access: the number of a shared one, or -1. */
void recorder_object(struct recorder *r, int object,
                     const struct mst_config *config, uint32_t rotate_ms,
                     int access, const struct mst_memory *memory,
                     const struct mst_memory *other);

/* The books of a subscription: none, one, or a pair's two. */
struct recorder_books {
    unsigned count;
    uint32_t capacity, thin;
};
/* kind: RECORDING_SUBSCRIBE, _UNSUBSCRIBE or _RESYNC; books: of the first, or
 * NULL. Recording ends if a market's name has a space or is not printable
 * ASCII. */
void recorder_market(struct recorder *r, enum recording_kind kind, int object,
                     enum mst_channel channel, const char *market,
                     const struct recorder_books *books);
/* kind: RECORDING_LIST, _ROTATE, _CLOSE, _WIPE or, for an access, _ACCESS. */
void recorder_call(struct recorder *r, enum recording_kind kind, int object);
/* kind: RECORDING_CREDENTIALS or RECORDING_ANCHORS, of a shared access or an
 * object's own. */
void recorder_replaced(struct recorder *r, enum recording_kind kind, int number,
                       bool shared);
/* Also writes the collected items every 200 ms: an unexpected end of the
 * program or the file loses no more than that. */
void recorder_poll(struct recorder *r, int object, uint64_t monotonic_ns,
                   int64_t unix_ns);

#endif
