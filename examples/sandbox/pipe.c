/* One direction of a connection. SPDX-License-Identifier: 0BSD */
#include "pipe.h"

#define READ_MAX 16384
#define QUEUE_MAX ((size_t)4 * READ_MAX)

/* Time between slices, so that each becomes a separate TCP segment. */
#define SLICE_GAP_US 1000

/* With a rate limit, one write is at most what the rate allows in this time. */
#define BURST_US (G_USEC_PER_SEC / 20)

struct chunk {
    GBytes *bytes;
    size_t written;
    int64_t due_us; /* monotonic */
};

struct pipe {
    GSocket *from;
    GSocket *to;
    pipe_callback callback;
    void *user_data;
    struct pipe_limits limits;
    uint64_t mark;   /* bytes until PIPE_MARK */
    GQueue chunks;   /* struct chunk, owned; oldest first */
    size_t queued;   /* bytes in them */
    bool ended;      /* the input has ended */
    bool told;       /* PIPE_ENDED was reported */
    bool draining;   /* input is discarded */
    int64_t idle_us; /* monotonic: do not write before */

    /* NULL while there is nothing to wait for: */
    GSource *readable;
    GSource *writable;
    GSource *due;
};

static void chunk_free(gpointer data) {
    struct chunk *chunk = data;

    g_bytes_unref(chunk->bytes);
    g_free(chunk);
}

struct pipe *pipe_new(GSocket *from, GSocket *to, pipe_callback callback,
                      void *user_data) {
    struct pipe *pipe = g_new0(struct pipe, 1);

    pipe->from = from;
    pipe->to = to;
    pipe->callback = callback;
    pipe->user_data = user_data;
    pipe->mark = PIPE_NO_MARK;
    return pipe;
}

static void stop(GSource **source) {
    if (*source) {
        g_source_destroy(*source);
        g_clear_pointer(source, g_source_unref);
    }
}

static void forget_chunks(struct pipe *pipe) {
    g_queue_clear_full(&pipe->chunks, chunk_free);
    pipe->queued = 0;
}

void pipe_free(struct pipe *pipe) {
    stop(&pipe->readable);
    stop(&pipe->writable);
    stop(&pipe->due);
    forget_chunks(pipe);
    g_free(pipe);
}

static gboolean on_readable(GSocket *socket, GIOCondition condition,
                            gpointer user_data);
static gboolean on_writable(GSocket *socket, GIOCondition condition,
                            gpointer user_data);
static gboolean on_due(gpointer user_data);

static void start(struct pipe *pipe, GSource **source, GSource *created,
                  GSourceFunc callback) {
    *source = created;
    g_source_set_callback(created, callback, pipe, NULL);
    g_source_attach(created, NULL);
}

/* Returns when the first chunk may be written. */
static int64_t first_due_us(const struct pipe *pipe) {
    const struct chunk *first = g_queue_peek_head((GQueue *)&pipe->chunks);

    return MAX(first->due_us, pipe->idle_us);
}

static void start_due(struct pipe *pipe, int64_t wait_us) {
    stop(&pipe->due);
    start(pipe, &pipe->due,
          g_timeout_source_new((guint)((wait_us + 999) / 1000)), on_due);
}

/* Starts the sources for the next event. blocked: the output is full. */
static void await(struct pipe *pipe, bool blocked) {
    bool writes = !pipe->limits.frozen && pipe->chunks.length > 0;
    bool reads =
        !pipe->limits.frozen && !pipe->ended && pipe->queued < QUEUE_MAX;

    if (!reads) {
        stop(&pipe->readable);
    } else if (!pipe->readable) {
        start(pipe, &pipe->readable,
              g_socket_create_source(pipe->from, G_IO_IN, NULL),
              G_SOURCE_FUNC(on_readable));
    }
    if (writes && blocked) {
        start(pipe, &pipe->writable,
              g_socket_create_source(pipe->to, G_IO_OUT, NULL),
              G_SOURCE_FUNC(on_writable));
    } else if (writes) {
        start_due(pipe, MAX(first_due_us(pipe) - g_get_monotonic_time(), 0));
    }
}

/* Returns the number of bytes of the chunk to write now. */
static size_t may_write(const struct pipe *pipe, const struct chunk *chunk) {
    const struct pipe_limits *limits = &pipe->limits;
    uint64_t len = g_bytes_get_size(chunk->bytes) - chunk->written;

    if (limits->frozen || first_due_us(pipe) > g_get_monotonic_time()) {
        return 0;
    }
    len = MIN(len, pipe->mark);
    if (limits->slice > 0) {
        len = MIN(len, (uint64_t)limits->slice);
    }
    if (limits->bytes_per_s > 0) {
        int64_t burst = limits->bytes_per_s * BURST_US / G_USEC_PER_SEC;

        len = MIN(len, (uint64_t)MAX(burst, 1));
    }
    return (size_t)len;
}

