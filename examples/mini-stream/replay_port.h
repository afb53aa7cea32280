/*
 * Replay of a recording: a port that is secure itself, which gives the library
 * what the port of then gave, each in the call in which it did. The same calls
 * then have the same events.
 *
 * What the library does is compared with what it did: its states, errors,
 * requests and all that it sends, masked as in the trace. The first difference
 * ends the replay, and says where it is: another build behaves differently, or
 * the recording is not whole.
 *
 * The token endpoint's answers are not in a recording: they are made up from
 * what the library said of them, with a token of '*' of the same length.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef REPLAY_PORT_H
#define REPLAY_PORT_H

#include "recording.h"

/* Of one call, at most. */
#define REPLAY_ITEMS 65536u
#define REPLAY_BYTES (1u << 24)

/* Private: an item of the trace. */
struct replay_item {
    enum recording_kind kind;
    int64_t values[RECORDING_VALUES];
    uint64_t received_ns; /* of the link */
    size_t data, len;     /* in replay.data */
};

/* Private: how far the items of a call are used up, by what they are for. */
enum replay_use {
    USE_TOLD, /* what the trace must tell as well */
    USE_OUT,
    USE_IN,
    USE_ENDS, /* recv has no more */
    USE_SEND, /* send did not take all */
    USES
};
struct replay_line {
    uint64_t call; /* that what follows is of */
    size_t at[USES];
    size_t part[USES]; /* of the data of the item there */
    size_t told;       /* the last item that the library told as well, + 1 */
    bool made;         /* the token endpoint's answer */
    /* Of the connection. */
    bool tls, token, asked;
    int detail;
    uint64_t received_ns;
};

struct replay {
    /* What is told of the trace beside, or NULL. */
    void (*then)(void *context, const struct mst_trace *trace);
    void *then_context;
    struct recording recording;
    struct mst_port *port;
    uint64_t calls; /* so many were given, with the one at hand */
    /* "", or what went wrong. The service's words may stand in it: it is not
     * for a terminal as it is. */
    char error[5000];
    bool differs;                     /* it is a difference */
    struct recording_item call, next; /* at hand, and the one after it */
    uint8_t call_data[RECORDING_DATA], next_data[RECORDING_DATA];
    bool has_next;
    struct replay_item *items;
    size_t items_len, items_size;
    uint8_t *data;
    size_t data_len, data_size;
    struct replay_line lines[RECORDING_NUMBERS];
    uint64_t received_ns[RECORDING_NUMBERS]; /* as the items say */
    size_t clock_at, unix_at, random_at;     /* items */
    bool clock_stands;                       /* at the next reading */
    uint32_t now_ms;
    int64_t unix_ns;
    uint64_t now_ns;
    int trying;                 /* the link that reads the wall clock */
    char scope[RECORDING_TEXT]; /* that a token was asked for last */
    uint8_t reply[20000];
    size_t reply_at, reply_len;
};

/* Opens a recording and fills in the port that belongs to it, both borrowed
 * until replay_close(). Returns 0, or -1 with r->error. */
int replay_open(struct replay *r, const char *path, struct mst_port *port);
/* The next call that the program made: 1 with *call, which lives until the next
 * one; 0 at the end (r->recording.cut: it was cut off there); or -1 with
 * r->error. The program makes it before it asks for the next. */
int replay_next(struct replay *r, const struct recording_item **call);
void replay_close(struct replay *r);

/* The configuration as recorded, with credentials and flags that make it
 * replay: for an object that lives as long as the setup. */
void replay_configure(struct replay *r, struct recording_setup *setup);

/* ---- private: what the files of a replay share ---- */

/* Ends the replay for a difference; the first one is kept. */
void replay_differ(struct replay *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* An item as text. */
void replay_item_name(char out[200], enum recording_kind kind,
                      const int64_t *values, const uint8_t *data, size_t len);

/* Is it one of USE_TOLD? */
bool replay_is_told(enum recording_kind kind);

/* What of a link is used up in the call at hand. */
struct replay_line *replay_line_of(struct replay *r, int link);

/* The next item of this use on a link, or NULL; it is used up. */
struct replay_item *replay_peek(struct replay *r, int link,
                                enum replay_use use);
void replay_used(struct replay *r, int link, enum replay_use use);

/* Has all that the library told or sent before an item happened? */
bool replay_is_next(struct replay *r, int link, const struct replay_item *item);

/* The next item of a kind on any link from *at on, or NULL; it is used up. */
const struct replay_item *replay_take(struct replay *r, size_t *at,
                                      enum recording_kind kind);

/* Reads the items of the call at hand, up to the next call. Returns 0, or -1
 * with r->error; replay_read_fail() takes that of the recording. */
int replay_call_read(struct replay *r);
int replay_read_fail(struct replay *r);

/* Makes up the token endpoint's answer, once the recording says what became of
 * it. */
void replay_reply(struct replay *r, int link);

#endif
