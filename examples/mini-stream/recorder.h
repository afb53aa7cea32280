/*
 * Writes a recording (see recording.h): what the program calls, and what the
 * library's trace tells of it. The trace masks the client's secrets (not what
 * the service sends back), and the credentials are never asked for.
 *
 * In short:
 *
 *     recorder_open(&r, path, rotate_bytes);
 *     recorder_configure(&r, &config);
 *     recorder_client(&r, 0, &config, -1, &memory);
 *     mst_client_init(&client, &config, &port, &memory);
 *     recorder_subscribe(&r, 0, MST_MARKET_DATA, "BTCUSD", &shape);
 *     mst_subscribe(&client, MST_MARKET_DATA, "BTCUSD", &book);
 *     ...
 *     recorder_poll(&r, 0, monotonic_ns, unix_ns);
 *     mst_poll(&client, &event);
 *     ...
 *     recorder_close(&r);
 *
 * Each of these stands directly before the call that it is about.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef RECORDER_H
#define RECORDER_H

#include "recording.h"

#include <zstd.h>

struct recorder {
    /* What is told of the trace beside, or NULL. */
    void (*then)(void *context, const struct mst_trace *trace);
    void *then_context;
    int status;  /* for the end: the program's exit status */
    bool failed; /* and whether its run has failed */
    /* Private, but that trouble is for all: "", or why nothing is written any
     * more. */
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

/* Creates FILE, which must not be there yet, for the owner's eyes alone. With
 * rotate_bytes another file is begun whenever one is so large; 0: never.
 * Returns 0, or -1 with a text in r->trouble. */
int recorder_open(struct recorder *r, const char *path, uint64_t rotate_bytes);
/* Ends the recording in order. Returns 0, or -1 with a text in r->trouble. */
int recorder_close(struct recorder *r);

/* Has a configuration traced to the recorder; a trace that was set there is
 * told as well, unless it is the recorder. */
void recorder_configure(struct recorder *r, struct mst_config *config);

/* The calls. object: a number of the program's, that of the call that makes it.
 * access: a shared one's number, or -1. */
void recorder_client(struct recorder *r, int object,
                     const struct mst_config *config, int access,
                     const struct mst_memory *memory);
void recorder_pair(struct recorder *r, int object,
                   const struct mst_config *config, uint32_t rotate_ms,
                   int access, const struct mst_memory *memory,
                   const struct mst_memory *other);

/* The books of a subscription: none, one, or a pair's two. */
struct recorder_books {
    unsigned count;
    uint32_t capacity, thin;
};
/* A market's name that is not printable ASCII, or has a space, ends the
 * recording. */
void recorder_subscribe(struct recorder *r, int object,
                        enum mst_channel channel, const char *market,
                        const struct recorder_books *books);
/* RECORDING_UNSUBSCRIBE or RECORDING_RESYNC. */
void recorder_named(struct recorder *r, enum recording_kind kind, int object,
                    enum mst_channel channel, const char *market);
/* RECORDING_LIST, _ROTATE, _CLOSE or _WIPE, or of an access: _ACCESS. */
void recorder_call(struct recorder *r, enum recording_kind kind, int object);
/* RECORDING_CREDENTIALS or RECORDING_ANCHORS: of an access that is shared, or
 * of an object's own. */
void recorder_replaced(struct recorder *r, enum recording_kind kind, int number,
                       bool shared);
/* Also writes the gathered data every 200 ms: if the program ends unexpectedly,
 * or the file is cut, no more than that is lost. */
void recorder_poll(struct recorder *r, int object, uint64_t monotonic_ns,
                   int64_t unix_ns);

#endif
