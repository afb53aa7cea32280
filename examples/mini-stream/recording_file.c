/*
 * The reader of a recording's files: see recording.h.
 *
 * SPDX-License-Identifier: 0BSD
 */
#include "recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>
#include <zstd_errors.h>

void recording_path_next(char *path, uint64_t *number) {
    char *end = *number > 0 ? strrchr(path, '.') : path + strlen(path);

    sprintf(end, ".%" PRIu64, ++*number);
}

__attribute__((format(printf, 2, 3))) static int fail(struct recording *r,
                                                      const char *format, ...) {
    int n = snprintf(r->error, sizeof r->error, "%s: ", r->path);
    va_list args;

    va_start(args, format);
    vsnprintf(r->error + n, sizeof r->error - (size_t)n, format, args);
    va_end(args);
    return -1;
}

/* Moves the unread bytes to the front of the buffer and fills the rest. Returns
 * false after an error. */
static bool packed_fill(struct recording *r) {
    size_t room = ZSTD_compressBound(RECORDING_BLOCK);

    memmove(r->packed, r->packed + r->packed_at, r->packed_len);
    r->packed_at = 0;
    r->packed_len +=
        fread(r->packed + r->packed_len, 1, room - r->packed_len, r->file);
    return !ferror(r->file);
}

/* Unpacks the next frame. Returns 1, 0 if the file ends here or within the
 * frame, as after a crash, or -1. */
static int block_next(struct recording *r) {
    const uint8_t *frame = r->packed + r->packed_at;
    size_t packed = ZSTD_findFrameCompressedSize(frame, r->packed_len);
    unsigned long long len;
    size_t n;

    if (ZSTD_isError(packed)) {
        if (!packed_fill(r)) {
            return fail(r, "%s", strerror(errno));
        }
        frame = r->packed;
        packed = ZSTD_findFrameCompressedSize(frame, r->packed_len);
    }
    if (r->packed_len == 0) {
        return 0;
    }
    r->block++;
    len = ZSTD_getFrameContentSize(frame, r->packed_len);
    if (ZSTD_getErrorCode(packed) == ZSTD_error_srcSize_wrong &&
        feof(r->file) && r->packed_len < ZSTD_compressBound(RECORDING_BLOCK)) {
        return 0;
    }
    if (ZSTD_isError(packed) || len == ZSTD_CONTENTSIZE_ERROR || len == 0 ||
        len > RECORDING_BLOCK) {
        return fail(r,
                    r->block == 1 ? "not a recording"
                                  : "block %" PRIu64 " is damaged",
                    r->block);
    }
    n = ZSTD_decompress(r->content, RECORDING_BLOCK, frame, packed);
    if (ZSTD_isError(n)) {
        return fail(r, "block %" PRIu64 " is damaged: %s", r->block,
                    ZSTD_getErrorName(n));
    }
    r->packed_at += packed;
    r->packed_len -= packed;
    r->at = 0;
    r->len = n;
    return 1;
}

static bool is_printable(const uint8_t *text, size_t len) {
    while (len > 0 && text[len - 1] >= ' ' && text[len - 1] <= '~') {
        len--;
    }
    return len == 0;
}

static int file_check(struct recording *r, const struct recording_item *item) {
    size_t version = item->len - RECORDING_ID;

    if (item->kind != RECORDING_FILE || item->len < RECORDING_ID ||
        version >= sizeof r->version ||
        !is_printable(item->data + RECORDING_ID, version)) {
        return fail(r, "not a recording");
    }
    if (r->number == 0) {
        memcpy(r->id, item->data, RECORDING_ID);
        memcpy(r->version, item->data + RECORDING_ID, version);
    }
    if (item->values[0] != (int64_t)r->number ||
        memcmp(r->id, item->data, RECORDING_ID) != 0) {
        return r->number == 0
                   ? fail(r,
                          "the recording starts in another file: this is its "
                          "number %" PRId64,
                          item->values[0])
                   : fail(r, "this file belongs to another recording");
    }
    if (item->values[1] != (int64_t)MST_LIMITS ||
        item->values[2] != MST_SUBSCRIPTIONS_MAX) {
        return fail(r,
                    "recorded by a build with other limits (version %s, "
                    "MST_SUBSCRIPTIONS_MAX %" PRId64 "; this one: %s, %d)",
                    r->version, item->values[2], MST_VERSION,
                    MST_SUBSCRIPTIONS_MAX);
    }
    return 0;
}

/* Opens the file at r->path and reads its first item. */
static int file_open(struct recording *r) {
    const size_t magic = strlen(RECORDING_MAGIC);
    struct recording_item item;
    size_t used;
    int rc;

    r->file = fopen(r->path, "rbe");
    if (r->file == NULL) {
        return fail(r, "%s", strerror(errno));
    }
    r->block = r->packed_at = r->packed_len = 0;
    rc = block_next(r);
    if (rc <= 0) {
        return rc < 0 ? rc : fail(r, "it ends within its first block");
    }
    if (r->len < magic || memcmp(r->content, RECORDING_MAGIC, magic) != 0) {
        return fail(r, "not a recording, or one of another version");
    }
    if (!recording_read(&r->last, r->content + magic, r->len - magic, &item,
                        &used)) {
        return fail(r, "not a recording");
    }
    r->at = magic + used;
    return file_check(r, &item);
}

int recording_open(struct recording *r, const char *path) {
    memset(r, 0, sizeof *r);
    if (strlen(path) >= sizeof r->path - 24) {
        memcpy(r->path, path, 40);
        return fail(r, "the path is too long");
    }
    memcpy(r->path, path, strlen(path));
    r->packed = malloc(ZSTD_compressBound(RECORDING_BLOCK));
    r->content = malloc(RECORDING_BLOCK);
    if (r->packed == NULL || r->content == NULL) {
        return fail(r, "no memory");
    }
    return file_open(r);
}

int recording_next(struct recording *r, struct recording_item *item) {
    size_t used;
    int rc = 1;

    while (!r->over) {
        if (r->at == r->len) {
            rc = block_next(r);
            r->cut = r->over = rc == 0;
        }
        if (rc <= 0) {
            return rc;
        }
        if (!recording_read(&r->last, r->content + r->at, r->len - r->at, item,
                            &used)) {
            return fail(r, "block %" PRIu64 " has a malformed item at byte %zu",
                        r->block, r->at);
        }
        r->at += used;
        if (item->kind <= RECORDING_NEXT) {
            r->surplus |=
                r->at < r->len || r->packed_len > 0 || getc(r->file) != EOF;
        }
        if (item->kind == RECORDING_END) {
            r->over = true;
            r->status = (int)item->values[0];
            r->failed = item->values[1] != 0;
        } else if (item->kind != RECORDING_NEXT) {
            return 1;
        } else {
            fclose(r->file);
            recording_path_next(r->path, &r->number);
            if (file_open(r) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

void recording_close(struct recording *r) {
    if (r->file != NULL) {
        fclose(r->file);
    }
    free(r->packed);
    free(r->content);
    r->file = NULL;
    r->packed = r->content = NULL;
}
