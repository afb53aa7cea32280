/*
 * A fuzz target (make fuzz): the content of a recording that somebody else has
 * written, in a frame that is not malformed, is replayed.
 *
 * SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE /* memfd_create() */
#include "played.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    static uint8_t packed[ZSTD_COMPRESSBOUND(RECORDING_BLOCK)];
    struct text events = {0};
    char path[40], error[600];
    bool cut;
    int file, rc;
    size_t n;

    if (len > RECORDING_BLOCK) {
        return 0;
    }
    n = ZSTD_compress(packed, sizeof packed, data, len, 1);
    file = memfd_create("recording", 0);
    if (ZSTD_isError(n) || file < 0 || write(file, packed, n) != (ssize_t)n) {
        abort();
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    rc = played_play(path, &events, &cut, error, sizeof error);
    if (rc != 0 && (rc != -1 || strlen(error) <= strlen(path) + 2)) {
        printf("%d, \"%s\"\n", rc, error);
        abort();
    }
    text_free(&events);
    close(file);
    return 0;
}
