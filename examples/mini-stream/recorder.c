/*
 * Writes a recording: see recorder.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define FLUSH_NS UINT64_C(200000000)

/* ---- files ---- */

static int fail(struct recorder *r, const char *what) {
    snprintf(r->trouble, sizeof r->trouble, "%s: %s", r->path, what);
    if (r->fd >= 0) {
        close(r->fd);
        r->fd = -1;
    }
    return -1;
}

static int file_create(struct recorder *r) {
    r->fd = open(r->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                 S_IRUSR | S_IWUSR);
    r->size = 0;
    return r->fd < 0 ? fail(r, strerror(errno)) : 0;
}

static int write_all(struct recorder *r, const uint8_t *data, size_t len) {
    while (len > 0) {
        ssize_t n = write(r->fd, data, len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return -1;
        }
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

/* Writes the collected items as a separate frame. */
static void block_write(struct recorder *r) {
    size_t n;

    if (r->len == 0 || r->fd < 0) {
        return;
    }
    n = ZSTD_compress2(r->zstd, r->packed, ZSTD_compressBound(RECORDING_BLOCK),
                       r->content, r->len);
    r->len = 0;
    if (ZSTD_isError(n)) {
        (void)fail(r, ZSTD_getErrorName(n));
    } else if (write_all(r, r->packed, n) != 0) {
        int error = errno;
        /* everything before stays readable */
        if (ftruncate(r->fd, (off_t)r->size) != 0) {
            errno = error;
        }
        (void)fail(r, strerror(error));
    } else {
        r->size += n;
    }
}

/* Adds an item to the block, which must have room for it. */
static void item_add(struct recorder *r, const struct recording_item *item) {
    r->len += recording_write(&r->last, item, r->content + r->len);
}

static void file_begin(struct recorder *r) {
    uint8_t data[RECORDING_ID + sizeof MST_VERSION];
    struct recording_item item = {.kind = RECORDING_FILE,
                                  .values = {(int64_t)r->number,
                                             (int64_t)MST_LIMITS,
                                             MST_SUBSCRIPTIONS_MAX},
                                  .data = data,
                                  .len = RECORDING_ID};

    memcpy(r->content, RECORDING_MAGIC, strlen(RECORDING_MAGIC));
    r->len = strlen(RECORDING_MAGIC);
    memcpy(data, r->id, RECORDING_ID);
    if (r->number == 0) {
        memcpy(data + RECORDING_ID, MST_VERSION, strlen(MST_VERSION));
        item.len += strlen(MST_VERSION);
    }
    item_add(r, &item);
    block_write(r);
}

/* Continues in the next file once this one is large. The old file names it
 * after it has begun: after a crash in between, the recording ends in the old
 * file. */
static void file_rotate(struct recorder *r) {
    const struct recording_item item = {.kind = RECORDING_NEXT};
    const int old = r->fd;
    int fd;

    if (r->rotate_bytes == 0 || r->size < r->rotate_bytes || r->fd < 0) {
        return;
    }
    recording_path_next(r->path, &r->number);
    if (file_create(r) == 0) {
        file_begin(r);
    }
    if (r->fd >= 0) {
        const uint64_t size = r->size;
        fd = r->fd;
        r->fd = old;
        item_add(r, &item);
        block_write(r);
        if (r->fd < 0) {
            close(fd);
            return;
        }
        r->fd = fd;
        r->size = size;
    }
    close(old);
}

static void put(struct recorder *r, const struct recording_item *item) {
    if (r->fd < 0) {
        return;
    }
    /* RECORDING_ITEM is the size with the most data */
    if (r->len + RECORDING_ITEM - RECORDING_DATA + item->len >
        RECORDING_BLOCK) {
        block_write(r);
    }
    if (r->fd >= 0) {
        item_add(r, item);
    }
}

int recorder_open(struct recorder *r, const char *path, uint64_t rotate_bytes) {
    memset(r, 0, sizeof *r);
    r->fd = -1;
    if (path == NULL) {
        return 0;
    }
    if (strlen(path) >= sizeof r->path - 24) {
        snprintf(r->path, sizeof r->path, "%.40s...", path);
        return fail(r, "the path is too long");
    }
    memcpy(r->path, path, strlen(path));
    r->rotate_bytes = rotate_bytes;
    r->zstd = ZSTD_createCCtx();
    r->content = malloc(RECORDING_BLOCK);
    r->packed = malloc(ZSTD_compressBound(RECORDING_BLOCK));
    if (r->zstd == NULL || r->content == NULL || r->packed == NULL) {
        return fail(r, "no memory");
    }
    (void)ZSTD_CCtx_setParameter(r->zstd, ZSTD_c_checksumFlag, 1);
    if (getrandom(r->id, sizeof r->id, 0) != sizeof r->id) {
        return fail(r, "no random bytes");
    }
    if (file_create(r) != 0) {
        return -1;
    }
    file_begin(r);
    return r->fd < 0 ? -1 : 0;
}

int recorder_close(struct recorder *r) {
    const struct recording_item item = {.kind = RECORDING_END,
                                        .values = {r->status, r->failed}};

    put(r, &item);
    block_write(r);
    if (r->fd >= 0 && close(r->fd) != 0) {
        r->fd = -1;
        (void)fail(r, strerror(errno));
    }
    r->fd = -1;
    ZSTD_freeCCtx(r->zstd);
    free(r->content);
    free(r->packed);
    r->zstd = NULL;
    r->content = r->packed = NULL;
    return r->trouble[0] != '\0' ? -1 : 0;
}

/* ---- the trace ---- */

/* Writes an item with data of any length, as several items if necessary. */
static void data_put(struct recorder *r, struct recording_item *item) {
    size_t rest = item->len;

    while (rest > RECORDING_DATA) {
        item->len = RECORDING_DATA;
        put(r, item);
        item->data += RECORDING_DATA;
        rest -= RECORDING_DATA;
    }
    item->len = rest;
    put(r, item);
}

static void on_trace(void *context, const struct mst_trace *t) {
    struct recorder *r = context;
    struct recording_item item;

    if (r->then != NULL) {
        r->then(r->then_context, t);
    }
    if (r->fd < 0 || t->link < 0 || t->link >= (int)RECORDING_NUMBERS ||
        t->kind == MST_TRACE_IN) {
        return; /* MST_TRACE_READ reported it */
    }
    if (t->received_ns != r->received_ns[t->link]) {
        const struct recording_item received = {
            .kind = RECORDING_RECEIVED,
            .values = {t->link, (int64_t)t->received_ns}};
        r->received_ns[t->link] = t->received_ns;
        put(r, &received);
    }
    recording_of_trace(t, &item);
    data_put(r, &item);
}

void recorder_configure(struct recorder *r, struct mst_config *config) {
    if (config->trace != on_trace) {
        r->then = config->trace;
        r->then_context = config->trace_context;
    }
    config->flags |= MST_TRACE_ALL | MST_NO_BURST;
    config->trace = on_trace;
    config->trace_context = r;
}

/* ---- calls ---- */

static void lengths_set(size_t lengths[4], const struct mst_memory *memory) {
    lengths[0] = memory->record_in;
    lengths[1] = memory->record_out;
    lengths[2] = memory->message;
    lengths[3] = memory->read_ahead;
}

void recorder_object(struct recorder *r, int object,
                     const struct mst_config *config, uint32_t rotate_ms,
                     int access, const struct mst_memory *memory,
                     const struct mst_memory *other) {
    struct recording_setup setup = {
        .config = *config, .access = access, .rotate_ms = rotate_ms};
    uint8_t data[RECORDING_SETUP];
    struct recording_item item = {.kind = other != NULL ? RECORDING_PAIR
                                                        : RECORDING_CLIENT,
                                  .values = {object},
                                  .data = data};

    lengths_set(setup.lengths[0], memory);
    if (other != NULL) {
        lengths_set(setup.lengths[1], other);
    }
    item.len = recording_setup_write(&setup, data);
    put(r, &item);
}

/* Records nothing if the library would refuse the market. */
void recorder_market(struct recorder *r, enum recording_kind kind, int object,
                     enum mst_channel channel, const char *market,
                     const struct recorder_books *books) {
    struct recording_item item = {.kind = kind,
                                  .values = {object, channel},
                                  .data = (const uint8_t *)market,
                                  .len = market != NULL ? strlen(market) : 0};

    if (books != NULL) {
        item.values[2] = books->count;
        item.values[3] = books->capacity;
        item.values[4] = books->thin;
    }
    if (recording_is_market(channel, item.data, item.len)) {
        put(r, &item);
    } else if (r->fd >= 0 && channel != MST_HEARTBEAT && item.len > 0 &&
               item.len <= MST_MARKET_MAX) {
        (void)fail(r, "a market's name is not printable ASCII");
    }
}

void recorder_call(struct recorder *r, enum recording_kind kind, int object) {
    const struct recording_item item = {.kind = kind, .values = {object}};

    put(r, &item);
}

void recorder_replaced(struct recorder *r, enum recording_kind kind, int number,
                       bool shared) {
    const struct recording_item item = {.kind = kind,
                                        .values = {number, shared}};

    put(r, &item);
}

void recorder_poll(struct recorder *r, int object, uint64_t monotonic_ns,
                   int64_t unix_ns) {
    const struct recording_item item = {
        .kind = RECORDING_POLL,
        .values = {object, (int64_t)monotonic_ns,
                   unix_ns - (int64_t)monotonic_ns}};

    if (monotonic_ns - r->flushed_ns >= FLUSH_NS) {
        r->flushed_ns = monotonic_ns;
        block_write(r);
        file_rotate(r);
    }
    put(r, &item);
}
