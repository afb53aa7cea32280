/*
 * The format of a recording, and its checked reader.
 *
 * A recording is one or more files: FILE, then FILE.1, FILE.2 and so on. Each
 * is a sequence of zstd frames with checksums (`zstd -dc FILE` shows it). A
 * frame has up to RECORDING_BLOCK bytes of content, with complete items, so
 * that a crash loses only the last frame. The content of a file begins with
 * RECORDING_MAGIC and an item RECORDING_FILE.
 *
 * An item is a byte (enum recording_kind), then the values in the table of
 * recording.c, then the length of its data and the data, if it has any. Numbers
 * have 7 bits per byte, lowest first, with 0x80 set in all bytes but the last.
 * Values have their sign in the lowest bit; some are differences to the
 * previous value of that kind.
 *
 * A call of the program is followed by the trace of the library in that call.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef RECORDING_H
#define RECORDING_H

#include "mini_stream.h"

#include <stdio.h>

#define RECORDING_MAGIC "mini-stream recording 1\n"
#define RECORDING_BLOCK 65536u     /* bytes of a frame's content */
#define RECORDING_DATA 32768u      /* bytes of an item's data */
#define RECORDING_VALUES 6u        /* of an item */
#define RECORDING_ID 8u            /* bytes that identify its files */
#define RECORDING_NUMBERS 1024u    /* of links, objects, accesses */
#define RECORDING_CAPACITY 100000u /* levels per side of a book */
/* Limit of monotonic times, and of Unix times minus monotonic ones, in ns. The
 * sum of any two fits an int64_t. */
#define RECORDING_NS_END (INT64_C(1) << 62)
#define RECORDING_MEMORY (1u << 24) /* largest length of memory */

enum recording_kind {
    /* The normal end: exit status, 1 if the run had failed. */
    RECORDING_END,
    RECORDING_NEXT, /* continues in the next file */
    /* File number, MST_LIMITS, MST_SUBSCRIPTIONS_MAX; data: the recording's id
     * and, in the first file, MST_VERSION. */
    RECORDING_FILE,
    /* Calls. The first value is the object's number. */
    RECORDING_ACCESS, /* a shared access */
    RECORDING_CLIENT, /* a client; data: struct recording_setup */
    RECORDING_PAIR,   /* a pair; data: struct recording_setup */
    /* channel, books (0, 1, 2), capacity, thin, 0 (ignored: used by older
     * recordings); data: market */
    RECORDING_SUBSCRIBE,
    RECORDING_UNSUBSCRIBE, /* channel; data: market */
    RECORDING_RESYNC,      /* channel; data: market */
    RECORDING_LIST,
    RECORDING_ROTATE,
    RECORDING_CLOSE,
    RECORDING_WIPE,
    RECORDING_CREDENTIALS, /* of a shared access (1) or an object's own (0) */
    RECORDING_ANCHORS,     /* of a shared access (1) or an object's own (0) */
    RECORDING_POLL,        /* monotonic ns, Unix ns minus that */
    /* The trace. The first value is the link's number. */
    RECORDING_STATE, /* from, to */
    /* error, state, HTTP status, wait in ms, detail; data: text */
    RECORDING_ERROR,
    RECORDING_TOKEN,   /* enum recording_token, life in s, length */
    RECORDING_REQUEST, /* channels; data: its type */
    RECORDING_REPAIR,  /* enum mst_repair; data: market */
    RECORDING_OPEN,    /* port; data: host */
    RECORDING_OPENED,
    RECORDING_IN,   /* data: plaintext */
    RECORDING_OUT,  /* data: plaintext, masked */
    RECORDING_PORT, /* error, value, sending */
    RECORDING_STOP, /* error: of the attempt or connection */
    RECORDING_CLOCK,
    RECORDING_UNIX,
    RECORDING_RANDOM,   /* data */
    RECORDING_RECEIVED, /* ns, for the next items of this link */
    RECORDING_KINDS
};

enum recording_token { TOKEN_OBTAINED, TOKEN_LOADED, TOKEN_DROPPED };

struct recording_item {
    enum recording_kind kind;
    int64_t values[RECORDING_VALUES];
    const uint8_t *data; /* or NULL */
    size_t len;
    uint64_t received_ns; /* in a replay: when its link received last */
};

/* Clears the values and data that the item's kind does not have. */
void recording_trim(struct recording_item *item);
bool recording_is_call(enum recording_kind kind);
const char *recording_kind_name(enum recording_kind kind);
/* True if a recorded call may name this market, "" for the heartbeat: the
 * library accepts it, and any terminal can show it. */
bool recording_is_market(int64_t channel, const uint8_t *name, size_t len);

/* The last values, for differences. */
struct recording_last {
    int64_t values[RECORDING_KINDS][RECORDING_VALUES];
};

/* Bytes of an item, at most. */
#define RECORDING_ITEM (1u + 10u * (RECORDING_VALUES + 1u) + RECORDING_DATA)

/* Writes an item into out[RECORDING_ITEM]. Returns its length. */
size_t recording_write(struct recording_last *last,
                       const struct recording_item *item, uint8_t *out);
/* Reads an item, whose data points into the input, and sets *used to its
 * length. Returns false if it is malformed. */
bool recording_read(struct recording_last *last, const uint8_t *in, size_t len,
                    struct recording_item *item, size_t *used);

#define RECORDING_TEXT 512u /* bytes of a text, with its NUL */

/* Converts a trace event to an item. The data is the trace's, of any length.
 * Without the link's RECORDING_RECEIVED. */
void recording_of_trace(const struct mst_trace *trace,
                        struct recording_item *item);

/* The configuration of a client or a pair, without credentials, trust anchors
 * and port. A text that was not set is NULL. */
struct recording_setup {
    struct mst_config config; /* with texts, flags, link, times, min_rate */
    int access;               /* number of a shared one, or -1 */
    uint32_t rotate_ms;
    size_t lengths[2][4];          /* of struct mst_memory */
    char texts[4][RECORDING_TEXT]; /* config points to them */
};
#define RECORDING_SETUP (64u * 10u + 4u * (RECORDING_TEXT + 10u))
size_t recording_setup_write(const struct recording_setup *setup,
                             uint8_t out[RECORDING_SETUP]);
bool recording_setup_read(const uint8_t *in, size_t len,
                          struct recording_setup *setup);

/* Changes the path of the file of this number to that of the next one. path has
 * room for 24 more bytes. */
void recording_path_next(char *path, uint64_t *number);

/* The reader of all files of a recording. Private, except for the results:
 * error, and at the end cut, surplus, status and failed. cut: it ends
 * unexpectedly. surplus: something follows the end. */
struct recording {
    FILE *file;
    char path[4096];
    uint64_t number; /* of the file */
    uint64_t block;  /* in the file, from 1 */
    uint8_t id[RECORDING_ID];
    char version[32];
    bool cut, surplus, over;
    int status;  /* exit status of the run */
    bool failed; /* the run had failed */
    struct recording_last last;
    uint8_t *packed, *content;
    size_t packed_at, packed_len, at, len;
    char error[4200 + 120];
};

/* Open a recording that this build can replay: return 0, or -1 with an error.
 * Read an item: return 1, 0 at the end, or -1 with an error. */
int recording_open(struct recording *r, const char *path);
int recording_next(struct recording *r, struct recording_item *item);
void recording_close(struct recording *r);

#endif
