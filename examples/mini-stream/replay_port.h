/*
 * Replay of a recording: a secure port that returns to the library what the
 * recorded port returned, call by call, so that the same events come.
 *
 * The library's states, errors, requests and sent data, masked as in the trace,
 * are compared with the recording. The first difference ends the replay with
 * its place: this build behaves differently, or the recording is damaged.
 *
 * The token endpoint's responses are not recorded. They are made up to cause
 * the recorded result, with a token of '*' of the same length.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef REPLAY_PORT_H
#define REPLAY_PORT_H

#include "recording.h"

/* Items and bytes of one call, at most. */
#define REPLAY_ITEMS 65536u
#define REPLAY_BYTES (1u << 24)
#define REPLAY_ROOM \
    (REPLAY_ITEMS * sizeof(struct recording_item) + REPLAY_BYTES)

/* Private: the uses of a call's items. */
enum replay_use {
    USE_TOLD, /* the trace must report it as well */
    USE_OUT,
    USE_IN,
    USE_ENDS, /* recv() had no more */
    USE_SEND, /* send() did not accept all */
    USES
};
struct replay_line {
    uint64_t call; /* the call that the next members are for */
    size_t at[USES];
    size_t part[USES]; /* used bytes of that item's data */
    size_t told;       /* last item that the library reported, + 1 */
    bool made;         /* the token endpoint's response is made */
    /* About the connection. */
    bool tls, token, asked;
    int detail;
    uint64_t received_ns;
};

struct replay {
    /* Gets each trace event as well; or NULL. */
    void (*then)(void *context, const struct mst_trace *trace);
    void *then_context;
    struct recording recording;
    struct mst_port *port;
    uint64_t calls; /* number of the current call */
    /* "", or an error. It may contain text of the service: clean it for
     * terminals. */
    char error[5000];
    bool differs;                     /* the error is a difference */
    struct recording_item call, next; /* the current one and the next one */
    uint8_t call_data[RECORDING_DATA], next_data[RECORDING_DATA];
    bool has_next;
    struct recording_item *items; /* of the call: its trace */
    uint8_t *data;                /* of the items */
    size_t items_len, data_len;
    struct replay_line lines[RECORDING_NUMBERS];
    uint64_t received_ns[RECORDING_NUMBERS]; /* of the items */
    size_t clock_at, unix_at, random_at;     /* indices of items */
    bool clock_stands; /* the next reading returns the same time */
    uint32_t now_ms;
    int64_t unix_ns;
    uint64_t now_ns;
    int trying;                 /* the link that last read the wall clock */
    char scope[RECORDING_TEXT]; /* of the last request for a token */
    uint8_t reply[20000];
    size_t reply_at, reply_len;
};

/* Opens a recording and fills in its port. Both are borrowed until
 * replay_close(). Returns 0, or -1 with r->error. */
int replay_open(struct replay *r, const char *path, struct mst_port *port);
/* Reads the next call, which the caller makes before it asks for another.
 * Returns 1 with *call, valid until then; 0 at the end (r->recording.cut: an
 * unexpected end); or -1 with r->error. */
int replay_next(struct replay *r, const struct recording_item **call);
void replay_close(struct replay *r);

/* Completes a recorded configuration with credentials and the trace. The setup
 * must live as long as the object. */
void replay_configure(struct replay *r, struct recording_setup *setup);

/* ---- private: what the files of a replay share ---- */

/* Reports a difference, which ends the replay. Only the first one counts. */
void replay_differ(struct replay *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void replay_item_name(char out[200], const struct recording_item *item);

/* True for the kinds of USE_TOLD. */
bool replay_is_told(enum recording_kind kind);

/* The state of a link in the current call. */
struct replay_line *replay_line_of(struct replay *r, int link);

/* The next item of this use on a link, or NULL. replay_used() consumes it. */
struct recording_item *replay_peek(struct replay *r, int link,
                                   enum replay_use use);
void replay_used(struct replay *r, int link, enum replay_use use);

/* True if everything that the library reported or sent before an item has
 * happened again. */
bool replay_is_next(struct replay *r, int link,
                    const struct recording_item *item);

/* The next item of a kind on any link, from *at on, or NULL. Consumes it. */
const struct recording_item *replay_take(struct replay *r, size_t *at,
                                         enum recording_kind kind);

/* Reads the items of the current call. Returns 0, or -1 with r->error;
 * replay_read_fail() copies the recording's error. */
int replay_call_read(struct replay *r);
int replay_read_fail(struct replay *r);

/* Makes up the token endpoint's response, once its result is recorded. */
void replay_reply(struct replay *r, int link);

#endif
