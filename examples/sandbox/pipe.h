/*
 * One direction of a connection: moves bytes from one socket to another, with
 * the faults of a network.
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
    int64_t slice;       /* most bytes written at once; 0: no limit */
    bool frozen;         /* nothing moves */
};

enum pipe_event {
    PIPE_ENDED,  /* the input has ended and all of it was written */
    PIPE_BROKEN, /* writing has failed */
    PIPE_MARK,   /* the bytes up to the mark have passed; once per mark */
};

/* Called only from the main loop; may free the pipe. */
typedef void (*pipe_callback)(enum pipe_event event, void *user_data);

struct pipe;

/* Moves nothing until pipe_set(). The sockets must outlive the pipe and must
 * not block. */
struct pipe *pipe_new(GSocket *from, GSocket *to, pipe_callback callback,
                      void *user_data);
void pipe_free(struct pipe *pipe);

/* Sets limits, and a mark in bytes from now on; 0 is reached at once. */
void pipe_set(struct pipe *pipe, const struct pipe_limits *limits,
              uint64_t mark);

/* Discards all further input. */
void pipe_drain(struct pipe *pipe);

#endif
