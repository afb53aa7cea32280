/*
 * One direction of a connection: takes bytes from one socket to another, as
 * badly as a network may.
 *
 * SPDX-License-Identifier: 0BSD
 */
#ifndef SANDBOX_PIPE_H
#define SANDBOX_PIPE_H

#include <gio/gio.h>
#include <stdbool.h>
#include <stdint.h>

#define PIPE_NO_MARK UINT64_MAX

struct pipe_limits {
    int64_t latency_us;
    int64_t bytes_per_s; /* 0: no limit */
    int64_t slice;       /* bytes written at once; 0: no limit */
    bool frozen;         /* nothing moves */
};

enum pipe_event {
    PIPE_ENDED,  /* all has been written that will ever come */
    PIPE_BROKEN, /* the socket to write to is gone */
    PIPE_MARK,   /* so many bytes have passed; a mark holds once */
};

/* Comes from the main loop alone, and may free the pipe. */
typedef void (*pipe_callback)(enum pipe_event event, void *user_data);

struct pipe;

/* Moves nothing before limits are set. Keeps no sockets: they must outlive
 * the pipe, and must not block. */
struct pipe *pipe_new(GSocket *from, GSocket *to, pipe_callback callback,
                      void *user_data);
void pipe_free(struct pipe *pipe);

/* The mark is in bytes from now on; at 0 it is reached at once. */
void pipe_set(struct pipe *pipe, const struct pipe_limits *limits,
              uint64_t mark);

/* From now on throws away what comes. */
void pipe_drain(struct pipe *pipe);

#endif
