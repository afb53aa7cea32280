/*
 * The format of a recording, and its checked reader.
 *
 * A recording is one or more files: FILE, then FILE.1, FILE.2 and so on. Each
 * is a row of zstd frames with checksums (`zstd -dc FILE` opens it), each
 * frame of up to RECORDING_BLOCK bytes of content and a whole number of items:
 * all that a crash cuts off is the last frame. The first content of a file is
 * RECORDING_MAGIC and an item RECORDING_FILE.
 *
 * An item is a byte (enum recording_kind), then the values that recording.c's
 * table names, then the length of its data, if it has any, and the data.
 * Numbers are of 7 bits a byte, the lowest first, 0x80 where more follow;
 * values have their sign in the lowest bit; some are the difference to the last
 * one of their kind.
 *
 * An item of a call of the program's comes first, then what the library did in
 * it, as its trace tells.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef RECORDING_H
#define RECORDING_H

#include "mini_stream.h"

#include <stdio.h>

#define RECORDING_MAGIC "mini-stream recording 1\n"
#define RECORDING_BLOCK 65536u     /* bytes of content of a frame */
#define RECORDING_DATA 32768u      /* bytes of data of an item */
#define RECORDING_VALUES 6u        /* of an item */
#define RECORDING_ID 8u            /* bytes that its files have in common */
#define RECORDING_NUMBERS 1024u    /* links, objects and accesses: below this */
#define RECORDING_CAPACITY 100000u /* levels of a side of a book, at most */
/* Monotonic times, and Unix times less those, ns: below this, so that the sum
 * of any two fits an int64_t. */
#define RECORDING_NS_END (INT64_C(1) << 62)
#define RECORDING_MEMORY (1u << 24) /* bytes of a length of memory, at most */

enum recording_kind {
    /* The recording was ended in order: the program's exit status, whether its
     * run has failed (bool). */
    RECORDING_END,
    RECORDING_NEXT, /* it goes on in the next file */
    /* number of the file, MST_LIMITS, MST_SUBSCRIPTIONS_MAX; data: its id, and
     * in the first file MST_VERSION. */
    RECORDING_FILE,
    /* Calls. The first value is the object's number. */
    RECORDING_ACCESS, /* an access is prepared, to be shared */
    RECORDING_CLIENT, /* a client; data: struct recording_setup */
    RECORDING_PAIR,   /* a pair; likewise */
    /* channel, books (0, 1, 2), capacity, thin, 0 (older recordings: of a book
     * that the library had then; ignored); data: market */
    RECORDING_SUBSCRIBE,
    RECORDING_UNSUBSCRIBE, /* channel; data: market */
    RECORDING_RESYNC,      /* likewise */
    RECORDING_LIST,
    RECORDING_ROTATE,
    RECORDING_CLOSE,
    RECORDING_WIPE,
    RECORDING_CREDENTIALS, /* of an access (1) or an object's own (0) */
    RECORDING_ANCHORS,     /* likewise */
    RECORDING_POLL,        /* monotonic ns, Unix ns less that */
    /* The trace. The first value is the link's number. */
    RECORDING_STATE, /* from, to */
    /* error, state, HTTP status, wait in ms, detail; data: text */
    RECORDING_ERROR,
    RECORDING_TOKEN,   /* enum recording_token, life in s, length */
    RECORDING_REQUEST, /* channels; data: its type */
    RECORDING_REPAIR,  /* mst_repair; data: market */
    RECORDING_OPEN,    /* port; data: host */
    RECORDING_OPENED,
    RECORDING_IN,   /* data: plaintext */
    RECORDING_OUT,  /* data: plaintext, masked */
    RECORDING_PORT, /* error, value, sending */
    RECORDING_STOP, /* error: of the attempt or connection */
    RECORDING_CLOCK,
    RECORDING_UNIX,
    RECORDING_RANDOM,   /* data */
    RECORDING_RECEIVED, /* ns: of what follows on this link */
    RECORDING_KINDS
};

enum recording_token { TOKEN_OBTAINED, TOKEN_LOADED, TOKEN_DROPPED };

struct recording_item {
    enum recording_kind kind;
    int64_t values[RECORDING_VALUES];
    const uint8_t *data; /* or NULL */
    size_t len;
};

/* Leaves of an item what its kind has. */
void recording_trim(struct recording_item *item);
bool recording_is_call(enum recording_kind kind);
const char *recording_kind_name(enum recording_kind kind);
/* May a call of a recording name this market, "" for the heartbeat's? One that
 * the library takes, of characters that any terminal shows as they are. */
bool recording_is_market(int64_t channel, const uint8_t *name, size_t len);

/* Values as differences: those of the last items. */
struct recording_last {
    int64_t values[RECORDING_KINDS][RECORDING_VALUES];
};

/* Bytes that an item takes at most. */
#define RECORDING_ITEM (1u + 10u * (RECORDING_VALUES + 1u) + RECORDING_DATA)

/* Writes an item into out[RECORDING_ITEM]: its length. */
size_t recording_write(struct recording_last *last,
                       const struct recording_item *item, uint8_t *out);
/* Reads an item: 1 with its length in *used, or 0 where it is malformed. Its
 * data lies in the input. */
bool recording_read(struct recording_last *last, const uint8_t *in, size_t len,
                    struct recording_item *item, size_t *used);

#define RECORDING_TEXT 512u /* of a configuration, with its NUL */

/* What the trace tells, as an item whose data is the trace's, and of any length
 * (without the link's RECORDING_RECEIVED). */
void recording_of_trace(const struct mst_trace *trace,
                        struct recording_item *item);

/* What a client or a pair was made with, but the credentials, trust anchors and
 * what is the port's. Texts are NULL where the configuration had none. */
struct recording_setup {
    struct mst_config config; /* texts, flags, link, times, min_rate */
    int access;               /* a shared one's number, or -1 */
    uint32_t rotate_ms;
    size_t lengths[2][4];          /* of struct mst_memory */
    char texts[4][RECORDING_TEXT]; /* that config points to */
};
#define RECORDING_SETUP (64u * 10u + 4u * (RECORDING_TEXT + 10u))
size_t recording_setup_write(const struct recording_setup *setup,
                             uint8_t out[RECORDING_SETUP]);
bool recording_setup_read(const uint8_t *in, size_t len,
                          struct recording_setup *setup);

/* Makes the path of the file of this number that of the next one, for which it
 * has room for 24 bytes more. */
void recording_path_next(char *path, uint64_t *number);

/* The reader of all files of a recording. Private, but that the error is for
 * all and cut is true at the end of a recording that was not ended in order. */
struct recording {
    FILE *file;
    char path[4096];
    uint64_t number; /* of the file */
    uint64_t block;  /* of the file, counting from 1 */
    uint8_t id[RECORDING_ID];
    char version[32];
    bool cut, over;
    int status;  /* at the end: the exit status of then */
    bool failed; /* and whether the run had failed */
    struct recording_last last;
    uint8_t *packed, *content;
    size_t packed_len, at, len;
    char error[4200 + 120];
};

/* Opens a recording, and checks that this build can replay it. Return 0, or -1
 * with an error; 1 with an item, or 0 at the end. */
int recording_open(struct recording *r, const char *path);
int recording_next(struct recording *r, struct recording_item *item);
void recording_close(struct recording *r);

#endif