/* Counts `len` written bytes of the first chunk. */
static void account(struct pipe *pipe, struct chunk *first, size_t len) {
    const struct pipe_limits *limits = &pipe->limits;
    int64_t wait_us = limits->slice > 0 ? SLICE_GAP_US : 0;

    if (limits->bytes_per_s > 0) {
        wait_us =
            MAX(wait_us, (int64_t)len * G_USEC_PER_SEC / limits->bytes_per_s);
    }
    pipe->idle_us = g_get_monotonic_time() + wait_us;
    pipe->queued -= len;
    if (pipe->mark != PIPE_NO_MARK) {
        pipe->mark -= len;
    }
    first->written += len;
    if (first->written == g_bytes_get_size(first->bytes)) {
        chunk_free(g_queue_pop_head(&pipe->chunks));
    }
}

enum outcome {
    WRITE_DONE, /* all due data was written */
    WRITE_BLOCKED,
    WRITE_BROKEN,
};

static enum outcome write_due(struct pipe *pipe) {
    enum outcome outcome = WRITE_DONE;
    struct chunk *first;

    while (outcome == WRITE_DONE &&
           (first = g_queue_peek_head(&pipe->chunks)) != NULL) {
        size_t len = may_write(pipe, first);
        const char *data = g_bytes_get_data(first->bytes, NULL);
        g_autoptr(GError) error = NULL;
        gssize written;

        if (len == 0) {
            break;
        }
        written =
            g_socket_send(pipe->to, data + first->written, len, NULL, &error);
        if (written > 0) {
            account(pipe, first, (size_t)written);
        } else {
            outcome = g_error_matches(error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK)
                          ? WRITE_BLOCKED
                          : WRITE_BROKEN;
        }
    }
    return outcome;
}

/* Writes as much as possible. May end with the callback, which may free the
 * pipe. */
static void pump(struct pipe *pipe) {
    enum outcome outcome;

    stop(&pipe->due);
    stop(&pipe->writable);
    outcome = write_due(pipe);
    if (outcome == WRITE_BROKEN) {
        pipe->callback(PIPE_BROKEN, pipe->user_data);
        return;
    }
    await(pipe, outcome == WRITE_BLOCKED);
    if (pipe->mark == 0) {
        pipe->mark = PIPE_NO_MARK;
        pipe->callback(PIPE_MARK, pipe->user_data);
    } else if (pipe->ended && !pipe->told && pipe->chunks.length == 0) {
        pipe->told = true;
        pipe->callback(PIPE_ENDED, pipe->user_data);
    }
}

static void take(struct pipe *pipe, const void *data, size_t len) {
    struct chunk *chunk = g_new0(struct chunk, 1);

    chunk->bytes = g_bytes_new(data, len);
    chunk->due_us = g_get_monotonic_time() + pipe->limits.latency_us;
    g_queue_push_tail(&pipe->chunks, chunk);
    pipe->queued += len;
}

static gboolean on_readable(GSocket *socket, GIOCondition condition,
                            gpointer user_data) {
    struct pipe *pipe = user_data;
    char data[READ_MAX];
    g_autoptr(GError) error = NULL;
    gssize len = g_socket_receive(socket, data, sizeof data, NULL, &error);

    (void)condition;
    if (len > 0 && !pipe->draining) {
        take(pipe, data, (size_t)len);
    } else if (len <= 0) {
        /* A reset counts as the end. */
        pipe->ended =
            !g_error_matches(error, G_IO_ERROR, G_IO_ERROR_WOULD_BLOCK);
    }
    pump(pipe);
    return G_SOURCE_CONTINUE;
}

static gboolean on_writable(GSocket *socket, GIOCondition condition,
                            gpointer user_data) {
    (void)socket;
    (void)condition;
    pump(user_data);
    return G_SOURCE_REMOVE;
}

static gboolean on_due(gpointer user_data) {
    pump(user_data);
    return G_SOURCE_REMOVE;
}

void pipe_set(struct pipe *pipe, const struct pipe_limits *limits,
              uint64_t mark) {
    pipe->limits = *limits;
    pipe->mark = mark;
    start_due(pipe, 0);
}

void pipe_drain(struct pipe *pipe) {
    pipe->draining = true;
    forget_chunks(pipe);
    start_due(pipe, 0);
}
